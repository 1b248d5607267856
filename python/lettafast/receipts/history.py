"""The stored messages of the conversation, as the log has them: a second account of the same calls.

The App Server answers `conversation_messages_list` with pages, newest first (`has_more`,
`next_before`); Letta Cloud's REST interface gives lists, oldest first, each page `after` the last
id of the one before it, and an empty one behind the last: a short page may be a cut one.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .accumulator import Accumulator
from .fragments import Part, Return, mentions_a_call, parts_of, returns_of, text_of, texts_of
from .log import Log, Said
from .replay import Replay
from .strict_json import same

OK = 200


class HistoryError(ValueError):
    """The history in the log is not whole, or has a form that is not known."""


@dataclass(slots=True)
class History:
    """What is stored. `users` are the texts and `otid` of each user message.

    `last_text` is what the agent said after the last result, `asked_at` the place in the log.
    """

    calls: dict[str, Part] = field(default_factory=dict)
    returns: dict[str, Return] = field(default_factory=dict)
    users: list[tuple[list[str], Any]] = field(default_factory=list)
    last_text: str = ""
    asked_at: int = 0


def history_of_app_server(run: Replay) -> History:
    """Raises `HistoryError`."""
    session = run.session
    asked = [
        said for said in run.commands if said.value.get("type") == "conversation_messages_list"
    ]
    if not asked:
        raise HistoryError("the stored messages were not asked for")
    pages: list[dict[str, Any]] = []
    before: Any = None
    for said in asked:
        query: dict[str, Any] = {"order": "desc", "limit": 100}
        if pages:
            query["before"] = before
        if said.value.get("conversation_id") != session.conversation_id or not same(
            said.value.get("query"), query
        ):
            raise HistoryError("other messages were asked for than the next ones")
        answer, _ = session.responses.get(str(said.value.get("request_id")), ({}, 0))
        messages = answer.get("messages")
        if (
            answer.get("type") != "conversation_messages_list_response"
            or answer.get("success") is not True
            or not isinstance(messages, list)
        ):
            raise HistoryError("no stored messages were given")
        pages += messages
        before = answer.get("next_before")
        more = answer.get("has_more")
    if more is not False:
        raise HistoryError("not all stored messages were asked for")
    return _history(pages[::-1], session, asked[0].index)


def history_of_cloud(log: Log, session: Accumulator) -> History:
    """Raises `HistoryError`."""
    messages: list[Any] = []
    first: int | None = None
    done = False
    path = f"/v1/conversations/{urllib.parse.quote(session.conversation_id, safe='')}/messages"
    for said in log.answered:
        method, _, target = str(said.value.get("request")).partition(" ")
        where, _, query_text = target.partition("?")
        if method != "GET" or where != path or said.value.get("status") != OK:
            continue
        query = dict(urllib.parse.parse_qsl(query_text))
        page = said.value.get("body")
        after = messages[-1].get("id") if messages and isinstance(messages[-1], dict) else None
        if not isinstance(page, list) or query.get("order") != "asc" or query.get("after") != after:
            raise HistoryError("other messages were given than the next ones")
        asked_at = _asked_at(log, said)
        first = asked_at if first is None else first
        messages += page
        done = not page
    if first is None or not done:
        raise HistoryError("not all stored messages were asked for")
    return _history(messages, session, first)


def _asked_at(log: Log, answer: Said) -> int:
    """Where the request of an answer stands; every answer has one before it."""
    before = [
        said.index
        for said in log.asked
        if said.index < answer.index and said.value.get("request") == answer.value.get("request")
    ]
    if not before:
        raise HistoryError("an answer that nobody asked for")
    return before[-1]


def _history(messages: list[Any], session: Accumulator, asked_at: int) -> History:
    found = History(asked_at=asked_at)
    ids = set()
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("id"), str):
            raise HistoryError("a stored message has no id")
        if (message["id"], str(message.get("message_type"))) in ids:
            raise HistoryError("a stored message is there twice")
        ids.add((message["id"], str(message.get("message_type"))))
        for name, ours in (
            ("agent_id", session.agent_id),
            ("conversation_id", session.conversation_id),
        ):
            if message.get(name) not in (None, ours):
                raise HistoryError("a stored message of another agent or conversation")
        try:
            _add(found, message)
        except HistoryError:
            raise
        except ValueError as error:
            raise HistoryError(f"a stored message: {error}") from None
    return found


def _add(found: History, message: dict[str, Any]) -> None:
    kind = message.get("message_type")
    if kind in ("approval_request_message", "tool_call_message"):
        _add_calls(found, message)
    elif kind == "tool_return_message":
        for result in returns_of(message):
            _add_return(found, result)
    elif kind == "approval_response_message":
        for result in _approved(message):
            _add_return(found, result)
    elif kind == "user_message":
        content = message.get("content")
        texts = texts_of(content) if isinstance(content, list) else [text_of(content)]
        found.users.append((texts, message.get("otid")))
        found.last_text = ""
    elif kind == "assistant_message":
        found.last_text += text_of(message.get("content"))
    elif kind in ("summary_message", "event_message"):
        raise HistoryError("the conversation was compacted")
    elif mentions_a_call(message):
        raise HistoryError(f"an unknown kind of stored message concerns a call: {kind!r}")


def _add_calls(found: History, message: dict[str, Any]) -> None:
    for part in parts_of(message):
        if part.call_id is None or found.calls.setdefault(part.call_id, part) != part:
            raise HistoryError("a stored call has no id, or is there twice")


def _add_return(found: History, result: Return) -> None:
    if found.returns.setdefault(result.call_id, result) != result:
        raise HistoryError("a stored call has two results")
    found.last_text = ""


def _approved(message: dict[str, Any]) -> Iterator[Return]:
    """The results that the harness posted back, as Letta Cloud stores them."""
    approvals = message.get("approvals")
    for one in approvals if isinstance(approvals, list) else []:
        if isinstance(one, dict) and one.get("tool_return") is not None:
            yield from returns_of({**one, "tool_returns": None})
