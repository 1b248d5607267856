"""The description of the interface for programs, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

import lettafast
from lettafast.records import MAX_PAGE_LIMIT, MAX_RANGE_BYTES, PAGE_LIMIT

from .problems import MEDIA_TYPE, TYPES

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer", "minimum": 0}
_TIME: Json = {"type": "number", "description": "Unix seconds"}
_FLAG: Json = {"type": "boolean"}
_CURSOR: Json = {
    "type": "string",
    "pattern": r"^v1-[0-9a-f]{16}(\.[1-9][0-9]*)?:(0|[1-9][0-9]*)$",
}
_TEXT_MEMBERS = ("text", "ref", "size")
_TOOL_MEMBERS = ("id", "name", "state", "input", "input_size", "output", "output_size")
_SESSION = (
    "`herdr-` or `tmux-`, and 16 hexadecimal digits of the SHA-256 of the socket's absolute path"
)
_PROVIDER: Json = {"type": "string", "enum": ["herdr", "tmux"]}
_TERMINAL = "the unpadded base64url of the terminal's id"


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(optional: tuple[str, ...] = (), **members: Json) -> Json:
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": members, "required": required}


def _list(items: Json, **more: Any) -> Json:
    return {"type": "array", "items": items, **more}


def _one_of(*values: str) -> Json:
    return {"type": "string", "enum": list(values)}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_SCHEMAS: Json = {
    "Problem": {
        **_object(
            ("reason", "hint", "line", "line_offset", "offset", "field", "excerpt"),
            type=_one_of(*(f"urn:lettafast:{kind}" for kind in TYPES)),
            title=_TEXT,
            status={"type": "integer"},
            detail=_TEXT,
            reason=_TEXT,
            hint=_TEXT,
            line=_NUMBER,
            line_offset=_NUMBER,
            offset=_NUMBER,
            field=_or_null(_TEXT),
            excerpt=_TEXT,
        ),
        "description": "RFC 9457; of a refused transcript with its reason and place",
    },
    "Part": _object(
        (*_TEXT_MEMBERS, *_TOOL_MEMBERS),
        kind=_one_of("text", "thinking", "error", "tool"),
        text=_TEXT,
        ref=_TEXT,
        size=_NUMBER,
        id=_or_null(_TEXT),
        name=_or_null(_TEXT),
        state=_one_of("ok", "failed", "unfinished", "unknown"),
        input=_or_null(_TEXT),
        input_size=_NUMBER,
        output=_or_null(_TEXT),
        output_size=_NUMBER,
    ),
    "Turn": _object(
        role=_one_of("user", "assistant"),
        ts=_TEXT,
        end_ts=_TEXT,
        offset=_NUMBER,
        parts=_list(_ref("Part")),
    ),
    "Page": _object(
        v={"const": 1},
        source={"const": "letta-transcript"},
        state=_one_of("ok", "empty"),
        history_id=_or_null(_TEXT),
        cursor=_or_null(_CURSOR),
        older=_or_null(_CURSOR),
        starts_mid_turn=_FLAG,
        ends_mid_turn=_FLAG,
        replaced_surrogates=_NUMBER,
        tail_bytes=_or_null(_NUMBER),
        diagnostics_total=_or_null(_NUMBER),
        turns=_list(_ref("Turn")),
    ),
    "Scrollback": _object(
        source={"const": "scrollback"},
        text=_or_null(_TEXT),
        reason=_TEXT,
        sentence=_TEXT,
    ),
    "Range": _object(text=_TEXT, start=_NUMBER, end=_NUMBER, size=_NUMBER),
    "Evidence": _object(
        proof=_one_of("witnessed", "recorded"),
        rule=_TEXT,
        held=_FLAG,
        reason=_or_null(_TEXT),
        saw=_TEXT,
        sentence=_TEXT,
    ),
    "Offer": {
        **_object(home=_TEXT, command=_TEXT, file=_TEXT, folder=_TEXT),
        "description": "what lets the lettas of a home folder say which conversation they show: "
        "a command for a shell, the file that it installs, and where each letta then writes",
    },
    "Pane": {
        **_object(
            ("agent_id", "conversation_id", "root", "proof", "reason", "sentence", "advice"),
            provider=_PROVIDER,
            socket=_TEXT,
            pane_id=_TEXT,
            terminal_id=_TEXT,
            session={**_TEXT, "description": _SESSION},
            terminal={**_TEXT, "description": _TERMINAL},
            href=_TEXT,
            offer=_or_null(_ref("Offer")),
            label=_or_null(_TEXT),
            title=_or_null(_TEXT),
            cwd=_or_null(_TEXT),
            agent=_or_null(_TEXT),
            agent_status=_TEXT,
            verdict=_one_of("bound", "terminal"),
            agent_id=_TEXT,
            conversation_id=_TEXT,
            root=_TEXT,
            proof=_TEXT,
            reason=_TEXT,
            sentence=_TEXT,
            advice=_TEXT,
            evidence=_list(_ref("Evidence")),
            checked_at=_TIME,
        ),
        "description": "bound to a conversation that is proven, or a terminal with the reason "
        "why; a terminal with a conversation has no completed turn in it yet",
    },
    "Conversation": _object(
        agent=_TEXT,
        conversation=_TEXT,
        title=_TEXT,
        state=_one_of("present", "empty", "missing", "unreadable"),
        reason=_or_null(_TEXT),
        size=_or_null(_NUMBER),
        mtime=_or_null(_TIME),
        href=_or_null(_TEXT),
    ),
}

_MODE: Json = {
    "name": "mode",
    "in": "query",
    "description": "refuse a damaged transcript as a whole, or skip and count what is damaged",
    "schema": {**_one_of("strict", "lenient"), "default": "strict"},
}


def _query(name: str, schema: Json, description: str, *, required: bool = False) -> Json:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": schema,
    }


def _in_path(name: str, description: str) -> Json:
    schema = {"type": "string", "minLength": 1}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
    }


_PANE = [_in_path("session", _SESSION), _in_path("terminal", _TERMINAL)]
_CONVERSATION = [
    _in_path("agent", "the agent's folder beneath the root"),
    _in_path("conversation", "the conversation's folder beneath that"),
]
_PAGE = [
    _query("before", _CURSOR, "a page's `older`: the page that ends there; else the newest"),
    _query("after", _CURSOR, "the rows from there on, as a page's `Link` says; not with `before`"),
    _query(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_LIMIT, "default": PAGE_LIMIT},
        "units: a user entry with all up to the next",
    ),
    _MODE,
]
_CONTENT = [
    _query("ref", _TEXT, "a part's `ref`, or the id of one tool call", required=True),
    _query("part", _one_of("text", "input", "output"), "which of its texts", required=True),
    _query("start", {**_NUMBER, "default": 0}, "bytes of UTF-8"),
    _query(
        "length",
        {**_NUMBER, "default": MAX_RANGE_BYTES},
        f"bytes of UTF-8; {MAX_RANGE_BYTES:,} at most are sent",
    ),
    _MODE,
]
_WORDS = {
    400: "a bad cursor, range or query",
    401: "no token",
    403: "a foreign request",
    404: "no such pane, conversation or ref",
    409: "`history_changed`: start over",
    413: "a request with a body",
    414: "the address is too long",
    421: "a foreign Host",
    422: "a refused transcript, or one that cannot be read",
    431: "the headers are too long",
    503: "herdr or tmux does not answer, or the server has no room",
}
_ALWAYS = (400, 401, 403, 413, 414, 421, 431)


def _get(
    summary: str, schema: Json, parameters: list[Json], problems: tuple[int, ...] = ()
) -> Json:
    answer = {"description": summary, "content": {"application/json": {"schema": schema}}}
    if parameters and parameters[-1] is _MODE and _PAGE[1] in parameters:
        answer["headers"] = {
            "Link": {
                "description": 'rel="next": what comes behind this page, once it is written',
                "schema": _TEXT,
            }
        }
    return {"get": _operation(summary, parameters, answer, problems)}


def _operation(
    summary: str, parameters: list[Json], answer: Json, problems: tuple[int, ...]
) -> Json:
    responses: Json = {"200": answer, "304": {"description": "`If-None-Match` names what is there"}}
    for status in sorted({*_ALWAYS, *problems}):
        responses[str(status)] = {
            "description": _WORDS[status],
            "content": {MEDIA_TYPE: {"schema": _ref("Problem")}},
        }
    return {"summary": summary, "parameters": parameters, "responses": responses}


_EVENTS_WORDS = """\
Server-sent events. Each watch first gets one event that says how it stands, then one
whenever that changes: `grown` (`bytes`, and `cursor`: the end now), `history_changed`
(`reason`), `refused` and `missing` (`problem`), `verdict` (`pane`), `pane_closed`. `data` is
JSON that begins with `watch`, as it was asked. A comment is sent when nothing else was for a
while."""
_WATCH = _query(
    "watch",
    _list(
        {"type": "string", "pattern": r"^(conversation|pane):[^/?]+/[^/?]+(\?mode=\w+)?$"},
        minItems=1,
    ),
    "`conversation:<agent>/<conversation>` or `pane:<session>/<terminal>`, each name "
    "percent-encoded; `?mode=lenient` behind it where that is meant",
    required=True,
)
_EVENTS = _operation(
    "What happens to panes and conversations",
    [_WATCH],
    {"description": _EVENTS_WORDS, "content": {"text/event-stream": {"schema": _TEXT}}},
    (503,),
)
del _EVENTS["responses"]["304"]

_READ = (404, 409, 422, 503)
_PANE_ALONE = (404, 503)

DESCRIPTION: Json = {
    "openapi": "3.1.0",
    "info": {
        "title": "lettafast",
        "version": lettafast.__version__,
        "description": "Conversations of Letta Code, and the panes that show them; read-only.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "security": [{"bearer": []}, {"cookie": []}],
    "paths": {
        "/api/panes": _get(
            "Every pane of herdr and tmux, and the sessions that could not be reached",
            _object(
                panes=_list(_ref("Pane")),
                unreachable=_list(
                    _object(
                        provider=_PROVIDER, session=_TEXT, socket=_TEXT, reason=_TEXT, saw=_TEXT
                    )
                ),
            ),
            [],
        ),
        "/api/panes/{session}/{terminal}": _get("One pane", _ref("Pane"), _PANE, _PANE_ALONE),
        "/api/panes/{session}/{terminal}/conversation": _get(
            "A page of the conversation that the pane is proven to show, or its terminal's text",
            {"anyOf": [_ref("Page"), _ref("Scrollback")]},
            [*_PANE, *_PAGE],
            _READ,
        ),
        "/api/panes/{session}/{terminal}/conversation/content": _get(
            "A range of one text of that conversation",
            _ref("Range"),
            [*_PANE, *_CONTENT],
            _READ,
        ),
        "/api/conversations": _get(
            "Conversations, newest first",
            _object(root=_TEXT, total=_NUMBER, conversations=_list(_ref("Conversation"))),
            [_query("limit", {"type": "integer", "minimum": 1}, "how many at most")],
        ),
        "/api/conversations/{agent}/{conversation}": _get(
            "A page of a conversation", _ref("Page"), [*_CONVERSATION, *_PAGE], _READ
        ),
        "/api/conversations/{agent}/{conversation}/content": _get(
            "A range of one text of a conversation",
            _ref("Range"),
            [*_CONVERSATION, *_CONTENT],
            _READ,
        ),
        "/api/events": {"get": _EVENTS},
        "/api/openapi.json": _get("This description", {"type": "object"}, []),
        "/api/health": _get(
            "How the server is",
            _object(
                version=_TEXT,
                backend=_one_of("native", "pure"),
                open_transcripts=_NUMBER,
                watched_files=_NUMBER,
                clients=_NUMBER,
            ),
            [],
        ),
    },
    "components": {
        "schemas": _SCHEMAS,
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer"},
            "cookie": {
                "type": "apiKey",
                "in": "cookie",
                "name": "lettafast-<port>",
                "description": "set when the printed URL is opened",
            },
        },
    },
}
"""`/api/openapi.json`. Pages and their files are for browsers and not in it."""
