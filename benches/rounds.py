"""Interleaved rounds: the only way to a ratio that holds on a machine that drifts.

In every round each job runs once, so that both sides of a ratio meet the same weather; a
ratio is taken within a round, and its median over the rounds is what is reported.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

Times = dict[str, list[float]]
"""Seconds of each round by the job's name."""


@dataclass(frozen=True)
class Job:
    """`run` is timed; `check` gets what it returned, untimed, and asserts that it is right."""

    name: str
    run: Callable[[], Any]
    check: Callable[[Any], None]
    seconds: Callable[[Any], float] | None = None
    """For a job that took its own time elsewhere: where its result says how long it took."""


def many(name: str, call: Callable[[], Any], check: Callable[[Any], None]) -> Job:
    """A job of one short call, repeated in five batches of about a millisecond.

    Its time is one call's in the fastest batch: what interrupts a batch costs more than the call.
    """
    call()
    start = perf_counter()
    call()
    count = max(1, int(0.001 / (perf_counter() - start)))

    def run() -> tuple[Any, float]:
        best = float("inf")
        for _ in range(5):
            repeat = range(count)
            start = perf_counter()
            for _ in repeat:
                result = call()
            best = min(best, perf_counter() - start)
        return result, best / count

    return Job(name, run, lambda result: check(result[0]), lambda result: float(result[1]))


@dataclass(frozen=True)
class Spread:
    """The median and the quartiles of one value over `count` rounds."""

    median: float
    low: float
    high: float
    count: int


def interleave(jobs: Sequence[Job], rounds: int) -> Times:
    """Runs every job once a round, the order rotated, and every second round reversed.

    One round more comes first and is thrown away: it fills the page cache and imports. The
    result of a job is dropped outside its time, and garbage is collected before.
    """
    times: Times = {job.name: [] for job in jobs}
    for number in range(-1, rounds):
        turn = number % len(jobs)
        order = [*jobs[turn:], *jobs[:turn]]
        for job in order if number % 2 else reversed(order):
            gc.collect()
            start = perf_counter()
            result = job.run()
            seconds = perf_counter() - start
            job.check(result)
            if number >= 0:
                times[job.name].append(job.seconds(result) if job.seconds else seconds)
            del result
    return times


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """`above` / `below` within each round."""
    return [first / second for first, second in zip(above, below, strict=True)]


def spread(values: Sequence[float]) -> Spread:
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high, len(values))
