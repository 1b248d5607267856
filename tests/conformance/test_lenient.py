"""Lenient reading beyond the cases: counts, and pages over skipped lines."""

from __future__ import annotations

import pytest

from lettafast import CursorError, HistoryChanged
from oracle import dumps
from support import assistant, diagnostics, entries, page, row, tool, user

BAD = b'{"kind":"assis\n'


def test_counts_all_and_keeps_the_first_hundred(backend, desk) -> None:
    data = user() + BAD * 150 + assistant()
    transcript = desk.open(data, "lenient")
    assert transcript.diagnostics_total == 150
    kept = transcript.diagnostics
    assert isinstance(kept, tuple)
    assert [diagnostic.line for diagnostic in kept] == list(range(2, 102))
    assert transcript.summary.entries == 2
    assert page(transcript)["diagnostics_total"] == 150


@pytest.mark.parametrize("notes", [99, 100, 101])
def test_keeps_exactly_a_hundred(backend, desk, notes: int) -> None:
    transcript = desk.open(user() + BAD * notes, "lenient")
    assert (len(transcript.diagnostics), transcript.diagnostics_total) == (min(notes, 100), notes)


def test_several_notes_of_a_line_are_cut_at_a_hundred(backend, desk) -> None:
    line = row("user", text="hi", **{f"x{number}": number for number in range(130)})
    transcript = desk.open(line + BAD, "lenient")
    assert [diagnostic.field for diagnostic in transcript.diagnostics] == [
        f"x{number}" for number in range(100)
    ]
    assert transcript.diagnostics_total == 131
    assert transcript.summary.entries == 1


def test_diagnostics_go_on_as_the_file_grows(backend, desk) -> None:
    transcript = desk.open(user() + BAD, "lenient")
    with desk.path.open("ab") as file:
        file.write(BAD + assistant() + b"[]\n")
    assert transcript.refresh() == "grown"
    assert [(note["line"], note["reason"]) for note in diagnostics(transcript)] == [
        (2, "malformed_json"),
        (3, "malformed_json"),
        (5, "not_an_object"),
    ]
    with desk.path.open("ab") as file:
        file.write(BAD)
    assert transcript.refresh() == "unchanged"  # a line was judged, but no row was added
    assert transcript.diagnostics_total == 4
    assert transcript.summary.tail_bytes == 0


def test_nothing_good_is_empty(backend, desk) -> None:
    transcript = desk.open(BAD * 3 + b"\n", "lenient")
    found = page(transcript)
    assert (found["state"], found["history_id"], found["cursor"]) == ("empty", None, None)
    assert found["diagnostics_total"] == 4
    assert found["turns"] == []


def test_the_history_begins_with_the_first_line_good_or_bad(backend, desk) -> None:
    data = BAD + user() + assistant()
    transcript = desk.open(data, "lenient")
    oracle = desk.oracle(skipped={0}, diagnostics_total=1)
    assert transcript.page_json() == dumps(oracle.page())


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_pages_over_skipped_lines(backend, desk, limit: int) -> None:
    lines = [BAD, assistant("lead"), BAD, user("one"), BAD, tool(), BAD, BAD, user("two"), BAD]
    data = b"".join(lines)
    transcript = desk.open(data, "lenient")
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line)
    skipped = {start for start, line in zip(starts, lines, strict=True) if line == BAD}
    oracle = desk.oracle(skipped=skipped, diagnostics_total=len(skipped))
    assert entries(transcript) == oracle.entries()
    assert transcript.page_json(limit=limit) == dumps(oracle.page(limit=limit))
    # `before` may name a skipped line too: the page ends there.
    for before in [*starts, len(data)]:
        found = transcript.page_json(f"{oracle.history_id}:{before}", limit)
        assert found == dumps(oracle.page(before, limit))


def test_skipped_lines_count_for_the_size_of_a_unit(backend, desk) -> None:
    lines = [user("one"), assistant(), BAD * 10, user("two"), assistant()]
    data = b"".join(lines)
    size = len(data) - 1
    transcript = desk.open(data, "lenient", max_page_bytes=size)
    assert page(transcript)["turns"][0]["parts"][0]["text"] == "two"
    transcript = desk.open(None, "lenient", max_page_bytes=size + 1)
    assert page(transcript)["turns"][0]["parts"][0]["text"] == "one"


def test_an_offset_of_a_skipped_line_is_no_row(backend, desk) -> None:
    transcript = desk.open(user() + BAD + assistant(), "lenient")
    with pytest.raises(CursorError):
        transcript.entries(len(user()))
    assert [entry.kind for entry in transcript.entries(len(user() + BAD))] == ["assistant"]


def test_a_line_that_goes_bad_later_is_skipped(backend, desk) -> None:
    """Rows are read again by the same rules at every call."""
    middle = assistant("middle")
    transcript = desk.open(user() + middle + assistant("end"), "lenient")
    with desk.path.open("r+b") as file:
        file.seek(len(user()))
        file.write(b"?" * (len(middle) - 1))
    assert [entry.text for entry in transcript.entries()] == ["hi", "end"]


def test_a_unit_that_lost_its_first_row_is_another_history(backend, desk) -> None:
    transcript = desk.open(user() + assistant(), "lenient")
    with desk.path.open("r+b") as file:
        file.write(b"?" * (len(user()) - 1))
    with pytest.raises(HistoryChanged) as caught:
        transcript.page_json()
    assert caught.value.reason == "rewritten"


def test_a_line_of_many_notes_keeps_the_first_hundred(backend, desk) -> None:
    """Names that came before `kind` are noted late, but stand first."""
    names = b",".join(b'"u%d":1' % number for number in range(3000))
    data = b'{"argsText":"x",' + names + b"," + user()[1:]
    with desk.open(data, mode="lenient") as transcript:
        assert transcript.diagnostics_total == 3001
        fields = [note.field for note in transcript.diagnostics]
        assert fields == ["argsText", *(f"u{number}" for number in range(99))]
        assert transcript.summary.entries == 1


def test_a_leading_unit_that_lost_its_only_row_is_another_history(backend, desk) -> None:
    """In place, with no refresh between: the only row of the leading unit is none any more."""
    transcript = desk.open(assistant(), mode="lenient")
    with desk.path.open("r+b") as file:
        file.write(b"x")
    with pytest.raises(HistoryChanged) as caught:
        transcript.page()
    assert caught.value.reason == "rewritten"
