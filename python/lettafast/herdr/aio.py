"""The client of one herdr session for asyncio: what `client` offers, to be awaited."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterable
from types import TracebackType
from typing import TypeVar

from lettafast.errors import HerdrUnavailableReason
from lettafast.peer import peer_pid

from . import calls, codec, dial
from .client import DEADLINE
from .records import (
    MAX_READ_LINES,
    Event,
    PaneInfo,
    ProcessInfo,
    ReadSource,
    Screen,
    Snapshot,
    Version,
)

T = TypeVar("T")


class AsyncHerdr:
    """`lettafast.herdr.client.Herdr` for asyncio: same calls, errors and deadline."""

    def __init__(self, socket: str, deadline: float = DEADLINE) -> None:
        self.socket = socket
        self.deadline = deadline
        self._peer: int | None = None

    async def ping(self) -> Version:
        """As `Herdr.ping`."""
        return await self._call(calls.ping(self.socket))

    async def snapshot(self) -> Snapshot:
        """As `Herdr.snapshot`."""
        return await self._call(calls.snapshot(self.socket))

    async def pane(self, pane_id: str) -> PaneInfo:
        """As `Herdr.pane`."""
        return await self._call(calls.pane(self.socket, pane_id))

    async def process_info(self, pane_id: str) -> ProcessInfo:
        """As `Herdr.process_info`."""
        return await self._call(calls.process_info(self.socket, pane_id))

    async def read(
        self, pane_id: str, lines: int = MAX_READ_LINES, source: ReadSource = "recent"
    ) -> Screen:
        """As `Herdr.read`."""
        return await self._call(calls.read(self.socket, pane_id, lines, source))

    async def subscribe(
        self, events: Iterable[str] = calls.EVENTS, status_of: Iterable[str] = ()
    ) -> AsyncSubscription:
        """As `Herdr.subscribe`."""
        request = calls.subscription(events, status_of)
        return await self._in_time(self._subscribed(request))

    async def peer_pid(self) -> int | None:
        """As `Herdr.peer_pid`."""
        if self._peer is None:
            (await self._in_time(self._connected())).close()
        return self._peer

    async def _call(self, call: calls.Call[T]) -> T:
        return await self._in_time(self._answered(call))

    async def _in_time(self, answer: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(answer, self.deadline)
        except asyncio.TimeoutError:
            raise dial.unavailable(self.socket, HerdrUnavailableReason.TIMEOUT) from None

    async def _answered(self, call: calls.Call[T]) -> T:
        line: bytes | None = None
        while True:
            try:
                request = next(call) if line is None else call.send(line)
            except StopIteration as done:
                answer: T = done.value
                return answer
            with await self._connected() as connected:
                line = (await self._ask(connected, codec.Lines(self.socket), request))[0]

    async def _subscribed(self, request: bytes) -> AsyncSubscription:
        connected = await self._connected()
        try:
            lines = codec.Lines(self.socket)
            first, *rest = await self._ask(connected, lines, request)
            calls.started(self.socket, first)
        except BaseException:
            connected.close()
            raise
        return AsyncSubscription(self.socket, connected, lines, rest)

    async def _connected(self) -> socket.socket:
        found = dial.unconnected(self.socket)
        try:
            # The loop's own `sock_connect` takes a full queue for a connection under way.
            while not dial.connect(found, self.socket):  # noqa: ASYNC110 - no event tells of room
                await asyncio.sleep(dial.FULL_QUEUE_PAUSE)
            self._peer = peer_pid(found)
        except BaseException:
            found.close()
            raise
        return found

    async def _ask(
        self, connected: socket.socket, lines: codec.Lines, request: bytes
    ) -> list[bytes]:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(connected, request)
            while True:
                data = await loop.sock_recv(connected, dial.RECEIVE_BYTES)
                found = lines.feed(_received(self.socket, data))
                if found:
                    return found
        except OSError as error:
            raise dial.from_os(self.socket, error) from None


class AsyncSubscription:
    """`lettafast.herdr.client.Subscription` for asyncio."""

    def __init__(
        self, path: str, connected: socket.socket, lines: codec.Lines, waiting: list[bytes]
    ) -> None:
        """Use `AsyncHerdr.subscribe`."""
        self._path = path
        self._connected = connected
        self._lines = lines
        self._waiting = deque(waiting)
        self._receiving: asyncio.Task[bytes] | None = None
        self._closed = False

    async def wait(self, seconds: float | None = None) -> Event | None:
        """As `Subscription.wait`. Being cancelled loses no event."""
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        while not self._waiting and not self._closed:
            if self._receiving is None:
                self._receiving = asyncio.create_task(self._receive())
            left = None if until is None else max(0.0, until - loop.time())
            # Unlike `wait_for`, `wait` lets go of it without ending it.
            await asyncio.wait({self._receiving}, timeout=left)
            if self._closed or not self._receiving.done():
                return None
            done, self._receiving = self._receiving, None
            self._waiting += self._lines.feed(_received(self._path, done.result()))
        return None if self._closed else codec.event(self._path, self._waiting.popleft())

    async def close(self) -> None:
        """Ends the subscription and wakes who waits for it. Closing twice is fine."""
        self._closed = True
        if self._receiving is not None:
            self._receiving.cancel()
            # The loop lets go of the descriptor before it is closed.
            await asyncio.wait({self._receiving})
            if not self._receiving.cancelled():
                self._receiving.exception()  # so that it counts as seen
            self._receiving = None
        self._connected.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self.wait()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _receive(self) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            return await loop.sock_recv(self._connected, dial.RECEIVE_BYTES)
        except OSError as error:
            raise dial.from_os(self._path, error) from None


def _received(path: str, data: bytes) -> bytes:
    if not data:
        raise dial.unavailable(path, HerdrUnavailableReason.CLOSED)
    return data
