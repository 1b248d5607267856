"""Tables for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from . import output
from .paint import Paint


def write_table(
    rows: Sequence[Sequence[str]],
    paint: Paint,
    *,
    headed: bool = True,
    right: Collection[int] = (),
) -> None:
    """Writes rows in columns: the first is the headings if `headed`; those `right` are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        output.write_text((paint("dim", line) if headed and number == 0 else line) + "\n")
