"""The sockets of a session: messages in the order of their arrival, and how each socket ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from lettafast.errors import SessionError, SessionReason

from .frames import Channel
from .secret import Secret

MAX_MESSAGE = 16 << 20
"""Bytes of one message."""
TOO_BIG = 1009
"""The close code of who was sent a longer one (RFC 6455)."""
_CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """One message, as it was on the wire."""

    channel: Channel
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """A socket ended. `code` is None where no close frame came or went; `too_big`: we closed it."""

    channel: Channel
    code: int | None
    reason: str
    too_big: bool = False


class Transport(Protocol):
    """One session's connection, over one socket or two."""

    async def send(self, text: str) -> None:
        """Sends on the control socket. Raises `SessionError` (`closed`)."""

    async def receive(self) -> Arrived | Closed | None:
        """The next message or end of a socket; None when all have ended."""

    async def close(self) -> None:
        """Closes all sockets; what arrived before can still be received. Closing twice is fine."""


async def open_socket(
    url: str, name: str, seconds: float, *, key: Secret | None = None, keep_alive: float | None
) -> ClientConnection:
    """A socket, opened within `seconds`. Raises `SessionError`, whose detail is `name`.

    `keep_alive`: seconds between WebSocket pings, or None where the protocol above has its own.
    """
    status = None
    try:
        return await _Connect(
            url,
            additional_headers=None if key is None else {"Authorization": f"Bearer {key.reveal()}"},
            user_agent_header="lettafast",
            # Neither a proxy nor a redirect may see the key, nor a log the headers.
            proxy=None,
            logger=_SILENT,
            compression=None,
            open_timeout=seconds,
            close_timeout=_CLOSE_SECONDS,
            ping_interval=keep_alive,
            max_size=MAX_MESSAGE,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        reason = refusal(status)
    except asyncio.TimeoutError:
        reason = SessionReason.DEADLINE
    except (OSError, WebSocketException):
        reason = SessionReason.UNREACHABLE
    # Raised here, since an error's context holds the frames that know the headers.
    raise SessionError(reason, name, status)


def refusal(status: int) -> SessionReason:
    """What an HTTP status that is no success means here."""
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return SessionReason.UNAUTHORIZED
    if status == HTTPStatus.NOT_FOUND:
        return SessionReason.NOT_FOUND
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return SessionReason.UNREACHABLE
    return SessionReason.REFUSED


class Sockets:
    """Reads all sockets of a session; when one ends, the others are closed."""

    def __init__(
        self,
        connections: Mapping[Channel, ClientConnection],
        first: Callable[[Channel, bytes], Awaitable[bool]] | None = None,
    ) -> None:
        """Call it in a running loop: it begins to read.

        `first` is called with each message before it is handed on, and says whether it is to be.
        """
        self._connections = connections
        self._first = first
        self._arrived: asyncio.Queue[Arrived | Closed | None] = asyncio.Queue()
        self._closing: asyncio.Task[None] | None = None
        self._readers = {
            channel: asyncio.create_task(self._read(channel, connection))
            for channel, connection in connections.items()
        }
        self._reading = len(self._readers)

    async def send(self, text: str) -> None:
        """As `Transport.send`."""
        if not await self.send_on("control", text):
            raise SessionError(SessionReason.CLOSED, "control")

    async def send_on(self, channel: Channel, text: str) -> bool:
        """Sends on one socket; False where it has ended."""
        try:
            await self._connections[channel].send(text)
        except ConnectionClosed:
            return False
        return True

    async def receive(self) -> Arrived | Closed | None:
        """As `Transport.receive`."""
        arrived = await self._arrived.get()
        if arrived is None:
            self._arrived.put_nowait(None)  # for who asks again
        return arrived

    async def close(self) -> None:
        """As `Transport.close`."""
        await self.end("done")
        await asyncio.wait(self._readers.values())

    def end(self, why: str) -> asyncio.Task[None]:
        """Begins to close all sockets, once; `why` is what their close frames say."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close_all(why))
        return self._closing

    async def _close_all(self, why: str) -> None:
        closing = [each.close(reason=why) for each in self._connections.values()]
        await asyncio.gather(*closing)

    async def _read(self, channel: Channel, connection: ClientConnection) -> None:
        try:
            while True:
                data = await connection.recv(decode=False)
                if self._first is None or await self._first(channel, data):
                    self._arrived.put_nowait(Arrived(channel, data))
        except ConnectionClosed as error:
            ours = error.sent is not None and not error.rcvd_then_sent
            said = error.sent if ours else error.rcvd
            code, reason = (None, "") if said is None else (said.code, said.reason)
            self._arrived.put_nowait(Closed(channel, code, reason, ours and code == TOO_BIG))
        self.end("the other socket closed")
        self._reading -= 1
        if not self._reading:
            self._arrived.put_nowait(None)


class _Connect(connect):
    """`connect` that follows no redirect."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


# Not one of the program's loggers, whose levels others set: at DEBUG, headers are logged.
_SILENT = logging.Logger("lettafast.receipts", logging.CRITICAL + 1)  # noqa: LOG001 - on purpose
