"""What one stream delta says about tool calls, in the forms that Letta Code and Letta Cloud write.

`tool_call` is one part; `tool_calls` is a list or, from Letta Cloud, one object. Both may stand in
one message with the same value. A part may nest its name and arguments in `function`, as OpenAI's
does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .strict_json import same

_PROVISIONAL = "synthetic-tool-return-stream-"
_MOST = 64
"""Calls or results in one message."""
UNNAMED = (None, "", "?")
"""What stands for the name of a tool before it is known."""


@dataclass(frozen=True, slots=True)
class Part:
    """A fragment of a call. `call_id` is None where only `index` says which call it belongs to."""

    call_id: str | None
    index: int | None
    name: str | None
    arguments: str | None


@dataclass(frozen=True, slots=True)
class Return:
    """What a tool returned."""

    call_id: str
    status: Any
    text: str


def parts_of(message: dict[str, Any]) -> list[Part]:
    """The parts of a message that asks for tools. Raises `ValueError` for an unknown form."""
    found: list[Any] = []
    for one in [message.get("tool_call"), *_listed(message.get("tool_calls"))]:
        if one is not None and not any(same(one, other) for other in found):
            found.append(one)
    return [_part(one) for one in found]


def returns_of(message: dict[str, Any]) -> list[Return]:
    """The results in a `tool_return_message`. Raises `ValueError` where two of them contradict."""
    found = [_return(one) for one in _listed(message.get("tool_returns"))]
    if message.get("tool_call_id") is not None:
        top = _return(message)
        if not found:
            return [top]
        if top not in found:
            raise ValueError("a tool return says two things")
    if len({one.call_id for one in found}) != len(found):
        raise ValueError("a tool return has two results of one call")
    if not found:
        raise ValueError("a tool return without a result")
    return found


def is_provisional(message: dict[str, Any]) -> bool:
    """Whether a `tool_return_message` only tells what a running command has printed so far."""
    message_id = message.get("id")
    return isinstance(message_id, str) and message_id.startswith(_PROVISIONAL)


def text_of(content: Any) -> str:
    """The text of a message's content. Raises `ValueError` for what is no text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ValueError("a message's content is no text")  # noqa: TRY004 - of a hostile frame
    return "".join(texts_of(content))


def texts_of(content: list[Any]) -> list[str]:
    """The texts of a content's parts. Raises `ValueError` for a part that is no text."""
    found = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(text, str):
            raise ValueError("a part of a message is no text")  # noqa: TRY004 - as above
        found.append(text)
    return found


def mentions_a_call(message: dict[str, Any]) -> bool:
    """Whether a message of an unknown type concerns a tool call."""
    return any(
        message.get(name) is not None
        for name in ("tool_call", "tool_calls", "tool_call_id", "tool_return", "tool_returns")
    )


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list) or any(not isinstance(one, dict) for one in value):
        raise ValueError("tool calls or returns of an unknown form")
    if len(value) > _MOST:
        raise ValueError("more tool calls or returns than a message has")
    return value


def _part(said: Any) -> Part:
    if not isinstance(said, dict):
        raise ValueError("a tool call of an unknown form")  # noqa: TRY004 - of a hostile frame
    function = said.get("function")
    nested = function if isinstance(function, dict) else {}
    call_id = said.get("tool_call_id", said.get("id"))
    index = said.get("index")
    name = said.get("name", nested.get("name"))
    arguments = said.get("arguments", nested.get("arguments"))
    if (
        not (call_id is None or isinstance(call_id, str))
        or not (index is None or type(index) is int)
        or not (name is None or isinstance(name, str))
        or not (arguments is None or isinstance(arguments, str))
    ):
        raise ValueError("a tool call of an unknown form")
    return Part(call_id, index, None if name in UNNAMED else name, arguments)


def _return(said: dict[str, Any]) -> Return:
    call_id, text = said.get("tool_call_id"), said.get("tool_return")
    if isinstance(text, list):
        text = text_of(text)
    if not isinstance(call_id, str) or not isinstance(text, str):
        raise ValueError("a tool return of an unknown form")  # noqa: TRY004 - of a hostile frame
    return Return(call_id, said.get("status"), text)
