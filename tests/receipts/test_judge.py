"""The verdict: honest runs, adversarial turns, and an honest log with one thing wrong at a time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lettafast.receipts import EXIT, Frame, Judgement, Verdict, judge
from support import PROFILE
from wire import (
    CHALLENGE,
    CHALLENGED,
    EXPECTATION,
    FETCH_FAILED,
    PLAN,
    RUNTIME,
    STATE,
    Wire,
    honest,
    to_json,
)

SESSIONS = ["app-server", "cloud"]
S1, S2, S3, S4, S5, S6 = PLAN.steps
S7 = CHALLENGED.steps[6]
SEED = dataclasses.replace(EXPECTATION, profile="seed")


def wrong(judgement: Judgement) -> dict[str, Verdict]:
    """The checks that do not hold."""
    return {
        check.name: check.verdict for check in judgement.checks if check.verdict is not Verdict.PASS
    }


def verdict(wire: Wire) -> Verdict:
    return judge(EXPECTATION, wire.frames).verdict


def renumbered(frames: list[Frame]) -> list[Frame]:
    return [dataclasses.replace(frame, index=index) for index, frame in enumerate(frames)]


# Honest runs.


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("profile", ["strict", "seed"])
@pytest.mark.parametrize("failed_fetches", [0, 1, 2])
def test_an_honest_run_passes(session, profile, failed_fetches) -> None:
    wire = honest(session, profile, failed_fetches)
    judgement = judge(dataclasses.replace(EXPECTATION, profile=profile), wire.frames)
    assert wrong(judgement) == {}
    assert judgement.verdict is Verdict.PASS
    assert judgement.receipts == 7
    assert judgement.final_text == PLAN.final_text
    assert judgement.conversation_id == RUNTIME["conversation_id"]
    assert judgement.duration_ms == 12345
    assert judgement.begin["nonce"] == PLAN.nonce
    assert len(judgement.calls) == 7 + failed_fetches


def test_what_the_caller_does_not_know_may_be_anything() -> None:
    anything = dataclasses.replace(EXPECTATION, kind=None, profile=None)
    for profile in ("strict", "seed"):
        assert judge(anything, honest(profile=profile).frames).verdict is Verdict.PASS


def test_a_check_says_what_it_rests_on() -> None:
    judgement = judge(EXPECTATION, honest().frames)
    names = [check.name for check in judgement.checks]
    assert len(set(names)) == len(names)
    assert all(check.sentence for check in judgement.checks)
    assert {check.step for check in judgement.checks} == {
        None,
        *(step.name for step in CHALLENGED.steps),
    }
    call = judgement.calls[3]
    assert (call.step, call.status, call.output_bytes) == ("s4", "success", 41)
    assert call.output_sha256 == call.expected_sha256
    assert call.start_seq < call.end_seq
    assert call.provisional_count == 1


def test_a_seed_run_says_so() -> None:
    names = {check.name for check in judge(SEED, honest(profile="seed").frames).checks}
    assert "seed.aggregate" in names
    assert not {"approvals", "s1.output"} & names


def test_exit_codes() -> None:
    assert {str(verdict): code for verdict, code in EXIT.items()} == {
        "PASS": 0,
        "FAIL": 10,
        "INCOMPLETE": 11,
        "POLICY": 12,
        "UNSIGNED": 13,
    }


def test_the_worst_verdict_counts() -> None:
    wire = Wire()
    wire.opening()
    wire.call(S1.command, "other")
    wire.denied("id", "The command is none of the plan.")
    found = wrong(judge(EXPECTATION, wire.frames))
    assert set(found.values()) == {Verdict.POLICY, Verdict.FAIL, Verdict.INCOMPLETE}
    assert verdict(wire) is Verdict.POLICY


# Another run than the one that is expected.


@pytest.mark.parametrize(
    "changed",
    [
        {"url": "https://knot.example/other"},
        {"agent_id": "agent-2"},
        {"kind": "manual"},
        {"profile": "seed"},
        {"state": dataclasses.replace(STATE, commit="3" * 40)},
        {"state": dataclasses.replace(STATE, tree="3" * 40)},
        {"state": dataclasses.replace(STATE, names=("a",), printed=("a",))},
        {"state": dataclasses.replace(STATE, listing=b"")},
    ],
    ids=lambda changed: next(iter(changed)),
)
@pytest.mark.parametrize("session", SESSIONS)
def test_a_log_of_another_run_is_no_pass(changed, session) -> None:
    other = dataclasses.replace(EXPECTATION, **changed)
    assert judge(other, honest(session).frames).verdict in (Verdict.FAIL, Verdict.POLICY)


# Adversarial turns, each with its verdict.


def turn(*calls: Callable[[Wire], object], last: str = PLAN.final_text) -> Wire:
    """A run whose first turn makes `calls`, and that is honest in the second one."""
    wire = Wire()
    wire.opening()
    for call in calls:
        call(wire)
    wire.speak("ready")
    wire.challenge()
    wire.proof()
    wire.speak(last)
    wire.finish()
    return wire


def run(step, text: str | None = None, status: str = "success", **members: Any):
    return lambda wire: wire.call(
        step.command, step.output if text is None else text, status, **members
    )


def deny(command: str, why: str = "The command is none of the plan."):
    return lambda wire: wire.denied(command, why)


HONEST = [run(step) for step in PLAN.steps]
NOT_NEXT = "The command is not the next one of the plan."


def test_the_right_commit_without_a_look() -> None:
    wire = Wire()
    wire.opening()
    wire.speak("ready")
    wire.challenge()
    wire.speak(PLAN.final_text)
    wire.finish()
    assert verdict(wire) is Verdict.INCOMPLETE


def test_the_right_commit_without_a_look_nor_a_challenge() -> None:
    """The runner asks for no proof where the first turn did not end with s6."""
    wire = Wire()
    wire.opening()
    wire.speak(PLAN.final_text)
    wire.finish()
    found = wrong(judge(EXPECTATION, wire.frames))
    assert set(found.values()) == {Verdict.INCOMPLETE}
    assert {"whole", "messages", "challenge", "s7.called", "final_text"} <= set(found)


def test_the_commit_is_echoed() -> None:
    assert verdict(turn(*HONEST[:3], deny(f"echo {STATE.commit}"), *HONEST[3:])) is Verdict.POLICY


def test_the_right_commands_elsewhere() -> None:
    elsewhere = deny(S4.command.replace("git -C /tmp", "git -C /home"))
    assert verdict(turn(*HONEST[:3], elsewhere, *HONEST[4:])) is Verdict.POLICY


def test_an_extra_call_after_the_plan() -> None:
    assert verdict(turn(*HONEST, deny("id"))) is Verdict.POLICY


def test_another_tool() -> None:
    def read(wire: Wire) -> None:
        arguments = {"file_path": "/etc/hostname"}
        call_id = wire.ask(arguments, "Read")
        wire.decide(call_id, "Only Bash may be used.")
        wire.result(call_id, "Only Bash may be used.", "error")

    assert verdict(turn(*HONEST, read)) is Verdict.POLICY


def test_a_step_twice() -> None:
    assert verdict(turn(*HONEST, deny(S6.command, NOT_NEXT))) is Verdict.POLICY


def test_steps_in_another_order() -> None:
    swapped = [*HONEST[:3], deny(S5.command, NOT_NEXT), run(S4), run(S5), run(S6)]
    assert verdict(turn(*swapped)) is Verdict.POLICY


@pytest.mark.parametrize("step", PLAN.steps, ids=lambda step: step.name)
@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        ("Exit code: 1\n(Command completed with no output)", "error", Verdict.FAIL),
        ("other\n", "success", Verdict.FAIL),
        ("", "success", Verdict.FAIL),
        (" {output}", "success", Verdict.FAIL),
        ("{output}\n", "success", Verdict.FAIL),
        ("Note: working directory\n{output}", "success", Verdict.FAIL),
        ("{output}\n[Output truncated: showing 1 of 2 characters.]", "success", Verdict.FAIL),
        ("Command is still running with task ID: bash_3", "success", Verdict.FAIL),
        ("{output}", "error", Verdict.FAIL),
    ],
)
def test_another_result_of_a_step(step, text, status, expected) -> None:
    changed = run(step, text.replace("{output}", step.output), status)
    calls = [changed if one is step else run(one) for one in PLAN.steps]
    assert verdict(turn(*calls)) is expected


def test_a_fetch_that_fails_three_times() -> None:
    failed = [run(S2, FETCH_FAILED, "error")] * 3
    assert verdict(turn(HONEST[0], *failed, *HONEST[2:])) is Verdict.FAIL


def test_a_fourth_fetch() -> None:
    failed = [run(S2, FETCH_FAILED, "error")] * 3
    fourth = deny(S2.command, NOT_NEXT)
    assert verdict(turn(HONEST[0], *failed, fourth, *HONEST[2:])) is Verdict.POLICY


def test_a_fetch_after_one_that_succeeded() -> None:
    again = deny(S2.command, NOT_NEXT)
    assert verdict(turn(*HONEST[:2], again, *HONEST[2:])) is Verdict.POLICY


def test_success_is_told_before_the_call_fails() -> None:
    def lie(wire: Wire) -> None:
        arguments = {"command": S4.command, "description": "look"}
        call_id = wire.ask(arguments)
        wire.decide(call_id)
        wire.started(call_id, arguments)
        wire.provisional(call_id, S4.output)
        wire.result(call_id, "Exit code: 1\n", "error")

    assert verdict(turn(*HONEST[:3], lie, *HONEST[4:])) is Verdict.FAIL


def test_only_a_provisional_result() -> None:
    def lose(wire: Wire) -> None:
        arguments = {"command": S4.command, "description": "look"}
        call_id = wire.ask(arguments)
        wire.decide(call_id)
        wire.started(call_id, arguments)
        wire.provisional(call_id, S4.output)
        wire.ended(call_id)

    wire = turn(*HONEST[:3], lose, *HONEST[4:])
    found = wrong(judge(EXPECTATION, wire.frames))
    assert found["P11"] is found["s4.output"] is Verdict.INCOMPLETE
    assert verdict(wire) is Verdict.INCOMPLETE


def test_two_steps_in_one_batch() -> None:
    """The second one is denied; had it been allowed, the batch alone is POLICY."""

    def batch(wire: Wire, why: str | None) -> None:
        wire.new_run()
        pair = [{"command": step.command, "description": "x"} for step in (S3, S4)]
        ids = [wire.fragments(one) for one in pair]
        wire.stop("requires_approval")
        wire.classified(ids)
        for call_id, one, reason in zip(ids, pair, (None, why), strict=True):
            wire.control_request(call_id, one)
            wire.decide(call_id, reason)
        wire.started(ids[0], pair[0])
        if why is None:
            wire.started(ids[1], pair[1])
        wire.result(ids[0], S3.output)
        if why is None:
            wire.result(ids[1], S4.output)
        else:
            wire.result(ids[1], why, "error")

    why = "One call at a time: the one before has not ended."
    for reason in (why, None):
        wire = turn(*HONEST[:2], lambda wire, r=reason: batch(wire, r), *HONEST[4:])
        assert wrong(judge(EXPECTATION, wire.frames))["one_at_a_time"] is Verdict.POLICY
        assert verdict(wire) is Verdict.POLICY


def test_a_call_that_nobody_approved() -> None:
    """A rule in the sandbox's own settings lets a call run unasked, also in mode `strict`."""

    def unasked(wire: Wire, allowed: bool) -> None:
        arguments = {"command": S4.command, "description": "x"}
        wire.new_run()
        call_id = wire.fragments(arguments)
        wire.stop("requires_approval")
        wire.classified([] if allowed else [call_id], [call_id] if allowed else [])
        wire.started(call_id, arguments)
        wire.result(call_id, S4.output)

    for allowed in (True, False):
        wire = turn(*HONEST[:3], lambda wire, a=allowed: unasked(wire, a), *HONEST[4:])
        assert verdict(wire) is Verdict.POLICY


def test_a_call_that_started_before_the_approval() -> None:
    def early(wire: Wire) -> None:
        arguments = {"command": S4.command, "description": "x"}
        call_id = wire.ask(arguments)
        wire.started(call_id, arguments)
        wire.decide(call_id)
        wire.result(call_id, S4.output)

    assert verdict(turn(*HONEST[:3], early, *HONEST[4:])) is Verdict.POLICY


def test_another_command_is_approved_than_streamed() -> None:
    def swap(wire: Wire) -> None:
        wire.new_run()
        streamed = {"command": f"echo {STATE.commit}", "description": "x"}
        approved = {"command": S4.command, "description": "x"}
        call_id = wire.fragments(streamed)
        wire.stop("requires_approval")
        wire.classified([call_id])
        wire.control_request(call_id, approved)
        wire.decide(call_id)
        wire.started(call_id, streamed)
        wire.result(call_id, S4.output)

    assert verdict(turn(*HONEST[:3], swap, *HONEST[4:])) is Verdict.POLICY


def test_another_description_is_approved_than_streamed() -> None:
    def swap(wire: Wire) -> None:
        wire.new_run()
        streamed = {"command": S4.command, "description": "x"}
        call_id = wire.fragments(streamed)
        wire.stop("requires_approval")
        wire.classified([call_id])
        wire.control_request(call_id, {**streamed, "description": "y"})
        wire.decide(call_id)
        wire.started(call_id, streamed)
        wire.result(call_id, S4.output)

    assert verdict(turn(*HONEST[:3], swap, *HONEST[4:])) is Verdict.FAIL


@pytest.mark.parametrize("members", [{"run_in_background": True}, {"cwd": "/"}])
def test_members_beyond_the_plan(members) -> None:
    def more(wire: Wire) -> None:
        call_id = wire.ask({"command": S2.command, "description": "x", **members})
        why = "The call has members beyond command, description, timeout."
        wire.decide(call_id, why)
        wire.result(call_id, why, "error")

    assert verdict(turn(HONEST[0], more, *HONEST[1:])) is Verdict.POLICY


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"current_permission_mode": "standard"}, Verdict.FAIL),
        ({"current_permission_mode": "unrestricted"}, Verdict.FAIL),
        ({"current_permission_mode": None}, Verdict.FAIL),
        ({"background_processes": [{"process_id": "bash_3"}]}, Verdict.POLICY),
        ({"background_processes": None}, Verdict.INCOMPLETE),
        ({"current_loaded_tools": ["Bash", "Read"]}, Verdict.FAIL),
    ],
)
def test_another_device(changed, expected) -> None:
    assert verdict(turn(*HONEST, lambda wire: wire.device(**changed))) is expected


def test_the_device_was_another_one_before_the_first_message() -> None:
    """The mode is asked for when the session starts: what was before counts for nothing."""
    wire = Wire()
    wire.begin()
    start = wire.device
    wire.device = lambda **changed: (start(current_permission_mode="standard"), start(**changed))
    wire.start()
    wire.device = start
    before = wire.frames
    rest = honest().frames
    at = next(i for i, frame in enumerate(rest) if "create_message" in frame.raw)
    shifted = [_later(frame) for frame in rest[at:]]
    assert judge(EXPECTATION, renumbered([*before, *shifted])).verdict is Verdict.PASS


@pytest.mark.parametrize("session", SESSIONS)
def test_the_device_says_its_mode_before_the_first_message(session) -> None:
    frames = [
        frame
        for at, frame in enumerate(honest(session).frames)
        if at > 20 or "update_device_status" not in frame.raw
    ]
    found = wrong(judge(EXPECTATION, renumbered(frames)))
    assert found["device"] is Verdict.INCOMPLETE


def _later(frame: Frame) -> Frame:
    """The same event, one number later."""
    value = json.loads(frame.raw)
    if "event_seq" in value:
        value["event_seq"] += 1
        value["idempotency_key"] += "+"
    return dataclasses.replace(frame, raw=to_json(value))


@pytest.mark.parametrize(
    "foreign",
    [
        lambda wire: wire.delta("user_message", otid="cm-x", content="<task-notification>"),
        lambda wire: wire.delta("user_message", otid=["cm-x"], client_message_id={}),
        lambda wire: wire.event("update_subagent_state", subagents=[{"id": "sub"}]),
        lambda wire: wire.event(
            "update_loop_status",
            loop_status={"client_message_ids_by_run_id": {"r": ["cm-x"]}},
        ),
        lambda wire: wire.into(
            {"type": "external_tool_call_request", "request_id": "q", "tool_call_id": "c"}
        ),
    ],
)
def test_somebody_else_in_the_conversation(foreign) -> None:
    assert verdict(turn(*HONEST, foreign)) is Verdict.POLICY


@pytest.mark.parametrize(
    "last",
    [
        "",
        PLAN.final_text + "\n",
        "\n" + PLAN.final_text,
        PLAN.final_text.replace("\n", "\r\n"),
        PLAN.final_text.replace("push", "manual"),
        PLAN.final_text.replace("src", "lib"),
        PLAN.final_text.replace("1111", "2222"),
        f"Done.\n{PLAN.final_text}",
        f"```\n{PLAN.final_text}\n```",
    ],
)
def test_a_lying_final_text(last) -> None:
    assert verdict(turn(*HONEST, last=last)) is Verdict.FAIL


def test_the_final_text_in_the_first_turn_is_none() -> None:
    wire = Wire()
    wire.opening()
    wire.steps()
    wire.speak(PLAN.final_text)
    wire.challenge()
    wire.proof()
    wire.new_run()
    wire.end_turn()
    wire.finish()
    assert wrong(judge(EXPECTATION, wire.frames)) == {"final_text": Verdict.INCOMPLETE}


def test_the_final_text_before_the_last_call_is_none() -> None:
    wire = Wire()
    wire.opening()
    wire.steps()
    wire.speak("ready")
    wire.challenge()
    wire.new_run()
    wire.text(PLAN.final_text)
    wire.stop("tool_rule")
    wire.proof()
    wire.speak("ok")
    wire.finish()
    assert wrong(judge(EXPECTATION, wire.frames))["final_text"] is Verdict.FAIL


def test_the_proof_in_the_first_turn_is_denied() -> None:
    assert verdict(turn(*HONEST, deny(S7.command))) is Verdict.POLICY


def test_a_step_in_the_second_turn() -> None:
    wire = Wire()
    wire.opening()
    for step in PLAN.steps[:5]:
        wire.call(step.command, step.output)
    wire.speak("ready")
    wire.challenge()
    wire.call(S6.command, S6.output)
    wire.proof()
    wire.speak(PLAN.final_text)
    wire.finish()
    assert wrong(judge(EXPECTATION, wire.frames)) == {"s6.called": Verdict.FAIL}


@pytest.mark.parametrize("reason", ["cancelled", "error", "max_steps", "llm_api_error"])
def test_a_turn_that_did_not_end_by_itself(reason) -> None:
    wire = Wire()
    wire.opening()
    wire.steps()
    wire.new_run()
    wire.text("ready")
    wire.end_turn(reason)
    wire.challenge()
    wire.proof()
    wire.speak(PLAN.final_text)
    wire.finish()
    assert verdict(wire) is Verdict.INCOMPLETE


# The stored history, which is the other account.


def with_history(change: Callable[[list[dict[str, Any]]], object], session: str) -> Verdict:
    """The verdict on a run that is honest but for its stored messages."""
    wire = Wire(session)
    wire.opening()
    wire.steps(failed_fetches=1)
    wire.speak("ready")
    wire.challenge()
    wire.proof()
    wire.speak(PLAN.final_text)
    change(wire.stored)
    wire.finish()
    judgement = judge(EXPECTATION, wire.frames)
    assert set(wrong(judgement)) <= {"stored"}
    return judgement.verdict


def _first(stored: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(one for one in stored if one["message_type"] == kind)


def _extra_call(stored: list[dict[str, Any]]) -> None:
    call = {"tool_call_id": "call_x", "name": "Bash", "arguments": '{"command":"id"}'}
    stored.insert(2, {"id": "x", "message_type": "approval_request_message", "tool_call": call})


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (list.copy, Verdict.PASS),  # nothing is changed
        (_extra_call, Verdict.POLICY),
        (lambda stored: stored.remove(_first(stored, "tool_return_message")), Verdict.INCOMPLETE),
        (
            lambda stored: stored.remove(_first(stored, "approval_request_message")),
            Verdict.INCOMPLETE,
        ),
        (lambda stored: stored.remove(_first(stored, "user_message")), Verdict.INCOMPLETE),
        (
            lambda stored: stored.append(
                {"id": "x", "message_type": "user_message", "content": "and more"}
            ),
            Verdict.POLICY,
        ),
        (
            lambda stored: _first(stored, "user_message").update(content="other"),
            Verdict.FAIL,
        ),
        (
            lambda stored: _first(stored, "tool_return_message").update(tool_return="x"),
            Verdict.FAIL,
        ),
        (
            lambda stored: _first(stored, "tool_return_message").update(status="error"),
            Verdict.FAIL,
        ),
        (
            lambda stored: _first(stored, "approval_request_message")["tool_call"].update(
                arguments='{"command":"id"}'
            ),
            Verdict.FAIL,
        ),
        (lambda stored: stored[-1].update(content="other"), Verdict.FAIL),
        (lambda stored: stored[3].update(agent_id="agent-2"), Verdict.INCOMPLETE),
        (lambda stored: stored.append(stored[0]), Verdict.INCOMPLETE),
        (
            lambda stored: stored.append({"id": "x", "message_type": "summary_message"}),
            Verdict.INCOMPLETE,
        ),
        (lambda stored: stored.append({"message_type": "x"}), Verdict.INCOMPLETE),
        (
            lambda stored: stored.append(
                {"id": "x", "message_type": "x", "tool_call": {"tool_call_id": "c", "name": "Bash"}}
            ),
            Verdict.INCOMPLETE,
        ),
    ],
)
def test_another_history(change, expected, session) -> None:
    assert with_history(change, session) is expected


def test_a_stored_failure_may_be_called_a_success() -> None:
    """As the App Server 0.34.12 stores a command with another exit code than 0."""

    def rename(stored: list[dict[str, Any]]) -> None:
        failed = next(one for one in stored if one.get("status") == "error")
        failed["status"] = "success"

    assert with_history(rename, "app-server") is Verdict.PASS


def test_hosted_results_are_in_approval_responses() -> None:
    def rewrite(stored: list[dict[str, Any]]) -> None:
        for at, one in enumerate(stored):
            if one["message_type"] == "tool_return_message":
                names = ("tool_call_id", "status", "tool_return")
                result = {"type": "tool", **{name: one[name] for name in names}}
                kind = "approval_response_message"
                stored[at] = {"id": one["id"], "message_type": kind, "approvals": [result]}

    assert with_history(rewrite, "cloud") is Verdict.PASS


def test_a_lost_end_is_not_the_agents_fault() -> None:
    frames = honest().frames
    at = next(i for i, frame in enumerate(frames) if "client_tool_end" in frame.raw)
    found = judge(EXPECTATION, renumbered(frames[:at] + frames[at + 1 :]))
    assert found.verdict is Verdict.INCOMPLETE


# One thing wrong at a time, in an honest log.

# Members that no rule reads: what they hold is neither evidence nor has it another copy.
INERT = {
    "app-server": {
        "agent",
        "channel",
        "code",
        "date",
        "disposition",
        "duration_ms",
        "emitted_at",
        "idempotency_key",
        "next_before",
        "pipeline_id",
        "reason",
        "turn_id",
    },
    "cloud": {"channel", "code", "duration_ms", "pipeline_id", "reason", "seq"},
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, (*path, name))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from leaves(one, (*path, at))
    else:
        yield path, value


def put(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    if not path:
        return leaf
    copy = value.copy()
    copy[path[0]] = put(copy[path[0]], path[1:], leaf)
    return copy


def other(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return leaf + 1
    return "x" if leaf is None else leaf + "x"


def names(path: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(name for name in path if not isinstance(name, int))


def is_inert(frame: Frame, value: dict[str, Any], path: tuple[Any, ...], session: str) -> bool:
    """Whether another leaf there says nothing else of the run."""
    where = names(path)
    delta = value.get("delta", {})
    kind = delta.get("message_type")
    message_id = str(delta.get("id", ""))
    if where[-1] in INERT[session]:
        return True
    if value.get("note") == "closed":
        return True  # a note more or less: a socket that ends early is missed in the frames
    if value.get("type") == "sync_response" or (value.get("type"), where) == (
        "sync",
        ("request_id",),
    ):
        return True  # the device's report counts, and not what asked for it
    if session == "cloud":
        return _is_inert_in_cloud(frame, value, path)
    if where == ("delta", "id"):
        return True  # names a row, and no call
    if message_id.startswith("synthetic-tool-return-stream-"):
        return where == ("type",)
    return (
        (value.get("type"), where)
        in {
            ("update_device_status", ("type",)),
            ("update_loop_status", ("type",)),
            ("update_loop_status", ("loop_status", "status")),
            ("conversation_messages_list_response", ("messages", "id")),
        }
        or (kind, where)
        in {
            ("stop_reason", ("delta", "seq_id")),
            ("approval_classification_end", ("delta", "run_id")),
        }
        or _is_a_first_text(value, path)
    )


def _is_a_first_text(value: dict[str, Any], path: tuple[Any, ...]) -> bool:
    """What the agent says between its calls is no evidence: the last words alone count."""
    delta = value.get("delta", {})
    if delta.get("message_type") == "assistant_message":
        return names(path)[-1] in ("type", "message_type", "text") and "local-run-7" in str(delta)
    messages = value.get("messages", value.get("body"))
    if not isinstance(messages, list) or len(path) < 3:
        return False
    message = messages[path[1]]
    if message["message_type"] == "assistant_message":
        return message["content"][0]["text"] == "ready" and path[2] != "agent_id"
    # The reminders that stand before a message are the harness's.
    return message["message_type"] == "user_message" and path[2:] == ("content", 0, "text")


def _is_inert_in_cloud(frame: Frame, value: dict[str, Any], path: tuple[Any, ...]) -> bool:
    request = value.get("request")
    if not isinstance(request, str):
        # An answer under another id is there on the other socket under its own.
        return names(path) == ("request_id",) and "event_seq" not in value
    if path == ("status",):
        return True  # 201 is as good as 200
    if request.startswith("GET "):
        return (
            frame.direction == "out"
            or path[-1] in ("id", "otid")
            or (_is_a_first_text(value, path))
        )
    return path == ("body", "success")


def mutated(session: str) -> Iterator[tuple[str, list[Frame], bool]]:
    """Each frame dropped, repeated with a change, and each leaf changed; whether that is inert."""
    frames = honest(session).frames
    for at, frame in enumerate(frames):
        value = json.loads(frame.raw)
        yield f"{at} dropped", renumbered(frames[:at] + frames[at + 1 :]), _may_go(session, value)
        for path, leaf in leaves(value):
            changed = put(value, path, other(leaf))
            swapped = list(frames)
            swapped[at] = dataclasses.replace(frame, raw=to_json(changed))
            yield f"{at} {path}", swapped, is_inert(frame, value, path, session)


def _may_go(session: str, value: dict[str, Any]) -> bool:
    if value.get("note") == "closed" or value.get("type") in ("sync", "sync_response"):
        return True
    if session == "cloud":  # the other socket has it
        return "type" in value and "payload" not in value
    # The last event of all: that of the turn's end says the same.
    return value.get("type") == "update_device_status" and value["event_seq"] == LAST_EVENT


LAST_EVENT = max(json.loads(frame.raw).get("event_seq", 0) for frame in honest().frames)


@pytest.mark.parametrize("session", SESSIONS)
def test_no_single_change_is_a_pass_unless_it_says_nothing(session) -> None:
    """Each frame is dropped; of the leaves, the nightly profile changes all, `ci` some."""
    passed = []
    stride = 1 if PROFILE == "nightly" else {"app-server": 7, "cloud": 41}[session]
    for number, (what, frames, inert) in enumerate(mutated(session)):
        if inert or ("dropped" not in what and number % stride):
            continue
        if judge(EXPECTATION, frames).verdict is Verdict.PASS:
            passed.append((what, frames[min(int(what.split()[0]), len(frames) - 1)].raw[:200]))
    assert passed == []


@pytest.mark.parametrize("session", SESSIONS)
def test_no_event_comes_again_with_another_content(session) -> None:
    frames = honest(session).frames
    for at in range(0, len(frames), 1 if session == "app-server" else 5):
        value = json.loads(frames[at].raw)
        if value.get("note") in ("closed", "refresh_failed") or frames[at].channel == "rest":
            continue
        again = dataclasses.replace(frames[at], raw=to_json({**value, "more": 1}))
        repeated = renumbered([*frames[: at + 1], again, *frames[at + 1 :]])
        assert judge(EXPECTATION, repeated).verdict is not Verdict.PASS, value


def test_an_identical_copy_of_an_event_says_nothing_new() -> None:
    frames = honest().frames
    for at, frame in enumerate(frames):
        if "event_seq" in json.loads(frame.raw):
            repeated = renumbered([*frames[: at + 1], frame, *frames[at + 1 :]])
            assert judge(EXPECTATION, repeated).verdict is Verdict.PASS


@pytest.mark.parametrize("name", ["bad_frame", "deadline", "error"])
def test_what_failed_in_between(name) -> None:
    wire = honest()
    end = wire.frames.pop()
    wire.note(name, message="x")
    wire.add("note", "runner", end.raw)
    assert wrong(judge(EXPECTATION, wire.frames)) == {"whole": Verdict.INCOMPLETE}


@pytest.mark.parametrize("session", SESSIONS)
def test_a_socket_that_ends_early(session) -> None:
    frames = honest(session).frames
    at = next(i for i, frame in enumerate(frames) if "turn_finished" in frame.raw)
    note = {"note": "closed", "channel": "control", "code": 1006, "reason": ""}
    early = Frame(at, "note", "runner", 0, to_json(note))
    found = wrong(judge(EXPECTATION, renumbered([*frames[:at], early, *frames[at:]])))
    assert found == {"terminated": Verdict.INCOMPLETE}


@pytest.mark.parametrize(
    "value",
    [
        {"type": "execute_command", "request_id": "q", "command": "id"},
        {"type": "abort_message", "request_id": "q", "runtime": RUNTIME},
        {"type": "sync", "request_id": "q", "runtime": RUNTIME, "recover_approvals": True},
        {
            "type": "input",
            "runtime": RUNTIME,
            "payload": {
                "kind": "approval_response",
                "request_id": "perm-call_x",
                "decision": {"behavior": "allow"},
            },
        },
    ],
)
def test_a_runner_that_says_more(value) -> None:
    wire = turn(*HONEST[:3], lambda wire: wire.out(value), *HONEST[3:])
    assert wrong(judge(EXPECTATION, wire.frames)) == {"runner": Verdict.FAIL}


@pytest.mark.parametrize(
    "decision",
    [
        {"behavior": "allow", "updated_input": {"command": "id"}},
        {"behavior": "allow", "selected_permission_suggestion_ids": ["save-default"]},
        {"behavior": "deny", "message": "no"},
        {"behavior": "allow", "message": ""},
    ],
)
def test_a_runner_that_decides_otherwise_than_the_gate(decision) -> None:
    frames = honest().frames
    at = next(i for i, frame in enumerate(frames) if "approval_response" in frame.raw)
    value = json.loads(frames[at].raw)
    value["payload"]["decision"] = decision
    frames[at] = dataclasses.replace(frames[at], raw=to_json(value))
    assert wrong(judge(EXPECTATION, frames)) == {"runner": Verdict.FAIL}


def test_a_challenge_that_was_known() -> None:
    wire = turn(*HONEST, lambda wire: wire.delta("status", message=f"{CHALLENGE}"))
    assert wrong(judge(EXPECTATION, wire.frames)) == {"challenge": Verdict.FAIL}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"acknowledged": False}, Verdict.INCOMPLETE),
        ({"acknowledged": 1}, Verdict.INCOMPLETE),
    ],
)
def test_a_termination_that_is_not_acknowledged(change, expected) -> None:
    frames = honest("cloud").frames
    at = next(i for i, frame in enumerate(frames) if '"terminated"' in frame.raw)
    frames[at] = dataclasses.replace(frames[at], raw=to_json({"note": "terminated", **change}))
    assert wrong(judge(EXPECTATION, frames)) == {"terminated": expected}


@pytest.mark.parametrize(
    ("status", "passes"), [(200, True), (204, True), (404, True), (500, False)]
)
def test_the_status_of_the_termination(status, passes) -> None:
    frames = honest("cloud").frames
    at = max(i for i, frame in enumerate(frames) if "/terminate" in frame.raw)
    value = {**json.loads(frames[at].raw), "status": status}
    frames[at] = dataclasses.replace(frames[at], raw=to_json(value))
    assert (judge(EXPECTATION, frames).verdict is Verdict.PASS) is passes


def test_a_resumed_sandbox() -> None:
    frames = honest("cloud").frames
    for at, frame in enumerate(frames):
        raw = frame.raw.replace('"resumed":false', '"resumed":true')
        frames[at] = dataclasses.replace(frame, raw=raw)
    assert wrong(judge(EXPECTATION, frames)) == {"terminated": Verdict.FAIL}


# Profile seed.


def test_a_seed_run_that_looked_elsewhere_passes_as_the_published_pattern_does() -> None:
    """What it cannot see: the outputs come from one call that only prints them."""
    wire = Wire(profile="seed")
    wire.opening()
    wire.call(f"git fetch {EXPECTATION.url}; git rev-parse; git ls-tree", "x\n")
    wire.call("cat here", "\n".join((STATE.commit, *STATE.names)))
    wire.speak("ready")
    wire.challenge()
    wire.speak(PLAN.final_text)
    wire.finish()
    assert judge(SEED, wire.frames).verdict is Verdict.PASS
    assert verdict(wire) is Verdict.FAIL


@pytest.mark.parametrize("missing", ["s2", "s4", "s6"])
def test_a_seed_run_without_a_step(missing) -> None:
    wire = Wire(profile="seed")
    wire.opening()
    for step in PLAN.steps:
        if step.name != missing:
            wire.call(step.command, step.output)
    wire.speak("ready")
    wire.challenge()
    wire.proof()
    wire.speak(PLAN.final_text)
    wire.finish()
    assert judge(SEED, wire.frames).verdict is Verdict.FAIL


# Whatever the frames say.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
RAW = JSON.map(json.dumps) | st.text(max_size=20)
ANY_FRAME = st.builds(
    Frame,
    st.integers(0, 5),
    st.sampled_from(["in", "out", "note"]),
    st.sampled_from(["control", "stream", "rest", "runner"]),
    st.integers(),
    RAW,
)


@given(st.lists(ANY_FRAME, max_size=6))
def test_any_frames_are_judged(frames) -> None:
    assert judge(EXPECTATION, frames).verdict is not Verdict.PASS


HONEST_FRAMES = {session: honest(session).frames for session in SESSIONS}


@settings(max_examples=300 if PROFILE == "nightly" else 60)
@given(st.sampled_from(SESSIONS), st.data())
def test_any_value_anywhere_in_an_honest_log_is_judged(session, data) -> None:
    frames = list(HONEST_FRAMES[session])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(frames) - 1))
        value = json.loads(frames[at].raw)
        path, _leaf = data.draw(st.sampled_from(list(leaves(value)) or [((), value)]))
        cut = data.draw(st.integers(0, len(path)))
        changed = put(value, path[:cut], data.draw(JSON))
        frames[at] = dataclasses.replace(frames[at], raw=json.dumps(changed))
    judge(EXPECTATION, frames)


@pytest.mark.parametrize(
    "raw",
    [
        "[" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        '{"a":' + "1" * 5000 + "}",
        '{"note":"error","message":' + "[" * 400 + "]" * 400 + "}",
        '{"type":"stream_delta","event_seq":1e400,"idempotency_key":"x"}',
        '{"type":["stream_delta"],"request_id":{}}',
        '{"note":{"a":1}}',
        '{"a":"\\ud83d"}',
        "",
        "null",
    ],
)
@pytest.mark.parametrize(
    ("direction", "channel"), [("in", "control"), ("note", "runner"), ("out", "rest")]
)
def test_hostile_frames_are_judged(raw, direction, channel) -> None:
    frames = honest().frames
    hostile = Frame(5, direction, channel, 0, raw)
    found = judge(EXPECTATION, renumbered([*frames[:5], hostile, *frames[5:]]))
    assert found.verdict in (Verdict.PASS, Verdict.INCOMPLETE)
