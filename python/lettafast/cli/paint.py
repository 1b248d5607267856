"""Color, only for a terminal."""

from __future__ import annotations

import os
import sys

from .output import is_terminal

# Each style with the codes that begin and end it; `inverse` may stand inside another.
_CODES = {
    "bold": ("1", "22"),
    "dim": ("2", "22"),
    "inverse": ("7", "27"),
    "red": ("31", "39"),
    "green": ("32", "39"),
    "yellow": ("33", "39"),
    "cyan": ("36", "39"),
}


class Paint:
    """Dresses text in escape sequences, or leaves it as it is when `on` is false."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: str, text: str) -> str:
        """`text` in one style; each line is dressed for itself, an empty one is not."""
        if not self.on:
            return text
        start, end = _CODES[style]
        return "\n".join(
            f"\x1b[{start}m{line}\x1b[{end}m" if line else "" for line in text.split("\n")
        )

    def mark(self, text: str) -> str:
        """What stands in place of a character that was made visible."""
        return self("inverse", text)


def paint_for_stdout() -> Paint:
    """Color when standard output is a terminal that can show it and `NO_COLOR` is not set."""
    return Paint(
        is_terminal(sys.stdout)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )
