"""The run once more, from its log: what the session said, and what the gate had to answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .accumulator import Accumulator
from .gate import Decision, Gate
from .log import Log, Said
from .plan import Plan


@dataclass(frozen=True, slots=True)
class Decided:
    """What the gate decides on a request, the frame that says so, and when the request came."""

    request_id: str
    tool_call_id: str
    decision: Decision
    answer: dict[str, Any]
    index: int


@dataclass(slots=True)
class Replay:
    """What was sent is in `messages`, `answers` (decisions) and `commands` (all else)."""

    session: Accumulator
    decided: dict[str, Decided] = field(default_factory=dict)
    messages: list[Said] = field(default_factory=list)
    answers: list[Said] = field(default_factory=list)
    commands: list[Said] = field(default_factory=list)

    @property
    def client_message_ids(self) -> list[str]:
        """The ids that our messages have."""
        return [one for said in self.messages for one in _client_message_ids(said.value)]


def replay(log: Log, session: Accumulator, plan: Plan, challenged: Plan | None) -> Replay:
    """Feeds `session`, and asks a gate as the run had to."""
    gate = Gate(plan)
    found = Replay(session)
    for direction, said in log.all:
        if direction == "in":
            _came(found, gate, said)
        elif direction == "out":
            _went(found, said)
        elif said.value.get("note") == "challenge" and challenged is not None:
            gate.challenged(challenged)
    for sentence in log.unreadable:
        session.unreadable(sentence)
    session.finish()
    return found


def payload_of(value: dict[str, Any]) -> dict[str, Any]:
    """The payload of an `input` command; empty for any other command."""
    payload = value.get("payload")
    return payload if value.get("type") == "input" and isinstance(payload, dict) else {}


def _came(found: Replay, gate: Gate, said: Said) -> None:
    found.session.feed(said.value, said.channel, said.index)
    gate.observe(said.value)
    request_id = said.value.get("request_id")
    if said.value.get("type") != "control_request" or not isinstance(request_id, str):
        return
    if request_id not in found.decided:
        decision = gate.decide(said.value)
        asked = said.value.get("request")
        call_id = asked.get("tool_call_id") if isinstance(asked, dict) else None
        found.decided[request_id] = Decided(
            request_id,
            call_id if isinstance(call_id, str) else "",
            decision,
            gate.answer(said.value, decision),
            said.index,
        )


def _went(found: Replay, said: Said) -> None:
    kind = payload_of(said.value).get("kind")
    if kind == "create_message":
        found.messages.append(said)
        found.session.begin_turn()
    elif kind == "approval_response":
        found.answers.append(said)
    else:
        found.commands.append(said)


def _client_message_ids(value: dict[str, Any]) -> Iterator[str]:
    messages = payload_of(value).get("messages")
    for message in messages if isinstance(messages, list) else []:
        name = message.get("client_message_id") if isinstance(message, dict) else None
        if isinstance(name, str):
            yield name
