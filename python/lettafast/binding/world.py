"""Every pane of every herdr session, and the lettas in front of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lettafast.errors import (
    HerdrError,
    HerdrProtocolError,
    HerdrRefused,
    HerdrUnavailableReason,
)
from lettafast.herdr.client import Herdr
from lettafast.herdr.records import DescribedProcess, Pane

from .facts import Problem, ProcessFacts
from .process import lettas_in, peer_shares_pid_namespace
from .verdict import Reason

_GONE = (HerdrUnavailableReason.MISSING, HerdrUnavailableReason.NOT_LISTENING)
"""A socket that a herdr left behind is no session."""


@dataclass(frozen=True, slots=True)
class SeenPane:
    """A pane, what herdr says runs in front of it, and which of that are lettas here."""

    pane: Pane
    foreground: tuple[DescribedProcess, ...]
    in_our_pid_namespace: bool
    lettas: tuple[ProcessFacts, ...]

    @property
    def runs_letta(self) -> bool:
        """Whether a letta runs in front: by its processes or, where those are hidden, by herdr."""
        if self.in_our_pid_namespace:
            return bool(self.lettas)
        return self.pane.agent == "letta"


@dataclass(frozen=True, slots=True)
class World:
    """All sessions as they were seen one after another."""

    panes: tuple[SeenPane, ...]
    unseen: dict[str, Problem]
    """Why a session that is there could not be seen, by its socket."""


def look_around(sessions: Iterable[Herdr]) -> World:
    """Asks each session for its panes, and looks at the processes in front of them."""
    panes: list[SeenPane] = []
    unseen = {}
    for herdr in sessions:
        found = _panes(herdr)
        if isinstance(found, Problem):
            unseen[herdr.socket] = found
        else:
            panes.extend(found)
    return World(tuple(panes), unseen)


def problem_of(error: HerdrError) -> Problem:
    """Why herdr told nothing."""
    protocol = isinstance(error, HerdrProtocolError | HerdrRefused)
    return Problem(Reason.HERDR_PROTOCOL if protocol else Reason.HERDR_UNAVAILABLE, str(error))


def seen(herdr: Herdr, pane: Pane) -> SeenPane:
    """What runs in front of a pane; asked once more where herdr and the kernel do not agree."""
    found = _seen(herdr, pane)
    return found if _agrees(found) else _seen(herdr, pane)


def _seen(herdr: Herdr, pane: Pane) -> SeenPane:
    try:
        processes = herdr.process_info(pane.pane_id).processes
    except HerdrRefused:  # nothing was started in it yet
        processes = ()
    peer = herdr.peer_pid()
    here = peer is not None and peer_shares_pid_namespace(peer)
    lettas = lettas_in(process.pid for process in processes) if here else ()
    return SeenPane(pane, processes, here, lettas)


def _agrees(found: SeenPane) -> bool:
    """Whether no letta moved, or executed something else, since herdr described it."""
    described = {process.pid: process for process in found.foreground}
    return all(
        described[letta.identity.pid].argv in (None, letta.argv)
        and letta.folder is not None
        and described[letta.identity.pid].cwd in (None, letta.folder.path)
        for letta in found.lettas
    )


def _panes(herdr: Herdr) -> list[SeenPane] | Problem:
    try:
        return [seen(herdr, pane) for pane in herdr.snapshot().panes]
    except HerdrError as error:
        return [] if error.reason in _GONE else problem_of(error)
