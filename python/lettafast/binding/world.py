"""Every pane of every herdr session, and the lettas in front of each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass

from lettafast.errors import (
    HerdrError,
    HerdrProtocolError,
    HerdrRefused,
    HerdrRefusedReason,
    HerdrUnavailable,
    HerdrUnavailableReason,
)
from lettafast.herdr.client import Herdr
from lettafast.herdr.records import DescribedProcess, Pane

from .facts import Problem, ProcessFacts
from .process import RunningLetta, lettas_in, peer_shares_pid_namespace, running_lettas
from .verdict import Reason

LOOK_SECONDS = 10.0
"""How long one session may take to describe all its panes."""
_AT_ONCE = 8
"""Questions to one session at a time."""
_GONE = (HerdrUnavailableReason.MISSING, HerdrUnavailableReason.NOT_LISTENING)
"""A socket that a herdr left behind is no session."""


@dataclass(frozen=True, slots=True)
class SeenPane:
    """A pane, what herdr says runs in front of it, and which of that are lettas here."""

    herdr: Herdr
    pane: Pane
    foreground: tuple[DescribedProcess, ...]
    in_our_pid_namespace: bool
    lettas: tuple[ProcessFacts, ...]

    @property
    def runs_letta(self) -> bool:
        """Whether a letta runs in front: by its processes or, where those are hidden, by herdr."""
        if self.in_our_pid_namespace and self.foreground:
            return bool(self.lettas)
        return self.pane.agent == "letta"

    @property
    def letta_folders(self) -> tuple[str, ...]:
        """The real path of each letta's folder; what herdr says where processes are hidden."""
        if self.lettas or not self.runs_letta:
            return tuple(letta.folder.path for letta in self.lettas if letta.folder is not None)
        said = self.pane.foreground_cwd or self.pane.cwd
        return () if said is None else (os.path.realpath(said),)


@dataclass(frozen=True, slots=True)
class World:
    """All sessions as they were seen one after another."""

    panes: tuple[SeenPane, ...]
    sessions: frozenset[str]
    """The sockets of those that answered."""
    unseen: dict[str, Problem]
    """Why a session that is there could not be seen, by its socket."""
    running: tuple[RunningLetta, ...]
    """Every letta that runs here, in a pane or not."""


def look_around(sessions: Iterable[Herdr]) -> World:
    """Asks each session for its panes, and looks at the processes in front of them."""
    panes: list[SeenPane] = []
    answered, unseen = set(), {}
    for herdr in sessions:
        found = _panes(herdr)
        if isinstance(found, Problem):
            unseen[herdr.socket] = found
        elif found is not None:
            answered.add(herdr.socket)
            panes.extend(found)
    running = running_lettas() if any(pane.lettas for pane in panes) else ()
    return World(tuple(panes), frozenset(answered), unseen, running)


def problem_of(error: HerdrError) -> Problem:
    """Why herdr told nothing."""
    protocol = isinstance(error, HerdrProtocolError | HerdrRefused)
    return Problem(Reason.HERDR_PROTOCOL if protocol else Reason.HERDR_UNAVAILABLE, str(error))


def _seen(
    herdr: Herdr, pane: Pane, foreground: tuple[DescribedProcess, ...], *, here: bool
) -> SeenPane:
    """What runs in front of a pane; asked once more where herdr and the kernel do not agree."""
    found = _looked_at(herdr, pane, foreground, here=here)
    if _agrees(found):
        return found
    return _looked_at(herdr, pane, _foreground(herdr, pane), here=here)


def _looked_at(
    herdr: Herdr, pane: Pane, foreground: tuple[DescribedProcess, ...], *, here: bool
) -> SeenPane:
    lettas = lettas_in(process.pid for process in foreground) if here else ()
    return SeenPane(herdr, pane, foreground, here, lettas)


def _foreground(herdr: Herdr, pane: Pane) -> tuple[DescribedProcess, ...]:
    try:
        return herdr.process_info(pane.pane_id).processes
    except HerdrRefused as error:
        if error.reason is HerdrRefusedReason.PANE_NOT_FOUND:  # nothing was started in it yet
            return ()
        raise


def _agrees(found: SeenPane) -> bool:
    """Whether no letta moved, or executed something else, since herdr described it."""
    described = {process.pid: process for process in found.foreground}
    return all(
        described[letta.identity.pid].argv in (None, letta.argv)
        and letta.folder is not None
        and described[letta.identity.pid].cwd in (None, letta.folder.path)
        for letta in found.lettas
    )


def _panes(herdr: Herdr) -> list[SeenPane] | Problem | None:
    """All panes of a session; None where it is gone."""
    try:
        panes = herdr.snapshot().panes
        peer = herdr.peer_pid()
        here = peer is not None and peer_shares_pid_namespace(peer)
        return [
            _seen(herdr, pane, foreground, here=here)
            for pane, foreground in zip(panes, _foregrounds(herdr, panes), strict=True)
        ]
    except HerdrError as error:
        return None if error.reason in _GONE else problem_of(error)


def _foregrounds(herdr: Herdr, panes: Sequence[Pane]) -> list[tuple[DescribedProcess, ...]]:
    """What runs in front of each pane, some asked at a time, all within a bound."""
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        asked = [pool.submit(_foreground, herdr, pane) for pane in panes]
        until = time.monotonic() + LOOK_SECONDS
        return [call.result(max(0.0, until - time.monotonic())) for call in asked]
    except LateError:
        raise HerdrUnavailable(HerdrUnavailableReason.TIMEOUT, herdr.socket) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
