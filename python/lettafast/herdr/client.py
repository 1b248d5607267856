"""The blocking client of one herdr session."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from lettafast.errors import HerdrUnavailable, HerdrUnavailableReason
from lettafast.peer import peer_pid

from . import calls, codec, dial
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

DEADLINE = 5.0
"""Seconds that a call may take in all, unless another deadline is given."""


class Herdr:
    """The herdr session that listens at `socket`; nothing is connected between calls.

    A call ends within `deadline` seconds, from connecting to the last byte. Each may
    raise `HerdrUnavailable`, `HerdrProtocolError` and `HerdrRefused`. Several threads
    may call at once.
    """

    def __init__(self, socket: str, deadline: float = DEADLINE) -> None:
        self.socket = socket
        self.deadline = deadline
        self._peer: int | None = None

    def ping(self) -> Version:
        """Which herdr it is. An answer does not prove that the rest of herdr answers."""
        return self._call(calls.ping(self.socket))

    def snapshot(self) -> Snapshot:
        """All panes, tabs and workspaces."""
        return self._call(calls.snapshot(self.socket))

    def pane(self, pane_id: str) -> PaneInfo:
        """One pane. `HerdrRefused` with `pane_not_found` where there is none."""
        return self._call(calls.pane(self.socket, pane_id))

    def process_info(self, pane_id: str) -> ProcessInfo:
        """What runs in front in a pane.

        `HerdrRefused` with `pane_not_found` also where nothing was started in it yet.
        """
        return self._call(calls.process_info(self.socket, pane_id))

    def read(
        self, pane_id: str, lines: int = MAX_READ_LINES, source: ReadSource = "recent"
    ) -> Screen:
        """A pane's last rows as plain text, at most 1,000; never scrolls the pane."""
        return self._call(calls.read(self.socket, pane_id, lines, source))

    def subscribe(
        self, events: Iterable[str] = calls.EVENTS, status_of: Iterable[str] = ()
    ) -> Subscription:
        """Events from now on, of the kinds `events` (spelled as in `pane.created`).

        `status_of` names panes whose agent status is of interest. herdr refuses the
        whole subscription when it does not know one kind or one pane. herdr up to
        0.8.2 first sends up to 512 old events.
        """
        until = time.monotonic() + self.deadline
        connected = self._connected(until)
        try:
            lines = codec.Lines(self.socket)
            request = calls.subscription(events, status_of)
            first, *rest = self._ask(connected, lines, request, until)
            calls.started(self.socket, first)
        except BaseException:
            connected.close()
            raise
        return Subscription(self.socket, connected, lines, rest)

    def peer_pid(self) -> int | None:
        """The pid of the herdr that answered last; it is connected to where none did yet.

        0 where its pid namespace cannot be seen from here, None where the system does
        not say.
        """
        if self._peer is None:
            self._connected(time.monotonic() + self.deadline).close()
        return self._peer

    def _call(self, call: calls.Call[T]) -> T:
        until = time.monotonic() + self.deadline
        try:
            request = next(call)
            while True:
                with self._connected(until) as connected:
                    line = self._ask(connected, codec.Lines(self.socket), request, until)[0]
                request = call.send(line)
        except StopIteration as done:
            answer: T = done.value
            return answer

    def _connected(self, until: float) -> socket.socket:
        found = dial.unconnected(self.socket)
        try:
            while not dial.connect(found, self.socket):
                time.sleep(min(dial.FULL_QUEUE_PAUSE, _left(self.socket, until)))
            self._peer = peer_pid(found)
        except BaseException:
            found.close()
            raise
        return found

    def _ask(
        self, connected: socket.socket, lines: codec.Lines, request: bytes, until: float
    ) -> list[bytes]:
        """The lines that came with the first one."""
        try:
            connected.settimeout(_left(self.socket, until))
            connected.sendall(request)
            while True:
                connected.settimeout(_left(self.socket, until))
                found = lines.feed(_received(self.socket, connected))
                if found:
                    return found
        except TimeoutError:
            raise dial.unavailable(self.socket, HerdrUnavailableReason.TIMEOUT) from None
        except OSError as error:
            raise dial.from_os(self.socket, error) from None


class Subscription:
    """Events of one herdr session. To be closed, or used as a context.

    Those of one kind come in order; herdr sends the kinds of one moment in any order.

    Iterating waits for each event and ends when the subscription is closed, which
    another thread may do. Raises `HerdrUnavailable` when herdr ends the connection,
    `HerdrRefused` with `events_lost` when it gave up on a slow reader (since 0.9.2;
    before, such events are lost silently), `HerdrProtocolError`.
    """

    def __init__(
        self, path: str, connected: socket.socket, lines: codec.Lines, waiting: list[bytes]
    ) -> None:
        """Use `Herdr.subscribe`."""
        self._path = path
        self._connected = connected
        self._lines = lines
        self._waiting = deque(waiting)
        self._closed = False

    def wait(self, seconds: float | None = None) -> Event | None:
        """The next event; None when none came in `seconds`, or when it was closed."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._waiting and not self._closed:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not self._receive(left):
                return None
        return None if self._closed else codec.event(self._path, self._waiting.popleft())

    def close(self) -> None:
        """Ends the subscription and wakes who waits for it. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):  # herdr may have been faster
                self._connected.shutdown(socket.SHUT_RDWR)
            self._connected.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self.wait()
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _receive(self, seconds: float | None) -> bool:
        """Takes in what comes; False when nothing did, or when it was closed meanwhile."""
        try:
            self._connected.settimeout(seconds)
            self._waiting += self._lines.feed(_received(self._path, self._connected))
        except (TimeoutError, BlockingIOError):
            return False
        except HerdrUnavailable:
            if self._closed:
                return False
            raise
        except OSError as error:
            if self._closed:
                return False
            raise dial.from_os(self._path, error) from None
        return True


def _left(path: str, until: float) -> float:
    """Seconds until then. Raises `HerdrUnavailable` when there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise dial.unavailable(path, HerdrUnavailableReason.TIMEOUT)
    return left


def _received(path: str, connected: socket.socket) -> bytes:
    data = connected.recv(dial.RECEIVE_BYTES)
    if not data:
        raise dial.unavailable(path, HerdrUnavailableReason.CLOSED)
    return data
