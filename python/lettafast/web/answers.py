"""Answers: bytes with an ETag, 304, and problem details for programs and for people."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from . import pages
from .jsons import to_json
from .problems import MEDIA_TYPE, Problem

JSON = "application/json"
HTML = "text/html; charset=utf-8"

_NOT_MODIFIED = 304
_TAG = re.compile(r'(?:W/)?("[^"]*")')


def etag(*parts: bytes) -> str:
    """A strong tag of exactly these bytes."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return f'"{found.hexdigest()}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has what `tag` names."""
    asked = request.headers.getlist("if-none-match")
    return any(one.strip() == "*" or tag in _TAG.findall(one) for one in asked)


def not_modified(tag: str, links: str | None = None) -> Response:
    """The client has it."""
    return Response(status_code=_NOT_MODIFIED, headers=_headers(tag, links))


def data_response(request: Request, data: bytes, links: str | None = None) -> Response:
    """JSON bytes, or 304 where the client has them; `links` is a `Link` header."""
    tag = etag(data, (links or "").encode())
    if is_known(request, tag):
        return not_modified(tag, links)
    return Response(data, media_type=JSON, headers=_headers(tag, links))


def json_response(request: Request, value: Any) -> Response:
    """A value as JSON."""
    return data_response(request, to_json(value))


def html_response(text: str, tag: str | None = None, status: int = 200) -> Response:
    """A page, or a fragment of one."""
    headers = _headers(tag, None) if tag else None
    return Response(text.encode("utf-8", "replace"), status, headers, media_type=HTML)


def problem_response(problem: Problem, path: str, accept: str | None) -> Response:
    """Problem details, as a page where a browser asked for one."""
    headers = {"cache-control": "no-store", "vary": "accept", **problem.headers}
    if not path.startswith("/api/") and "text/html" in (accept or ""):
        text = pages.problem_page(problem.body)
        return Response(text.encode("utf-8", "replace"), problem.status, headers, media_type=HTML)
    return Response(to_json(problem.body), problem.status, headers, media_type=MEDIA_TYPE)


def _headers(tag: str | None, links: str | None) -> dict[str, str]:
    found = {"etag": tag, "link": links}
    return {name: value for name, value in found.items() if value}
