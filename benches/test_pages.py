"""The latencies of an open transcript: newest page, page after an append, one tool output."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

import lettafast
from lettafast import _backend

from .generate import Sample, Transcript
from .report import Report
from .rounds import Spread, interleave, many
from .targets import PROFILES

ROUNDS = 21
SHORT = 0.005
"""Seconds; for what takes longer, the rounds of the run are enough."""
SMALL_TURN = 4_096
SMALL_OUTPUT = 65_536


@pytest.mark.parametrize("profile", PROFILES)
def test_newest_page(profile: str, samples: Callable[[str], Sample], report: Report) -> None:
    sample = samples(profile)
    with lettafast.open_transcript(sample.path) as transcript:
        start = perf_counter()
        newest = transcript.page()
        seconds = perf_counter() - start
        assert newest.cursor is not None
        span = (sample.bytes - int(newest.cursor.rpartition(":")[2])) / 1024

        def check_json(data: bytes) -> None:
            assert json.loads(data)["cursor"] == newest.cursor

        def check_page(page: lettafast.Page) -> None:
            assert page == newest

        def check_code(code: int) -> None:
            assert code == 0

        jobs = [
            many("json", transcript.page_json, check_json),
            many("objects", transcript.page, check_page),
        ]
        if lettafast.backend == "native":
            jobs.append(many("core", _core_call(transcript), check_code))
        times = interleave(jobs, ROUNDS if seconds < SHORT else report.rounds)
    note = f"{span:,.0f} KiB spanned"
    if "core" in times:
        report.add("page core", profile, _times(times["core"]), scale=span, note=note)
        report.add("page json", profile, _times(times["json"], times["core"]), unit="µs")
    else:
        report.add("page", profile, _times(times["json"]), unit="µs", note=note)
    report.add("page objects", profile, _times(times["objects"], times["json"]), unit="µs")


def _core_call(transcript: lettafast.Transcript) -> Callable[[], int]:
    """The C ABI's own function for the newest page of 50 units; the page stays in the core."""
    from lettafast._native import ffi, lib

    handle: Any = transcript._handle
    call = (handle._handle, ffi.NULL, 0, 50, handle._view, handle._error)
    return partial(lib.lettafast_page, *call)


def _times(whole: Sequence[float], part: Sequence[float] | None = None) -> list[float]:
    """Microseconds of `whole`, less those of `part` in the same rounds."""
    return [1e6 * (more - less) for more, less in zip(whole, part or [0] * len(whole), strict=True)]


@pytest.mark.benchmark(group="append: refresh and newest page")
def test_append(
    samples: Callable[[str], Sample], report: Report, tmp_path: Path, benchmark: Any
) -> None:
    """One small turn at a time; the first half of the turns on the page are older ones."""
    path = tmp_path / "growing.jsonl"
    shutil.copyfile(samples("chat").path, path)
    source = Transcript("chat", seed=2)
    answers: list[tuple[str, bytes]] = []
    written: list[int] = []
    with path.open("ab", buffering=0) as file, lettafast.open_transcript(path) as transcript:

        def append() -> None:
            turn = source.turn()
            while sum(map(len, turn)) > SMALL_TURN:
                turn = source.turn()
            written.append(file.write(b"\n".join([*turn, b""])))

        def follow() -> None:
            answers.append((transcript.refresh(), transcript.page_json()))

        benchmark.pedantic(follow, setup=append, rounds=25)
        assert transcript.summary.bytes == path.stat().st_size
    assert [state for state, _ in answers] == ["grown"] * len(written)
    assert len({data for _, data in answers}) == len(answers)
    report.add("append", "chat", _microseconds(benchmark))


@pytest.mark.benchmark(group="refresh of an unchanged transcript")
def test_refresh_unchanged(
    samples: Callable[[str], Sample], report: Report, benchmark: Any
) -> None:
    with lettafast.open_transcript(samples("chat").path) as transcript:
        assert benchmark(transcript.refresh) == "unchanged"
    report.add("refresh unchanged", "chat", _microseconds(benchmark), unit="µs")


def test_tool_output(samples: Callable[[str], Sample], report: Report) -> None:
    """A tool's output of at most 64 KiB by its ref, less decoding its JSON string alone.

    Decoding is `loads` of the string as it stands in the file, from memory: the least that
    any reader must do. What is left is finding the row, reading it, walking over its other
    members and crossing into Python.
    """
    sample = samples("tools")
    over = []
    with lettafast.open_transcript(sample.path) as transcript, sample.path.open("rb") as file:
        for ref, size in _tool_outputs(transcript.page()):
            file.seek(int(ref.rpartition(":")[2]))
            line = file.readline()
            literal = line.partition(b'"resultText":')[2].rpartition(b',"resultOk":')[0]
            text = transcript.tool_output(ref).text
            assert text == _backend.current().loads(literal)
            assert len(text.encode()) == size
            whole = _best(partial(transcript.tool_output, ref))
            over.append(1e6 * (whole - _best(partial(_backend.current().loads, literal))))
    report.add("tool output", "tools", over, note="each output's best of 50")


@pytest.mark.benchmark(group="last MiB of the longest tool output")
def test_long_tool_output(samples: Callable[[str], Sample], report: Report, benchmark: Any) -> None:
    """Its cost is the row's: the range is found by decoding all that is before it."""
    sample = samples("huge")
    with lettafast.open_transcript(sample.path) as transcript:
        page = transcript.page()
        while not _tool_outputs(page, sample.bytes):
            page = transcript.page(page.older)
        ref, size = max(_tool_outputs(page, sample.bytes), key=lambda output: output[1])
        start = size - (1 << 20)
        found = benchmark(transcript.tool_output, ref, start)
        assert found.end == found.size == size
    note = f"{size >> 20} MiB output"
    report.add("long tool output", "huge", _microseconds(benchmark), unit="µs", note=note)


def _tool_outputs(page: lettafast.Page, most: int = SMALL_OUTPUT) -> list[tuple[str, int]]:
    parts = [part for turn in page.turns for part in turn.parts]
    return [
        (part.ref, part.output_size)
        for part in parts
        if part.ref is not None and part.output_size and part.output_size <= most
    ]


def _best(call: Callable[[], object]) -> float:
    """Seconds of the fastest of 50 calls: what is subtracted must not carry a hiccup."""
    best = 1.0
    for _ in range(50):
        start = perf_counter()
        call()
        best = min(best, perf_counter() - start)
    return best


def _microseconds(benchmark: Any) -> Spread:
    """The call that was given to pytest-benchmark; each of its rounds is a call."""
    stats = benchmark.stats.stats
    return Spread(1e6 * stats.median, 1e6 * stats.q1, 1e6 * stats.q3, stats.rounds)
