"""Every pair of `fixtures/cases`: the same answer in one go and line by line as the file grows."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import make_cases
from lettafast import RefusedReason, TranscriptRefused
from support import CASES, ROOT, Desk, append, diagnostics, entries, fast_folder

NAMES = sorted(path.stem for path in CASES.glob("*.jsonl"))
FAULT = ("reason", "line", "line_offset", "offset", "field", "excerpt")


@pytest.fixture
def desk() -> Iterator[Desk]:
    """In memory, because these are thousands of small files."""
    with fast_folder() as folder:
        desk = Desk(pathlib.Path(folder))
        yield desk
        desk.close()


@cache
def case(name: str) -> tuple[bytes, dict[str, Any]]:
    data = (CASES / f"{name}.jsonl").read_bytes()
    return data, json.loads((CASES / f"{name}.json").read_text("ascii"))


def fault(error: TranscriptRefused) -> dict[str, Any]:
    return {name: getattr(error, name) for name in FAULT}


def test_files_are_what_the_table_makes() -> None:
    made = dict(make_cases.pairs())
    there = {path.name: path.read_bytes() for path in CASES.glob("*.json*")}
    assert there == made


def test_every_reason_has_cases() -> None:
    """The table of `docs/FORMAT.md`, `RefusedReason` and these files have the same reasons."""
    table = (ROOT / "docs" / "FORMAT.md").read_text("utf-8").split("\n| reason | ", 1)[1]
    rows = re.findall(r"^\| `(\w+)` \|", table.split("\n\n", 1)[0], re.MULTILINE)
    assert rows == [str(reason) for reason in RefusedReason]
    strict = [case(name)[1]["refused"] for name in NAMES]
    lenient = [note for name in NAMES for note in case(name)[1]["diagnostics"]]
    assert {refused["reason"] for refused in strict if refused} == set(rows)
    assert {note["reason"] for note in lenient} == set(rows)
    for reason in rows:
        assert sum(bool(refused) and refused["reason"] == reason for refused in strict) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_strict(backend, desk, name: str) -> None:
    data, expected = case(name)
    limit = expected["max_line_bytes"]
    if expected["refused"] is not None:
        with pytest.raises(TranscriptRefused) as caught:
            desk.open(data, max_line_bytes=limit)
        assert fault(caught.value) == expected["refused"]
        assert isinstance(caught.value.reason, RefusedReason)
        assert caught.value.name == str(desk.path)
        return
    transcript = desk.open(data, max_line_bytes=limit)
    assert entries(transcript) == expected["entries"]
    assert transcript.diagnostics == ()
    assert transcript.diagnostics_total == 0
    check_summary(transcript, expected, len(data))


@pytest.mark.parametrize("name", NAMES)
def test_lenient(backend, desk, name: str) -> None:
    data, expected = case(name)
    transcript = desk.open(data, "lenient", max_line_bytes=expected["max_line_bytes"])
    assert diagnostics(transcript) == expected["diagnostics"]
    assert transcript.diagnostics_total == len(expected["diagnostics"])
    assert entries(transcript) == expected["entries"]
    check_summary(transcript, expected, len(data))


def check_summary(transcript, expected: dict[str, Any], size: int) -> None:
    summary = transcript.summary
    found = expected["entries"]
    assert summary.entries == len(found)
    assert summary.user_entries == sum(entry["kind"] == "user" for entry in found)
    assert summary.kinds == {
        kind: sum(entry["kind"] == kind for entry in found)
        for kind in ("user", "assistant", "reasoning", "error", "tool_call")
    }
    assert summary.bytes == size
    assert summary.tail_bytes == expected["tail_bytes"]
    assert summary.replaced_surrogates == sum(entry["replaced_surrogates"] for entry in found)


def pieces(data: bytes) -> list[int]:
    """Where the file is cut: it was empty, a third or two thirds there at first."""
    return [0, len(data) // 3, 2 * len(data) // 3]


@pytest.mark.parametrize("name", NAMES)
def test_strict_grown(backend, desk, name: str) -> None:
    """The same fault at the same place where only a part of the file was there at first."""
    data, expected = case(name)
    for cut in pieces(data):
        refused = None
        try:
            transcript = desk.open(data[:cut], max_line_bytes=expected["max_line_bytes"])
            append(desk.path, data[cut:])
            transcript.refresh()
        except TranscriptRefused as error:
            refused = fault(error)
        if refused is not None and refused["reason"] == "bom" and cut:
            refused["excerpt"] = expected["refused"]["excerpt"]  # it shows what was there by then
        assert refused == expected["refused"]
        if refused is None:
            assert entries(transcript) == expected["entries"]
            assert transcript.summary.tail_bytes == expected["tail_bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_lenient_grown(backend, desk, name: str) -> None:
    data, expected = case(name)
    for cut in pieces(data):
        transcript = desk.open(data[:cut], "lenient", max_line_bytes=expected["max_line_bytes"])
        append(desk.path, data[cut:])
        before = transcript.summary.entries
        grown = transcript.refresh()
        assert grown == ("grown" if len(expected["entries"]) > before else "unchanged")
        assert diagnostics(transcript) == expected["diagnostics"]
        assert entries(transcript) == expected["entries"]
        assert transcript.summary.tail_bytes == expected["tail_bytes"]
