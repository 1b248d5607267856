"""Rules on the calls: each step is bound to one call, and every call belongs to a step."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from .calls import Call
from .gate import TOOL
from .judgement import CallEvidence, Check, Verdict, Wrong, rule
from .plan import FETCH, PROOF, Plan, Step
from .replay import Replay
from .strict_json import canonical, same

_FIRST, _SECOND = 1, 2


@dataclass(frozen=True, slots=True)
class Bound:
    """The calls that ran a step's command, as they were asked for; the last one is the step's."""

    step: Step
    calls: tuple[Call, ...]

    @property
    def call(self) -> Call | None:
        """The step's call."""
        return self.calls[-1] if self.calls else None


def command_of(call: Call) -> str | None:
    """The command of a Bash call."""
    command = (call.arguments or {}).get("command")
    return command if call.name == TOOL and isinstance(command, str) else None


def bind(run: Replay, plan: Plan) -> list[Bound]:
    """The calls of each step."""
    calls = sorted(run.session.calls.values(), key=lambda call: call.asked.seq)
    return [
        Bound(step, tuple(call for call in calls if command_of(call) == step.command))
        for step in plan.steps
    ]


def only_the_plan(run: Replay, bound: list[Bound]) -> Check:
    """B1 and B8: every call is one of the plan's, as often as the plan allows."""
    known = {call.call_id for one in bound for call in one.calls}
    wrong: list[Wrong] = [
        (Verdict.POLICY, f"a call beyond the plan: {call.name} ({call.call_id})")
        for call in run.session.calls.values()
        if call.call_id not in known
    ]
    wrong += [
        (Verdict.POLICY, f"{len(one.calls)} calls of {one.step.name}")
        for one in bound
        if len(one.calls) > one.step.attempts
    ]
    return rule(
        "only_the_plan",
        "every call is one of the plan's",
        wrong,
        f"{len(run.session.calls)} calls",
    )


def order(bound: list[Bound]) -> Check:
    """B2: in the plan's order, each after the end of the one before."""
    return rule(
        "order", "the calls ran in the plan's order, one after the other", _unordered(bound)
    )


def step_checks(run: Replay, one: Bound) -> list[Check]:
    """B3 to B6 for one step."""
    name = one.step.name
    return [
        rule(f"{name}.called", f"{name} was called", _not_called(one), step=name),
        rule(
            f"{name}.approved",
            f"the arguments of {name} as streamed, started and approved are the same",
            _not_approved(run, one),
            step=name,
        ),
        rule(f"{name}.status", f"{name} succeeded", _not_succeeded(one), step=name),
        rule(
            f"{name}.output",
            f"{name} returned exactly what is expected",
            _other_output(one),
            step=name,
        ),
    ]


def succeeded(one: Bound) -> bool:
    """Whether a step's call succeeded with the expected output."""
    call = one.call
    return (
        call is not None
        and call.final is not None
        and call.end_status == call.final.status == "success"
        and call.final.text == one.step.output
    )


def evidence(run: Replay, bound: list[Bound]) -> tuple[CallEvidence, ...]:
    """What is kept of every call, in the order in which they were asked for."""
    steps = {call.call_id: one.step for one in bound for call in one.calls}
    calls = sorted(run.session.calls.values(), key=lambda call: call.asked.seq)
    return tuple(_evidence(run, call, steps.get(call.call_id)) for call in calls)


def _evidence(run: Replay, call: Call, step: Step | None) -> CallEvidence:
    requests = run.session.requests_of.get(call.call_id, [])
    command = command_of(call)
    output = None if call.final is None else call.final.text.encode("utf-8", "surrogatepass")
    status = None if call.final is None else call.final.status
    return CallEvidence(
        step=None if step is None else step.name,
        tool_call_id=call.call_id,
        run_id=call.run_id,
        approval_request_id=requests[0].request_id if requests else None,
        command_sha256=None
        if command is None
        else _sha256(command.encode("utf-8", "surrogatepass")),
        args_sha256=None if call.arguments is None else _sha256(canonical(call.arguments)),
        start_seq=None if call.started is None else call.started.seq,
        end_seq=None if call.ended is None else call.ended.seq,
        final_id=call.final_id,
        status=status if isinstance(status, str) else None,
        output_sha256=None if output is None else _sha256(output),
        output_bytes=None if output is None else len(output),
        expected_sha256=None if step is None else _sha256(step.output.encode()),
        provisional_count=call.provisional,
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _unordered(bound: list[Bound]) -> Iterator[Wrong]:
    before: Call | None = None
    for one in bound:
        for call in one.calls:
            if call.started is None:
                continue
            done = call.started if before is None else before.done
            if done is None:
                yield Verdict.INCOMPLETE, f"the call before {one.step.name} has no result"
            elif done.seq > call.started.seq:
                yield Verdict.FAIL, f"{one.step.name} was started before the call before had ended"
            before = call


def _not_called(one: Bound) -> Iterator[Wrong]:
    call = one.call
    if call is None:
        yield Verdict.INCOMPLETE, "no call"
        return
    if call.started is None:
        yield Verdict.INCOMPLETE, "the call was not started"
    turn = _SECOND if one.step.name == PROOF else _FIRST
    moments = (call.asked, call.started, call.ended, call.done)
    if any(when is not None and when.turn != turn for when in moments):
        yield Verdict.FAIL, "the call belongs to another turn"
    for earlier in one.calls[:-1]:
        if one.step.name != FETCH or earlier.end_status != "error":
            yield Verdict.POLICY, "called again, although the call before had not failed"


def _not_approved(run: Replay, one: Bound) -> Iterator[Wrong]:
    given = {
        said.value["payload"]["request_id"]: said.index
        for said in run.answers
        if isinstance(said.value["payload"].get("request_id"), str)
    }
    for call in one.calls:
        requests = run.session.requests_of.get(call.call_id, [])
        if len(requests) != 1:
            yield Verdict.POLICY, f"{len(requests)} approval requests for one call"
            continue
        asked = requests[0]
        decided = run.decided.get(asked.request_id or "")
        if asked.name != call.name or not same(asked.arguments, call.arguments):
            yield Verdict.FAIL, "another call was approved than the one that was streamed"
        if decided is None or not decided.decision.allow or decided.decision.step != one.step.name:
            yield Verdict.POLICY, "the call was not allowed as this step"
        elif call.started is not None and not (
            decided.index < given.get(decided.request_id, -1) < call.started.index
        ):
            yield Verdict.POLICY, "the call was started without our approval"
        if call.call_id not in run.session.user_input:
            yield Verdict.INCOMPLETE, "the session does not say that the call was for us to decide"


def _not_succeeded(one: Bound) -> Iterator[Wrong]:
    call = one.call
    if call is None or call.final is None or call.ended is None:
        yield Verdict.INCOMPLETE, "no final result"
    elif call.end_status != "success" or call.final.status != "success":
        yield Verdict.FAIL, f"status {call.final.status!r}"


def _other_output(one: Bound) -> Iterator[Wrong]:
    call = one.call
    if call is None or call.final is None:
        yield Verdict.INCOMPLETE, "no final result"
    elif call.final.text != one.step.output:
        yield Verdict.FAIL, repr(call.final.text)
