"""Whole messages and calls out of a session's frames; nothing else is believed.

Events of the App Server protocol (version 2, Letta Code 0.34.12) carry `event_seq`, which counts
those of one connection from 1 without a gap, and `idempotency_key`. Both sockets of Letta Cloud's
relay carry the same feed, so that events come twice, and one socket may overtake the other: they
are put in order by `event_seq`. Rules P1 to P16 name the ways in which frames cannot be evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .calls import Call, CallError, Moment
from .fragments import is_provisional, mentions_a_call, parts_of, returns_of, text_of
from .reports import Device, Finished, Problem, Request, Stop, Text
from .strict_json import canonical

RULES = {
    "P1": "every fragment and result names its call",
    "P2": "the arguments of every call are one JSON object",
    "P3": "no arguments change once they are whole",
    "P4": "every call is started with the arguments that were streamed",
    "P5": "no frame, call or message is there twice with two contents",
    "P6": "the result and the end of a call have one status",
    "P7": "every end and result belongs to a call that was asked for",
    "P8": "no frame is missing and none is out of order",
    "P9": "every frame belongs to this agent and conversation, and to no subagent",
    "P10": "no call belongs to two runs",
    "P11": "every call has its final result",
    "P12": "every turn ends with its stop reason",
    "P13": "every turn ends with a run that was seen",
    "P15": "the conversation was not compacted",
    "P16": "every frame could be read",
}
"""P14 (messages of others) is a rule of the verdict: it needs to know our own messages."""

# Tuples, since what is looked up may be any JSON value.
_EVENTS = (
    "stream_delta",
    "turn_finished",
    "control_request",
    "update_loop_status",
    "update_device_status",
    "update_queue",
    "update_subagent_state",
)
_FAILURES = ("error", "run_request_error", "protocol_error")
_COMPACTED = ("summary_message", "event_message")


@dataclass(frozen=True, slots=True)
class _Event:
    frame: dict[str, Any]
    when: Moment


@dataclass(slots=True)
class Accumulator:
    """Takes frames in as they come (`feed`), and puts them together when all are there (`finish`).

    `first_seq` is what the first frame's `event_seq` has to be, or None where the connection was
    not ours alone. Nothing raises: what cannot be is in `problems`.
    """

    agent_id: str
    conversation_id: str
    first_seq: int | None = None
    turn: int = 0
    calls: dict[str, Call] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    finished: list[Finished] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    auto_decided: set[str] = field(default_factory=set)
    user_input: set[str] = field(default_factory=set)
    user_messages: list[dict[str, Any]] = field(default_factory=list)
    client_message_ids: set[str] = field(default_factory=set)
    subagents: int = 0
    external_calls: int = 0
    requests_of: dict[str, list[Request]] = field(default_factory=dict)
    responses: dict[str, tuple[dict[str, Any], int]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _events: dict[int, _Event] = field(default_factory=dict)
    _keys: dict[str, bytes] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)
    _indexes: dict[tuple[str, int], str] = field(default_factory=dict)
    _said: dict[tuple[str, int], bytes] = field(default_factory=dict)
    _highest: dict[str, int] = field(default_factory=dict)
    _by_otid: dict[str, Text] = field(default_factory=dict)
    _by_id: dict[str, Text] = field(default_factory=dict)
    _unfrozen: dict[str, list[Call]] = field(default_factory=dict)
    _runs: set[str] = field(default_factory=set)
    _executing: set[str] = field(default_factory=set)

    def begin_turn(self) -> None:
        """A message of ours goes out: what comes after it belongs to its turn."""
        self.turn += 1

    def feed(self, frame: dict[str, Any], channel: str, index: int) -> bool:
        """Takes a frame in; whether it is news, and no copy. `index` is its place in the log."""
        kind = frame.get("type")
        key, seq = frame.get("idempotency_key"), frame.get("event_seq")
        if key is None and seq is None and kind not in _EVENTS:
            return self._respond(frame, index)
        if not isinstance(key, str) or type(seq) is not int:
            self._wrong("P8", "an event has no number or no key")
            return False
        # The relay numbers the frames of each of its sockets.
        content = self._content({name: v for name, v in frame.items() if name != "seq"}, seq)
        if content is None:
            return False
        news = key not in self._keys
        if not news and self._keys[key] != content:
            self._wrong("P5", "two copies of an event differ", seq)
        if news:
            if seq in self._events:
                self._wrong("P5", "two events have one number", seq)
            if seq < self._last.get(channel, seq):
                self._wrong("P8", "an event came out of its order", seq)
            self._keys[key] = content
            self._events.setdefault(seq, _Event(frame, Moment(seq, index, self.turn)))
        self._last[channel] = max(seq, self._last.get(channel, seq))
        return news

    def unreadable(self, sentence: str) -> None:
        """A frame could not be read."""
        self._wrong("P16", sentence)

    def finish(self) -> None:
        """All frames are there."""
        expected = self.first_seq
        for seq in sorted(self._events):
            if expected is not None and seq != expected:
                self._wrong("P8", f"events {expected} to {seq - 1} are missing", seq)
            expected = seq + 1
            event = self._events[seq]
            try:
                self._take(event.frame, event.when)
            except CallError as error:
                self._wrong(error.rule, str(error), seq)
            except ValueError as error:
                self._wrong("P1", str(error), seq)
        for call_id in sorted(self._executing - self.calls.keys()):
            self._wrong("P7", f"a call was executed that nobody asked for: {call_id!r}")
        for call in self.calls.values():
            if call.done is None:
                self._wrong("P11", f"the call {call.call_id!r} has no final result")
        self._ends()

    def _respond(self, frame: dict[str, Any], index: int) -> bool:
        kind, request_id = frame.get("type"), frame.get("request_id")
        if kind in _FAILURES:
            self._wrong("P16", f"the session reported an {kind}")
        if kind == "external_tool_call_request":
            self.external_calls += 1
        if not isinstance(request_id, str):
            self._count(kind)
            return False
        known = self.responses.get(request_id)
        if known is None:
            self.responses[request_id] = (frame, index)
            return True
        content = self._content({name: v for name, v in frame.items() if name != "seq"}, None)
        before = self._content({name: v for name, v in known[0].items() if name != "seq"}, None)
        if content != before:
            self._wrong("P5", "two answers to one request differ")
        return False

    def _take(self, frame: dict[str, Any], when: Moment) -> None:
        kind = frame.get("type")
        runtime = frame.get("runtime")
        if frame.get("subagent_id") is not None:
            self._wrong("P9", "a subagent's frame", when.seq)
            return
        if (
            not isinstance(runtime, dict)
            or runtime.get("agent_id") != self.agent_id
            or runtime.get("conversation_id") != self.conversation_id
        ):
            self._wrong("P9", "a frame of another agent or conversation", when.seq)
            return
        takes: dict[Any, Callable[[dict[str, Any], Moment], None]] = {
            "stream_delta": self._delta,
            "turn_finished": self._turn_finished,
            "control_request": self._request,
            "update_device_status": self._device,
        }
        take = takes.get(kind) if isinstance(kind, str) else None
        if take is not None:
            take(frame, when)
        elif kind == "update_loop_status":
            self._loop(frame)
        elif kind == "update_subagent_state":
            self.subagents += frame.get("subagents") != []
        elif mentions_a_call(frame):
            self._wrong("P7", f"an unknown kind of event concerns a call: {kind!r}", when.seq)
        elif kind != "update_queue":  # what is queued comes as a `user_message` when it is taken
            self._count(kind)

    def _turn_finished(self, frame: dict[str, Any], when: Moment) -> None:
        self.finished.append(
            Finished(
                _text(frame.get("turn_id")),
                _text(frame.get("run_id")),
                frame.get("stop_reason"),
                frame.get("error"),
                when,
            )
        )

    def _request(self, frame: dict[str, Any], when: Moment) -> None:
        asked = frame.get("request")
        said = asked if isinstance(asked, dict) else {}
        request = Request(
            _text(frame.get("request_id")),
            _text(said.get("tool_call_id")),
            said.get("tool_name"),
            said.get("input"),
            frame,
            when,
        )
        self.requests.append(request)
        if request.tool_call_id is not None:
            self.requests_of.setdefault(request.tool_call_id, []).append(request)

    def _device(self, frame: dict[str, Any], when: Moment) -> None:
        said = frame.get("device_status")
        status = said if isinstance(said, dict) else {}
        self.devices.append(
            Device(
                status.get("current_permission_mode"),
                status.get("current_loaded_tools"),
                status.get("background_processes"),
                status.get("pending_control_requests"),
                when,
            )
        )

    def _loop(self, frame: dict[str, Any]) -> None:
        said = frame.get("loop_status")
        status = said if isinstance(said, dict) else {}
        self._executing |= _ids(status.get("executing_tool_call_ids") or [])
        by_run = status.get("client_message_ids_by_run_id") or {}
        lists = by_run.values() if isinstance(by_run, dict) else [None]
        for one in lists:
            self.client_message_ids |= _ids(one)

    def _delta(self, frame: dict[str, Any], when: Moment) -> None:
        delta = frame.get("delta")
        if not isinstance(delta, dict):
            raise ValueError("a delta is no object")  # noqa: TRY004 - of a hostile frame
        self._of_this_runtime(delta)
        run_id = _text(delta.get("run_id"))
        if run_id is not None:
            self._runs.add(run_id)
            if self._is_replay(delta, run_id, when):
                return
        kind = delta.get("message_type")
        takes: dict[Any, Callable[[dict[str, Any], str | None, Moment], None]] = {
            "assistant_message": self._text,
            "approval_request_message": self._fragments,
            "tool_call_message": self._fragments,
            "client_tool_start": self._start,
            "client_tool_end": self._end,
            "tool_return_message": self._returns,
            "stop_reason": self._stop,
        }
        take = takes.get(kind) if isinstance(kind, str) else None
        if take is not None:
            take(delta, run_id, when)
        elif kind == "approval_classification_end":
            self._classified(delta)
        elif kind == "user_message":
            self.user_messages.append(delta)
        else:
            self._other(kind, delta, when)

    def _of_this_runtime(self, delta: dict[str, Any]) -> None:
        ours = {"agent_id": self.agent_id, "conversation_id": self.conversation_id}
        for name, value in ours.items():
            if delta.get(name, value) != value:
                raise CallError("P9", "a delta of another agent or conversation")
        if delta.get("subagent_id") is not None:
            raise CallError("P9", "a subagent's delta")

    def _is_replay(self, delta: dict[str, Any], run_id: str, when: Moment) -> bool:
        """Whether a numbered delta of a run was there before. Raises where it is another one."""
        number = delta.get("seq_id")
        if number is None:
            return False
        if type(number) is not int:
            raise CallError("P8", "a delta's number is none")
        content = self._content(delta, when.seq)
        known = self._said.get((run_id, number))
        if known is None:
            if number < self._highest.get(run_id, number):
                raise CallError("P8", "a delta of a run came out of its order")
            self._said[run_id, number] = content or b""
            self._highest[run_id] = number
            return False
        if known != content:
            raise CallError("P5", "two deltas of a run have one number")
        return True

    def _text(self, delta: dict[str, Any], run_id: str | None, when: Moment) -> None:
        text = text_of(delta.get("content"))
        message_id, otid = _text(delta.get("id")), _text(delta.get("otid"))
        if message_id is None and otid is None:
            raise CallError("P1", "a text has no id")
        row = self._row(message_id, otid)
        if row is None:
            row = Text(message_id, otid, run_id, when, when, "")
            self.texts.append(row)
        if row.run_id != run_id:
            raise CallError("P10", "two runs write one text")
        row.text += text
        row.last = when
        if otid is not None:
            row.otid = otid
            self._by_otid[otid] = row
        if message_id is not None:
            self._by_id[message_id] = row

    def _row(self, message_id: str | None, otid: str | None) -> Text | None:
        """The row that a fragment continues: its `otid` decides, where it has one."""
        row = None if otid is None else self._by_otid.get(otid)
        if row is None and message_id is not None:
            row = self._by_id.get(message_id)
            if otid is not None and row is not None and row.otid is not None:
                return None
        return row

    def _fragments(self, delta: dict[str, Any], run_id: str | None, when: Moment) -> None:
        message_id = _text(delta.get("id"))
        parts = parts_of(delta)
        if run_id is None or message_id is None or not parts:
            raise CallError("P1", "a fragment of a call without a run, an id or a call")
        for part in parts:
            call_id = part.call_id
            if part.index is not None:
                where = (message_id, part.index)
                known = self._indexes.get(where)
                if call_id is not None and known not in (None, call_id):
                    raise CallError("P1", "one place in a message has two calls")
                call_id = call_id or known
                if call_id is not None:
                    self._indexes[where] = call_id
            if not call_id:
                raise CallError("P1", "a fragment names no call")
            call = self.calls.get(call_id)
            if call is None:
                call = self.calls[call_id] = Call(call_id, run_id, when)
                self._unfrozen.setdefault(run_id, []).append(call)
            call.add(part.name, part.arguments, run_id)

    def _returns(self, delta: dict[str, Any], run_id: str | None, when: Moment) -> None:
        message_id = delta.get("id")
        provisional = is_provisional(delta)
        for one in returns_of(delta):
            call = self.calls.get(one.call_id)
            if call is None:
                raise CallError("P7", "a result of a call that nobody asked for")
            if provisional:
                call.told(run_id)
            else:
                call.finish(one, message_id, run_id, when)

    def _start(self, delta: dict[str, Any], run_id: str | None, when: Moment) -> None:
        arguments = delta.get("tool_args")
        self._call(delta).start(delta.get("tool_name"), arguments, run_id, when)

    def _end(self, delta: dict[str, Any], run_id: str | None, when: Moment) -> None:
        self._call(delta).end(delta.get("status"), run_id, when)

    def _call(self, delta: dict[str, Any]) -> Call:
        call_id = delta.get("tool_call_id")
        call = self.calls.get(call_id) if isinstance(call_id, str) else None
        if call is None:
            raise CallError("P7", "a call was started or ended that nobody asked for")
        return call

    def _stop(self, delta: dict[str, Any], run_id: str | None, when: Moment) -> None:
        self.stops.append(Stop(run_id, delta.get("stop_reason"), when))
        for call in self._unfrozen.pop(run_id or "", []):
            self._freeze(call, when)

    def _freeze(self, call: Call, when: Moment) -> None:
        try:
            call.freeze()
        except CallError as error:
            self._wrong(error.rule, str(error), when.seq)

    def _classified(self, delta: dict[str, Any]) -> None:
        lists = {
            "auto_allowed_tool_call_ids": self.auto_decided,
            "auto_denied_tool_call_ids": self.auto_decided,
            "user_input_tool_call_ids": self.user_input,
        }
        for name, into in lists.items():
            ids = delta.get(name)
            if not isinstance(ids, list) or any(not isinstance(one, str) for one in ids):
                raise CallError("P1", "who decides on the calls has an unknown form")
            into |= set(ids)

    def _other(self, kind: Any, delta: dict[str, Any], when: Moment) -> None:
        if kind in _COMPACTED:
            self._wrong("P15", "the conversation was compacted", when.seq)
        elif kind in ("loop_error", "error_message"):
            self._wrong("P16", "the turn reported an error", when.seq)
        elif mentions_a_call(delta):
            self._wrong("P7", f"an unknown kind of message concerns a call: {kind!r}", when.seq)
        else:
            self._count(kind)

    def _ends(self) -> None:
        for turn in range(1, self.turn + 1):
            ends = [one for one in self.finished if one.when.turn == turn]
            if len(ends) != 1:
                self._wrong("P12", f"turn {turn} ended {len(ends)} times")
                continue
            end = ends[0]
            if end.run_id not in self._runs:
                self._wrong("P13", f"turn {turn} ended with a run that was not seen")
            reasons = [
                stop.reason
                for stop in self.stops
                if stop.when.turn == turn and stop.reason != "requires_approval"
            ]
            if reasons != [end.stop_reason] or not any(
                stop.run_id == end.run_id and stop.reason == end.stop_reason for stop in self.stops
            ):
                self._wrong("P12", f"turn {turn} has no stop reason that agrees with its end")
        if len(self.finished) > self.turn or any(not one.when.turn for one in self.finished):
            self._wrong("P12", "a turn ended that is none of ours")

    def _content(self, value: Any, seq: int | None) -> bytes | None:
        try:
            return canonical(value)
        except ValueError:
            self._wrong("P16", "a frame has no canonical form", seq)
            return None

    def _count(self, kind: Any) -> None:
        name = kind if isinstance(kind, str) else "?"
        self.unknown[name] = self.unknown.get(name, 0) + 1

    def _wrong(self, rule: str, sentence: str, seq: int | None = None) -> None:
        self.problems.append(Problem(rule, sentence, seq))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _ids(value: Any) -> set[str]:
    """Ids of messages or calls. Raises `ValueError` for anything else."""
    if not isinstance(value, list) or any(not isinstance(one, str) for one in value):
        raise ValueError("the ids in a status have an unknown form")
    return set(value)
