"""Where a page shows only the first part of a text."""

from __future__ import annotations

import pytest

from oracle import dumps
from support import assistant, error, page, reasoning, tool, user

TOOL = 4_000
TEXT = 1_048_576
CHARS = {"ascii": "x", "two": "\u00e9", "three": "\u20ac", "four": "\U0001f600", "escaped": "\n"}


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("count", [0, 1, TOOL - 1, TOOL, TOOL + 1, TOOL + 2, 3 * TOOL])
def test_tool_previews(backend, desk, char: str, count: int) -> None:
    """The first 4,000 characters, counted in scalar values, with no mark added."""
    text = CHARS[char] * count
    transcript = desk.open(tool(text, arguments=text))
    (part,) = page(transcript)["turns"][0]["parts"]
    for name in ("input", "output"):
        assert part[name] == text[:TOOL]
        assert part[f"{name}_size"] == len(text.encode())
        cut = part[f"{name}_size"] > len(part[name].encode())
        assert cut is (count > TOOL)
    assert transcript.page_json() == dumps(desk.oracle().page())


@pytest.mark.parametrize("char", ["ascii", "four", "escaped"])
@pytest.mark.parametrize("count", [TEXT - 1, TEXT, TEXT + 1])
@pytest.mark.parametrize("make", [user, assistant, reasoning, error])
def test_text_previews(backend, desk, char: str, count: int, make) -> None:
    """The first 1,048,576 characters; only a cut text has `ref` and `size`."""
    text = CHARS[char] * count
    transcript = desk.open(make(text))
    (part,) = page(transcript)["turns"][0]["parts"]
    assert part["text"] == text[:TEXT]
    if count > TEXT:
        assert list(part) == ["kind", "text", "ref", "size"]
        assert part["ref"] == f"at:{desk.oracle().history_id}:0"
        assert part["size"] == len(text.encode())
        rest = transcript.content(part["ref"], "text", len(part["text"].encode()))
        assert part["text"] + rest.text == text
    else:
        assert list(part) == ["kind", "text"]
    assert transcript.page_json() == dumps(desk.oracle().page())


@pytest.mark.parametrize("at", [TOOL - 2, TOOL - 1, TOOL])
def test_a_preview_is_never_cut_inside_an_escape(backend, desk, at: int) -> None:
    """An escape counts as the one character that it is; pairs and lone surrogates too."""
    for char, written in {
        "\U0001f600": rb"\ud83d\ude00",
        "\ufffd": rb"\ud83d",
        "\n": rb"\n",
        "A": rb"\u0041",
        "\0": rb"\u0000",
        "\\": rb"\\",
        "\u2028": "\u2028".encode(),
    }.items():
        line = tool("x" * at + "@" + "yz")
        transcript = desk.open(line.replace(b"@", written))
        (part,) = page(transcript)["turns"][0]["parts"]
        whole = "x" * at + char + "yz"
        assert part["output"] == whole[:TOOL]
        assert part["output_size"] == len(whole.encode())
        transcript.close()


def test_only_what_is_cut_has_a_ref(backend, desk) -> None:
    data = user("short") + assistant("x" * (TEXT + 1)) + assistant("short")
    turns = page(desk.open(data))["turns"]
    assert "ref" not in turns[0]["parts"][0]
    assert "ref" in turns[1]["parts"][0]
    assert "ref" not in turns[1]["parts"][1]


def test_a_small_text_of_many_bytes_is_not_cut(backend, desk) -> None:
    """Characters decide, not bytes: a million of four bytes each are shown."""
    text = "\U0001f600" * TEXT
    (part,) = page(desk.open(user(text)))["turns"][0]["parts"]
    assert part == {"kind": "text", "text": text}
