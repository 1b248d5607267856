"""The harness itself: seeds, verdicts, and peers that must find what is there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from .generate import PROFILES, Transcript, sample, write
from .peers import PEERS
from .reading import expect
from .report import Report
from .rounds import Job, interleave, ratios, spread
from .targets import TARGETS


def test_the_same_seed_gives_the_same_bytes() -> None:
    """A record, an instruction count and a test all rest on it."""
    digest = hashlib.sha256()
    for profile in PROFILES:
        source = Transcript(profile, seed=1)
        for _ in range(1 if profile == "huge" else 20):
            digest.update(b"\n".join(source.turn()))
    assert digest.hexdigest()[:16] == "0bd8eaa7b26d377e"


def test_written_files_hold_what_is_said(tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl"
    written = write(path, "tiny", 100_000, repeat=3)
    lines = path.read_bytes().splitlines()
    assert len(lines) == written.entries
    assert sum(line.startswith(b'{"kind":"user"') for line in lines) == written.user_entries
    assert sum(line.startswith(b'{"kind":"error"') for line in lines) == written.error_entries
    assert max(map(len, lines)) == written.longest_line
    assert path.stat().st_size == written.bytes > 300_000


def test_rounds_are_interleaved_and_checked() -> None:
    calls: list[str] = []

    def job(name: str) -> Job:
        return Job(name, lambda: calls.append(name), lambda _: None)

    times = interleave([job("a"), job("b"), job("c")], 5)
    assert [len(seconds) for seconds in times.values()] == [5, 5, 5]
    assert len({tuple(calls[start : start + 3]) for start in range(0, 18, 3)}) > 3
    assert ratios([4.0, 9.0], [2.0, 3.0]) == [2.0, 3.0]
    assert spread([3.0, 1.0, 2.0]).median == 2.0

    def wrong(_: object) -> None:
        raise AssertionError

    with pytest.raises(AssertionError):
        interleave([Job("wrong", lambda: None, wrong)], 5)


def test_verdicts() -> None:
    report = Report("full", "native", 0, 0, echo=False)
    report.add("open", "chat", [11.0])
    report.add("open", "tools", [5.0])
    report.add("open", "tiny", [5.0])
    report.add("page core", "chat", [199.0], scale=200)
    report.add("page core", "tools", [401.0], scale=200)
    assert len(report.not_measured()) == len(TARGETS) - len(report.values)
    verdicts = [report.verdict(value) for value in report.values]
    assert verdicts == ["goal", "must", "MISSED", "must", "MISSED"]
    assert [value.profile for value in report.misses()] == ["tiny", "tools"]
    assert [value.profile for value in report.misses(0.5)] == ["tools"]


def test_the_pure_backend_claims_nothing_for_the_native_one() -> None:
    report = Report("full", "pure", 0, 0, echo=False)
    for name, profile in TARGETS:
        report.add(name, profile, [1e-9 if TARGETS[name, profile].higher else 1e9])
    assert {TARGETS[value.name, value.profile].backend for value in report.misses()} == {
        "pure",
        "any",
    }
    assert all(
        report.verdict(value).startswith("not claimed")
        for value in report.values
        if TARGETS[value.name, value.profile].backend == "native"
    )


def test_a_wrong_answer_is_no_time() -> None:
    chosen = sample("tiny", 100_000)
    read = PEERS["json"].make()
    check = expect(chosen, PEERS["json"].counts)
    index = read(chosen)
    check(index)
    with pytest.raises(AssertionError):
        check(index[:-1])
