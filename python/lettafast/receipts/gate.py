"""Which tool calls may run: the plan's commands, one after the other, and nothing else.

A denial is plain. To abort a turn at an approval stalls the conversation (Letta Code 0.34.12), an
`updated_input` would make another call of it, and a selected suggestion would allow later calls
unasked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .fragments import is_provisional, returns_of
from .plan import FETCH, Plan
from .strict_json import same

TOOL = "Bash"
_MEMBERS = {"command", "description", "timeout"}


@dataclass(frozen=True, slots=True)
class Decision:
    """`step` is the step that the command is, also where it is denied; `why` is a sentence."""

    allow: bool
    step: str | None
    why: str


class Gate:
    """Decides on approval requests, in the order in which they come.

    `observe` has to see every frame that comes in, in that order: a step may be asked only after
    the call before it has ended. One gate serves both turns; `challenged` gives it the longer plan.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._asked: dict[str, tuple[dict[str, Any], Decision]] = {}
        self._calls: set[str] = set()
        self._running: str | None = None
        self._at = -1  # the index of the step that was allowed last
        self._attempts = 0
        self._status: Any = "success"  # of the call that was allowed last

    def challenged(self, plan: Plan) -> None:
        """Goes on with the plan that has s7, whose first steps are the same."""
        self._plan = plan

    def observe(self, frame: dict[str, Any]) -> None:
        """Takes in that the running call ended. Copies and any other frame change nothing."""
        delta = frame.get("delta")
        if frame.get("type") != "stream_delta" or not isinstance(delta, dict):
            return
        for call_id, status in _ends_in(delta):
            if self._running is not None and call_id == self._running:
                self._running = None
                self._status = status

    def decide(self, request: dict[str, Any]) -> Decision:
        """The decision on a `control_request`; the same one again where it is asked again."""
        request_id = request.get("request_id")
        asked = request.get("request")
        if not isinstance(request_id, str) or not isinstance(asked, dict):
            return Decision(False, None, "The request has no form that is known.")
        if request_id in self._asked:
            before, decision = self._asked[request_id]
            if same(asked, before):
                return decision
            return Decision(False, None, "Another request had this id.")
        decision = self._decide(asked)
        self._asked[request_id] = (asked, decision)
        return decision

    def answer(self, request: dict[str, Any], decision: Decision) -> dict[str, Any]:
        """The frame that answers `request`; it goes to the runtime that asked."""
        said = {"behavior": "allow"}
        if not decision.allow:
            said = {"behavior": "deny", "message": decision.why}
        return {
            "type": "input",
            "runtime": request.get("runtime"),
            "payload": {
                "kind": "approval_response",
                "request_id": request.get("request_id"),
                "decision": said,
            },
        }

    def _decide(self, asked: dict[str, Any]) -> Decision:
        call = asked.get("tool_call_id")
        given = asked.get("input")
        if asked.get("subtype") != "can_use_tool" or not isinstance(call, str):
            return Decision(False, None, "The request has no form that is known.")
        if asked.get("tool_name") != TOOL:
            return Decision(False, None, f"Only {TOOL} may be used.")
        if not isinstance(given, dict) or not given.keys() <= _MEMBERS:
            return Decision(
                False, None, "The call has members beyond command, description, timeout."
            )
        command = given.get("command")
        named = next((step.name for step in self._plan.steps if step.command == command), None)
        if named is None:
            return Decision(False, None, "The command is none of the plan.")
        if call in self._calls:
            return Decision(False, named, "Another call had this id.")
        if self._running is not None:
            return Decision(False, named, "One call at a time: the one before has not ended.")
        return self._take(call, named)

    def _take(self, call: str, named: str) -> Decision:
        steps = self._plan.steps
        if self._at + 1 < len(steps) and steps[self._at + 1].name == named:
            self._at += 1
            self._attempts = 1
        elif (
            named == FETCH
            and steps[self._at].name == FETCH
            and self._status == "error"
            and self._attempts < steps[self._at].attempts
        ):
            self._attempts += 1
        else:
            return Decision(False, named, "The command is not the next one of the plan.")
        self._calls.add(call)
        self._running = call
        return Decision(True, named, "It is the next command of the plan.")


def _ends_in(delta: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The calls that a delta ends, and their statuses.

    A final result ends its call too: where the end itself was lost, the agent is not to blame.
    """
    kind = delta.get("message_type")
    if kind == "client_tool_end":
        return [(delta.get("tool_call_id"), delta.get("status"))]
    if kind != "tool_return_message" or is_provisional(delta):
        return []
    try:
        return [(one.call_id, one.status) for one in returns_of(delta)]
    except ValueError:
        return []
