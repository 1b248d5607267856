"""What the benchmarks share: the mode, the samples, the limits and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lettafast
from benches import limits as limits_module
from benches.generate import Sample, parse_size, sample
from benches.report import Report

FULL_SIZE, FULL_ROUNDS = 256 << 20, 9
QUICK_SIZE, QUICK_ROUNDS = 8 << 20, 5


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lettafast")
    group.addoption("--bench", choices=["quick", "full"], default="quick")
    group.addoption("--bench-size", type=parse_size, help="bytes a profile, with K, M or G")
    group.addoption("--bench-rounds", type=int)
    group.addoption(
        "--bench-record", action="store_true", help="write benches/record/<date>-<machine>"
    )


_REPORT = pytest.StashKey[Report]()


def pytest_configure(config: pytest.Config) -> None:
    mode = config.getoption("--bench")
    full = mode == "full"
    config.stash[_REPORT] = Report(
        mode,
        lettafast.backend,
        config.getoption("--bench-size") or (FULL_SIZE if full else QUICK_SIZE),
        config.getoption("--bench-rounds") or (FULL_ROUNDS if full else QUICK_ROUNDS),
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    report = config.stash[_REPORT]
    write = terminalreporter.write_line
    write("")
    write(f"lettafast {lettafast.__version__}, backend {report.backend}, mode {report.mode}")
    for value in report.values:
        write(report.line(value))
    for reason in report.missing:
        write(f"not measured: {reason}")
    if report.backend != "native":
        write("The native backend was not measured: no ratio here is a claim about it.")
    missed = ", ".join(f"{value.name} {value.profile}".strip() for value in report.misses())
    write(f"Under its must: {missed or 'nothing'}.")


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        item.config.stash[_REPORT].missing.append(f"{item.name}: failed")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A quick run fails only under half a must, since small files and short runs are noisy."""
    report = session.config.stash[_REPORT]
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return
    if session.config.getoption("--bench-record"):
        if report.backend != "native":
            raise pytest.UsageError("a record is of the native backend")
        if report.size < FULL_SIZE or report.rounds < FULL_ROUNDS:
            raise pytest.UsageError("a record is of a full run")
        print(f"\nwrote {report.write()}")
    if report.misses(1.0 if report.mode == "full" else 0.5):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    return request.config.stash[_REPORT]


@pytest.fixture(scope="session")
def full(report: Report) -> bool:
    return report.mode == "full"


@pytest.fixture(scope="session")
def few(report: Report, full: bool) -> int:
    """Rounds of what no target is about: as many as there are in a full run, else three."""
    return report.rounds if full else 3


@pytest.fixture(scope="session")
def samples(report: Report) -> Callable[[str], Sample]:
    """The sample of a profile, of this run's size."""
    return lambda profile: sample(profile, report.size)


@pytest.fixture(scope="session")
def limits(report: Report) -> Iterator[limits_module.Limits | None]:
    """The running limits program; None (and noted) where there is no Rust compiler."""
    program = limits_module.build()
    if program is None:
        report.missing.append("read, read + memchr: no Rust compiler")
        yield None
        return
    with limits_module.Limits(program) as running:
        yield running
