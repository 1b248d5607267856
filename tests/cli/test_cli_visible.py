from __future__ import annotations

import sys
import unicodedata

import pytest

from lettafast.cli.numbers import human_size
from lettafast.visible import file_name, visible, visible_line

# Characters of the categories below that have a look of their own or belong to a script.
SEEN = {
    *"\t\n",
    *map(chr, range(0x600, 0x606)),
    *"\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd",
    *map(chr, range(0x13430, 0x13456)),
    *map(chr, range(0x1BCA0, 0x1BCA4)),
}


def test_no_control_format_or_separator_character_passes():
    unsafe = ("Cc", "Cf", "Zl", "Zp", "Cs")
    passed = {
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in unsafe
        and visible(f"a{character}b") == f"a{character}b"
    }
    assert passed <= SEEN
    assert set("\t\n") <= passed


def test_letters_marks_and_symbols_stay():
    text = "".join(
        character
        for character in map(chr, range(0x20, 0x30000))
        if unicodedata.category(character)[0] in "LMNPS"
    )
    changed = {character for character in text if visible(character) != character}
    assert changed == set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") - (
        {"\u180f"} if unicodedata.category("\u180f") == "Cn" else set()
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x00\x1b\x7f\x9b", r"\x00\x1b\x7f\x9b"),
        ("a\r\nb\tc", "a\\r\nb\tc"),
        ("\u202e\u2066\u200f\ufeff", r"\u202e\u2066\u200f\ufeff"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800\udcff", r"\ud800\udcff"),
        ("a\u200db \u200c", r"a\u200db \u200c"),
        (
            "\u0646\u200c\u0645 \U0001f468\u200d\U0001f469",
            "\u0646\u200c\u0645 \U0001f468\u200d\U0001f469",
        ),
        ("\u0646\u200c\u200c\u0645", "\u0646\\u200c\\u200c\u0645"),
        ("a\ufffd\\x1b", "a\ufffd\\x1b"),
    ],
)
def test_spelling(text, shown):
    assert visible(text) == shown


def test_a_line_stays_one_line():
    assert visible_line("a\nb\tc\u2028d") == r"a\nb\tc\u2028d"


def test_what_was_put_in_can_be_marked():
    assert visible("a\x00b\x00", lambda text: f"<{text}>") == r"a<\x00>b<\x00>"


def test_file_names_are_text_whatever_decoded_them():
    raw = "caf\u00e9".encode() + b"\xff"
    assert file_name(raw.decode("utf-8", "surrogateescape")) == "caf\u00e9\\xff"
    assert file_name(raw.decode("ascii", "surrogateescape")) == "caf\u00e9\\xff"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (10**9, "1.0 GB"),
        (10**19, "10000.0 PB"),
    ],
)
def test_sizes(size, words):
    assert human_size(size) == words
