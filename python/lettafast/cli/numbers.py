"""Numbers: those that a user writes, and those that people read."""

from __future__ import annotations

import argparse
import re
import time

_DIGITS = re.compile("[0-9]{1,18}")
_UNITS = ("kB", "MB", "GB", "TB", "PB")
_STEP = 1000


def count(text: str) -> int:
    """An argument that is a whole number from 0, in at most 18 decimal digits."""
    if not _DIGITS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"not a whole number from 0: `{text}`")
    return int(text)


def positive(text: str) -> int:
    """An argument that is a whole number from 1."""
    number = count(text)
    if number == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def human_size(size: int) -> str:
    """`16 B`, `1.2 kB`, `217.0 kB`: decimal units."""
    if size < _STEP:
        return f"{size} B"
    step = 1
    while round(size / _STEP**step, 1) >= _STEP and step < len(_UNITS):
        step += 1
    return f"{size / _STEP**step:.1f} {_UNITS[step - 1]}"


def human_count(number: int, one: str, many: str) -> str:
    """`1 turn`, `1,234 turns`."""
    return f"{number:,} {one if number == 1 else many}"


def human_time(seconds: float) -> str:
    """A time of this machine's clock and zone, to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):  # a file's clock can say anything
        return f"@{seconds:.0f}"
