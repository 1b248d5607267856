"""herdr's panes and the verdicts on them, through one binder in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from lettafast.binding.names import session_name, terminal_name
from lettafast.errors import HerdrError
from lettafast.records import Mode

from .jsons import clean
from .places import Place, quoted
from .problems import Problem
from .workers import Workers

if TYPE_CHECKING:  # needs the extra `binding`
    from lettafast.binding import Binder, BoundPane
    from lettafast.herdr.client import Herdr

PaneKey: TypeAlias = tuple[str, str]
"""A session's and a terminal's name, as in addresses."""


@dataclass(frozen=True, slots=True)
class Look:
    """Panes of every session at one moment."""

    panes: Mapping[PaneKey, BoundPane] = field(default_factory=dict)
    """Those that a verdict was asked for, in herdr's order; perhaps more."""
    unreachable: Sequence[Mapping[str, Any]] = ()
    """Sessions that are there and could not be asked."""


class Panes:
    """Looks at all panes at once, however many ask: one look serves all who asked before it.

    A verdict, which reads files, is made only on the panes that somebody asked for.
    """

    def __init__(self, binder: Binder | None) -> None:
        self._binder = binder
        self._worker = Workers(1, "lettafast-panes")
        self._sessions: dict[str, Herdr] = {}
        """Every session that was ever seen, by its name."""
        self._wanted: set[PaneKey | None] = set()
        """What the next look makes verdicts on; None is every pane."""
        self._running: asyncio.Future[Look] | None = None
        self._next: asyncio.Future[Look] | None = None

    async def look(self, keys: Iterable[PaneKey | None] = (None,)) -> Look:
        """A look that begins after this call, with verdicts on these panes; else on all."""
        if self._binder is None:
            return Look()
        self._wanted.update(keys)
        if self._next is None:
            self._next = asyncio.ensure_future(self._look_after(self._running))
        return await asyncio.shield(self._next)

    async def find(self, key: PaneKey) -> BoundPane:
        """One pane, looked at now. Raises `Problem`: 404, or 503 where herdr does not answer."""
        look = await self.look([key])
        if is_passing(look.panes.get(key)):
            look = await self.look([key])
        found = look.panes.get(key)
        if found is not None:
            return found
        raise await self.why_not(key, look)

    async def why_not(self, key: PaneKey, look: Look) -> Problem:
        """Why a pane is not in `look`: 404, or 503 where its session does not answer."""
        session, _ = key
        for unseen in look.unreachable:
            if unseen["session"] == session:
                return _away(unseen["saw"], unseen["reason"], None)
        herdr = self._sessions.get(session)
        if herdr is not None:
            try:
                await self._worker.run(herdr.ping)
            except HerdrError as error:
                return _away(str(error), str(error.reason), error.hint)
        return Problem(HTTPStatus.NOT_FOUND, "unknown_pane", "no herdr session has such a pane")

    async def scrollback(self, bound: BoundPane) -> str | None:
        """The pane's terminal text without escape sequences; None where herdr does not tell it."""
        herdr = self._sessions[session_name(bound.pane.socket)]
        try:
            return (await self._worker.run(herdr.read, bound.pane.pane_id)).text
        except HerdrError:
            return None

    def close(self, until: float) -> None:
        """Ends the thread by `until`, and closes the binder unless it is still asked."""
        if self._worker.close(until) and self._binder is not None:
            self._binder.close()

    async def _look_after(self, running: asyncio.Future[Look] | None) -> Look:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        wanted, self._wanted = self._wanted, set()
        return await self._worker.run(self._look, wanted)

    def _look(self, wanted: set[PaneKey | None]) -> Look:
        from lettafast.binding import BoundPane

        binder = self._binder
        assert binder is not None  # noqa: S101 - `look` asked
        world = binder.look()
        panes = {}
        for seen in world.panes:
            key = session_name(seen.pane.socket), terminal_name(seen.pane.terminal_id)
            if key in wanted or None in wanted:
                panes[key] = BoundPane(seen.pane, binder.verdict(world, seen))
        binder.memory.prune()
        for herdr in binder.sessions():
            self._sessions[session_name(herdr.socket)] = herdr
        unreachable = tuple(
            clean(
                {
                    "session": session_name(socket),
                    "socket": socket,
                    "reason": str(problem.reason),
                    "saw": problem.saw,
                }
            )
            for socket, problem in world.unseen.items()
        )
        return Look(panes, unreachable)


def shape_of(bound: BoundPane) -> dict[str, Any]:
    """The members of a pane and of the verdict on it, and the address of its page."""
    from lettafast.binding.shape import pane_shape

    shape = pane_shape(bound)
    shape["href"] = f"/panes/{quoted(shape['session'])}/{quoted(shape['terminal'])}"
    return shape


def is_passing(bound: BoundPane | None) -> bool:
    """Whether the look met something that was just being written: the next one may know more."""
    from lettafast.binding.verdict import Reason

    passing = (Reason.CHANGED_WHILE_READING, Reason.RECORD_CHANGED, Reason.STORE_CHANGED)
    return bound is not None and getattr(bound.verdict, "reason", None) in passing


def place_of(bound: BoundPane, mode: Mode) -> Place | None:
    """The transcript that the pane is proven to show; None where it shows its terminal."""
    from lettafast.binding.verdict import Bound

    verdict = bound.verdict
    if not isinstance(verdict, Bound):
        return None
    return Place(verdict.root, verdict.agent_id, verdict.conversation_id, mode)


def _away(detail: str, reason: str, hint: str | None) -> Problem:
    more: dict[str, Any] = {"hint": hint} if hint else {}
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "herdr", detail, reason=reason, **more)
