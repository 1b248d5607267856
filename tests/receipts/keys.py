"""Looking for the API key where it must not be."""

from __future__ import annotations

import traceback

KEY = "sk-let-0123456789abcdef"


def assert_without_key(error) -> None:
    """Neither what it says, nor what it came from, nor what a debugger would show holds the key.

    The frames of the test itself know the key; those of the package and of its libraries must not.
    """
    assert KEY not in "".join(traceback.format_exception(type(error), error, error.__traceback__))
    seen, left = [], [error]
    while left:
        one = left.pop()
        if one is None or one in seen:
            continue
        seen.append(one)
        assert KEY not in f"{one!r}{one}{one.__dict__}"
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if "/tests/" not in frame.f_code.co_filename:
                assert KEY not in repr(frame.f_locals), frame
        left += [one.__cause__, one.__context__]
