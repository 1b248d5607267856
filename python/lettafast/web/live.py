"""Everything that clients watch, looked at by one task.

Every 250 ms one `stat` of each watched file, in one go; only a file whose stamp moved
is read. Every 2 s one look at all panes, and at once when something moved that the verdict
on a watched pane stands on: what its letta's witness says, the record, the transcript. The
task exists only while something is watched.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine, Iterable, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from lettafast.errors import HistoryChanged, LettafastError
from lettafast.transcript import Transcript

from .events import Asked, Subscription, message
from .limits import WebLimits
from .panes import Look, PaneKey, Panes, is_passing, place_of, witness_of
from .places import Stamp, stamp
from .problems import Problem
from .shelf import Shelf
from .tail import News, Tail
from .workers import Workers

_LOG = logging.getLogger(__name__)
_RECORD = ".letta/settings.local.json"
"""Letta's settings record, beneath the folder that it runs in."""
_TAKEN_AT_EACH_LOOK = ("evidence", "checked_at")


class _Grounds(NamedTuple):
    """What the verdict on a pane stands on."""

    files: tuple[str, ...] = ()
    witness: str | None = None
    """What the letta's witness writes: again and again, mostly the same."""


class _Watch:
    """One watch and the clients that asked for it."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.clients: set[Subscription] = set()
        self.tail = None if asked.place is None else Tail(asked.place)
        """Of the conversation: the one asked for, or the one that the pane is bound to."""
        self.verdict: News | None = None
        self.doubted = False
        """Whether the last look met something that was just being written."""
        self.grounds = _Grounds()
        self.stood: tuple[Stamp | bytes, ...] | None = None
        """How the grounds were before the last look."""

    def tell(self, news: News | None) -> None:
        if news is not None and self.clients:
            data = message(self.asked.text, *news)
            for client in tuple(self.clients):
                client.put(data)

    def standing(self) -> Iterable[News]:
        if self.verdict is not None:
            yield self.verdict
        if self.tail is not None and self.tail.standing is not None:
            yield self.tail.standing


class Live:
    """Tells clients what happens to what they watch. Used from one event loop."""

    def __init__(self, shelf: Shelf, panes: Panes, limits: WebLimits) -> None:
        self._shelf = shelf
        self._panes = panes
        self._limits = limits
        self._stats = Workers(1, "lettafast-stat")
        self._clients: set[Subscription] = set()
        self._watches: dict[str, _Watch] = {}
        self._task: asyncio.Task[None] | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._looking = False
        self._next_look = 0.0
        self._closed = False

    @property
    def clients(self) -> int:
        """How many clients watch."""
        return len(self._clients)

    @property
    def watched_files(self) -> int:
        """How many transcripts are looked at."""
        return sum(watch.tail is not None for watch in self._watches.values())

    def subscribe(self, asked: Sequence[Asked]) -> Subscription:
        """Begins to watch: each watch is told at once how it stands. Raises `Problem`."""
        limits = self._limits
        new = {one.text for one in asked} - self._watches.keys()
        if self._closed or len(self._clients) >= limits.streams:
            raise _busy("as many clients watch as this server allows")
        if len(self._watches) + len(new) > limits.watched:
            raise _busy("as much is watched as this server allows")
        client = Subscription((one.text for one in asked), limits.waiting)
        self._clients.add(client)
        for one in asked:
            watch = self._watches.setdefault(one.text, _Watch(one))
            watch.clients.add(client)
            for name, data in watch.standing():
                client.put(message(one.text, name, data))
            if watch.verdict is None and one.pane is not None:
                self._next_look = 0.0
        self._wake.set()
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
            self._task.add_done_callback(_complain)
        return client

    def unsubscribe(self, client: Subscription) -> None:
        """Ends what a client watches; what nobody else watches costs nothing any more."""
        client.end()
        self._clients.discard(client)
        for text in client.watches:
            watch = self._watches.get(text)
            if watch is not None:
                watch.clients.discard(client)
                if not watch.clients:
                    del self._watches[text]
        self._wake.set()

    def end_streams(self) -> None:
        """Ends every stream, and lets no other begin."""
        self._closed = True
        for client in tuple(self._clients):
            client.end()
        self._wake.set()

    async def close(self, until: float) -> None:
        """Ends all; its thread by `until`, as `time.monotonic` says."""
        self.end_streams()
        tasks = [task for task in (self._task, *self._busy) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._watches.clear()
        self._stats.close(until)

    async def _run(self) -> None:
        try:
            while self._watches and not self._closed:
                self._wake.clear()
                due = time.monotonic() + self._limits.poll
                await self._look()
                while (left := due - time.monotonic()) > 0 and self._watches:
                    try:
                        await asyncio.wait_for(self._wake.wait(), left)
                    except asyncio.TimeoutError:
                        break
                    self._wake.clear()
                    if any(_is_new(watch) for watch in self._watches.values()):
                        break
        finally:
            self._task = None

    async def _look(self) -> None:
        watches = list(self._watches.values())
        tails = [(watch, watch.tail) for watch in watches if watch.tail and not watch.tail.busy]
        panes = [watch for watch in watches if watch.asked.pane is not None]
        stamps, stand = await self._stats.run(
            _stamps,
            [tail.path for _, tail in tails],
            [watch.grounds for watch in panes],
        )
        for (watch, tail), now in zip(tails, stamps, strict=True):
            if now != tail.stamp:
                tail.busy, tail.stamp = True, now
                self._begin(self._read(watch, tail))
        for watch, stands in zip(panes, stand, strict=True):
            if watch.stood not in (None, stands):
                self._next_look = 0.0
            watch.stood = stands
        if panes and not self._looking and time.monotonic() >= self._next_look:
            self._looking = True
            self._next_look = time.monotonic() + self._limits.verdicts
            self._begin(self._look_at_panes())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._busy.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy.discard(task)
        _complain(task)

    async def _read(self, watch: _Watch, tail: Tail) -> None:
        """Reads what moved, and tells it unless nobody watches it any more."""
        try:
            news = tail.found(await self._shelf.read(tail.place, _end))
        except HistoryChanged:  # again while it was read
            tail.stamp, news = None, None
        except LettafastError as error:
            news = tail.failed(error)
        finally:
            tail.busy = False
        if watch.tail is tail:
            watch.tell(news)

    async def _look_at_panes(self) -> None:
        try:
            keys = [watch.asked.pane for watch in self._watches.values()]
            look = await self._panes.look([key for key in keys if key is not None])
            for watch in tuple(self._watches.values()):
                # One that came meanwhile has the next look.
                if watch.asked.pane in keys and watch.asked.pane is not None:
                    await self._judge(watch, watch.asked.pane, look)
        finally:
            self._looking = False

    async def _judge(self, watch: _Watch, key: PaneKey, look: Look) -> None:
        shown = look.panes.get(key)
        if shown is not None:
            place = place_of(shown, watch.asked.mode)
            folder = shown.bound.pane.cwd
            files: tuple[str, ...] = (f"{folder}/{_RECORD}",) if folder else ()
            if place is not None:
                files += (place.path,)
            grounds = _Grounds(files, witness_of(shown))
            news: News = "verdict", {"pane": shown.shape}
        else:
            problem = await self._panes.why_not(key, look)
            place, grounds = None, _Grounds()
            gone = problem.status == HTTPStatus.NOT_FOUND
            news = ("pane_closed", {}) if gone else ("verdict", {"pane": _unseen(key, problem)})
        if grounds != watch.grounds:
            # What moves before they are first looked at is seen by one look more.
            watch.grounds, watch.stood, self._next_look = grounds, None, 0.0
        if is_passing(shown) and not watch.doubted:
            watch.doubted, self._next_look = True, 0.0
            return
        watch.doubted = False
        before, watch.verdict = watch.verdict, news
        if before is None or _lasting(before) != _lasting(news):
            watch.tell(news)
        if place != (watch.tail.place if watch.tail else None):
            watch.tail = Tail(place) if place else None
            self._wake.set()


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("watching failed", exc_info=error)


def _busy(detail: str) -> Problem:
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, headers={"retry-after": "10"})


def _is_new(watch: _Watch) -> bool:
    """Whether nothing is known yet of what is watched."""
    if watch.tail is not None and watch.tail.stamp is None and not watch.tail.busy:
        return True
    return watch.asked.pane is not None and watch.verdict is None


def _end(transcript: Transcript) -> str | None:
    return transcript.end


def _stamps(
    paths: Sequence[str], grounds: Sequence[_Grounds]
) -> tuple[list[Stamp], list[tuple[Stamp | bytes, ...]]]:
    return (
        [stamp(path) for path in paths],
        [
            (*map(stamp, one.files), _said(one.witness) if one.witness is not None else 0)
            for one in grounds
        ],
    )


def _said(path: str) -> bytes | int:
    """What a letta's witness says, byte by byte; an `errno` where that cannot be read."""
    from lettafast.binding.witness_file import LARGEST

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return error.errno or 0
    except ValueError:  # a NUL in the name
        return 0
    try:
        return os.read(fd, LARGEST)
    except OSError as error:
        return error.errno or 0
    finally:
        os.close(fd)


def _lasting(news: News) -> Any:
    """What of a verdict is not merely the look's."""
    name, data = news
    pane = data.get("pane", {})
    return name, {key: pane[key] for key in pane if key not in _TAKEN_AT_EACH_LOOK}


def _unseen(key: PaneKey, problem: Problem) -> dict[str, Any]:
    """The shape of a pane whose session does not answer."""
    from lettafast.binding.advice import ADVICE
    from lettafast.binding.providers import unavailable

    session, terminal = key
    reason = unavailable(problem.body["type"].rpartition(":")[2])
    return {
        "session": session,
        "terminal": terminal,
        "href": f"/panes/{session}/{terminal}",
        "verdict": "terminal",
        "reason": str(reason),
        "sentence": problem.body["detail"],
        "advice": ADVICE[reason],
        "evidence": [],
        "checked_at": time.time(),
    }
