"""A file that grows while it is open: appends of every shape, and what a tail is."""

from __future__ import annotations

import pytest

from lettafast import TranscriptRefused
from oracle import dumps
from support import append, assistant, entries, error, reasoning, tool, user

PIECE = 512 * 1024
"""Letta Code appends in writes of at most this many bytes."""


def same_as_fresh(transcript, desk, **limits: int) -> None:
    """What grew answers as what is opened now does, and as the oracle says."""
    oracle = desk.oracle(**limits)
    fresh = desk.open(None, transcript.mode, **limits)
    assert entries(transcript) == entries(fresh) == oracle.entries()
    assert transcript.summary == fresh.summary
    assert transcript.page_json() == fresh.page_json() == dumps(oracle.page())
    fresh.close()


def test_unchanged(backend, desk) -> None:
    transcript = desk.open(user() + assistant())
    for _ in range(3):
        assert transcript.refresh() == "unchanged"
        assert transcript.refresh(verify=True) == "unchanged"
    same_as_fresh(transcript, desk)


def test_grows_row_by_row(backend, desk) -> None:
    transcript = desk.open(b"")
    assert transcript.page().state == "empty"
    for line in (user(), reasoning(), tool(), assistant(), user("two"), error(), assistant("end")):
        append(desk.path, line)
        assert transcript.refresh() == "grown"
        assert transcript.refresh() == "unchanged"
        same_as_fresh(transcript, desk)
    assert transcript.refresh(verify=True) == "unchanged"


def test_several_rows_in_one_append(backend, desk) -> None:
    transcript = desk.open(user())
    append(desk.path, tool() * 100 + user() + assistant())
    assert transcript.refresh() == "grown"
    same_as_fresh(transcript, desk)


def test_nothing_of_a_growth_is_seen_before_refresh(backend, desk) -> None:
    transcript = desk.open(user())
    before = transcript.page_json(), transcript.summary
    append(desk.path, assistant())
    assert (transcript.page_json(), transcript.summary) == before
    assert len(entries(transcript)) == 1


def test_a_longer_tail_is_unchanged(backend, desk) -> None:
    transcript = desk.open(user())
    line = assistant()
    for count in range(1, len(line)):
        append(desk.path, line[count - 1 : count])
        assert transcript.refresh() == "unchanged"
        assert transcript.summary.tail_bytes == count
        assert transcript.summary.bytes == len(user()) + count
    append(desk.path, b"\n")
    assert transcript.refresh() == "grown"
    assert transcript.summary.tail_bytes == 0
    same_as_fresh(transcript, desk)


@pytest.mark.parametrize("mode", ["strict", "lenient"])
def test_torn_append_at_every_byte(backend, desk, mode: str) -> None:
    """An append of two rows, cut at each byte in turn, read before and after the rest came."""
    start = user()
    added = tool("caf\u00e9 \u20ac \U0001f600 \ud83d") + assistant("\u2028\x7f\U0010ffff")
    first = added.index(b"\n") + 1
    for cut in range(len(added) + 1):
        transcript = desk.open(start + added[:cut], mode)
        whole = 1 + (cut >= first) + (cut == len(added))
        tail = cut - (first if cut >= first else 0) if cut < len(added) else 0
        assert transcript.summary.entries == whole
        assert transcript.summary.tail_bytes == tail
        assert transcript.diagnostics == ()
        append(desk.path, added[cut:])
        assert transcript.refresh() == ("grown" if whole < 3 else "unchanged")
        assert transcript.refresh(verify=True) == "unchanged"
        assert transcript.page_json() == dumps(desk.oracle().page())
        assert entries(transcript) == desk.oracle().entries()
        transcript.close()


def test_tail_is_judged_only_when_its_lf_came(backend, desk) -> None:
    """Whatever lies after the last LF is no fault yet; with its LF it is."""
    for tail in (b"\0\0\0", b"\xff\xff", b"[1]", b'{"kind":"x"}', b"   ", b'{"text":"\x01'):
        transcript = desk.open(user() + tail)
        assert transcript.summary.tail_bytes == len(tail)
        assert transcript.refresh(verify=True) == "unchanged"
        append(desk.path, b"\n")
        with pytest.raises(TranscriptRefused) as caught:
            transcript.refresh()
        assert caught.value.line == 2
        assert caught.value.line_offset == len(user())
        transcript.close()


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_character_cut_across_two_appends(backend, desk, cut: int) -> None:
    line = assistant("a\U0001f600b")
    at = line.index("\U0001f600".encode()) + cut
    transcript = desk.open(user() + line[:at])
    append(desk.path, line[at:])
    assert transcript.refresh() == "grown"
    assert entries(transcript)[1]["text"] == "a\U0001f600b"


def test_a_character_cut_for_good_is_refused_where_it_begins(backend, desk) -> None:
    line = assistant("a\U0001f600b")
    at = line.index("\U0001f600".encode())
    transcript = desk.open(user() + line[: at + 2])
    append(desk.path, b'"' + line[at + 4 :])
    with pytest.raises(TranscriptRefused) as caught:
        transcript.refresh()
    assert (caught.value.reason, caught.value.field) == ("invalid_utf8", "text")
    assert caught.value.offset == len(user()) + at


BLOCKS = [1 << power for power in (12, 13, 14, 15, 16, 17, 18, 19, 20)]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_a_character_on_a_block_boundary(backend, desk, block: int, shift: int) -> None:
    """A character of four bytes that begins `shift` bytes before a likely read boundary."""
    empty = user("\U0001f600z")
    at = empty.index("\U0001f600".encode())
    data = user("x" * (block - shift - at) + "\U0001f600z") + assistant("\u00e9\u20ac" * 5)
    assert data[block - shift : block - shift + 4] == "\U0001f600".encode()
    transcript = desk.open(data)
    assert entries(transcript) == desk.oracle().entries()
    transcript.close()
    # The same boundary, met while following.
    transcript = desk.open(data[: block - 10])
    append(desk.path, data[block - 10 :])
    assert transcript.refresh() == "grown"
    assert entries(transcript) == desk.oracle().entries()


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("shift", [-1, 0, 1, 2])
def test_a_line_end_on_a_block_boundary(backend, desk, block: int, shift: int) -> None:
    """CR and LF, and an escape, on both sides of a likely read boundary."""
    row = user()[:-1]
    first = row + b" " * (block - shift - len(row) - 1) + b"\r\n"
    assert first[block - shift - 1 : block - shift + 1] == b"\r\n"
    data = first + assistant("\n" * 10) + tool() * 3
    transcript = desk.open(data)
    assert entries(transcript) == desk.oracle().entries()
    transcript.close()
    escape = user("\n")
    at = escape.index(b"\\n")
    data = user("x" * (block - shift - at) + "\n\ud83d\U0001f600\n") + tool()
    assert entries(desk.open(data)) == desk.oracle().entries()


def test_appends_in_pieces_of_512_kib(backend, desk) -> None:
    """A payload above 512 KiB arrives in pieces; until its LF it is a tail."""
    transcript = desk.open(user())
    payload = tool("\u20ac\U0001f600\n" * 60_000) + assistant("x" * 700_000) + user("end")
    done = 0
    seen = 1
    while done < len(payload):
        append(desk.path, payload[done : done + PIECE])
        done += PIECE
        there = payload[:done]
        whole = 1 + there.count(b"\n")
        assert transcript.refresh() == ("grown" if whole > seen else "unchanged")
        seen = whole
        assert transcript.summary.entries == whole
        assert transcript.summary.tail_bytes == len(there) - (there.rfind(b"\n") + 1)
    same_as_fresh(transcript, desk)
    assert transcript.refresh(verify=True) == "unchanged"


def test_tail_above_max_line_bytes(backend, desk) -> None:
    """A tail may be longer than a line may; it is too long when its LF came."""
    transcript = desk.open(user(), max_line_bytes=200)
    append(desk.path, b"x" * 150)
    assert transcript.refresh() == "unchanged"
    append(desk.path, b"x" * 150)
    assert transcript.refresh() == "unchanged"
    assert transcript.summary.tail_bytes == 300
    append(desk.path, b"x\nmore")
    with pytest.raises(TranscriptRefused) as caught:
        transcript.refresh()
    assert (caught.value.reason, caught.value.line) == ("line_too_long", 2)
    assert caught.value.offset == len(user()) + 200


def test_tail_above_max_line_bytes_lenient(backend, desk) -> None:
    transcript = desk.open(user() + b"x" * 500, "lenient", max_line_bytes=200)
    append(desk.path, b"x" * 500 + b"\n" + assistant())
    assert transcript.refresh() == "grown"
    (diagnostic,) = transcript.diagnostics
    assert (diagnostic.reason, diagnostic.offset) == ("line_too_long", len(user()) + 200)
    assert [entry["kind"] for entry in entries(transcript)] == ["user", "assistant"]


def test_from_nothing_over_a_tail_to_rows(backend, desk) -> None:
    """Empty, still empty with a tail, then ok; the history begins with the first row."""
    transcript = desk.open(b"")
    assert transcript.summary.tail_bytes == 0
    append(desk.path, user()[:10])
    assert transcript.refresh() == "unchanged"
    assert transcript.page().state == "empty"
    assert transcript.page().history_id is None
    assert transcript.page().tail_bytes == 10
    append(desk.path, user()[10:])
    assert transcript.refresh() == "grown"
    same_as_fresh(transcript, desk)


def test_a_long_first_line_gives_the_history_at_once(backend, desk) -> None:
    """The id hashes at most 4,096 bytes of the first line, whatever comes later."""
    for size in (4000, 4095, 4096, 4097, 10_000):
        data = user("x" * (size - len(user(""))))
        assert len(data) == size
        transcript = desk.open(data)
        before = transcript.page().history_id
        assert before == desk.oracle().history_id
        append(desk.path, assistant())
        assert transcript.refresh() == "grown"
        assert transcript.page().history_id == before
        transcript.close()


def test_refused_growth_takes_nothing(backend, desk) -> None:
    """Good rows before the bad one in the same growth are not taken either."""
    transcript = desk.open(user())
    append(desk.path, assistant() + tool() + b"[]\n" + assistant())
    with pytest.raises(TranscriptRefused) as caught:
        transcript.refresh()
    assert (caught.value.reason, caught.value.line) == ("not_an_object", 4)
    assert caught.value.line_offset == len(user() + assistant() + tool())


@pytest.mark.parametrize("mode", ["strict", "lenient"])
def test_lines_are_numbered_from_the_start_of_the_file(backend, desk, mode: str) -> None:
    transcript = desk.open(user() * 3 + user()[:20], mode)
    append(desk.path, user()[20:])
    transcript.refresh()
    append(desk.path, user() + b"bad\n")
    if mode == "strict":
        with pytest.raises(TranscriptRefused) as caught:
            transcript.refresh()
        assert caught.value.line == 6
    else:
        assert transcript.refresh() == "grown"
        assert transcript.diagnostics[0].line == 6


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_bom_that_arrives_in_pieces(backend, desk, parts: int) -> None:
    """A BOM is refused as soon as it is there, also where it is only a tail."""
    bom = b"\xef\xbb\xbf"
    transcript = desk.open(bom[: parts - 1])
    append(desk.path, bom[parts - 1 :])
    with pytest.raises(TranscriptRefused) as caught:
        transcript.refresh()
    assert (caught.value.reason, caught.value.offset) == ("bom", 0)
    assert caught.value.excerpt == r"\xef\xbb\xbf"


def test_a_bom_that_arrives_in_pieces_lenient(backend, desk) -> None:
    transcript = desk.open(b"\xef", "lenient")
    append(desk.path, b"\xbb\xbf")
    assert transcript.refresh() == "unchanged"
    assert transcript.diagnostics == ()
    append(desk.path, user())
    assert transcript.refresh() == "grown"
    assert [(note.reason, note.offset) for note in transcript.diagnostics] == [("bom", 0)]
    assert entries(transcript)[0]["offset"] == 0
    assert transcript.page().turns[0].offset == 0


def test_tail_bytes_are_not_searched_twice(backend, desk) -> None:
    """Refreshing a long tail costs what was appended, not the tail."""
    import time

    transcript = desk.open(user())
    append(desk.path, b"x" * (32 << 20))
    start = time.perf_counter()
    transcript.refresh()
    first = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(20):
        append(desk.path, b"x")
        transcript.refresh()
    twenty = time.perf_counter() - start
    assert transcript.summary.tail_bytes == (32 << 20) + 20
    assert twenty < 10 * first + 0.1
