"""Rules on what the session reported beyond the calls themselves."""

from __future__ import annotations

from collections.abc import Iterator

from .accumulator import RULES
from .judgement import Check, Verdict, Wrong, rule
from .replay import Replay
from .reports import Device

_DONE = "end_turn"
_TURNS = 2
_NO_END: Wrong = (Verdict.INCOMPLETE, "a turn has no end")


def protocol(run: Replay) -> list[Check]:
    """One check for each of P1 to P16: a stream that breaks one is no evidence."""
    return [
        rule(
            name,
            sentence,
            [
                (
                    Verdict.INCOMPLETE,
                    problem.sentence
                    if problem.seq is None
                    else f"{problem.sentence} (event {problem.seq})",
                )
                for problem in run.session.problems
                if problem.rule == name
            ],
        )
        for name, sentence in RULES.items()
    ]


def turns(run: Replay) -> Check:
    """Both turns ended by themselves."""
    return rule(
        "turns",
        "both turns ended by themselves",
        [
            *(
                (Verdict.INCOMPLETE, f"a turn ended with {one.stop_reason!r}")
                for one in run.session.finished
                if one.stop_reason != _DONE or one.error is not None
            ),
            *([] if len(run.session.finished) == _TURNS else [_NO_END]),
        ],
    )


def device(run: Replay, mode: str) -> Check:
    """The tools ran in one mode, in the foreground, and only Bash was there."""
    devices = sorted(run.session.devices, key=lambda one: one.when.index)
    return rule(
        "device",
        f"the device ran in mode {mode}, with no tool but Bash and nothing in the background",
        _other_device(run, devices, mode),
        f"{len(devices)} reports",
    )


def foreign(run: Replay) -> Check:
    """P14: nobody else spoke, and nothing else worked, in this conversation."""
    ours = run.client_message_ids  # a list, since what is looked up may be any JSON value
    session = run.session
    wrong: list[Wrong] = [
        (Verdict.POLICY, "a user message that is none of ours")
        for message in session.user_messages
        if message.get("otid") not in ours and message.get("client_message_id") not in ours
    ]
    if session.client_message_ids.difference(ours):
        wrong.append((Verdict.POLICY, "a run that answers a message that is none of ours"))
    if session.subagents:
        wrong.append((Verdict.POLICY, "subagents"))
    if session.external_calls:
        wrong.append((Verdict.POLICY, "a tool that the runner would have to run"))
    return rule("foreign", "only our two messages were answered, by the agent itself", wrong)


def approvals(run: Replay) -> Check:
    """Nothing was decided without us, and nothing had to be denied."""
    wrong: list[Wrong] = [
        (Verdict.POLICY, f"decided without us: {call_id}")
        for call_id in sorted(run.session.auto_decided)
    ]
    wrong += [
        (Verdict.POLICY, f"denied: {one.decision.why} ({one.tool_call_id})")
        for one in run.decided.values()
        if not one.decision.allow
    ]
    if len(run.session.requests) != len(run.decided):
        wrong.append((Verdict.INCOMPLETE, "an approval request without its own id"))
    return rule(
        "approvals",
        "every call was asked for and allowed by this runner, and none was denied",
        wrong,
        f"{len(run.decided)} requests",
    )


def one_at_a_time(run: Replay) -> Check:
    """Several calls in one batch are asked without the result of the first."""
    by_run: dict[str, int] = {}
    for call in run.session.calls.values():
        by_run[call.run_id] = by_run.get(call.run_id, 0) + 1
    return rule(
        "one_at_a_time",
        "no two calls were asked for at once",
        [
            (Verdict.POLICY, f"{count} calls in one step of the model")
            for count in by_run.values()
            if count > 1
        ],
    )


def _other_device(run: Replay, devices: list[Device], mode: str) -> Iterator[Wrong]:
    before = [one for one in devices if one.when.turn == 0]
    # Before the first message the device may still report what it was; nothing is asked of it then.
    # Without any report before it, events of the first turn could be missing unseen.
    if not before:
        yield Verdict.INCOMPLETE, "the device did not say its mode before the first message"
    reports = [*before[-1:], *(one for one in devices if one.when.turn > 0)]
    for one in reports:
        if one.mode != mode:
            yield Verdict.FAIL, f"the device runs in mode {one.mode!r}"
        if not isinstance(one.background, list) or not isinstance(one.pending, list):
            yield Verdict.INCOMPLETE, "the device does not say what it runs"
        elif one.background:
            yield Verdict.POLICY, "a process in the background"
        if not isinstance(one.tools, list) or any(tool != "Bash" for tool in one.tools):
            yield Verdict.FAIL, "another tool than Bash is loaded"
    done = [call.done.seq for call in run.session.calls.values() if call.done is not None]
    last = max(devices, key=lambda one: one.when.seq, default=None)
    if last is None or last.when.seq < max(done, default=0):
        yield Verdict.INCOMPLETE, "the device says nothing after the last call"
    elif last.pending != []:
        yield Verdict.INCOMPLETE, "an approval request is pending"
