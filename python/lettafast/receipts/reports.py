"""What a session reports beside its calls, each with the moment in which it was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .calls import Moment


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule. `seq` is an `event_seq`, or None."""

    rule: str
    sentence: str
    seq: int | None = None


@dataclass(slots=True)
class Text:
    """One row of the agent's text."""

    message_id: str | None
    otid: str | None
    run_id: str | None
    first: Moment
    last: Moment
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A turn ended."""

    turn_id: str | None
    run_id: str | None
    stop_reason: Any
    error: Any
    when: Moment


@dataclass(frozen=True, slots=True)
class Stop:
    """A run ended."""

    run_id: str | None
    reason: Any
    when: Moment


@dataclass(frozen=True, slots=True)
class Device:
    """A device's status."""

    mode: Any
    tools: Any
    background: Any
    pending: Any
    when: Moment


@dataclass(frozen=True, slots=True)
class Request:
    """An approval request; `frame` is its first copy."""

    request_id: str | None
    tool_call_id: str | None
    name: Any
    arguments: Any
    frame: dict[str, Any]
    when: Moment
