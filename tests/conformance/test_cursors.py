"""Cursors: their form, their history, and which offsets are places."""

from __future__ import annotations

import pytest

from lettafast import CursorError, HistoryChanged
from support import assistant, page, tool, user

DATA = user() + tool() + assistant() + user("two")


def refusal(transcript, cursor: str) -> str:
    with pytest.raises((CursorError, HistoryChanged)) as caught:
        transcript.page_json(cursor)
    return str(caught.value.reason)


@pytest.mark.parametrize(
    "form",
    [
        "",
        " ",
        "x",
        "0",
        ":",
        ":0",
        "{id}",
        "{id}:",
        "{id}:x",
        "{id}:-1",
        "{id}:+1",
        "{id}: 0",
        "{id}:0 ",
        " {id}:0",
        "{id}:0\n",
        "{id}:00",
        "{id}:01",
        "{id}:0x0",
        "{id}:1_0",
        "{id}:1e1",
        "{id}:1.0",
        "{id}:\u0660",
        "{id}:\uff10",
        "{id}:0:0",
        "{id}::0",
        "at:{id}:0",
        "{id}.0:0",
        "{id}.01:0",
        "{id}.:0",
        "{id}.-1:0",
        "{id}.1.1:0",
        "{id}.x:0",
        "v1-:0",
        "v1-0123456789abcde:0",
        "v1-0123456789abcdef0:0",
        "v1-0123456789ABCDEF:0",
        "v1-0123456789abcdeg:0",
        "v2-0123456789abcdef:0",
        "V1-0123456789abcdef:0",
        "1-0123456789abcdef:0",
        "\0",
        "{id}:0\0",
        "\ud83d",
        "x" * 100_000,
    ],
)
def test_form(backend, desk, form: str) -> None:
    transcript = desk.open(DATA)
    cursor = form.replace("{id}", desk.oracle().history_id)
    assert refusal(transcript, cursor) == "form"


@pytest.mark.parametrize("cursor", ["v1-0123456789abcdef:0", "v1-0123456789abcdef.1:99999999"])
def test_other_history(backend, desk, cursor: str) -> None:
    assert refusal(desk.open(DATA), cursor) == "other_history"


@pytest.mark.parametrize("number", ["1", "2", "10", "9" * 40])
def test_a_number_that_was_not_reached(backend, desk, number: str) -> None:
    transcript = desk.open(DATA)
    assert refusal(transcript, f"{desk.oracle().history_id}.{number}:0") == "other_history"


def test_a_transcript_without_entries_has_no_history(backend, desk) -> None:
    transcript = desk.open(b"tail")
    assert refusal(transcript, "v1-0123456789abcdef:0") == "other_history"
    assert refusal(transcript, "x") == "form"


@pytest.mark.parametrize("beyond", ["{end+1}", "99999999", str(1 << 63), str(1 << 64), "9" * 5000])
def test_beyond_the_end(backend, desk, beyond: str) -> None:
    transcript = desk.open(DATA + b"a tail is beyond the end")
    offset = beyond.replace("{end+1}", str(len(DATA) + 1))
    assert refusal(transcript, f"{desk.oracle().history_id}:{offset}") == "beyond_end"


def test_every_offset(backend, desk) -> None:
    """0, the validated end and each byte after an LF are lines; nothing else is."""
    transcript = desk.open(DATA + b"tail")
    history = desk.oracle().history_id
    for offset in range(len(DATA) + 1):
        if offset in (0, len(DATA)) or DATA[offset - 1 : offset] == b"\n":
            found = page(transcript, before=f"{history}:{offset}")
            assert found["state"] == "ok"
        else:
            assert refusal(transcript, f"{history}:{offset}") == "not_a_line"


def test_before_the_first_byte(backend, desk) -> None:
    transcript = desk.open(DATA)
    history = desk.oracle().history_id
    found = page(transcript, before=f"{history}:0")
    assert found == {
        "v": 1,
        "source": "letta-transcript",
        "state": "ok",
        "history_id": history,
        "cursor": f"{history}:0",
        "older": None,
        "starts_mid_turn": False,
        "ends_mid_turn": False,
        "replaced_surrogates": 0,
        "tail_bytes": None,
        "diagnostics_total": None,
        "turns": [],
    }


def test_before_the_first_entry_but_after_skipped_lines(backend, desk) -> None:
    transcript = desk.open(b"?\n\n" + DATA, "lenient")
    history = page(transcript)["history_id"]
    for offset in (0, 2, 3):
        found = page(transcript, before=f"{history}:{offset}")
        assert (found["cursor"], found["older"]) == (f"{history}:{offset}", None)
        assert (found["state"], found["turns"]) == ("ok", [])
    assert page(transcript)["cursor"] == f"{history}:3"
    assert page(transcript)["older"] is None


def test_before_the_end_is_the_newest_page(backend, desk) -> None:
    transcript = desk.open(DATA)
    newest = page(transcript)
    end = page(transcript, before=f"{newest['history_id']}:{len(DATA)}")
    assert end == {**newest, "tail_bytes": None, "diagnostics_total": None}


def test_cursor_and_older(backend, desk) -> None:
    transcript = desk.open(DATA)
    history = desk.oracle().history_id
    newest = page(transcript, limit=1)
    last = len(DATA) - len(user("two"))
    assert (newest["cursor"], newest["older"]) == (f"{history}:{last}", f"{history}:{last}")
    oldest = page(transcript, before=newest["older"], limit=1)
    assert (oldest["cursor"], oldest["older"]) == (f"{history}:0", None)


def test_the_history_is_looked_at_before_the_place(backend, desk) -> None:
    transcript = desk.open(DATA)
    assert refusal(transcript, "v1-0123456789abcdef:1") == "other_history"


def test_entries_takes_offsets_of_rows(backend, desk) -> None:
    transcript = desk.open(DATA + b"tail")
    offsets = [at.offset for at in desk.oracle().rows]
    for offset in range(len(DATA) + 10):
        if offset in offsets:
            assert [entry.offset for entry in transcript.entries(offset)] == [
                other for other in offsets if other >= offset
            ]
        else:
            with pytest.raises(CursorError) as caught:
                transcript.entries(offset)
            assert caught.value.reason == "not_a_row"


@pytest.mark.parametrize("offset", [-1, -(1 << 63), 1 << 63, 1 << 64, 1 << 200])
def test_entries_from_numbers_that_are_no_offsets(backend, desk, offset: int) -> None:
    with pytest.raises(CursorError) as caught:
        desk.open(DATA).entries(offset)
    assert caught.value.reason == "not_a_row"


def test_entries_of_nothing(backend, desk) -> None:
    assert list(desk.open(b"").entries()) == []
    with pytest.raises(CursorError):
        desk.open(b"").entries(1)


def test_entries_are_read_up_to_what_was_validated_when_asked(backend, desk) -> None:
    transcript = desk.open(DATA)
    begun = transcript.entries()
    with desk.path.open("ab") as file:
        file.write(user())
    transcript.refresh()
    assert len(list(begun)) == 4
    assert len(list(transcript.entries())) == 5
