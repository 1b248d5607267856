"""Turns, parts, units and the page's members, against the oracle or what was written by hand."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os

import pytest

from lettafast import CursorError, Page, Part, Turn, open_transcript
from oracle import dumps
from support import (
    RECORDINGS,
    TIME,
    assistant,
    error,
    padded,
    page,
    reasoning,
    row,
    tool,
    user,
)

LATER = "2026-09-01T00:00:01.000Z"


def test_the_page_of_the_format_page(backend, desk) -> None:
    """The example: every member, in its order, without white space or a final LF."""
    transcript = desk.open(user())
    history = desk.oracle().history_id
    assert (
        transcript.page_json()
        == (
            f'{{"v":1,"source":"letta-transcript","state":"ok","history_id":"{history}",'
            f'"cursor":"{history}:0","older":null,"starts_mid_turn":false,"ends_mid_turn":false,'
            f'"replaced_surrogates":0,"tail_bytes":0,"diagnostics_total":0,"turns":[{{"role":"user",'
            f'"ts":"{TIME}","end_ts":"{TIME}","offset":0,"parts":[{{"kind":"text","text":"hi"}}]}}]}}'
        ).encode()
    )


def test_every_part_to_the_byte(backend, desk) -> None:
    data = (
        user("a")
        + assistant("b")
        + reasoning("c")
        + error("d")
        + tool("f", "i", name="n", arguments="e", captured_at=LATER)
    )
    transcript = desk.open(data)
    history = desk.oracle().history_id
    turns = transcript.page_json().split(b'"turns":', 1)[1]
    at = len(user("a"))
    last = data.rindex(b"\n", 0, -1) + 1
    assert (
        turns
        == (
            f'[{{"role":"user","ts":"{TIME}","end_ts":"{TIME}","offset":0,'
            f'"parts":[{{"kind":"text","text":"a"}}]}},'
            f'{{"role":"assistant","ts":"{TIME}","end_ts":"{LATER}","offset":{at},"parts":['
            f'{{"kind":"text","text":"b"}},{{"kind":"thinking","text":"c"}},'
            f'{{"kind":"error","text":"d"}},'
            f'{{"kind":"tool","ref":"at:{history}:{last}","id":"i","name":"n","state":"ok",'
            f'"input":"e","input_size":1,"output":"f","output_size":1}}]}}]}}'
        ).encode()
    )


def test_the_empty_page(backend, desk) -> None:
    expected = (
        b'{"v":1,"source":"letta-transcript","state":"empty","history_id":null,"cursor":null,'
        b'"older":null,"starts_mid_turn":false,"ends_mid_turn":false,"replaced_surrogates":0,'
        b'"tail_bytes":%d,"diagnostics_total":0,"turns":[]}'
    )
    assert desk.open(b"").page_json() == expected % 0
    assert desk.open(user()[:-1]).page_json() == expected % (len(user()) - 1)


def test_history_id(backend, desk) -> None:
    """SHA-256 over device, inode and the first line, at most 4,096 bytes of it."""
    for data in (user() + assistant(), user("x" * 5000) + assistant(), user("x" * (4096 - 70))):
        transcript = desk.open(data)
        status = os.stat(desk.path)
        hashed = b"%d:%d:" % (status.st_dev, status.st_ino) + data[: data.index(b"\n") + 1][:4096]
        expected = "v1-" + hashlib.sha256(hashed).hexdigest()[:16]
        assert transcript.page().history_id == expected
        transcript.close()


def test_page_is_made_of_the_same_bytes(backend, desk) -> None:
    data = user("é\n") + reasoning() + tool(None, None, ok=None) + assistant() + user() + tool()
    transcript = desk.open(data + b"tail")
    found = transcript.page()
    assert isinstance(found, Page)
    assert isinstance(found.turns, tuple)
    assert all(isinstance(turn, Turn) and isinstance(turn.parts, tuple) for turn in found.turns)
    assert all(isinstance(part, Part) for turn in found.turns for part in turn.parts)
    # A part has only the members of its kind in JSON; in records the others are None.
    said = json.loads(transcript.page_json())
    nothing = dict.fromkeys(field.name for field in dataclasses.fields(Part))
    for turn in said["turns"]:
        turn["parts"] = tuple({**nothing, **part} for part in turn["parts"])
    said["turns"] = tuple(said["turns"])
    assert dataclasses.asdict(found) == said
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.turns[0].role = "assistant"


@pytest.mark.parametrize(
    ("kinds", "turns"),
    [
        ("u", "u"),
        ("a", "A"),
        ("uu", "uu"),
        ("uau", "uAu"),
        ("au", "Au"),
        ("ruta", "AuA"),
        ("utttt", "uA"),
        ("uratrate", "uA"),
        ("eue", "AuA"),
        ("uuaauu", "uuAuu"),
        ("tra", "A"),
    ],
)
def test_turns(backend, desk, kinds: str, turns: str) -> None:
    """A user entry is a turn of its own, and so are all entries between two of them."""
    made = {"u": user, "a": assistant, "r": reasoning, "e": error, "t": tool}
    data = b"".join(made[kind]() for kind in kinds)
    transcript = desk.open(data)
    found = page(transcript)["turns"]
    assert [turn["role"] for turn in found] == [
        "user" if turn == "u" else "assistant" for turn in turns
    ]
    assert sum(len(turn["parts"]) for turn in found) == len(kinds)
    assert transcript.page_json() == dumps(desk.oracle().page())
    assert transcript.summary.turns == len(turns)
    assert dataclasses.asdict(transcript.summary) == desk.oracle().summary()


def test_ts_and_end_ts(backend, desk) -> None:
    """Of the first and the last entry, whatever their order in time."""
    data = (
        assistant("a", captured_at=LATER)
        + tool()
        + reasoning(captured_at="1999-01-01T00:00:00.000Z")
    )
    (turn,) = page(desk.open(data))["turns"]
    assert (turn["ts"], turn["end_ts"]) == (LATER, "1999-01-01T00:00:00.000Z")
    data = user(captured_at=LATER) + assistant()
    one, two = page(desk.open(data))["turns"]
    assert (one["ts"], one["end_ts"], two["ts"]) == (LATER, LATER, TIME)


def test_an_escaped_time_is_shown_unescaped(backend, desk) -> None:
    line = user().replace(b"2026-09-01T", rb"2026\u002d09-01\u0054")
    (turn,) = page(desk.open(line))["turns"]
    assert turn["ts"] == TIME


@pytest.mark.parametrize(
    ("ok", "output", "state"),
    [
        (True, "x", "ok"),
        (True, None, "ok"),
        (True, "", "ok"),
        (False, "x", "failed"),
        (False, None, "failed"),
        (False, "", "failed"),
        (None, None, "unfinished"),
        (None, "x", "unknown"),
        (None, "", "unknown"),
    ],
)
def test_tool_state(backend, desk, ok: bool | None, output: str | None, state: str) -> None:
    transcript = desk.open(tool(output, ok=ok))
    (part,) = page(transcript)["turns"][0]["parts"]
    assert part["state"] == state
    assert part["output"] == output
    assert part["output_size"] == len(output or "")


def test_absent_members_of_a_tool_are_null(backend, desk) -> None:
    transcript = desk.open(row("tool_call"))
    (part,) = page(transcript)["turns"][0]["parts"]
    history = desk.oracle().history_id
    assert list(part.items()) == [
        ("kind", "tool"),
        ("ref", f"at:{history}:0"),
        ("id", None),
        ("name", None),
        ("state", "unfinished"),
        ("input", None),
        ("input_size", 0),
        ("output", None),
        ("output_size", 0),
    ]


def test_nothing_is_invisible(backend, desk) -> None:
    """Empty texts are empty parts, and a turn of tool calls alone is a turn."""
    data = user("") + tool("") + tool(None) + user("x") + assistant("") + reasoning("")
    found = page(desk.open(data))["turns"]
    assert [len(turn["parts"]) for turn in found] == [1, 2, 1, 2]
    assert found[0]["parts"] == [{"kind": "text", "text": ""}]
    assert found[3]["parts"][1] == {"kind": "thinking", "text": ""}


def test_no_summary_line_is_made(backend, desk) -> None:
    arguments = '{"command":"ls","description":"list"}'
    (part,) = page(desk.open(tool(arguments=arguments)))["turns"][0]["parts"]
    assert part["input"] == arguments
    assert set(part) == {
        "kind",
        "ref",
        "id",
        "name",
        "state",
        "input",
        "input_size",
        "output",
        "output_size",
    }


def test_ids_that_are_no_refs_are_shown(backend, desk) -> None:
    """Whatever the id, the row is shown, with a ref that works."""
    ids = ["a/../b", "x" * 129, "é", "", "at:x", "<img src=x onerror=alert(1)>", "\ud83d", "\0"]
    data = b"".join(tool(f"out {number}", one) for number, one in enumerate(ids))
    transcript = desk.open(data)
    parts = page(transcript)["turns"][0]["parts"]
    assert [part["id"] for part in parts] == [one.replace("\ud83d", "\ufffd") for one in ids]
    for number, part in enumerate(parts):
        assert transcript.tool_output(part["ref"]).text == f"out {number}"


CONVERSATION = b"".join(
    [
        reasoning("lead"),
        tool(),
        *(
            user(f"question {number}") + tool() * (number % 4) + assistant(f"answer {number}")
            for number in range(9)
        ),
        user("unanswered"),
        user("last"),
        reasoning(),
    ]
)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 11, 12, 13, 50, 1000])
def test_pages_back_to_the_start(backend, desk, limit: int) -> None:
    transcript = desk.open(CONVERSATION)
    oracle = desk.oracle()
    before = None
    for _ in range(40):
        found = transcript.page_json(before, limit)
        offset = None if before is None else int(before.rsplit(":", 1)[1])
        assert found == dumps(oracle.page(offset, limit))
        before = json.loads(found)["older"]
        if before is None:
            break
    else:
        pytest.fail("never came to the start")
    assert json.loads(found)["turns"][0]["offset"] == 0


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_a_page_before_every_line(backend, desk, limit: int) -> None:
    transcript = desk.open(CONVERSATION + b"tail")
    oracle = desk.oracle()
    offsets = [0, *(at.offset for at in oracle.rows), oracle.end]
    for offset in offsets:
        cursor = f"{oracle.history_id}:{offset}"
        assert transcript.page_json(cursor, limit) == dumps(oracle.page(offset, limit))


def test_limit_counts_units_and_the_leading_one(backend, desk) -> None:
    transcript = desk.open(assistant("lead") + user("1") + assistant() + user("2") + user("3"))
    texts = [
        [turn["parts"][0]["text"] for turn in page(transcript, limit=limit)["turns"]]
        for limit in (1, 2, 3, 4, 5)
    ]
    assert texts == [
        ["3"],
        ["2", "3"],
        ["1", "yo", "2", "3"],
        ["lead", "1", "yo", "2", "3"],
        ["lead", "1", "yo", "2", "3"],
    ]


def test_the_default_limit_is_fifty(backend, desk) -> None:
    transcript = desk.open(user() * 60)
    assert len(transcript.page().turns) == 50
    assert len(transcript.page(limit=1000).turns) == 60
    assert len(transcript.page(transcript.page().cursor).turns) == 10


@pytest.mark.parametrize("limit", [0, -1, 1001, 1 << 40, -(1 << 70), 1 << 70])
def test_limits_out_of_bounds(backend, desk, limit: int) -> None:
    transcript = desk.open(user())
    for call in (transcript.page, transcript.page_json):
        with pytest.raises(CursorError) as caught:
            call(limit=limit)
        assert caught.value.reason == "limit"


def test_a_thousand_units(backend, desk) -> None:
    transcript = desk.open(user() * 1001)
    assert len(transcript.page(limit=1000).turns) == 1000
    assert len(transcript.page(limit=999).turns) == 999


def test_mid_turn(backend, desk) -> None:
    """`starts_mid_turn` and `ends_mid_turn` where a page was cut inside a turn."""
    data = user() + tool() + tool() + assistant() + user()
    transcript = desk.open(data)
    oracle = desk.oracle()
    flags = {}
    for at in oracle.rows:
        found = page(transcript, before=f"{oracle.history_id}:{at.offset}")
        flags[at.offset] = found["starts_mid_turn"], found["ends_mid_turn"]
    offsets = list(flags)
    assert flags[offsets[0]] == (False, False)  # no entry
    assert flags[offsets[1]] == (False, False)  # ends with a user entry
    assert flags[offsets[2]] == (False, True)
    assert flags[offsets[3]] == (False, True)
    assert flags[offsets[4]] == (False, False)  # a user entry follows


def test_tail_and_diagnostics_only_on_the_newest_page(backend, desk) -> None:
    transcript = desk.open(user() + b"?\n" + user() + b"tail", "lenient")
    newest = page(transcript, limit=1)
    assert (newest["tail_bytes"], newest["diagnostics_total"]) == (4, 1)
    older = page(transcript, before=newest["older"])
    assert (older["tail_bytes"], older["diagnostics_total"]) == (None, None)
    end = page(transcript, before=f"{newest['history_id']}:{len(user() * 2) + 2}")
    assert (end["tail_bytes"], end["diagnostics_total"]) == (None, None)
    assert end["turns"]


def test_replaced_surrogates_are_of_the_whole_strings(backend, desk) -> None:
    """Counted where the preview does not show them, too, so pages add up to the summary."""
    data = (
        user("\ud83d")
        + tool("x" * 4000 + "\udc00" * 7, arguments="\ud800", line_id="\udfff")
        + user("ok")
        + assistant("\udead\ud83d", message="\ud999")
    )
    transcript = desk.open(data)
    assert page(transcript)["replaced_surrogates"] == 13
    newest = page(transcript, limit=1)
    older = page(transcript, before=newest["older"])
    assert (newest["replaced_surrogates"], older["replaced_surrogates"]) == (3, 10)
    assert transcript.summary.replaced_surrogates == 13
    assert b"\xef\xbf\xbd" in transcript.page_json()


@pytest.mark.parametrize(
    "path", RECORDINGS, ids=lambda path: f"{path.parts[-3][12:16]}-{path.parent.name}"
)
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_recorded_pages(backend, path, limit: int) -> None:
    from oracle import Oracle

    status = os.stat(path)
    oracle = Oracle(path.read_bytes(), status.st_dev, status.st_ino)
    with open_transcript(path) as transcript:
        before = None
        while True:
            found = transcript.page_json(before, limit)
            offset = None if before is None else int(before.rsplit(":", 1)[1])
            assert found == dumps(oracle.page(offset, limit))
            before = json.loads(found)["older"]
            if before is None:
                break


def test_a_unit_is_padded_by_its_lines(backend, desk) -> None:
    """Bytes of a unit are those of its lines, white space included."""
    data = padded(user("one"), 500) + padded(user("two"), 500)
    transcript = desk.open(data, max_page_bytes=999)
    assert len(page(transcript)["turns"]) == 1
    transcript = desk.open(None, max_page_bytes=1000)
    assert len(page(transcript)["turns"]) == 2
