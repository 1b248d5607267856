"""The answers to the routes. Each reads the query, asks the parts, and shapes what they say."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

import lettafast
from lettafast import _backend
from lettafast.errors import (
    HistoryChanged,
    HistoryReason,
    RefError,
    SourceError,
    SourceReason,
    TranscriptRefused,
)
from lettafast.records import FileId
from lettafast.transcript import Transcript
from lettafast.visible import file_name

from . import pages
from .answers import data_response, etag, html_response, is_known, json_response, not_modified
from .events import EventStream, asked
from .jsons import to_json
from .library import Library
from .limits import WebLimits
from .live import Live
from .openapi import DESCRIPTION
from .panes import Look, PaneKey, Panes, ShownPane, place_of
from .places import Place, quoted
from .problems import Problem, problem_of
from .queries import Query
from .reading import Reading, read_page
from .shelf import Shelf
from .views import ConversationView, IndexView, PaneView, State
from .workers import Workers

_PAGE = ("before", "after", "limit", "mode")
_CONTENT = ("ref", "part", "start", "length", "mode")


@dataclass(frozen=True, slots=True)
class _Address:
    """Where a conversation is shown: on a page of its own, or on its pane's."""

    here: str
    api: str
    watch: str

    @property
    def turns(self) -> str:
        return f"{self.here}/turns"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the routes ask."""

    library: Library
    shelf: Shelf
    panes: Panes
    live: Live
    workers: Workers
    limits: WebLimits
    note: str | None


class Routes:
    """One method for each route."""

    def __init__(self, parts: Parts) -> None:
        self._library = parts.library
        self._shelf = parts.shelf
        self._panes = parts.panes
        self._live = parts.live
        self._workers = parts.workers
        self._limits = parts.limits
        self._note = parts.note
        self._salt = secrets.token_bytes(8)
        """The tags of pages die with the program that wrote them."""

    # Pages.

    async def index(self, request: Request) -> Response:
        """`GET /`; with `panes=all` however long the panes take."""
        look = await self._early_look(request)
        listing = await self._library.newest(self._limits.conversations)
        # A tmux may have many panes, and those with an agent are what one comes for.
        panes = sorted(
            (shown.shape for shown in (look.panes.values() if look else ())),
            key=lambda pane: pane["agent"] is None,
        )
        view = IndexView(
            panes=panes,
            unreachable=() if look is None else look.unreachable,
            offers=_offers(panes),
            conversations=listing.conversations,
            root=file_name(self._library.root),
            note=self._note,
            is_late=look is None,
        )
        tag = etag(self._salt, to_json(asdict(view)))
        if is_known(request, tag):
            return not_modified(tag)
        return html_response(await self._workers.run(pages.index_page, view), tag)

    async def conversation_page(self, request: Request) -> Response:
        """`GET /conversations/{agent}/{conversation}`."""
        place, address = self._conversation(request)
        view, status, data = await self._view(request, place, address)
        return await self._page(request, view, status, data, pages.conversation_page)

    async def conversation_turns(self, request: Request) -> Response:
        """`GET /conversations/{agent}/{conversation}/turns`."""
        place, address = self._conversation(request)
        reading = await self._read(request, place)
        view = await self._read_view(place, address, reading)
        return await self._page(request, view, HTTPStatus.OK, reading.data, pages.turns_fragment)

    async def pane_page(self, request: Request) -> Response:
        """`GET /panes/{session}/{terminal}`."""
        pane, place, address = await self._pane(request)
        if place is None:
            view = await self._pane_view(pane, address, None)
            return html_response(await self._workers.run(pages.pane_page, view))
        shown, status, _ = await self._view(request, place, address, _judged(pane))
        view = await self._pane_view(pane, address, shown)
        return html_response(await self._workers.run(pages.pane_page, view), status=status)

    async def pane_turns(self, request: Request) -> Response:
        """`GET /panes/{session}/{terminal}/turns`."""
        pane, place, address = await self._pane(request)
        if place is None:
            view = await self._pane_view(pane, address, None)
            return html_response(await self._workers.run(pages.scrollback_fragment, view))
        reading = await self._read(request, place, _judged(pane))
        shown = await self._read_view(place, address, reading)
        return await self._page(request, shown, HTTPStatus.OK, reading.data, pages.turns_fragment)

    # The interface for programs.

    async def panes(self, request: Request) -> Response:
        """`GET /api/panes`."""
        Query(request)
        look = await self._panes.look()
        shapes = [shown.shape for shown in look.panes.values()]
        return json_response(request, {"panes": shapes, "unreachable": look.unreachable})

    async def pane(self, request: Request) -> Response:
        """`GET /api/panes/{session}/{terminal}`."""
        Query(request)
        return json_response(request, (await self._panes.find(_pane_key(request))).shape)

    async def pane_conversation(self, request: Request) -> Response:
        """`GET /api/panes/{session}/{terminal}/conversation`."""
        Query(request, *_PAGE)
        pane, place, address = await self._pane(request)
        if place is not None:
            reading = await self._read(request, place, _judged(pane))
            return data_response(request, reading.data, _next(address, place, reading))
        shape = pane.shape
        said = {
            "source": "scrollback",
            "text": await self._panes.scrollback(pane),
            "reason": shape["reason"],
            "sentence": shape["sentence"],
        }
        return json_response(request, said)

    async def pane_content(self, request: Request) -> Response:
        """`GET /api/panes/{session}/{terminal}/conversation/content`."""
        Query(request, *_CONTENT)
        pane, place, _ = await self._pane(request)
        if place is None:
            raise Problem(HTTPStatus.NOT_FOUND, "ref", "the pane shows its terminal's text")
        return await self._content(request, place, _judged(pane))

    async def conversations(self, request: Request) -> Response:
        """`GET /api/conversations`."""
        query = Query(request, "limit")
        most = self._limits.conversations
        limit = query.number("limit", most)
        if not 1 <= limit <= most:
            raise Problem(
                HTTPStatus.BAD_REQUEST, "query", f"`limit` is from 1 to {most:,} conversations"
            )
        listing = await self._library.newest(limit)
        said = {
            "root": self._library.root,
            "total": listing.total,
            "conversations": listing.conversations,
        }
        return json_response(request, said)

    async def conversation(self, request: Request) -> Response:
        """`GET /api/conversations/{agent}/{conversation}`."""
        place, address = self._conversation(request)
        reading = await self._read(request, place)
        return data_response(request, reading.data, _next(address, place, reading))

    async def conversation_content(self, request: Request) -> Response:
        """`GET /api/conversations/{agent}/{conversation}/content`."""
        place, _ = self._conversation(request)
        return await self._content(request, place)

    async def events(self, request: Request) -> ASGIApp:
        """`GET /api/events`."""
        query = Query(request, repeated="watch")
        most = self._limits.watches
        if not 1 <= len(query.repeated) <= most:
            raise Problem(
                HTTPStatus.BAD_REQUEST, "query", f"`watch` is given from 1 to {most} times"
            )
        watches = [asked(text, self._library.root) for text in query.repeated]
        client = self._live.subscribe(watches)
        limits = self._limits
        return EventStream(client, self._live.unsubscribe, limits.heartbeat, limits.unread)

    async def openapi(self, request: Request) -> Response:
        """`GET /api/openapi.json`."""
        Query(request)
        return json_response(request, DESCRIPTION)

    async def health(self, request: Request) -> Response:
        """`GET /api/health`."""
        Query(request)
        said = {
            "version": lettafast.__version__,
            "backend": _backend.current().name,
            "open_transcripts": self._shelf.open_transcripts,
            "watched_files": self._live.watched_files,
            "clients": self._live.clients,
        }
        return json_response(request, said)

    # What they share.

    async def _early_look(self, request: Request) -> Look | None:
        """All panes; None where they take longer than a reader of the start page should wait."""
        is_patient = Query(request, "panes").text("panes") == "all"
        try:
            return await asyncio.wait_for(
                self._panes.look(), None if is_patient else self._limits.patience
            )
        except asyncio.TimeoutError:  # the look goes on, and serves who asked for it since
            return None

    def _conversation(self, request: Request) -> tuple[Place, _Address]:
        agent = request.path_params["agent"]
        conversation = request.path_params["conversation"]
        place = Place(self._library.root, agent, conversation, _mode(request))
        where = f"{quoted(agent)}/{quoted(conversation)}"
        return place, _Address(
            f"/conversations/{where}", f"/api/conversations/{where}", f"conversation:{where}"
        )

    async def _pane(self, request: Request) -> tuple[ShownPane, Place | None, _Address]:
        """The pane as it is now; what it is bound to, read as the request says."""
        mode = _mode(request)
        key = _pane_key(request)
        pane = await self._panes.find(key)
        where = "/".join(map(quoted, key))
        address = _Address(f"/panes/{where}", f"/api/panes/{where}/conversation", f"pane:{where}")
        return pane, place_of(pane, mode), address

    async def _read(self, request: Request, place: Place, judged: FileId | None = None) -> Reading:
        """A page as the query says; `judged` is the file that it must be of."""
        query = Query(request, *_PAGE)
        before, after = query.place()
        limit = query.limit()

        def work(transcript: Transcript) -> Reading:
            _check_file(transcript, judged)
            return read_page(transcript, before, after, limit)

        return await self._shelf.read(place, work)

    async def _content(
        self, request: Request, place: Place, judged: FileId | None = None
    ) -> Response:
        query = Query(request, *_CONTENT)
        ref, part = query.needed("ref"), query.part()
        start, length = query.number("start", 0), query.number("length", 1 << 20)

        def work(transcript: Transcript) -> dict[str, Any]:
            _check_file(transcript, judged)
            try:
                return asdict(transcript.content(ref, part, start, length))
            except RefError:
                raise
            except ValueError as error:
                raise Problem(
                    HTTPStatus.BAD_REQUEST, "cursor", str(error), reason="range"
                ) from None

        return json_response(request, await self._shelf.read(place, work))

    async def _view(
        self, request: Request, place: Place, address: _Address, judged: FileId | None = None
    ) -> tuple[ConversationView, HTTPStatus, bytes]:
        """A conversation's view, whatever is the matter with it, and the answer's status."""
        try:
            reading = await self._read(request, place, judged)
        except (SourceError, TranscriptRefused) as error:
            problem = problem_of(error)
            state = _state(error, problem)
            shown = await self._empty_view(place, address, state)
            status = HTTPStatus.OK if state == "not_written" else problem.status
            if state in ("refused", "unreadable"):
                shown = replace(shown, problem=problem.body)
            return shown, status, b""
        return await self._read_view(place, address, reading), HTTPStatus.OK, reading.data

    async def _empty_view(self, place: Place, address: _Address, state: State) -> ConversationView:
        title = await self._library.title(place)
        lenient = "?mode=lenient" if place.mode == "lenient" else ""
        return ConversationView(
            agent=file_name(place.agent),
            conversation=file_name(place.conversation),
            title=file_name(title),
            mode=place.mode,
            state=state,
            page=None,
            problem=None,
            diagnostics=(),
            api=address.api,
            turns=address.turns,
            here=address.here,
            watch=address.watch + lenient,
            end=None,
            at_end=True,
        )

    async def _read_view(
        self, place: Place, address: _Address, reading: Reading
    ) -> ConversationView:
        page: Mapping[str, Any] = await self._workers.run(_backend.current().loads, reading.data)
        return replace(
            await self._empty_view(place, address, page["state"]),
            page=page,
            diagnostics=[asdict(found) for found in reading.diagnostics],
            end=reading.end,
            at_end=reading.at_end,
        )

    async def _pane_view(
        self, pane: ShownPane, address: _Address, shown: ConversationView | None
    ) -> PaneView:
        shape = pane.shape
        text = None if shown else await self._panes.scrollback(pane)
        return PaneView(
            session=shape["session"],
            terminal=shape["terminal"],
            pane=shape,
            conversation=shown,
            scrollback=text,
            api=address.api.removesuffix("/conversation"),
            here=address.here,
            watch=address.watch,
            turns=address.turns,
        )

    async def _page(
        self, request: Request, view: ConversationView, status: HTTPStatus, data: bytes, write: Any
    ) -> Response:
        """A page or fragment of a conversation; not written again where the client has it."""
        if status != HTTPStatus.OK:
            return html_response(await self._workers.run(write, view), status=status)
        around = to_json(asdict(replace(view, page=None)))
        tag = etag(self._salt, write.__name__.encode(), around, data)
        if is_known(request, tag):
            return not_modified(tag)
        return html_response(await self._workers.run(write, view), tag)


def _offers(panes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each offer once: the lettas of one home have the same."""
    found: dict[str, dict[str, Any]] = {}
    for pane in panes:
        if pane["offer"] is not None:
            command = pane["offer"]["command"]
            found.setdefault(command, {"offer": pane["offer"], "lettas": 0})["lettas"] += 1
    return list(found.values())


def _mode(request: Request) -> Any:
    return Query(request, *_PAGE, *_CONTENT).mode()


def _pane_key(request: Request) -> PaneKey:
    return request.path_params["session"], request.path_params["terminal"]


def _judged(pane: ShownPane) -> FileId | None:
    return getattr(pane.bound.verdict, "file", None)


def _check_file(transcript: Transcript, judged: FileId | None) -> None:
    if judged is not None and transcript.file_id != judged:
        raise HistoryChanged(HistoryReason.REPLACED, transcript.name)


def _state(error: SourceError | TranscriptRefused, problem: Problem) -> State:
    if isinstance(error, TranscriptRefused):
        return "refused"
    if problem.body["type"].endswith(":not_written"):
        return "not_written"
    if error.reason in (SourceReason.MISSING, SourceReason.BAD_NAME):
        return "missing"
    return "unreadable"


def _next(address: _Address, place: Place, reading: Reading) -> str | None:
    """Where what comes behind the page will be: a `Link` header."""
    if reading.end is None:
        return None
    return f'<{address.api}?after={quoted(reading.end)}&mode={place.mode}>; rel="next"'
