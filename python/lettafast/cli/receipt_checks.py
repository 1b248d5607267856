"""What the actions of `lettafast receipt` share: checks for people, and files to read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from lettafast.errors import SigningKeyError, SigningKeyReason
from lettafast.visible import file_name

from . import output
from .paint import Paint
from .status import UNREACHABLE

_COLORS = {"PASS": "green", "INCOMPLETE": "yellow"}


def check_lines(checks: Iterable[dict[str, Any]], paint: Paint) -> Iterator[str]:
    """For each check whether it holds and what that means; beneath it, what was seen, if any."""
    from lettafast.receipts.published import one_line

    found = [(one_line(str(check.get("name"))), check) for check in checks]
    width = max((len(name) for name, _ in found), default=0)
    for name, check in found:
        verdict = shown(check.get("verdict"), paint)
        mark = "holds" if verdict == "PASS" else verdict
        dressed = paint(_COLORS.get(verdict, "red"), f"{mark:10}")
        yield f"  {dressed}  {name:{width}}  {shown(check.get('sentence'), paint)}"
        if check.get("saw") != "":
            yield paint("dim", f"  {'':10}  {'':{width}}  {shown(check.get('saw'), paint)}")


def shown(value: Any, paint: Paint) -> str:
    """Anything as one line of text."""
    from lettafast.receipts.published import one_line

    return one_line("-" if value is None else str(value), paint.mark)


def read_key(path: str) -> bytes:
    """The bytes of a key's file. Raises `SigningKeyError`."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        raise SigningKeyError(SigningKeyReason.UNREADABLE, file_name(path)) from None


def not_reached(error: OSError) -> int:
    """Says which file could not be read or written; the exit status."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    output.complain(f"{error.filename or 'the run'}: {reason}", None)
    return UNREACHABLE
