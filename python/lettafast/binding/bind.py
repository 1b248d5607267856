"""Binds panes to conversations: looks at the world, gathers facts, decides."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType

from lettafast.herdr.client import Herdr
from lettafast.herdr.records import Pane
from lettafast.herdr.sockets import find_sockets

from .facts import Facts, Problem
from .gather import gather, notice_moved
from .memory import Memory
from .rules import PLATFORMS, decide
from .transcripts import Transcripts
from .verdict import Reason, Verdict
from .world import SeenPane, World, look_around


@dataclass(frozen=True, slots=True)
class BoundPane:
    """A pane and the verdict on it."""

    pane: Pane
    verdict: Verdict


class Binder:
    """Binds panes again and again: it keeps transcripts open, and the memory of moved processes.

    `herdrs` are sessions to look at beside those that are found by `environ`.
    Methods may be called from several threads.
    """

    def __init__(
        self,
        herdrs: Iterable[Herdr] = (),
        environ: Mapping[str, str] = os.environ,
        memory: Memory | None = None,
    ) -> None:
        self._herdrs = tuple(herdrs)
        self._environ = environ
        self.memory = memory or Memory()
        self._transcripts = Transcripts()

    def sessions(self) -> tuple[Herdr, ...]:
        """Every herdr session: those that were given, and those that are found now."""
        given = {os.path.realpath(herdr.socket) for herdr in self._herdrs}
        found = (
            Herdr(socket)
            for socket in find_sockets(self._environ)
            if os.path.realpath(socket) not in given
        )
        return (*self._herdrs, *found)

    def look(self) -> World:
        """Every pane of every session, without a verdict yet."""
        return self._look(self.sessions())

    def verdict(self, world: World, seen: SeenPane) -> Verdict:
        """The verdict on one pane of a world that was just looked at."""
        return decide(gather(world, seen, self.memory, self._transcripts))

    def panes(self) -> tuple[tuple[BoundPane, ...], Mapping[str, Problem]]:
        """Every pane of every session with its verdict, and the sessions that could not be seen."""
        world = self.look()
        bound = tuple(BoundPane(seen.pane, self.verdict(world, seen)) for seen in world.panes)
        self.memory.prune()
        return bound, world.unseen

    def bind(self, pane: str, herdr: Herdr) -> Verdict:
        """The verdict on one pane of `herdr`: by its id, or by its terminal's."""
        if sys.platform not in PLATFORMS:
            return _unknown(Problem(Reason.UNSUPPORTED_PLATFORM, sys.platform))
        others = (other for other in self.sessions() if not _is_same(other, herdr))
        world = self._look((herdr, *others))
        for seen in world.panes:
            named = (seen.pane.pane_id, seen.pane.terminal_id)
            if seen.pane.socket == herdr.socket and pane in named:
                return self.verdict(world, seen)
        if herdr.socket in world.sessions:
            return _unknown(Problem(Reason.NOT_LETTA, f"{herdr.socket} has no pane {pane}"))
        gone = Problem(Reason.HERDR_UNAVAILABLE, f"{herdr.socket}: nothing listens there")
        return _unknown(world.unseen.get(herdr.socket, gone))

    def _look(self, sessions: Iterable[Herdr]) -> World:
        world = look_around(sessions)
        notice_moved(world, self.memory)
        return world

    def close(self) -> None:
        """Closes the transcripts that were kept open."""
        self._transcripts.close()

    def __enter__(self) -> Binder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def bind(pane: str, herdr: Herdr) -> Verdict:
    """The verdict on one pane, once. `Binder` is for who asks again."""
    with Binder() as binder:
        return binder.bind(pane, herdr)


def _is_same(one: Herdr, other: Herdr) -> bool:
    return os.path.realpath(one.socket) == os.path.realpath(other.socket)


def _unknown(problem: Problem) -> Verdict:
    return decide(Facts(read_at=time.time(), platform=sys.platform, pane=problem))
