"""The verdict on a run: a pure function of what the caller expects and of the recorded frames.

Which check holds which rule of the evidence:

- B1, B8 every call is a step's, and nothing else works: `only_the_plan`, `sN.called`, `foreign`,
  `device`
- B2 in the plan's order, one at a time: `order`, `one_at_a_time`
- B3, B4 one command in three views: `P4`, `sN.approved`, `approvals`
- B5, B6, B7 status and output, of final results alone: `sN.status`, `sN.output`, `P6`, `P11`
- B9 the stored history: `stored`
- B10 a proof that needs the objects, asked for late: `s7.output`, `challenge`
- B11 the final text: `final_text`
- B12 the end of the sandbox: `terminated`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import checks_answers, checks_calls, checks_run, checks_seed, checks_session
from .accumulator import Accumulator
from .frame import Frame
from .judgement import EXIT, CallEvidence, Check, Expectation, Judgement, Verdict, rule, worst
from .log import Log, read_log
from .plan import Plan, PlanError, make_plan
from .replay import Replay, replay

__all__ = ["EXIT", "CallEvidence", "Check", "Expectation", "Judgement", "Verdict", "judge"]


def judge(expectation: Expectation, frames: Sequence[Frame]) -> Judgement:
    """The verdict and what it rests on; it raises nothing, whatever the frames say."""
    log = read_log(frames)
    checks = [checks_run.whole(log), checks_run.as_expected(log, expectation)]
    begin = log.one("begin")
    conversation_id = log.one("conversation").get("conversation_id")
    duration = log.one("end").get("duration_ms")
    plan: Plan | None = None
    challenged: Plan | None = None
    try:
        plan, challenged = _plans(log, expectation)
    except PlanError as error:
        checks.append(rule("plan", "the run has a plan", [(Verdict.INCOMPLETE, str(error))]))
    run: Replay | None = None
    calls: tuple[CallEvidence, ...] = ()
    receipts = 0
    if plan is not None:
        run = replay(log, _session(log, expectation, conversation_id), plan, challenged)
        bound = checks_calls.bind(run, challenged or plan)
        checks += _checks(log, run, plan, challenged, bound)
        calls = checks_calls.evidence(run, bound)
        receipts = sum(checks_calls.succeeded(one) for one in bound)
    return Judgement(
        worst(tuple(checks)),
        tuple(checks),
        calls,
        begin,
        conversation_id if isinstance(conversation_id, str) else None,
        duration if type(duration) is int and duration >= 0 else None,
        None if run is None else checks_answers.final_text_of(run),
        receipts,
    )


def _plans(log: Log, expectation: Expectation) -> tuple[Plan, Plan | None]:
    """The plan of the caller's own expectation, without and with the challenge.

    Raises `PlanError`.
    """
    begin = log.one("begin")
    nonce = begin.get("nonce")
    kind = begin.get("kind") if expectation.kind is None else expectation.kind
    if not isinstance(nonce, str) or not isinstance(kind, str):
        raise PlanError("the run has no nonce or no kind")
    plan = make_plan(expectation.state, expectation.url, nonce, kind)
    challenge = log.one("challenge").get("challenge")
    return plan, plan.challenged(challenge) if isinstance(challenge, str) else None


def _session(log: Log, expectation: Expectation, conversation_id: Any) -> Accumulator:
    direct = log.one("begin").get("session") != "cloud"
    name = conversation_id if isinstance(conversation_id, str) else ""
    # The relay's feed has numbers from before our sockets were there.
    return Accumulator(expectation.agent_id, name, first_seq=1 if direct else None)


def _checks(
    log: Log,
    run: Replay,
    plan: Plan,
    challenged: Plan | None,
    bound: list[checks_calls.Bound],
) -> list[Check]:
    """All rules of a run that has a plan."""
    profile = log.one("begin").get("profile")
    is_seed = profile == "seed"
    found = [
        checks_run.conversation(log, run),
        checks_run.messages(run, plan, challenged),
        checks_run.runner(log, run),
        checks_run.challenge(log, run),
        *checks_session.protocol(run),
        checks_session.turns(run),
    ]
    if is_seed:
        found.append(checks_seed.aggregate(run, plan))
    else:
        found += [
            checks_session.device(run, "strict"),
            checks_session.foreign(run),
            checks_session.approvals(run),
            checks_session.one_at_a_time(run),
            checks_calls.only_the_plan(run, bound),
            checks_calls.order(bound),
        ]
        for one in bound:
            found += checks_calls.step_checks(run, one)
        if challenged is None:
            found.append(
                rule(
                    "s7.called", "s7 was called", [(Verdict.INCOMPLETE, "no challenge")], step="s7"
                )
            )
    found += [
        checks_answers.stored(log, run),
        checks_answers.final_text(run, plan),
        checks_run.terminated(log, run),
    ]
    return found
