"""The application: the parts, put together."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lettafast.errors import LettafastError
from lettafast.paths import local_store_root, transcript_root
from lettafast.records import Limits

from .access import Access
from .answers import problem_response
from .descriptors import most_transcripts
from .files import Files
from .guard import Guard
from .library import Library
from .limits import WebLimits
from .live import Live
from .panes import Panes
from .problems import Problem, problem_of
from .routes import Parts, Routes
from .shelf import Shelf
from .workers import Workers

if TYPE_CHECKING:  # needs the extra `binding`
    from lettafast.binding import Binder

_LOG = logging.getLogger(__name__)
_CLOSING = 0.5
"""Seconds that the threads have to end; one that waits for an answer is left behind."""

Endpoint = Callable[[Request], Awaitable[ASGIApp]]


def create_app(
    root: str | os.PathLike[str] | None = None,
    *,
    access: Access,
    binder: Binder | None = None,
    note: str | None = None,
    limits: WebLimits | None = None,
) -> Starlette:
    """The front-end as an ASGI application, to be served at the root of its origin.

    `root` is the folder of the transcripts, else Letta Code's own; `access` says who
    is let in; without a `binder`, which the application closes, no pane is shown;
    `note` is said first on the start page. `app.state.live.end_streams()` lets a
    server end that waits for its connections. Raises `SourceError` where Letta Code's
    own folder has no absolute path.
    """
    bounds = limits or WebLimits()
    local_store = local_store_root() if root is None else None
    library = Library(
        transcript_root() if root is None else os.path.abspath(os.fsdecode(root)), local_store
    )
    workers = Workers(bounds.readers, "lettafast-read")
    shelf = Shelf(
        workers, Limits(max_page_bytes=bounds.page_bytes), most_transcripts(bounds.open_transcripts)
    )
    panes = Panes(binder)
    live = Live(shelf, panes, bounds)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        until = time.monotonic() + _CLOSING
        await live.close(until)
        if workers.close(until):
            shelf.close()
        panes.close(until)
        library.close(until)

    answers = Routes(Parts(library, shelf, panes, live, workers, bounds, note))
    app = Starlette(
        routes=_routes(answers, Files()),
        middleware=[Middleware(Guard, access=access, limits=bounds)],
        exception_handlers={HTTPException: _no_route},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.live = live
    return app


def _routes(answers: Routes, files: Files) -> list[Route]:
    async def file(request: Request) -> Response:
        return files.answer(request)

    conversation = "/conversations/{agent}/{conversation}"
    pane = "/panes/{session}/{terminal}"
    table: dict[str, Endpoint] = {
        "/": answers.index,
        pane: answers.pane_page,
        f"{pane}/turns": answers.pane_turns,
        conversation: answers.conversation_page,
        f"{conversation}/turns": answers.conversation_turns,
        "/static/{name}": file,
        "/api/panes": answers.panes,
        f"/api{pane}": answers.pane,
        f"/api{pane}/conversation": answers.pane_conversation,
        f"/api{pane}/conversation/content": answers.pane_content,
        "/api/conversations": answers.conversations,
        f"/api{conversation}": answers.conversation,
        f"/api{conversation}/content": answers.conversation_content,
        "/api/events": answers.events,
        "/api/openapi.json": answers.openapi,
        "/api/health": answers.health,
    }
    return [Route(path, _answering(endpoint), methods=["GET"]) for path, endpoint in table.items()]


def _answering(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with problem details for whatever it raises."""

    async def answer(request: Request) -> ASGIApp:
        try:
            return await endpoint(request)
        except Exception as error:  # noqa: BLE001 - a client is never left without an answer
            if not isinstance(error, Problem | LettafastError):
                _LOG.exception("a request failed")
            accept = request.headers.get("accept")
            return problem_response(problem_of(error), request.scope["path"], accept)

    return answer


async def _no_route(request: Request, _: Exception) -> Response:
    problem = Problem(HTTPStatus.NOT_FOUND, "not_found", "there is no such page or route")
    return problem_response(problem, request.scope["path"], request.headers.get("accept"))
