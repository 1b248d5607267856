"""Jobs that read a sample with lettafast, and the answer that each must give."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lettafast
from lettafast import _backend

from .generate import Sample
from .limits import Limits
from .peers import Counts, Peer
from .rounds import Job

PURE = _backend.load("pure")
"""The pure backend, measured beside the native one in the same rounds."""


def open_pure(path: Path) -> _backend.Handle:
    """What `open_transcript` does on the pure backend, less the `Transcript` around it."""
    root, name = os.path.split(path)
    return PURE.open(root, name, str(path), "strict", lettafast.Limits())


def expect(sample: Sample, counts: Callable[[Any], Counts]) -> Callable[[Any], None]:
    """Asserts that a reading found the sample's entries and user entries."""

    def check(result: Any) -> None:
        assert counts(result) == (sample.entries, sample.user_entries)

    return check


def native_job(sample: Sample) -> Job:
    """Through the public API. Closing is outside the time, as freeing is for the peers."""

    def counts(transcript: lettafast.Transcript) -> Counts:
        summary = transcript.summary
        transcript.close()
        return summary.entries, summary.user_entries

    return Job("lettafast", lambda: lettafast.open_transcript(sample.path), expect(sample, counts))


def pure_job(sample: Sample) -> Job:
    def counts(handle: _backend.Handle) -> Counts:
        summary = handle.summary()
        handle.close()
        return summary.entries, summary.user_entries

    return Job("lettafast pure", lambda: open_pure(sample.path), expect(sample, counts))


def peer_job(peer: Peer, sample: Sample) -> Job:
    read = peer.make()
    return Job(peer.name, lambda: read(sample), expect(sample, peer.counts))


def limit_jobs(limits: Limits, sample: Sample) -> list[Job]:
    """They take their own time, in their own process."""

    def check_read(reading: Any) -> None:
        assert (reading.bytes, reading.found) == (sample.bytes, 0)

    def check_memchr(reading: Any) -> None:
        assert (reading.bytes, reading.found) == (sample.bytes, sample.entries)

    return [
        Job("read", lambda: limits.read(sample.path), check_read, lambda r: float(r.seconds)),
        Job(
            "read + memchr",
            lambda: limits.memchr(sample.path),
            check_memchr,
            lambda r: float(r.seconds),
        ),
    ]
