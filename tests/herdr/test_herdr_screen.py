"""Terminal text becomes plain text, whatever is in it."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lettafast.herdr.screen import plain

ESCAPES = (
    "\x1b \x9b \x9d \x90 \x98 \x9e \x9f \x9c \x07 \x18 \x1a \r \r\n \n \t [ ] P X ^ _ \\ ( 0 ; ? : "
    "m H 8 \x7f \x85 \x00 \u202e é 🙂"
).split(" ")
texts = st.lists(st.sampled_from(ESCAPES) | st.text(max_size=3), max_size=30).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a\tb\nc\n", "a\tb\nc\n"),
        ("a\r\nb\r\r\nc\rd", "a\nb\ncd"),
        ("\x1b[31mred\x1b[0m \x1b[38;2;1;2;3mrgb\x1b[m", "red rgb"),
        ("\x1b[4:3mcurly\x1b[?25l\x1b[>1u\x1b[1 q.", "curly."),
        ("\x9b31mC1\x9bm", "C1"),
        ("\x1b]0;title\x07a\x1b]2;title\x1b\\b\x9d0;title\x9cc\x1b]0;t\x9cd", "abcd"),
        ("\x1b]8;id=1;http://x/\x1b\\link\x1b]8;;\x1b\\.", "link."),
        ("\x1bP1$r0m\x1b\\a\x90q\x9cb\x1bXs\x1b\\c\x1b^p\x1b\\d\x1b_Ga=1;AAA\x1b\\e", "abcde"),
        ("\x1b(Ba\x1b)0b\x1b7c\x1b8d\x1b=e\x1b>f\x1bcg\x1b#8h\x1b%Gi", "abcdefghi"),
        ("a\x00\x01\x08\x0b\x0c\x0e\x7f\x80\x85\x99b", "ab"),
        # Cut off at the end.
        ("a\x1b", "a"),
        ("a\x1b[", "a"),
        ("a\x1b[38;5", "a"),
        ("a\x1b]8;;http://x", "a"),
        ("a\x1b]8;;http://x\x1b", "a"),
        ("a\x1bP1$r", "a"),
        ("a\x1b(", "a"),
        # Broken by what comes next.
        ("\x1b\x1b[1ma", "a"),
        ("\x1b[1\x1b[2ma", "a"),
        ("\x1b[1\x18a", "a"),
        ("\x1b]0;t\x18a", "a"),
        ("\x1b]0;t\x1b[1ma", "a"),
        ("\x1b]0;unended\nrow\n", "\nrow\n"),
        ("\x1b[1\nrow", "\nrow"),
        ("\x1bé", "é"),
        # Not a terminal's, but a reader's: front-ends show these in their own way.
        ("a\u202eb\u2066c\u200b\u2028é🙂\ud7ff", "a\u202eb\u2066c\u200b\u2028é🙂\ud7ff"),
    ],
)
def test_what_is_left(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(texts)
def test_no_control_is_left(text: str) -> None:
    found = plain(text)
    assert not [one for one in found if unicodedata.category(one) == "Cc" and one not in "\n\t"]
    assert plain(found) == found


@given(texts)
def test_rows_stay_rows(text: str) -> None:
    """No sequence swallows the end of a row."""
    assert plain(text).count("\n") == text.count("\n")
    rows = text.split("\n")
    assert plain(text).split("\n") == [plain(row) for row in rows]


@given(st.text(st.characters(exclude_categories=["Cc"])))
def test_text_without_controls_stays(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    "piece", ["\x1b", "\x1b[", "\x1b]", "\x1b[1;", "\x1b]0;a", "\x1bP", "\r", "\x1b(", "\x9b", "a"]
)
def test_linear_in_any_text(piece: str) -> None:
    text = piece * (2_000_000 // len(piece))
    start = time.process_time()
    plain(text)
    plain(text + "\n")
    assert time.process_time() - start < 5
