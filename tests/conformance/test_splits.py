"""Rows that Letta Code split one message into are one part: which rows, and which not."""

from __future__ import annotations

import pytest

from oracle import dumps
from support import assistant, page, reasoning, row, tool, user

CHARS = 1_048_576


def parts(transcript) -> list[str]:
    return [
        part.get("text", part["kind"])
        for turn in page(transcript)["turns"]
        for part in turn["parts"]
    ]


def rows(*ids: str | None, message: str | None = "m") -> bytes:
    """Assistant rows with these ids, whose texts are a, b, c, …"""
    return b"".join(
        assistant(chr(ord("a") + number), line_id, message) for number, line_id in enumerate(ids)
    )


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["x-split-0", "x-split-1", "x-split-2", "x"], ["abcd"]),
        (["x-split-0", "x"], ["ab"]),
        (["x-split-0", "x-split-1"], ["ab"]),
        (["x-split-5", "x-split-6", "x"], ["abc"]),
        (["x-split-0", "x-split-2", "x"], ["a", "bc"]),
        (["x-split-1", "x-split-0", "x"], ["a", "bc"]),
        (["x-split-0", "x-split-0"], ["a", "b"]),
        (["x", "x-split-0"], ["a", "b"]),
        (["x", "x"], ["a", "b"]),
        (["x-split-0", "x", "x"], ["ab", "c"]),
        (["x-split-0", "x", "x-split-1"], ["ab", "c"]),
        (["x-split-0", "y"], ["a", "b"]),
        (["x-split-0", "y-split-1"], ["a", "b"]),
        (["x-split-0", None], ["a", "b"]),
        ([None, None], ["a", "b"]),
        (["x-split-0", ""], ["a", "b"]),
        (["-split-0", ""], ["ab"]),
        (["-split-0", "-split-1", ""], ["abc"]),
        (["x-split-00", "x"], ["a", "b"]),
        (["x-split-01", "x"], ["a", "b"]),
        (["x-split-01", "x-split-2"], ["a", "b"]),
        (["x-split-0", "x-split-01"], ["a", "b"]),
        (["x-split-+0", "x"], ["a", "b"]),
        (["x-split--1", "x-split-0"], ["a", "b"]),
        (["x-split- 0", "x"], ["a", "b"]),
        (["x-split-", "x"], ["a", "b"]),
        (["x-split-0 ", "x"], ["a", "b"]),
        (["x-split-0\n", "x"], ["a", "b"]),
        (["x-split-\u0660", "x"], ["a", "b"]),
        (["x-split-\uff10", "x"], ["a", "b"]),
        (["x-split-1a", "x"], ["a", "b"]),
        (["x-SPLIT-0", "x"], ["a", "b"]),
        (["xsplit-0", "x"], ["a", "b"]),
        (["x-split-9", "x-split-10", "x"], ["abc"]),
        (["x-split-99999999", "x-split-100000000"], ["ab"]),
        (["x-split-999999999", "x"], ["ab"]),
        (["x-split-1000000000", "x"], ["a", "b"]),
        (["x-split-0-split-0", "x-split-0"], ["ab"]),
        (["x-split-0-split-0", "x-split-0", "x"], ["abc"]),
        (["x-split-0-split-0", "x-split-0-split-1", "x-split-0", "x-split-1"], ["abcd"]),
        (["x-split-0-split-0", "x"], ["a", "b"]),
        (["x\n-split-0", "x\n"], ["ab"]),
        (["\u00e9\u2028-split-0", "\u00e9\u2028"], ["ab"]),
        (["x-split-0", "x", "y-split-0", "y"], ["ab", "cd"]),
        (["x-split-0", "y-split-0", "x", "y"], ["a", "b", "c", "d"]),
    ],
)
def test_ids(backend, desk, ids: list[str | None], expected: list[str]) -> None:
    transcript = desk.open(user("?") + rows(*ids))
    assert parts(transcript) == ["?", *expected]
    assert transcript.page_json() == dumps(desk.oracle().page())


@pytest.mark.parametrize(
    ("first", "second", "joins"),
    [
        ("m", "m", True),
        (None, None, True),
        ("", "", True),
        ("m", "n", False),
        ("m", None, False),
        (None, "m", False),
        ("", None, False),
        ("m", "M", False),
        ("\u00e9", "\u00e9", True),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_message_ids(backend, desk, first: str | None, second: str | None, joins: bool) -> None:
    data = assistant("a", "x-split-0", first) + assistant("b", "x", second)
    assert parts(desk.open(data)) == (["ab"] if joins else ["a", "b"])


def test_ids_are_compared_decoded(backend, desk) -> None:
    data = rows("x-split-0", "x")
    data = data.replace(b'"x-split-0"', rb'"\u0078-s\u0070lit-\u0030"')
    assert parts(desk.open(data)) == ["ab"]
    # Two lone surrogates are both U+FFFD, so they are the same.
    data = rows("A-split-0", "B").replace(b'"A', rb'"\ud83d').replace(b'"B', rb'"\udead')
    assert parts(desk.open(data)) == ["ab"]
    data = rows("x-split-0", "x", message="m").replace(b'"m"', rb'"\u006d"', 1)
    assert parts(desk.open(data)) == ["ab"]


@pytest.mark.parametrize("between", [user(), reasoning(), tool(), assistant("z", "other", "m")])
def test_directly_before(backend, desk, between: bytes) -> None:
    data = assistant("a", "x-split-0", "m") + between + assistant("b", "x", "m")
    found = parts(desk.open(data))
    assert "ab" not in found
    assert (found[0], found[-1]) == ("a", "b")


def test_skipped_lines_do_not_stand_between(backend, desk) -> None:
    data = assistant("a", "x-split-0", "m") + b"?\n\n" + assistant("b", "x", "m")
    assert parts(desk.open(data, "lenient")) == ["ab"]


@pytest.mark.parametrize("kind", ["reasoning", "user", "error"])
def test_only_assistant_rows_join(backend, desk, kind: str) -> None:
    ids = {"source_message_id": "m"}
    data = row(kind, text="a", source_line_id="x-split-0", **ids) + row(
        kind, text="b", source_line_id="x", **ids
    )
    assert parts(desk.open(data)) == ["a", "b"]
    mixed = row(kind, text="a", source_line_id="x-split-0", **ids) + assistant("b", "x", "m")
    assert parts(desk.open(mixed)) == ["a", "b"]


def test_a_joined_part_has_no_ref(backend, desk) -> None:
    (turn,) = page(desk.open(rows("x-split-0", "x-split-1", "x")))["turns"]
    assert turn["parts"] == [{"kind": "text", "text": "abc"}]
    assert turn["offset"] == 0


def test_empty_rows_join(backend, desk) -> None:
    data = assistant("", "x-split-0") + assistant("", "x-split-1") + assistant("b", "x")
    assert parts(desk.open(data)) == ["b"]


def test_nothing_is_put_between(backend, desk) -> None:
    data = assistant("a\n", "x-split-0") + assistant(" \u0301b", "x")
    assert parts(desk.open(data)) == ["a\n \u0301b"]


def test_a_pair_is_not_made_by_joining(backend, desk) -> None:
    """Each row's text is decoded for itself: two halves of a pair are two U+FFFD."""
    data = assistant("\ud83d", "x-split-0") + assistant("\ude00", "x")
    transcript = desk.open(data)
    assert parts(transcript) == ["\ufffd\ufffd"]
    assert page(transcript)["replaced_surrogates"] == 2


@pytest.mark.parametrize(
    ("sizes", "joined"),
    [
        ((CHARS - 1, 1), [CHARS]),
        ((CHARS - 1, 2), [CHARS - 1, 2]),
        ((CHARS, 0), [CHARS]),
        ((CHARS, 1), [CHARS, 1]),
        ((600_000, 400_000, 100_000), [1_000_000, 100_000]),
        ((600_000, 600_000, 400_000), [600_000, 1_000_000]),
        ((1, CHARS, 1), [1, CHARS, 1]),
    ],
)
def test_joined_characters(backend, desk, sizes: tuple[int, ...], joined: list[int]) -> None:
    """Joined text stays within 1,048,576 characters; the next row begins a new part."""
    names = [*(f"x-split-{number}" for number in range(len(sizes) - 1)), "x"]
    for char in ("x", "\u20ac", "\U0001f600"):
        data = b"".join(
            assistant(char * size, name) for size, name in zip(sizes, names, strict=True)
        )
        transcript = desk.open(data)
        found = page(transcript)["turns"][0]["parts"]
        assert [len(part["text"]) for part in found] == joined
        assert all("ref" not in part for part in found)
        assert transcript.page_json() == dumps(desk.oracle().page())
        transcript.close()


def test_a_row_that_is_cut_by_itself_joins_nothing(backend, desk) -> None:
    data = assistant("x" * (CHARS + 1), "x-split-0") + assistant("", "x")
    transcript = desk.open(data)
    one, two = page(transcript)["turns"][0]["parts"]
    assert (len(one["text"]), one["size"], two) == (CHARS, CHARS + 1, {"kind": "text", "text": ""})
    assert transcript.content(one["ref"], "text", CHARS).text == "x"
    assert transcript.page_json() == dumps(desk.oracle().page())


@pytest.mark.parametrize("size", [1, 500_000, 700_000, 1_100_000, 1_300_000, 1_800_000, 16 << 20])
@pytest.mark.parametrize(
    "sizes", [(600_000, 600_000, 400_000, 10, 600_000, 5), (400_000,) * 6], ids=["uneven", "even"]
)
def test_long_chains_in_small_pages(backend, desk, sizes: tuple[int, ...], size: int) -> None:
    """Rows that make several parts, in pages that begin and end at each of them."""
    names = [*(f"x-split-{number}" for number in range(len(sizes) - 1)), "x"]
    data = user() + b"".join(map(assistant, map("x".__mul__, sizes), names)) + tool() + user()
    transcript = desk.open(data, max_page_bytes=size)
    oracle = desk.oracle(max_page_bytes=size)
    offsets = [at.offset for at in oracle.rows]
    for offset in [*offsets, oracle.end]:
        cursor = f"{oracle.history_id}:{offset}"
        assert transcript.page_json(cursor) == dumps(oracle.page(offset))
    for offset in offsets:
        expected, end = oracle.appended(offset)
        assert transcript._open.appended_json(offset) == (dumps(expected), end)


def test_growth_joins_to_what_was_there(backend, desk) -> None:
    transcript = desk.open(user() + rows("x-split-0"))
    assert parts(transcript) == ["hi", "a"]
    with desk.path.open("ab") as file:
        file.write(rows("x-split-1", "x"))
    assert transcript.refresh() == "grown"
    assert parts(transcript) == ["hi", "aab"]


def test_a_page_that_ends_inside(backend, desk) -> None:
    """`before` may name a row inside joined rows; the page holds those before it."""
    data = user() + rows("x-split-0", "x-split-1", "x")
    transcript = desk.open(data)
    oracle = desk.oracle()
    for at in oracle.rows:
        cursor = f"{oracle.history_id}:{at.offset}"
        assert transcript.page_json(cursor) == dumps(oracle.page(at.offset))
