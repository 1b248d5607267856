"""Binds panes to conversations: looks at the world, gathers facts, decides."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType

from lettafast.herdr import sockets as herdr_sockets
from lettafast.herdr.client import Herdr
from lettafast.tmux import sockets as tmux_sockets
from lettafast.tmux.client import Tmux, find_program

from .decide import decide
from .facts import Facts, Problem, ProcessFacts
from .gather import gather, notice_moved
from .herdr_panes import HerdrPanes
from .memory import Memory
from .pane import Pane
from .pid_pane import PidPane
from .providers import Provider, unavailable
from .rules import PLATFORMS
from .tmux_panes import TmuxPanes
from .transcripts import Transcripts
from .verdict import Reason, Verdict
from .world import SeenPane, World, look_around


@dataclass(frozen=True, slots=True)
class BoundPane:
    """A pane and the verdict on it."""

    pane: Pane
    verdict: Verdict
    letta: ProcessFacts | None
    """The letta in front; None where there is none, or more than one."""


class Binder:
    """Binds panes again and again: it keeps transcripts open, and the memory of moved processes.

    `providers` are looked at beside those that are found by `environ`: every herdr session,
    and every tmux server of this user. Methods may be called from several threads.
    """

    def __init__(
        self,
        providers: Iterable[Provider] = (),
        environ: Mapping[str, str] = os.environ,
        memory: Memory | None = None,
    ) -> None:
        self._given = tuple(providers)
        self._environ = environ
        self.memory = memory or Memory()
        self._transcripts = Transcripts()

    def providers(self) -> tuple[Provider, ...]:
        """All that show panes: those that were given, and those that are found now."""
        return (*self._given, *(one for one in self._found() if not _is_among(one, self._given)))

    def look(self) -> World:
        """Every pane of every provider, without a verdict yet."""
        return self._look(self.providers())

    def verdict(self, world: World, seen: SeenPane) -> Verdict:
        """The verdict on one pane of a world that was just looked at."""
        return decide(gather(world, seen, self.memory, self._transcripts))

    def bound(self, world: World, seen: SeenPane) -> BoundPane:
        """The pane with the verdict on it."""
        letta = seen.lettas[0] if len(seen.lettas) == 1 else None
        return BoundPane(seen.pane, self.verdict(world, seen), letta)

    def panes(self) -> tuple[tuple[BoundPane, ...], Mapping[Provider, Problem]]:
        """Every pane of every provider with its verdict, and what could not be seen."""
        world = self.look()
        bound = tuple(self.bound(world, seen) for seen in world.panes)
        self.memory.prune()
        return bound, world.unseen

    def bind(self, pane: str, provider: Provider) -> Verdict:
        """The verdict on one pane of `provider`: by its id, or by its terminal's."""
        if sys.platform not in PLATFORMS:
            return _unknown(Problem(Reason.UNSUPPORTED_PLATFORM, sys.platform))
        others = (one for one in self.providers() if not _is_among(one, (provider,)))
        world = self._look((provider, *others))
        for seen in world.panes:
            if seen.provider is provider and pane in (seen.pane.pane_id, seen.pane.terminal_id):
                return self.verdict(world, seen)
        if provider in world.answered:
            return _unknown(Problem(Reason.NOT_LETTA, f"{provider.socket} has no pane {pane}"))
        gone = Problem(unavailable(provider.name), f"{provider.socket}: nothing listens there")
        return _unknown(world.unseen.get(provider, gone))

    def bind_pid(self, pid: int) -> Verdict:
        """The verdict on the letta that has this pid: that on its pane, where it is in one."""
        if sys.platform not in PLATFORMS:
            return _unknown(Problem(Reason.UNSUPPORTED_PLATFORM, sys.platform))
        found = self.look_at_pid(pid)
        if found is None:
            return _unknown(Problem(Reason.NOT_LETTA, f"no process has the pid {pid}"))
        return self.verdict(*found)

    def look_at_pid(self, pid: int) -> tuple[World, SeenPane] | None:
        """The pane of the letta that has this pid, in its world; None where no process has it.

        A process that is not alone in front of a pane is looked at as if it had one of its own.
        """
        world = self.look()
        for seen in world.panes:
            if [letta.identity.pid for letta in seen.lettas] == [pid]:
                return world, seen
        alone = self._look([PidPane(pid)])
        if not alone.panes:
            return None
        (seen,) = alone.panes
        running = alone.running or world.running
        return replace(world, panes=(*world.panes, seen), running=running), seen

    def _found(self) -> Iterator[Provider]:
        for socket in herdr_sockets.find_sockets(self._environ):
            yield HerdrPanes(Herdr(socket))
        program = find_program(self._environ)
        if program is not None:
            for socket in tmux_sockets.find_sockets(self._environ):
                yield TmuxPanes(Tmux(socket, program))

    def _look(self, providers: Iterable[Provider]) -> World:
        world = look_around(providers)
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


def bind(pane: str, provider: Provider) -> Verdict:
    """The verdict on one pane, once. `Binder` is for who asks again."""
    with Binder() as binder:
        return binder.bind(pane, provider)


def _is_among(provider: Provider, others: Iterable[Provider]) -> bool:
    """Whether one of the others is of the same server."""
    place = os.path.realpath(provider.socket)
    return any(place == os.path.realpath(other.socket) for other in others)


def _unknown(problem: Problem) -> Verdict:
    return decide(Facts(read_at=time.time(), platform=sys.platform, pane=problem))
