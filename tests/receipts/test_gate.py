"""What may run: the next command of the plan, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lettafast.receipts import Gate
from wire import CHALLENGED, PLAN, RUNTIME

STEPS = PLAN.steps
S2 = STEPS[1]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def asked(call_id: str, command: str, **changed):
    request = {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": command, "description": "x"},
        "tool_call_id": call_id,
        "permission_suggestions": [{"id": "save-default"}],
        **changed,
    }
    return {
        "type": "control_request",
        "request_id": f"perm-{call_id}",
        "request": request,
        "runtime": RUNTIME,
    }


def ended(call_id: str, status: str = "success"):
    delta = {"message_type": "client_tool_end", "tool_call_id": call_id, "status": status}
    return {"type": "stream_delta", "delta": delta, "runtime": RUNTIME}


def ask(gate: Gate, call_id: str, command: str, status: str | None = "success"):
    decision = gate.decide(asked(call_id, command))
    if decision.allow and status is not None:
        gate.observe(ended(call_id, status))
    return decision


def up_to(name: str) -> Gate:
    """A gate whose next step is `name`."""
    gate = Gate(PLAN)
    for step in STEPS:
        if step.name == name:
            break
        assert ask(gate, step.name, step.command).allow
    return gate


def test_the_plan_is_allowed_in_its_order() -> None:
    gate = Gate(PLAN)
    for step in STEPS:
        decision = ask(gate, step.name, step.command)
        assert decision.allow
        assert decision.step == step.name
    assert not ask(gate, "again", STEPS[5].command).allow
    assert not ask(gate, "early", CHALLENGED.steps[6].command).allow
    gate.challenged(CHALLENGED)
    assert ask(gate, "proof", CHALLENGED.steps[6].command).step == "s7"
    assert not ask(gate, "proof2", CHALLENGED.steps[6].command).allow


@pytest.mark.parametrize("step", STEPS[1:], ids=lambda step: step.name)
def test_no_step_comes_early(step) -> None:
    decision = ask(Gate(PLAN), "x", step.command)
    assert not decision.allow
    assert decision.step == step.name


@pytest.mark.parametrize(
    "command",
    [
        STEPS[0].command + " ",
        STEPS[0].command + "\n",
        STEPS[0].command + "; true",
        " " + STEPS[0].command,
        STEPS[0].command.upper(),
        "",
    ],
)
def test_another_command_is_denied(command) -> None:
    decision = ask(Gate(PLAN), "x", command)
    assert not decision.allow
    assert decision.step is None


@pytest.mark.parametrize(
    "changed",
    [
        {"tool_name": "Read"},
        {"tool_name": "bash"},
        {"tool_name": None},
        {"tool_call_id": None},
        {"tool_call_id": 1},
        {"subtype": "other"},
        {"input": None},
        {"input": []},
        {"input": {"description": "x"}},
        {"input": {"command": [STEPS[0].command]}},
        {"input": {"command": STEPS[0].command, "run_in_background": True}},
        {"input": {"command": STEPS[0].command, "cwd": "/"}},
    ],
)
def test_another_form_is_denied(changed) -> None:
    gate = Gate(PLAN)
    assert not gate.decide(asked("x", STEPS[0].command, **changed)).allow
    assert ask(gate, "good", STEPS[0].command).allow  # and nothing was taken in


def test_a_timeout_may_be_named() -> None:
    given_input = {"command": STEPS[0].command, "timeout": 1000, "description": "x"}
    assert Gate(PLAN).decide(asked("x", "", input=given_input)).allow
    assert Gate(PLAN).decide(asked("x", "", input={"command": STEPS[0].command})).allow


def test_the_fetch_is_repeated_while_it_fails() -> None:
    gate = up_to("s2")
    assert [ask(gate, f"f{n}", S2.command, "error").allow for n in range(4)] == [
        True,
        True,
        True,
        False,
    ]


def test_the_fetch_is_not_repeated_once_it_succeeded() -> None:
    gate = up_to("s2")
    assert ask(gate, "f1", S2.command, "error").allow
    assert ask(gate, "f2", S2.command).allow
    assert not ask(gate, "f3", S2.command).allow
    assert ask(gate, "next", STEPS[2].command).allow


def test_the_fetch_is_not_repeated_after_the_checkout() -> None:
    gate = up_to("s2")
    assert ask(gate, "f1", S2.command, "error").allow
    assert ask(gate, "c1", STEPS[2].command, "error").allow
    assert not ask(gate, "f2", S2.command).allow


def test_no_other_step_is_repeated() -> None:
    gate = Gate(PLAN)
    assert ask(gate, "a", STEPS[0].command, "error").allow
    assert not ask(gate, "b", STEPS[0].command).allow


def test_a_batch_gets_one_call() -> None:
    gate = Gate(PLAN)
    assert ask(gate, "a", STEPS[0].command, None).allow
    denied = ask(gate, "b", STEPS[1].command, None)
    assert not denied.allow
    gate.observe(ended("a"))
    assert not gate.decide(asked("b", STEPS[1].command)).allow  # the same decision again
    assert ask(gate, "c", STEPS[1].command).allow


def returned(message_id: str, status: str = "success"):
    one = {"tool_call_id": "a", "status": status, "tool_return": "x"}
    delta = {"message_type": "tool_return_message", "id": message_id, "tool_returns": [one], **one}
    return {"type": "stream_delta", "delta": delta}


def test_a_final_result_ends_a_call_too() -> None:
    """Its own end may be lost on the way."""
    gate = up_to("s2")
    assert gate.decide(asked("a", S2.command)).allow
    gate.observe(returned("synthetic-tool-return-1", "error"))
    assert ask(gate, "b", S2.command).allow


@pytest.mark.parametrize(
    "frame",
    [
        ended("other"),
        returned("synthetic-tool-return-stream-a"),
        {"type": "stream_delta", "delta": {"message_type": "tool_return_message", "id": "x"}},
        {**ended("a"), "type": "update"},
        {"type": "stream_delta", "delta": {"message_type": "x", "tool_call_id": "a"}},
        {"type": "stream_delta", "delta": "client_tool_end"},
        {},
    ],
)
def test_only_its_own_end_ends_a_call(frame) -> None:
    gate = Gate(PLAN)
    assert ask(gate, "a", STEPS[0].command, None).allow
    gate.observe(frame)
    assert not ask(gate, "b", STEPS[1].command).allow


def test_a_copy_gets_the_same_decision_and_another_content_none() -> None:
    gate = Gate(PLAN)
    first = asked("a", STEPS[0].command)
    assert gate.decide(first) == gate.decide(first)
    assert gate.decide(first).allow
    changed = asked("a", STEPS[0].command, tool_call_id="b")
    assert not gate.decide({**changed, "request_id": "perm-a"}).allow


def test_a_call_is_asked_for_once() -> None:
    gate = Gate(PLAN)
    assert ask(gate, "a", STEPS[0].command).allow
    again = {**asked("a", STEPS[1].command), "request_id": "perm-other"}
    assert not gate.decide(again).allow


def test_an_answer_says_nothing_beyond_the_decision() -> None:
    gate = Gate(PLAN)
    request = asked("a", STEPS[0].command)
    assert gate.answer(request, gate.decide(request)) == {
        "type": "input",
        "runtime": RUNTIME,
        "payload": {
            "kind": "approval_response",
            "request_id": "perm-a",
            "decision": {"behavior": "allow"},
        },
    }
    request = asked("b", "rm")
    denied = gate.answer(request, gate.decide(request))["payload"]["decision"]
    assert denied == {"behavior": "deny", "message": "The command is none of the plan."}


@given(st.dictionaries(st.sampled_from(["type", "delta", "request", "request_id"]), JSON))
def test_any_frame_is_decided(frame) -> None:
    gate = Gate(PLAN)
    gate.observe(frame)
    decision = gate.decide(frame)
    assert not decision.allow
    gate.answer(frame, decision)
