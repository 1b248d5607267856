"""Panes and the verdicts on them, through one binder in a thread of its own."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from lettafast.binding.names import session_name, terminal_name
from lettafast.errors import ProviderError, TmuxReason
from lettafast.records import Mode

from .jsons import clean
from .offer import is_mod_missing, offer_for
from .places import Place, quoted
from .problems import Problem
from .workers import Workers

if TYPE_CHECKING:  # needs the extra `binding`
    from lettafast.binding import Binder, BoundPane, Provider

PaneKey: TypeAlias = tuple[str, str]
"""A session's and a terminal's name, as in addresses."""


@dataclass(frozen=True, slots=True)
class ShownPane:
    """A pane as it was looked at, and as it is told."""

    bound: BoundPane
    shape: Mapping[str, Any]
    """The members of the pane and of the verdict on it, the address of its page (`href`), and
    what would help it (`offer`, or None)."""


@dataclass(frozen=True, slots=True)
class Look:
    """Panes of every session at one moment."""

    panes: Mapping[PaneKey, ShownPane] = field(default_factory=dict)
    """Those that a verdict was asked for, in their providers' order; perhaps more."""
    unreachable: Sequence[Mapping[str, Any]] = ()
    """Sessions that are there and could not be asked."""


class Panes:
    """Looks at all panes at once, however many ask: one look serves all who asked before it.

    A verdict, which reads files, is made only on the panes that somebody asked for.
    """

    def __init__(self, binder: Binder | None) -> None:
        self._binder = binder
        self._worker = Workers(1, "lettafast-panes")
        self._sessions: dict[str, Provider] = {}
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

    async def find(self, key: PaneKey) -> ShownPane:
        """One pane, looked at now. Raises `Problem`: 404, or 503 where nobody answers."""
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
                return _away(unseen["provider"], unseen["saw"], unseen["reason"], None)
        provider = self._sessions.get(session)
        if provider is not None:
            try:
                await self._worker.run(provider.panes)
            except ProviderError as error:
                # A tmux ends with its last pane, and herdr comes again with all that it had.
                if error.reason is not TmuxReason.NO_SERVER:
                    return _away(provider.name, str(error), str(error.reason), error.hint)
        return Problem(HTTPStatus.NOT_FOUND, "unknown_pane", "no session has such a pane")

    async def scrollback(self, shown: ShownPane) -> str | None:
        """The pane's terminal text without escape sequences; None where it is not told."""
        pane = shown.bound.pane
        provider = self._sessions[session_name(pane.provider, pane.socket)]
        try:
            return await self._worker.run(provider.terminal_text, pane)
        except ProviderError:
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
        binder = self._binder
        assert binder is not None  # noqa: S101 - `look` asked
        world = binder.look()
        is_missing = functools.cache(is_mod_missing)
        panes = {}
        for seen in world.panes:
            session = session_name(seen.pane.provider, seen.pane.socket)
            key = session, terminal_name(seen.pane.terminal_id)
            if key in wanted or None in wanted:
                bound = binder.bound(world, seen)
                panes[key] = ShownPane(bound, _shape_of(bound, is_missing))
        binder.memory.prune()
        for provider in (*world.answered, *world.unseen):
            self._sessions[session_name(provider.name, provider.socket)] = provider
        unreachable = tuple(
            clean(
                {
                    "provider": provider.name,
                    "session": session_name(provider.name, provider.socket),
                    "socket": provider.socket,
                    "reason": str(problem.reason),
                    "saw": problem.saw,
                }
            )
            for provider, problem in world.unseen.items()
        )
        return Look(panes, unreachable)


def is_passing(shown: ShownPane | None) -> bool:
    """Whether the look met something that was just being written: the next one may know more."""
    from lettafast.binding.verdict import Reason

    passing = (Reason.CHANGED_WHILE_READING, Reason.RECORD_CHANGED, Reason.STORE_CHANGED)
    return shown is not None and getattr(shown.bound.verdict, "reason", None) in passing


def place_of(shown: ShownPane, mode: Mode) -> Place | None:
    """The transcript that the pane is proven to show; None where it shows its terminal."""
    from lettafast.binding.verdict import Bound

    verdict = shown.bound.verdict
    if not isinstance(verdict, Bound):
        return None
    return Place(verdict.root, verdict.agent_id, verdict.conversation_id, mode)


def witness_of(shown: ShownPane) -> str | None:
    """Where the pane's letta says what it shows, if it says so; None where no letta is known."""
    from lettafast.binding.witness_file import name_of

    letta = shown.bound.letta
    home = "" if letta is None else (letta.environ or {}).get("HOME", "")
    if letta is None or not letta.same_user or not os.path.isabs(home):
        return None
    return os.path.join(home, name_of(letta.identity))


def _shape_of(bound: BoundPane, is_missing: Callable[[str], bool]) -> Mapping[str, Any]:
    from lettafast.binding.shape import pane_shape

    shape = pane_shape(bound)
    offer = offer_for(bound, is_missing)
    shape["href"] = f"/panes/{quoted(shape['session'])}/{quoted(shape['terminal'])}"
    shape["offer"] = None if offer is None else clean(asdict(offer))
    return shape


def _away(provider: str, detail: str, reason: str, hint: str | None) -> Problem:
    more: dict[str, Any] = {"hint": hint} if hint else {}
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, provider, detail, reason=reason, **more)
