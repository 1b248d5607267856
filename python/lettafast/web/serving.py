"""The application on a socket, until the process is told to end."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from .access import LOOPBACK, Access
from .app import create_app
from .descriptors import raise_limit
from .limits import WebLimits

if TYPE_CHECKING:  # needs the extra `binding`
    from lettafast.binding import Binder

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_CONNECTIONS = 1_000
_BACKLOG = 512
_GRACE = 1
"""Seconds that answers have to end in."""


@dataclass(frozen=True, slots=True)
class Served:
    """Where the server listens."""

    url: str
    """With the start token: it lets in one browser."""
    token: str
    is_loopback: bool


class Server(uvicorn.Server):
    """Ends its event streams first, and treats a signal as the end that it is."""

    def __init__(
        self, app: Starlette, limits: WebLimits, on_start: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="on",
                # A log of requests would hold the start token.
                access_log=False,
                log_config=None,
                log_level="critical",
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                limit_concurrency=_CONNECTIONS,
                timeout_graceful_shutdown=_GRACE,
                h11_max_incomplete_event_size=2 * (limits.header_bytes + limits.target_bytes),
            )
        )
        self._live = app.state.live
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        self._live.end_streams()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The signals end the server and not the process with it; only a main thread gets them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(  # noqa: PLR0913 - each is a choice of who starts the server
    host: str,
    port: int,
    tell: Callable[[Served], None],
    *,
    root: str | None = None,
    token: str | None = None,
    note: str | None = None,
    binder: Binder | None = None,
    or_any_port: bool = False,
    limits: WebLimits | None = None,
) -> None:
    """Serves until SIGINT or SIGTERM; `tell` is told where, once it answers.

    `or_any_port` takes a free port where `port` is taken. Raises `OSError` where
    the address cannot be listened at.
    """
    bounds = limits or WebLimits()
    raise_limit()
    listening = listen(host, port, bounds, or_any_port=or_any_port)
    with listening:
        address, actual = listening.getsockname()[:2]
        access = access_of(host, address, actual, token)
        app = create_app(root, access=access, binder=binder, note=note, limits=bounds)
        name = _browsable(host, address)
        served = Served(
            f"http://{name}:{actual}{access.start_path}",
            access.token,
            ipaddress.ip_address(address).is_loopback,
        )
        Server(app, bounds, lambda: tell(served)).run([listening])


def listen(host: str, port: int, limits: WebLimits, *, or_any_port: bool = False) -> socket.socket:
    """A listening socket. Raises `OSError`."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "this cannot be the name of a host") from None
    try:
        found = socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except OSError:
        if not or_any_port:
            raise
        found = socket.create_server((place[0], 0), family=family, backlog=_BACKLOG)
    # Who never reads must not hold a connection for ever; connections inherit it.
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        found.setsockopt(socket.IPPROTO_TCP, option, int(limits.unread * 1000))
    return found


def access_of(host: str, address: str, port: int, token: str | None) -> Access:
    """Who is let in at this address: its own names, or any address where it listens at all."""
    listens = ipaddress.ip_address(address)
    names = [*LOOPBACK, _bracketed(host), _bracketed(address)]
    if not listens.is_loopback:
        names.append(socket.gethostname())
    return Access(port, names, any_address=listens.is_unspecified, token=token)


def _browsable(host: str, address: str) -> str:
    """What to call the server in an address line."""
    if ipaddress.ip_address(address).is_unspecified:
        return "localhost"
    return _bracketed(host)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
