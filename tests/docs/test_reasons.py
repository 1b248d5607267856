"""docs/BINDING.md has each reason with its advice."""

from __future__ import annotations

from lettafast.binding.advice import ADVICE
from lettafast.binding.verdict import Reason
from reasons import BEGIN, END, PAGE, page


def test_the_page_is_current() -> None:
    text = PAGE.read_text("utf-8")
    assert BEGIN in text
    assert END in text
    assert page(text) == text, "`make docs` writes it anew"


def test_each_reason_has_advice() -> None:
    assert set(ADVICE) == set(Reason)
    for advice in ADVICE.values():
        assert advice[0].isupper()
        assert advice.endswith(".")
