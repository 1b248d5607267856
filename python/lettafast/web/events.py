"""Server-sent events: what a client asks to watch, what waits for it, and the stream."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send

from lettafast.records import Mode

from .jsons import to_json
from .panes import PaneKey
from .places import Place, unquoted
from .problems import Problem

_WATCH = re.compile(
    r"(?P<kind>conversation|pane):(?P<first>[^/?]{1,1024})/(?P<second>[^/?]{1,1024})"
    r"(?:\?mode=(?P<mode>strict|lenient))?"
)
_HEARTBEAT = b":\n\n"
_RETRY = b"retry: 1000\n\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """One watch: its text, and the pane or the conversation that it names."""

    text: str
    pane: PaneKey | None
    place: Place | None
    mode: Mode


def asked(text: str, root: str) -> Asked:
    """What `watch=<text>` means. Raises `Problem`."""
    found = _WATCH.fullmatch(text)
    names = [unquoted(found[part]) for part in ("first", "second")] if found else []
    if found is None or any("/" in name or "\0" in name for name in names):
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "query",
            "a watch is `conversation:<agent>/<conversation>` or `pane:<session>/<terminal>`, "
            "with `?mode=lenient` behind it where that is meant",
        )
    first, second = names
    mode: Mode = "lenient" if found["mode"] == "lenient" else "strict"
    if found["kind"] == "pane":
        return Asked(text, (first, second), None, mode)
    return Asked(text, None, Place(root, first, second, mode), mode)


def message(watch: str, name: str, data: dict[str, Any]) -> bytes:
    """One event as it is sent."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json({"watch": watch, **data}))


class Subscription:
    """What waits for one client: at most `most` events; with one more it is let go."""

    def __init__(self, watches: Iterable[str], most: int) -> None:
        self.watches = frozenset(watches)
        self.ended = False
        self._most = most
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()

    def put(self, data: bytes) -> None:
        """Adds an event."""
        if len(self._waiting) >= self._most:
            self.end()
        elif not self.ended:
            self._waiting.append(data)
            self._news.set()

    def end(self) -> None:
        """Nothing more is sent, also of what waits."""
        self.ended = True
        self._waiting.clear()
        self._news.set()

    async def next(self, seconds: float) -> bytes:
        """All that waits, or nothing once `seconds` have passed or the end has come."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)
        self._news.clear()
        data = b"".join(self._waiting)
        self._waiting.clear()
        return data


class EventStream:
    """The answer that sends what comes to a subscription until either side ends."""

    def __init__(
        self,
        subscription: Subscription,
        on_end: Callable[[Subscription], None],
        heartbeat: float,
        unread: float,
    ) -> None:
        self._subscription = subscription
        self._on_end = on_end
        self._heartbeat = heartbeat
        self._unread = unread

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """The stream, as an ASGI application."""
        leaving = asyncio.ensure_future(self._until_left(receive))
        try:
            headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send(send)
        finally:
            self._on_end(self._subscription)
            leaving.cancel()
            await asyncio.wait([leaving])

    async def _send(self, send: Send) -> None:
        data = _RETRY
        while not self._subscription.ended:
            body = {"type": "http.response.body", "body": data, "more_body": True}
            try:
                await asyncio.wait_for(send(body), self._unread)
            except asyncio.TimeoutError:  # it does not read; it may come again
                return
            data = await self._subscription.next(self._heartbeat) or _HEARTBEAT
        with contextlib.suppress(asyncio.TimeoutError):
            end = {"type": "http.response.body", "body": b"", "more_body": False}
            await asyncio.wait_for(send(end), self._unread)

    async def _until_left(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._subscription.end()
