"""Recordings of the real Letta Code read as Python's `json` reads them."""

from __future__ import annotations

import dataclasses
import json
import os
import re

import pytest

from lettafast import Store, open_transcript
from oracle import Oracle, dumps
from support import RECORDINGS, entries, row

NAMES = {
    "kind": "kind",
    "captured_at": "captured_at",
    "text": "text",
    "name": "name",
    "args_text": "argsText",
    "result_text": "resultText",
    "result_ok": "resultOk",
    "source_line_id": "source_line_id",
    "source_message_id": "source_message_id",
}


def recorded(function):
    """The test for each recording."""
    ids = [f"{path.parts[-3][12:16]}-{path.parts[-2]}" for path in RECORDINGS]
    return pytest.mark.parametrize("path", RECORDINGS, ids=ids)(function)


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) == 8
    assert sum(path.read_bytes().count(b"\n") for path in RECORDINGS) == 119


@recorded
def test_entries_are_what_json_says(backend, path) -> None:
    expected, offset = [], 0
    for line in path.read_bytes().splitlines(keepends=True):
        members = json.loads(line)
        said = {ours: members.pop(theirs, None) for ours, theirs in NAMES.items()}
        assert members == {}
        lone = 0
        for name, value in said.items():
            if isinstance(value, str):
                lone += len(re.findall("[\ud800-\udfff]", value))
                said[name] = re.sub("[\ud800-\udfff]", "\ufffd", value)
        expected.append({"offset": offset, **said, "replaced_surrogates": lone})
        offset += len(line)
    with open_transcript(path) as transcript:
        assert entries(transcript) == expected
        assert transcript.summary.bytes == offset
        assert transcript.summary.tail_bytes == 0


@recorded
def test_lenient_says_the_same(backend, path) -> None:
    with open_transcript(path) as strict, open_transcript(path, "lenient") as lenient:
        assert entries(lenient) == entries(strict)
        assert lenient.page_json() == strict.page_json()
        assert lenient.summary == strict.summary
        assert lenient.diagnostics == ()


@recorded
def test_pages_are_the_oracles(backend, path) -> None:
    status = os.stat(path)
    oracle = Oracle(path.read_bytes(), status.st_dev, status.st_ino)
    with open_transcript(path) as transcript:
        assert dataclasses.asdict(transcript.summary) == oracle.summary()
        for limit in (1, 3, 50):
            before = None
            while True:
                expected = oracle.page(before, limit)
                cursor = None if before is None else f"{oracle.history_id}:{before}"
                assert transcript.page_json(cursor, limit) == dumps(expected)
                if expected["older"] is None:
                    break
                before = int(expected["older"].rsplit(":", 1)[1])


@recorded
def test_every_text_in_ranges(backend, path) -> None:
    status = os.stat(path)
    oracle = Oracle(path.read_bytes(), status.st_dev, status.st_ino)
    with open_transcript(path) as transcript:
        for at in oracle.rows:
            ref = f"at:{oracle.history_id}:{at.offset}"
            for part in ("input", "output") if at.kind == "tool_call" else ("text",):
                start = 0
                while True:
                    found = dataclasses.asdict(transcript.content(ref, part, start, 10_007))
                    assert found == oracle.content(at, part, start, 10_007)
                    start = found["end"]
                    if start == found["size"]:
                        break


def test_the_recordings_are_a_store(backend) -> None:
    root = RECORDINGS[0].parents[2]
    refs = list(Store(root).conversations())
    assert [(root / ref.agent / ref.conversation) for ref in refs] == [
        path.parent for path in RECORDINGS
    ]
    assert {ref.state for ref in refs} == {"present"}
    assert [ref.size for ref in refs] == [path.stat().st_size for path in RECORDINGS]
    for ref in refs:
        with Store(root).transcript(ref.agent, ref.conversation) as transcript:
            assert transcript.summary.entries


def test_the_recordings_hold_what_the_readme_says(backend) -> None:
    """Kinds, lone surrogates, raw separators and long rows are there to be read."""
    data = b"".join(path.read_bytes() for path in RECORDINGS)
    for wanted in ("\u2028", "\u2029", "\u0085", "\ufeff"):
        assert wanted.encode() in data
    assert rb"\ud83d" in data
    lone = 0
    kinds: dict[str, int] = {}
    for path in RECORDINGS:
        with open_transcript(path) as transcript:
            lone += transcript.summary.replaced_surrogates
            for kind, count in transcript.summary.kinds.items():
                kinds[kind] = kinds.get(kind, 0) + count
    assert lone == 6
    assert kinds == {"user": 39, "assistant": 52, "reasoning": 10, "error": 0, "tool_call": 18}


def test_the_tests_write_rows_as_letta_code_does() -> None:
    """`support.row` gives the recorded bytes, so what it makes is of the same form."""
    for path in RECORDINGS:
        for line in path.read_bytes().splitlines(keepends=True):
            members = json.loads(line)
            assert row(members.pop("kind"), **members) == line
