"""What stands before every route: host, origin, method, size, secret; and the headers of safety."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .access import START, Access
from .answers import problem_response
from .limits import WebLimits
from .problems import Problem

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_OPEN = "/static/"
"""The looks of the pages are no secret, and the page that asks for the token needs them."""


class Guard:
    """Answers what must not come through, and sets the headers of all answers."""

    def __init__(self, app: ASGIApp, access: Access, limits: WebLimits) -> None:
        self._app = app
        self._access = access
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application with what stands before it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "private, no-cache")
            await send(message)

        # As bytes of a file name would be; Starlette's own decoding loses those that are no UTF-8.
        raw = scope.get("raw_path") or scope["path"].encode()
        scope = {**scope, "path": unquote(raw.decode("latin-1"), errors="surrogateescape")}
        headers = Headers(scope=scope)
        answer: ASGIApp = self._app
        try:
            answer = self._let_in(scope, headers) or self._app
        except Problem as problem:
            answer = problem_response(problem, scope["path"], headers.get("accept"))
        await answer(scope, receive, with_headers)

    def _let_in(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to who asks with the start token; None for who may go on."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.is_our_host(hosts[0]):
            raise Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "foreign_host",
                "the Host header names none of this server's hosts",
            )
        self._check_origin(headers, hosts[0])
        if scope["method"] != "GET":
            raise Problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method",
                "lettafast only reads",
                headers={"allow": "GET"},
            )
        self._check_size(scope, headers)
        start = _start(scope)
        let_in = self._access.is_let_in(headers.get("authorization"), headers.getlist("cookie"))
        if start is not None and (self._access.exchange(start) or let_in):
            return RedirectResponse(
                scope["path"],
                HTTPStatus.SEE_OTHER,
                {"set-cookie": self._access.set_cookie(), "cache-control": "no-store"},
            )
        if not let_in and not scope["path"].startswith(_OPEN):
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "no_token",
                "open the URL that `lettafast serve` printed; it works once, in one browser",
                hint="start `lettafast serve` again for a new one, or send `Authorization: Bearer`",
                headers={"www-authenticate": "Bearer"},
            )
        return None

    def _check_origin(self, headers: Headers, host: str) -> None:
        """Browsers send `Sec-Fetch-Site` to trustworthy origins; else `Origin` has to do."""
        sites = headers.getlist("sec-fetch-site")
        origins = headers.getlist("origin")
        if sites:
            good = all(site in ("same-origin", "none") for site in sites)
        else:
            good = all(self._access.is_our_origin(origin, host) for origin in origins)
        if not good:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "foreign_request",
                "only this server's own pages, and addresses typed or opened by its user, may ask",
                hint="where a terminal in a browser shows the address, paste it into a new tab",
            )

    def _check_size(self, scope: Scope, headers: Headers) -> None:
        target = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if target > self._limits.target_bytes:
            raise Problem(HTTPStatus.REQUEST_URI_TOO_LONG, "too_large", "the address is too long")
        if sum(len(name) + len(value) for name, value in headers.raw) > self._limits.header_bytes:
            raise Problem(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                "too_large",
                "the headers are too long",
            )
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", "a request has no body here"
            )


def _start(scope: Scope) -> str | None:
    query = scope["query_string"].decode("latin-1")
    if scope["path"] != "/" or START not in query:
        return None
    try:
        found = parse_qs(query, max_num_fields=8).get(START)
    except ValueError:
        return None
    return found[0] if found else None
