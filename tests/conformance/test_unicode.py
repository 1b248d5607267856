"""Strings in and out: every character as it is, surrogates as U+FFFD, JSON to the byte."""

from __future__ import annotations

import json

import pytest

from oracle import dumps
from support import assistant, entries, error, page, reasoning, row, tool, user

SEPARATORS = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei"
LONE = ["\ud83d", "\ude00", "\udfff", "\ud800"]


def test_every_control_and_ascii_character(backend, desk) -> None:
    """Only the quote, the backslash and U+0000 to U+001F are escaped, as `json.dumps` does."""
    text = "".join(map(chr, range(0x100)))
    transcript = desk.open(user(text))
    assert entries(transcript)[0]["text"] == text
    data = transcript.page_json()
    assert data == dumps(desk.oracle().page())
    assert rb"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e" in data
    assert rb"\u001f !\"#" in data
    assert "\x7f\x80\x85\xff".encode()[:3] in data


@pytest.mark.parametrize(
    "written",
    [
        r"\u0041",
        r"\/",
        r"\u00e9",
        r"\u000A",
        r"\u000a",
        r"\u0022",
        r"\u005C",
        r"\u001F",
        r"\ud83d\uDE00",
        r"\u2028",
        r"\u007f",
    ],
)
def test_escapes_are_written_in_one_form(backend, desk, written: str) -> None:
    """However a row escapes a character, the page writes it as `json.dumps` does."""
    line = user("@").replace(b"@", written.encode())
    char = json.loads(f'"{written}"')
    transcript = desk.open(line)
    assert entries(transcript)[0]["text"] == char
    assert transcript.page_json() == dumps(desk.oracle().page())
    assert json.dumps(char, ensure_ascii=False).encode() in transcript.page_json()


def test_raw_line_separators(backend, desk) -> None:
    """U+2028, U+2029 and U+0085 are raw in real files and end no line."""
    data = user(SEPARATORS) + tool(SEPARATORS, arguments=SEPARATORS) + assistant(SEPARATORS)
    assert "\u2028".encode() in data
    transcript = desk.open(data)
    assert [entry["text"] for entry in entries(transcript)] == [SEPARATORS, None, SEPARATORS]
    assert page(transcript)["turns"][1]["parts"][0]["output"] == SEPARATORS


@pytest.mark.parametrize("lone", LONE, ids=lambda lone: f"{ord(lone):x}")
def test_lone_surrogates_in_every_member(backend, desk, lone: str) -> None:
    """In text, name, arguments, result and ids: U+FFFD, counted, and never a surrogate."""
    text = f"a{lone}b"
    data = b"".join(
        [
            user(text, text, source_message_id=text),
            assistant(text, text, text),
            reasoning(text),
            error(text),
            tool(text, text, name=text, arguments=text, source_message_id=text),
        ]
    )
    assert b"\\u" in data
    transcript = desk.open(data)
    found = entries(transcript)
    for entry in found:
        for value in entry.values():
            if isinstance(value, str):
                value.encode()
    assert found[0]["text"] == found[0]["source_line_id"] == "a\ufffdb"
    tool_entry = found[4]
    assert {tool_entry[name] for name in ("name", "args_text", "result_text")} == {"a\ufffdb"}
    assert [entry["replaced_surrogates"] for entry in found] == [3, 3, 1, 1, 5]
    assert transcript.summary.replaced_surrogates == 13
    assert transcript.page_json() == dumps(desk.oracle().page())
    transcript.page_json().decode()
    ref = page(transcript)["turns"][1]["parts"][-1]["ref"]
    assert transcript.tool_output(ref).text == "a\ufffdb"


def test_a_surrogate_in_a_dropped_value_does_not_count(backend, desk) -> None:
    line = row("user", text="\ud83d", captured_at="2026-09-01T00:00:00.000Z")
    line = line[:-2] + rb',"x":"\ud83d","\ud83d":["\ud83d"]}' + b"\n"
    transcript = desk.open(line, "lenient")
    assert transcript.summary.replaced_surrogates == 1
    assert [note.field for note in transcript.diagnostics] == ["x", "\ufffd"]


def test_nul_is_text(backend, desk) -> None:
    data = user("a\0b") + tool("\0", name="Bash\0\0", arguments="\0")
    transcript = desk.open(data)
    assert entries(transcript)[0]["text"] == "a\0b"
    assert entries(transcript)[1]["name"] == "Bash\0\0"
    assert rb'"name":"Bash\u0000\u0000"' in transcript.page_json()


def test_hostile_text_is_only_text(backend, desk) -> None:
    """Nothing is interpreted, and nothing is taken away: front-ends escape for their own sinks."""
    hostile = (
        "<img src=x onerror=alert(1)></script><!--[javascript:alert(1)](javascript:alert(1))"
        "\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\\x1b[2J\u202eevil\u2066\u200b\ufeff"
    )
    data = user(hostile) + tool(hostile, hostile, name=hostile, arguments=hostile)
    transcript = desk.open(data)
    turns = page(transcript)["turns"]
    assert turns[0]["parts"][0]["text"] == hostile
    part = turns[1]["parts"][0]
    assert {part[name] for name in ("id", "name", "input", "output")} == {hostile}


def test_normalization_forms_are_kept_apart(backend, desk) -> None:
    data = user("\u00e9") + user("e\u0301") + user("\ufb01") + user("\u212b")
    texts = [entry["text"] for entry in entries(desk.open(data))]
    assert texts == ["\u00e9", "e\u0301", "\ufb01", "\u212b"]


def test_every_scalar_value(backend, desk) -> None:
    """All of Unicode in one conversation, raw."""
    planes = [
        "".join(map(chr, range(start, min(start + 0x4000, 0x110000))))
        for start in range(0, 0x110000, 0x4000)
        if start not in (0xD800, 0xD000)
    ]
    planes = ["".join(char for char in text if not "\ud800" <= char <= "\udfff") for text in planes]
    data = b"".join(map(user, planes))
    transcript = desk.open(data)
    assert [entry["text"] for entry in entries(transcript)] == planes
    assert transcript.page_json(limit=1000) == dumps(desk.oracle().page(limit=1000))


def test_every_escape_of_four_digits(backend, desk) -> None:
    r"""`\u0000` to `\uffff`, each alone, between two letters."""
    lines = []
    for start in range(0, 0x10000, 0x800):
        text = "".join(rf"a\u{code:04x}" for code in range(start, start + 0x800))
        lines.append(user("@").replace(b"@", text.encode()))
    transcript = desk.open(b"".join(lines))
    assert entries(transcript) == desk.oracle().entries()
    assert transcript.summary.replaced_surrogates == 0x800
    assert transcript.page_json() == dumps(desk.oracle().page())
