"""Who is let in: the host names of this server, and its three secrets.

Other users of the machine can reach a loopback port, and any site that a browser
shows can send requests to it. Whoever starts the server gets a URL with a start
token that works once; the browser that opens it gets a cookie with another value.
Scripts send a third, the bearer token.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable

_HTTP_PORT = 80

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
START = "start"
"""The query parameter of the start token."""


class Access:
    """Lets in who knows a secret of this server and calls it by one of its names.

    `names` are host names, or addresses (IPv6 in brackets), as a browser's address
    line shows them; `port` is the port that it shows. `any_address` accepts each
    IP address as a name too: another site can make its own name point here, but not
    an address. `token` is the bearer token, else a random one.
    """

    def __init__(
        self,
        port: int,
        names: Iterable[str] = LOOPBACK,
        *,
        any_address: bool = False,
        token: str | None = None,
    ) -> None:
        self.port = port
        self.names = tuple(name.lower() for name in names)
        self.any_address = any_address
        self.token = token or secrets.token_urlsafe(32)
        self.cookie_name = f"lettafast-{port}"
        """Cookies are shared by the ports of a host, so each port has a name of its own."""
        self._start: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)

    @property
    def start_path(self) -> str:
        """The path and query that let in one browser, once."""
        return f"/?{START}={self._start or ''}"

    def is_our_host(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        name, port = _split(host.lower())
        if port != str(self.port) and not (port is None and self.port == _HTTP_PORT):
            return False
        return name in self.names or (self.any_address and _is_address(name))

    def is_our_origin(self, origin: str, host: str) -> bool:
        """Whether an `Origin` header is that of the pages that this server gave out."""
        scheme, _, name = origin.lower().partition("://")
        return scheme in ("http", "https") and name == host.lower()

    def exchange(self, start: str) -> bool:
        """Takes the start token, which is then worth nothing; whether it was the right one."""
        if self._start is None or not _same(start, self._start):
            return False
        self._start = None
        return True

    def set_cookie(self) -> str:
        """The `Set-Cookie` header of a browser that is let in."""
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def is_let_in(self, authorization: str | None, cookies: Iterable[str]) -> bool:
        """Whether the `Authorization` or a `Cookie` header holds a secret."""
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            return scheme.lower() == "bearer" and _same(token.strip(), self.token)
        return any(
            _same(value.strip(), self._cookie)
            for header in cookies
            for name, _, value in (pair.partition("=") for pair in header.split(";"))
            if name.strip() == self.cookie_name
        )


def _split(host: str) -> tuple[str, str | None]:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, None
    return name, port


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(errors="replace"), other.encode())
