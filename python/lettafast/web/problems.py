"""What went wrong, as RFC 9457 problem details."""

from __future__ import annotations

import errno
from http import HTTPStatus
from typing import Any

from lettafast.errors import (
    CursorError,
    HistoryChanged,
    LettafastError,
    ProviderError,
    RefError,
    SourceError,
    SourceReason,
    TmuxError,
    TranscriptRefused,
)

from .jsons import clean

MEDIA_TYPE = "application/problem+json"

_TITLES = {
    "cursor": "The cursor, the limit or the range is no place in this transcript",
    "query": "The query is not one that this route knows",
    "no_token": "This server lets in only who has its token",
    "foreign_request": "The request came from another site",
    "foreign_host": "The request was meant for another host",
    "not_found": "Nothing is at this address",
    "missing": "There is no such conversation",
    "not_written": "The conversation has no transcript yet",
    "unknown_pane": "There is no such pane",
    "ref": "The ref names no text",
    "method": "Only GET exists here",
    "history_changed": "The history is no longer the one that was read",
    "too_large": "The request is too large",
    "refused": "The transcript is refused",
    "unreadable": "The transcript cannot be read",
    "herdr": "herdr cannot be reached",
    "tmux": "tmux cannot be reached",
    "busy": "The server has no room for this now",
    "internal": "A bug in lettafast",
}
CROWDED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What says that the process or the machine has no room, not that something is wrong."""

TYPES = tuple(_TITLES)


class NotWritten(SourceError):  # noqa: N818 - a fact about a conversation, not a mistake
    """The conversation's folder is there, and no transcript in it yet."""


class Problem(Exception):  # noqa: N818 - the RFC's word
    """An answer that is problem details; `body` holds its members."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        *,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}
        self.body: dict[str, Any] = clean(
            {
                "type": f"urn:lettafast:{kind}",
                "title": _TITLES[kind],
                "status": int(status),
                "detail": detail,
                **more,
            }
        )


def problem_of(error: Exception) -> Problem:
    """The problem details of an error; of one that is nobody's doing, those of a bug."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, LettafastError):
        return _of_ours(error)
    if isinstance(error, OSError) and error.errno in CROWDED:
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "busy", str(error))
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "this is a bug in lettafast: please report it with the server's last lines",
    )


def _of_ours(error: LettafastError) -> Problem:
    status, kind = _place(error)
    more: dict[str, Any] = {"reason": str(error.reason)}
    if error.hint:
        more["hint"] = error.hint
    if isinstance(error, TranscriptRefused):
        for name in ("line", "line_offset", "offset", "field", "excerpt"):
            more[name] = getattr(error, name)
    return Problem(status, kind, str(error), **more)


def _place(error: LettafastError) -> tuple[HTTPStatus, str]:
    if isinstance(error, CursorError):
        return HTTPStatus.BAD_REQUEST, "cursor"
    if isinstance(error, RefError):
        return HTTPStatus.NOT_FOUND, "ref"
    if isinstance(error, HistoryChanged):
        return HTTPStatus.CONFLICT, "history_changed"
    if isinstance(error, TranscriptRefused):
        return HTTPStatus.UNPROCESSABLE_ENTITY, "refused"
    if isinstance(error, ProviderError):
        kind = "tmux" if isinstance(error, TmuxError) else "herdr"
        return HTTPStatus.SERVICE_UNAVAILABLE, kind
    if isinstance(error, NotWritten):
        return HTTPStatus.NOT_FOUND, "not_written"
    if isinstance(error, SourceError):
        return _source(error)
    return HTTPStatus.INTERNAL_SERVER_ERROR, "internal"


def _source(error: SourceError) -> tuple[HTTPStatus, str]:
    if error.reason in (SourceReason.MISSING, SourceReason.BAD_NAME):
        return HTTPStatus.NOT_FOUND, "missing"
    if error.reason is SourceReason.CHANGED:  # it shrank while it was read
        return HTTPStatus.CONFLICT, "history_changed"
    if error.errno in CROWDED:
        return HTTPStatus.SERVICE_UNAVAILABLE, "busy"
    return HTTPStatus.UNPROCESSABLE_ENTITY, "unreadable"
