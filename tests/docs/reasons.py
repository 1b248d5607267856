"""Writes the table of reasons in docs/BINDING.md from `lettafast.binding`.

`make docs` runs it; `test_reasons.py` compares the page with it.
"""

from __future__ import annotations

from pathlib import Path

from lettafast.binding.advice import ADVICE
from lettafast.binding.verdict import Reason

PAGE = Path(__file__).parents[2] / "docs" / "BINDING.md"
BEGIN, END = "<!-- `make docs` writes this table -->\n", "<!-- end of the reasons -->\n"


def table() -> str:
    """A row for each reason."""
    rows = [f"| `{reason}` | {ADVICE[reason]} |\n" for reason in Reason]
    return "| reason | what would make it bind |\n| --- | --- |\n" + "".join(rows)


def page(text: str) -> str:
    """`text` with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
