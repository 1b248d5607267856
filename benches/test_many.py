"""Many files on two threads, a large store's listing, and walking over all entries."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lettafast

from .generate import FOLDER, Sample, sample
from .peers import iterate_json, iterate_msgspec, iterate_orjson
from .report import Group, Report
from .rounds import Job, interleave, ratios
from .targets import PROFILES, TARGETS

AGENTS = CONVERSATIONS = 100
FILES = 8
LEAST_JUDGED = 3


def _read(path: Path) -> int:
    block = bytearray(256 << 10)
    descriptor = os.open(path, os.O_RDONLY)
    total = 0
    while count := os.preadv(descriptor, [block], total):
        total += count
    os.close(descriptor)
    return total


def _scan(path: Path) -> int:
    with lettafast.open_transcript(path) as transcript:
        return transcript.summary.entries


def test_two_threads(report: Report) -> None:
    """Judged only in rounds where plain reading gains as much: the second core comes and goes."""
    each = max(report.size // FILES, 8 << 20)
    files = [sample("chat", each, seed) for seed in range(1, FILES + 1)]
    paths = [file.path for file in files]
    size = sum(file.bytes for file in files)
    entries = sum(file.entries for file in files)

    def total_is(wanted: int) -> Callable[[Any], None]:
        def check(found: Any) -> None:
            assert sum(found) == wanted

        return check

    with ThreadPoolExecutor(2) as pool:
        times = interleave(
            [
                Job("read", lambda: list(map(_read, paths)), total_is(size)),
                Job("read, 2 threads", lambda: list(pool.map(_read, paths)), total_is(size)),
                Job("lettafast", lambda: list(map(_scan, paths)), total_is(entries)),
                Job(
                    "lettafast, 2 threads", lambda: list(pool.map(_scan, paths)), total_is(entries)
                ),
            ],
            max(report.rounds, 9),
        )
    report.groups.append(Group(f"{FILES} files", "chat", size, "lettafast", times))
    reading = ratios(times["read"], times["read, 2 threads"])
    scanning = ratios(times["lettafast"], times["lettafast, 2 threads"])
    report.add("two threads reading", "chat", reading, unit="×", note="plain reading")
    must = TARGETS["two threads", "chat"].must
    judged = [scan for scan, read in zip(scanning, reading, strict=True) if read >= must]
    note = f"{len(judged)} of {len(reading)} rounds judged"
    if len(judged) >= LEAST_JUDGED:
        report.add("two threads", "chat", judged, note=note)
    else:
        report.missing.append(f"two threads: plain reading gained {must} × in {len(judged)} rounds")
        report.add("two threads, unjudged", "chat", scanning, unit="×", note=note)


@pytest.fixture(scope="session")
def store() -> Path:
    """10,000 conversations of one line, made once."""
    root = FOLDER / f"store-{AGENTS}-{CONVERSATIONS}"
    done = root.with_suffix(".done")
    if not done.exists():
        line = (
            b'{"kind":"user","text":"hi","captured_at":"2026-01-05T08:00:05.614Z",'
            b'"source_line_id":"user-1"}\n'
        )
        for agent in range(AGENTS):
            for conversation in range(CONVERSATIONS):
                folder = root / f"agent-local-{agent:04}" / f"local-conv-{conversation}"
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "transcript.jsonl").write_bytes(line)
        done.touch()
    return root


def _walk(root: Path) -> list[tuple[str, str, int]]:
    """The least that lists a store: no check of links, types or errors."""
    found = []
    for agent in os.scandir(root):
        for conversation in os.scandir(agent):
            status = os.stat(f"{conversation.path}/transcript.jsonl")
            found.append((agent.name, conversation.name, status.st_size))
    return found


def test_listing(store: Path, report: Report, few: int) -> None:
    count = AGENTS * CONVERSATIONS

    def check(found: Any) -> None:
        assert len(found) == count
        assert len({(ref[0], ref[1]) for ref in found}) == count

    def check_refs(found: Any) -> None:
        assert {ref.state for ref in found} == {"present"}
        check([(ref.agent, ref.conversation) for ref in found])

    times = interleave(
        [
            Job("listing", lambda: list(lettafast.Store(store).conversations()), check_refs),
            Job("scandir", lambda: _walk(store), check),
        ],
        few,
    )
    each = [1e6 * seconds / count for seconds in times["listing"]]
    report.add("listing", "", each, unit="µs", note=f"a conversation of {count:,}")
    factor = ratios(times["listing"], times["scandir"])
    report.add("listing beyond", "", factor, unit="×", note="the time of a bare scandir and stat")


def _count(values: Iterable[Any]) -> int:
    last = deque(enumerate(values, 1), maxlen=1)
    return last[0][0]


@pytest.mark.parametrize("profile", PROFILES)
def test_all_entries(
    profile: str, samples: Callable[[str], Sample], report: Report, few: int
) -> None:
    """Every entry as a Python object, one at a time; the peers check what they always check."""
    chosen = sample(profile, 32 << 20) if report.mode == "full" else samples(profile)

    def check(found: Any) -> None:
        assert found == chosen.entries

    with lettafast.open_transcript(chosen.path) as transcript:
        times = interleave(
            [
                Job("lettafast", lambda: _count(transcript.entries()), check),
                Job("msgspec", lambda: _count(iterate_msgspec(chosen)), check),
                Job("orjson", lambda: _count(iterate_orjson(chosen)), check),
                Job("json", lambda: _count(iterate_json(chosen)), check),
            ],
            min(few, 5),
        )
    title = "Every entry as an object (lettafast: of an open transcript)"
    report.groups.append(Group(title, profile, chosen.bytes, "msgspec", times))
    report.add(
        "entries",
        profile,
        ratios(times["msgspec"], times["lettafast"]),
        unit="×",
        note="× msgspec per line",
    )
