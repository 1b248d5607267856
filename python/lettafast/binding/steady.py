"""Reading a file that Letta truncates and writes again in place."""

from __future__ import annotations

import os
import time
from typing import Any

from lettafast._beneath import Root
from lettafast.errors import SourceError, SourceReason
from lettafast.strict_json import is_cut_off, parse

from .facts import FileTimes

_TRIES = 5
_PAUSE = 0.02
"""Between two tries: seconds."""


class UnsteadyError(Exception):
    """The file was empty, half or moving at the tries."""


def read_json(root: Root, relative: str, limit: int) -> tuple[Any, FileTimes]:
    """The value of the strict JSON file `relative`, of `limit` bytes at most, and its times.

    Read through one descriptor, with the same `fstat` before and after. Raises
    `SourceError` where it cannot be opened or read, `UnsteadyError` when five
    tries 20 ms apart found nothing whole, `ValueError` for what no wait mends.
    """
    refused: tuple[bytes, FileTimes] | None = None
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        text, before, after = _read(root, relative, limit)
        if before != after or len(text) != after.size or refused == (text, after):
            continue
        try:
            return parse(text), after
        except ValueError as error:
            if not is_cut_off(error):
                raise
        refused = text, after
    raise UnsteadyError


def file_times(status: os.stat_result) -> FileTimes:
    """What tells one state of one file from another."""
    return FileTimes(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


def _read(root: Root, relative: str, limit: int) -> tuple[bytes, FileTimes, FileTimes]:
    fd, before = root.open_file(relative)
    try:
        if before.st_size > limit:
            raise ValueError(f"{before.st_size:,} bytes, more than {limit:,}")
        # One more than there should be, so that growth shows.
        pieces = [os.read(fd, before.st_size + 1)]
        while pieces[-1] and (left := before.st_size + 1 - sum(map(len, pieces))):
            pieces.append(os.read(fd, left))
        return b"".join(pieces), file_times(before), file_times(os.fstat(fd))
    except OSError as error:
        name = os.path.join(root.path, relative)
        raise SourceError(SourceReason.IO, name, error.errno or 0) from None
    finally:
        os.close(fd)
