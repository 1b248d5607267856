"""Strict open against the limits and the peers, and the pure backend against `json`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lettafast

from .generate import Sample
from .limits import Limits
from .peers import PEERS
from .reading import limit_jobs, native_job, open_pure, peer_job, pure_job
from .report import Group, Report
from .rounds import Job, interleave, ratios
from .strictness import accepted_faults, refused_or_miscounted
from .targets import PROFILES

ONE_LINE = [peer for peer in PEERS.values() if peer.threads == "one"]
TABLES = [PEERS["msgspec"], *(peer for peer in PEERS.values() if peer.threads != "one")]


@pytest.mark.parametrize("profile", PROFILES)
def test_strict_open(
    profile: str, samples: Callable[[str], Sample], limits: Limits | None, report: Report
) -> None:
    sample = samples(profile)
    jobs = [peer_job(peer, sample) for peer in ONE_LINE]
    jobs.append(pure_job(sample))
    if lettafast.backend == "native":
        jobs.append(native_job(sample))
    if limits is not None:
        jobs += limit_jobs(limits, sample)
    times = interleave(jobs, report.rounds)
    title = "Strict open, and tools that read a line at a time"
    report.groups.append(Group(title, profile, sample.bytes, "msgspec", times))
    if "lettafast" in times:
        report.add("open", profile, ratios(times["msgspec"], times["lettafast"]))
        if limits is not None:
            fractions = ratios(times["read + memchr"], times["lettafast"])
            report.add("open of limit", profile, fractions)
    report.add("pure open", profile, ratios(times["json"], times["lettafast pure"]))


@pytest.mark.parametrize("profile", PROFILES)
def test_table_makers(
    profile: str, samples: Callable[[str], Sample], report: Report, few: int
) -> None:
    """In rounds of their own: their thread pools and allocators disturb what runs beside them."""
    sample = samples(profile)
    jobs = [peer_job(peer, sample) for peer in TABLES]
    jobs.append(native_job(sample) if lettafast.backend == "native" else pure_job(sample))
    times = interleave(jobs, few)
    title = "Tools that make tables, on all cores"
    report.groups.append(Group(title, profile, sample.bytes, "msgspec", times))


def test_what_the_peers_let_pass(report: Report) -> None:
    for peer in PEERS.values():
        report.faults[peer.name] = {
            "accepts": accepted_faults(peer),
            "fails on": refused_or_miscounted(peer),
        }
    assert report.faults["json"] == {"accepts": [], "fails on": []}


@pytest.mark.parametrize("before", ["sample", "nothing"])
def test_pure_refused(
    before: str, samples: Callable[[str], Sample], report: Report, tmp_path: Path
) -> None:
    """A bad line of 60 KB, whose last member comes twice, at the end of a file or alone."""
    path = tmp_path / "refused.jsonl"
    text = samples("chat").path.read_bytes()[:60_000].replace(b"\\", b"/").replace(b'"', b"'")
    text = text.decode(errors="ignore").replace("\n", " ").encode()
    line = b'{"kind":"user","text":"%b","captured_at":"2026-01-05T08:00:05.614Z","text":""}\n'
    good = samples("chat").path.read_bytes() if before == "sample" else b""
    path.write_bytes(good + line % text)
    read = PEERS["json"].make()
    sample = Sample(path.stat().st_size, 0, 0, 0, 0, path, "chat")

    def refusal(run: Callable[[], object]) -> Callable[[], ValueError]:
        def attempt() -> ValueError:
            with pytest.raises(ValueError) as caught:  # noqa: PT011 - `check` looks at it
                run()
            return caught.value

        return attempt

    def check_pure(error: ValueError) -> None:
        assert isinstance(error, lettafast.TranscriptRefused)
        assert error.reason == "duplicate_key"
        assert error.line_offset == len(good)

    def check_json(error: ValueError) -> None:
        assert f"offset {len(good)}: duplicate key" in str(error)

    times = interleave(
        [
            Job("pure", refusal(lambda: open_pure(path)), check_pure),
            Job("json", refusal(lambda: read(sample)), check_json),
        ],
        report.rounds,
    )
    values = ratios(times["json"], times["pure"])
    if before == "sample":
        report.add("pure refused", "chat", values)
    else:
        report.add("pure refused alone", "", values, unit="×", note="a file of the bad line alone")
