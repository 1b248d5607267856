"""A run that goes on at random: a PASS needs every step's own evidence, and nothing else.

The machine plays the agent, its harness and the network. It knows by itself what a PASS needs, and
never asks the code under test.
"""

from __future__ import annotations

import dataclasses
import json
import random
from typing import ClassVar

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lettafast.receipts import Frame, Verdict, judge
from support import PROFILE
from wire import CHALLENGED, EXPECTATION, FETCH_FAILED, PLAN, Wire, to_json

STEPS = CHALLENGED.steps
FIRST = len(PLAN.steps)


def renumbered(frames: list[Frame]) -> list[Frame]:
    return [dataclasses.replace(frame, index=index) for index, frame in enumerate(frames)]


class Run(RuleBasedStateMachine):
    """`at` is the next step that is owed; `spoilt` says what can never be mended.

    Half of the runs are not to be spoilt, so that whole ones are reached.
    """

    reached: ClassVar[set[Verdict]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.wire = Wire()
        self.at = 0
        self.fetches = 0
        self.spoilt: str | None = None
        self.challenged = False
        self.over = False
        self.spoil = False

    @initialize(session=st.sampled_from(["app-server", "cloud"]), spoil=st.booleans())
    def begin(self, session: str, spoil: bool) -> None:
        self.wire = Wire(session)
        self.wire.opening()
        self.spoil = spoil

    def may_call(self) -> bool:
        return not self.over and self.at < (len(STEPS) if self.challenged else FIRST)

    # What an honest agent does.

    @precondition(may_call)
    @rule(timeout=st.none() | st.integers(1000, 9000), count=st.integers(1, 6))
    def call_the_next_steps(self, timeout: int | None, count: int) -> None:
        members = {} if timeout is None else {"timeout": timeout}
        for _ in range(count):
            if self.may_call():
                step = STEPS[self.at]
                self.wire.call(step.command, step.output, **members)
                self.at += 1

    @precondition(lambda self: self.may_call() and self.at == 1 and self.fetches < 2)
    @rule()
    def fetch_in_vain(self) -> None:
        self.wire.call(STEPS[1].command, FETCH_FAILED, "error")
        self.fetches += 1

    @precondition(lambda self: not self.over and self.at == FIRST and not self.challenged)
    @rule(words=st.sampled_from(["ready", "", PLAN.final_text]))
    def reveal_the_challenge(self, words: str) -> None:
        self.wire.speak(words)
        self.wire.challenge()
        self.challenged = True

    @precondition(lambda self: not self.over and self.at == len(STEPS))
    @rule()
    def end(self) -> None:
        self.wire.speak(PLAN.final_text)
        self.wire.finish()
        self.over = True

    # What spoils it.

    def may_spoil(self) -> bool:
        return self.spoil and not self.over

    def may_spoil_a_call(self) -> bool:
        return self.may_spoil() and self.may_call()

    @precondition(may_spoil)
    @rule(command=st.sampled_from(["id", "echo " + PLAN.state.commit, STEPS[0].command + " "]))
    def ask_for_more(self, command: str) -> None:
        self.wire.denied(command, "The command is none of the plan.")
        self.spoilt = "a call beyond the plan"

    @precondition(lambda self: self.may_spoil() and 0 < self.at < FIRST and not self.challenged)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        step = STEPS[data.draw(st.integers(0, self.at - 1))]
        self.wire.denied(step.command, "The command is not the next one of the plan.")
        self.spoilt = "a step twice"

    @precondition(may_spoil_a_call)
    @rule(lie=st.sampled_from(["other\n", "", "Command is still running with task ID: bash_1"]))
    def return_something_else(self, lie: str) -> None:
        self.wire.call(STEPS[self.at].command, lie)
        self.at += 1
        self.spoilt = "another output"

    @precondition(lambda self: self.may_spoil_a_call() and self.at != 1)
    @rule()
    def fail_a_step(self) -> None:
        step = STEPS[self.at]
        self.wire.call(step.command, step.output, "error")
        self.at += 1
        self.spoilt = "a step that failed"

    @precondition(may_spoil_a_call)
    @rule(
        skipped=st.sets(
            st.sampled_from(["decide", "started", "provisional", "ended", "final"]), min_size=1
        )
    )
    def leave_out_evidence(self, skipped: set[str]) -> None:
        step = STEPS[self.at]
        arguments = {"command": step.command, "description": "x"}
        call_id = self.wire.ask(arguments)
        if "decide" not in skipped:
            self.wire.decide(call_id)
        if "started" not in skipped:
            self.wire.started(call_id, arguments)
        if "provisional" not in skipped:
            self.wire.provisional(call_id, step.output)
        if "ended" not in skipped:
            self.wire.ended(call_id)
        if "final" not in skipped:
            self.wire.returned(call_id, step.output)
        kept = {"tool_call_id": call_id, "status": "success", "tool_return": step.output}
        self.wire.store("tool_return_message", **kept)
        self.at += 1
        if skipped != {"provisional"}:
            self.spoilt = "evidence is missing"

    @precondition(may_spoil_a_call)
    @rule()
    def run_it_unasked(self) -> None:
        step = STEPS[self.at]
        arguments = {"command": step.command, "description": "x"}
        self.wire.new_run()
        call_id = self.wire.fragments(arguments)
        self.wire.stop("requires_approval")
        self.wire.classified([], [call_id])
        self.wire.started(call_id, arguments)
        self.wire.result(call_id, step.output)
        self.at += 1
        self.spoilt = "nobody approved it"

    @precondition(lambda self: self.may_spoil_a_call() and self.at + 1 < FIRST)
    @rule()
    def ask_for_two_at_once(self) -> None:
        self.wire.new_run()
        both = [{"command": step.command, "description": "x"} for step in STEPS[self.at :][:2]]
        ids = [self.wire.fragments(one) for one in both]
        self.wire.stop("requires_approval")
        self.wire.classified(ids)
        for call_id, one in zip(ids, both, strict=True):
            self.wire.control_request(call_id, one)
        self.wire.decide(ids[0])
        why = "One call at a time: the one before has not ended."
        self.wire.decide(ids[1], why)
        self.wire.started(ids[0], both[0])
        self.wire.result(ids[0], STEPS[self.at].output)
        self.wire.result(ids[1], why, "error")
        self.at += 1
        self.spoilt = "two calls at once"

    @precondition(may_spoil)
    @rule(
        changed=st.sampled_from(
            [
                {"current_permission_mode": "unrestricted"},
                {"background_processes": [{"process_id": "bash_1"}]},
                {"current_loaded_tools": ["Bash", "Read"]},
            ]
        )
    )
    def change_the_device(self, changed: dict[str, object]) -> None:
        self.wire.device(**changed)
        self.spoilt = "another device"

    @precondition(may_spoil)
    @rule(kind=st.sampled_from(["user_message", "summary_message", "error_message"]))
    def say_something_else(self, kind: str) -> None:
        self.wire.delta(kind, id="x", content="<task-notification>")
        self.spoilt = kind

    @precondition(lambda self: self.may_spoil() and self.at == len(STEPS))
    @rule(words=st.sampled_from(["", "ok", PLAN.final_text + "\n", "Done:\n" + PLAN.final_text]))
    def end_with_other_words(self, words: str) -> None:
        self.wire.speak(words)
        self.wire.finish()
        self.spoilt = "another final text"
        self.over = True

    @precondition(lambda self: self.may_spoil() and self.challenged)
    @rule()
    def end_early(self) -> None:
        complete = self.at == len(STEPS)
        self.wire.speak(PLAN.final_text)
        self.wire.finish()
        self.over = True
        if not complete:
            self.spoilt = "the proof is missing"

    @precondition(may_spoil)
    @rule()
    def close_a_socket(self) -> None:
        self.wire.note("closed", channel="control", code=1006, reason="")
        self.spoilt = "a socket ended"

    # What the network does to a log that is over.

    @precondition(lambda self: self.over)
    @rule(seed=st.integers(0, 2**32))
    def lose_an_event(self, seed: int) -> None:
        """One event less, of the one socket that there is."""
        if self.wire.session != "app-server":
            return
        frames = list(self.wire.frames)
        events = [i for i, frame in enumerate(frames) if "event_seq" in json.loads(frame.raw)]
        del frames[random.Random(seed).choice(events[:-1])]
        assert judge(EXPECTATION, renumbered(frames)).verdict is not Verdict.PASS

    @precondition(lambda self: self.over)
    @rule(seed=st.integers(0, 2**32))
    def swap_two_events(self, seed: int) -> None:
        if self.wire.session != "app-server":
            return
        frames = list(self.wire.frames)
        events = [i for i, frame in enumerate(frames) if "event_seq" in json.loads(frame.raw)]
        one, two = random.Random(seed).sample(events, 2)
        frames[one], frames[two] = frames[two], frames[one]
        assert judge(EXPECTATION, renumbered(frames)).verdict is not Verdict.PASS

    @precondition(lambda self: self.over)
    @rule(seed=st.integers(0, 2**32))
    def repeat_an_event(self, seed: int) -> None:
        """An exact copy, later: the verdict is the same."""
        frames = list(self.wire.frames)
        chooser = random.Random(seed)
        events = [i for i, frame in enumerate(frames) if "event_seq" in json.loads(frame.raw)]
        at = chooser.choice(events)
        frames.insert(chooser.randint(at + 1, len(frames) - 1), frames[at])
        again = judge(EXPECTATION, renumbered(frames)).verdict
        assert again is judge(EXPECTATION, self.wire.frames).verdict

    @precondition(lambda self: self.over)
    @rule(seed=st.integers(0, 2**32))
    def alter_a_copy(self, seed: int) -> None:
        """A copy of an event with something else in it."""
        frames = list(self.wire.frames)
        chooser = random.Random(seed)
        events = [i for i, frame in enumerate(frames) if "event_seq" in json.loads(frame.raw)]
        at = chooser.choice(events)
        value = {**json.loads(frames[at].raw), "more": True}
        frames.insert(at + 1, dataclasses.replace(frames[at], raw=to_json(value)))
        assert judge(EXPECTATION, renumbered(frames)).verdict is not Verdict.PASS

    @precondition(lambda self: self.over and self.wire.session == "cloud")
    @rule(seed=st.integers(0, 2**32))
    def lose_what_the_other_socket_has(self, seed: int) -> None:
        """Each event once, from either socket: the verdict is the same."""
        chooser = random.Random(seed)
        kept: list[Frame] = []
        lost = {}
        for frame in self.wire.frames:
            value = json.loads(frame.raw)
            key = value.get("idempotency_key")
            if frame.direction != "in" or key is None:
                kept.append(frame)
                continue
            # Both copies stand side by side: one of them goes.
            if lost.setdefault(key, chooser.choice(["control", "stream"])) != frame.channel:
                kept.append(frame)
        again = judge(EXPECTATION, renumbered(kept)).verdict
        assert again is judge(EXPECTATION, self.wire.frames).verdict

    def teardown(self) -> None:
        judgement = judge(EXPECTATION, self.wire.frames)
        wrong = [check for check in judgement.checks if check.verdict is not Verdict.PASS]
        whole = self.over and self.spoilt is None
        assert bool(wrong) is not whole, (self.spoilt, wrong)
        assert (judgement.verdict is Verdict.PASS) is whole
        self.reached.add(judgement.verdict)


def test_only_a_whole_run_passes() -> None:
    examples = 400 if PROFILE == "nightly" else 60
    settings = hypothesis.settings(max_examples=examples, stateful_step_count=15, deadline=None)
    run_state_machine_as_test(Run, settings=settings)
    # Else it would hold of runs that are all alike. A short search may miss the rarer verdicts.
    assert len(Run.reached) > 1
    if PROFILE == "nightly":
        assert Run.reached == {Verdict.PASS, Verdict.INCOMPLETE, Verdict.FAIL, Verdict.POLICY}
