"""`max_page_bytes`: how many units fit, and where one unit that is too large is cut."""

from __future__ import annotations

import json

import pytest

from oracle import dumps
from support import append, assistant, padded, page, reasoning, tool, user

ROW = 200


def rows(*lines: bytes) -> bytes:
    """Lines of 200 bytes each, so that sizes are easy to say."""
    return b"".join(padded(line, ROW) for line in lines)


def starts(transcript, **arguments) -> list[int]:
    return [turn["offset"] // ROW for turn in page(transcript, **arguments)["turns"]]


@pytest.mark.parametrize("limit", range(1, 6))
@pytest.mark.parametrize("size", [1, 199, 200, 399, 400, 599, 600, 799, 800, 1000, 10_000])
def test_units_that_fit(backend, desk, limit: int, size: int) -> None:
    data = rows(user("1"), user("2"), assistant(), user("3"), user("4"))
    transcript = desk.open(data, max_page_bytes=size)
    oracle = desk.oracle(max_page_bytes=size)
    assert transcript.page_json(limit=limit) == dumps(oracle.page(limit=limit))
    for before in range(0, len(data) + 1, ROW):
        cursor = f"{oracle.history_id}:{before}"
        assert transcript.page_json(cursor, limit) == dumps(oracle.page(before, limit))


def test_the_sum_may_reach_the_limit(backend, desk) -> None:
    data = rows(user(), user(), user())
    assert starts(desk.open(data, max_page_bytes=600)) == [0, 1, 2]
    assert starts(desk.open(None, max_page_bytes=599)) == [1, 2]
    assert starts(desk.open(None, max_page_bytes=400)) == [1, 2]
    assert starts(desk.open(None, max_page_bytes=399)) == [2]
    assert starts(desk.open(None, max_page_bytes=1)) == [2]


def test_a_small_unit_behind_a_large_one_ends_the_page(backend, desk) -> None:
    """Units are taken in order; a page never leaves one out."""
    data = rows(user("1"), *[tool()] * 5, user("2"), user("3"))
    transcript = desk.open(data, max_page_bytes=600)
    assert starts(transcript) == [6, 7]
    before = page(transcript)["older"]
    assert starts(transcript, before=before) == [3]  # the large unit, cut
    assert page(transcript, before=before)["starts_mid_turn"] is True


@pytest.mark.parametrize(
    ("size", "first"),
    [(1, 9), (199, 9), (200, 9), (399, 9), (400, 8), (600, 7), (1999, 1), (2000, 0)],
)
def test_one_unit_is_cut_at_the_earliest_row_that_fits(
    backend, desk, size: int, first: int
) -> None:
    transcript = desk.open(rows(user(), *[tool()] * 9), max_page_bytes=size)
    found = page(transcript)
    assert found["cursor"] == f"{found['history_id']}:{first * ROW}"
    assert found["starts_mid_turn"] is (first > 1)
    assert found["ends_mid_turn"] is False
    assert transcript.page_json() == dumps(desk.oracle(max_page_bytes=size).page())


def test_the_last_row_is_shown_however_large(backend, desk) -> None:
    data = rows(user()) + tool("x" * 5000)
    transcript = desk.open(data, max_page_bytes=100)
    found = page(transcript)
    assert found["turns"][0]["offset"] == ROW
    assert found["turns"][0]["parts"][0]["output_size"] == 5000
    before = page(transcript, before=found["older"])
    assert before["turns"][0]["role"] == "user"
    assert before["older"] is None


def test_the_leading_unit_is_cut_too(backend, desk) -> None:
    data = rows(*[tool()] * 6, user())
    transcript = desk.open(data, max_page_bytes=400)
    newest = page(transcript)
    assert newest["cursor"].endswith(f":{6 * ROW}")
    older = page(transcript, before=newest["older"])
    assert older["cursor"].endswith(f":{4 * ROW}")
    assert (older["starts_mid_turn"], older["ends_mid_turn"]) == (True, False)
    oldest = page(transcript, before=older["older"])
    assert (oldest["starts_mid_turn"], oldest["ends_mid_turn"]) == (True, True)


def test_skipped_lines_count(backend, desk) -> None:
    """In lenient mode a unit's size includes the lines that were skipped."""
    data = rows(user(), tool(), b"?\n", b"?\n", tool())
    transcript = desk.open(data, "lenient", max_page_bytes=600)
    oracle = desk.oracle(skipped={2 * ROW, 3 * ROW}, diagnostics_total=2, max_page_bytes=600)
    assert transcript.page_json() == dumps(oracle.page())
    assert page(transcript)["cursor"].endswith(f":{4 * ROW}")
    transcript = desk.open(None, "lenient", max_page_bytes=800)
    assert page(transcript)["cursor"].endswith(f":{ROW}")


def split(stem: str, count: int, *, last: bool = True) -> list[bytes]:
    names = [f"{stem}-split-{number}" for number in range(count - last)] + [stem] * last
    return [assistant(f"{stem}{number}", name, stem) for number, name in enumerate(names)]


SHAPES = {
    "chain in the middle": [user(), tool(), *split("m", 4), tool(), tool()],
    "chain at the start": [user(), *split("m", 5), tool()],
    "chain at the end": [user(), tool(), tool(), *split("m", 4)],
    "only a chain": [user(), *split("m", 6)],
    "two chains": [user(), *split("m", 3), *split("n", 3), tool()],
    "chains side by side": [user(), *split("m", 4, last=False), *split("n", 4)],
    "leading chain": [*split("m", 5), reasoning()],
    "chain without an end": [user(), *split("m", 5, last=False), tool()],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("size", [1, 200, 300, 400, 500, 600, 800, 1000, 1200, 1400, 1600])
def test_a_page_does_not_start_inside_joined_rows(backend, desk, name: str, size: int) -> None:
    data = rows(*SHAPES[name])
    transcript = desk.open(data, max_page_bytes=size)
    oracle = desk.oracle(max_page_bytes=size)
    assert transcript.page_json() == dumps(oracle.page())
    for before in range(0, len(data) + 1, ROW):
        cursor = f"{oracle.history_id}:{before}"
        assert transcript.page_json(cursor) == dumps(oracle.page(before))


def test_cut_moves_on_after_joined_rows_that_would_fit(backend, desk) -> None:
    data = rows(user(), *split("m", 3), tool(), tool())
    # From row 2, inside the chain of rows 1 to 3, the rest would fit into 800 bytes.
    assert starts(desk.open(data, max_page_bytes=800)) == [4]
    assert starts(desk.open(None, max_page_bytes=1000)) == [1]


def test_cut_stays_inside_joined_rows_that_would_not_fit(backend, desk) -> None:
    data = rows(user(), *split("m", 6), tool())
    assert starts(desk.open(data, max_page_bytes=800)) == [4]


def test_cut_goes_back_where_nothing_comes_after(backend, desk) -> None:
    """Joined rows that would fit a page by themselves, at the unit's end, are shown whole."""
    data = rows(user(), tool(), *split("m", 4)) + b" " * 50
    transcript = desk.open(data + b"\n", "lenient", max_page_bytes=800)
    assert transcript.diagnostics_total == 1  # a blank line of 51 bytes is part of the unit
    assert starts(transcript) == [2]


@pytest.mark.parametrize("size", [1, 150, 400, 650, 900, 5000])
def test_pages_of_any_size_hold_each_row_once(backend, desk, size: int) -> None:
    lines = [*SHAPES["two chains"], user(), *SHAPES["chain at the end"], user(), user()]
    data = rows(*lines)
    transcript = desk.open(data, max_page_bytes=size)
    refs, before = [], None
    while True:
        found = page(transcript, before=before, limit=2)
        shown = desk.oracle(max_page_bytes=size).page(
            None if before is None else int(before.rsplit(":", 1)[1]), 2
        )
        assert found == shown
        refs.append([turn["offset"] for turn in found["turns"]])
        before = found["older"]
        if before is None:
            break
    flat = [offset for page_ in reversed(refs) for offset in page_]
    assert flat == sorted(set(flat))


def test_a_page_is_bounded_in_bytes_of_the_file(backend, desk) -> None:
    data = rows(*[user(), *[tool()] * 40] * 20)
    for size in (1000, 5000, 20_000):
        transcript = desk.open(data, max_page_bytes=size)
        before, end = None, len(data)
        while True:
            found = page(transcript, before=before)
            start = int(found["cursor"].rsplit(":", 1)[1])
            assert end - start <= max(size, ROW)
            end, before = start, found["older"]
            if before is None:
                break
        assert end == 0


def test_growth_changes_no_older_page(backend, desk) -> None:
    """A cut page that ends at a cursor is the same after the unit went on."""
    data = rows(user(), *[tool()] * 9)
    transcript = desk.open(data, max_page_bytes=600)
    older = page(transcript)["older"]
    before = transcript.page_json(older)
    append(desk.path, rows(*[tool()] * 5, user(), assistant()))
    transcript.refresh()
    assert transcript.page_json(older) == before
    assert json.loads(transcript.page_json())["cursor"] != older
