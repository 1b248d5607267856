"""One tool call, from the first fragment of its arguments to its final result.

    asked -> frozen -> started -> ended -> done

A denied call is never started: it ends with an error. Each transition happens once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .fragments import Return
from .strict_json import canonical, parse_object


class CallError(ValueError):
    """What was said of a call cannot be. `rule` is one of P1 to P11."""

    def __init__(self, rule: str, sentence: str) -> None:
        self.rule = rule
        super().__init__(sentence)


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was said: `event_seq`, the frame's index in the log, the turn (from 1)."""

    seq: int
    index: int
    turn: int


@dataclass(slots=True)
class Call:
    """What is known of a call. `arguments` is None until they are whole, or where they are none."""

    call_id: str
    run_id: str
    asked: Moment
    name: str | None = None
    arguments: dict[str, Any] | None = None
    started: Moment | None = None
    ended: Moment | None = None
    end_status: Any = None
    done: Moment | None = None
    final: Return | None = None
    final_id: str | None = None
    provisional: int = 0
    frozen: bool = False
    _fragments: list[str] = field(default_factory=list)

    def add(self, name: str | None, arguments: str | None, run_id: str) -> None:
        """Adds a fragment."""
        if run_id != self.run_id:
            raise CallError("P10", "two runs ask for one call")
        if self.frozen:
            raise CallError("P3", "a fragment came after the arguments were whole")
        if name is not None:
            if self.name not in (None, name):
                raise CallError("P5", "one call has two names")
            self.name = name
        if arguments is not None:
            self._fragments.append(arguments)

    def freeze(self) -> None:
        """The arguments are whole: they are parsed, once."""
        if self.frozen:
            return
        self.frozen = True
        try:
            arguments = parse_object("".join(self._fragments))
            canonical(arguments)
        except ValueError as error:
            raise CallError("P2", f"the arguments are not one JSON object: {error}") from None
        self.arguments = arguments

    def start(self, name: Any, arguments: Any, run_id: Any, when: Moment) -> None:
        """The harness began to run it."""
        if run_id != self.run_id:
            raise CallError("P10", "another run started the call")
        if self.started is not None:
            raise CallError("P5", "a call was started twice")
        if self.ended is not None:
            raise CallError("P7", "a call was started after its end")
        if not self.frozen:
            raise CallError("P2", "a call was started before its arguments were whole")
        self.started = when
        if name != self.name:
            raise CallError("P4", "a call was started with another name")
        if not isinstance(arguments, str) or not self._same(arguments):
            raise CallError("P4", "a call was started with other arguments")

    def end(self, status: Any, run_id: Any, when: Moment) -> None:
        """It ran to its end, or was denied."""
        if run_id != self.run_id:
            raise CallError("P10", "another run ended the call")
        if self.ended is not None:
            raise CallError("P5", "a call ended twice")
        if not self.frozen:
            raise CallError("P7", "a call ended before its arguments were whole")
        self.ended = when
        self.end_status = status
        if status not in ("success", "error"):
            raise CallError("P6", "a call ended with an unknown status")
        if self.started is None and status != "error":
            raise CallError("P7", "a call ended well that was never started")

    def told(self, run_id: Any) -> None:
        """What it has printed so far: counted, and never a result."""
        if run_id != self.run_id:
            raise CallError("P10", "another run told of the call")
        self.provisional += 1

    def finish(self, result: Return, message_id: Any, run_id: Any, when: Moment) -> None:
        """Its final result."""
        if run_id != self.run_id:
            raise CallError("P10", "another run gave the result of a call")
        if self.done is not None:
            raise CallError("P5", "a call has two results")
        if self.ended is None:
            raise CallError("P7", "a result came before the end of its call")
        self.done = when
        self.final = result
        self.final_id = message_id if isinstance(message_id, str) else None
        if self.final_id is None:
            raise CallError("P1", "a result has no id")
        if result.status != self.end_status:
            raise CallError("P6", "the result and the end of a call have two statuses")

    def _same(self, arguments: str) -> bool:
        try:
            return canonical(parse_object(arguments)) == canonical(self.arguments)
        except ValueError:
            return False
