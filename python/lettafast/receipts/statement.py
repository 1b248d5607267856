"""The two in-toto statements of a receipt: a pure function of the verdict and the frames.

The first is a `test-result` that any in-toto tool can judge by; the second says what was observed.
Both name the frame log, so neither can stand beside another one.
https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lettafast import __version__

from . import strict_json
from .frame import Frame
from .judgement import Check, Judgement, Verdict
from .plan import Plan, PlanError, make_plan, plan_json

if TYPE_CHECKING:
    from .expected import ExpectedState

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
OBSERVATION = "https://lettafast.dev/attestation/agent-observation/v0.1"

LIMITS = (
    (
        "The harness in the sandbox reported that exactly these commands ran, in this order, with "
        "these outputs, and that nothing else was asked for; its tree equals the runner's."
    ),
    "It is not said that the code is right or safe.",
    "It does not stand against a sandbox whose harness lies.",
)
SEED_LIMIT = (
    "Profile seed: the session was unrestricted, and what ran was only looked at afterwards."
)
DIRECT_LIMIT = "Session app-server: no managed sandbox of Letta Cloud was used."

_LARGEST = 2**53 - 1
# What another version of lettafast may word or group in another way: `facts` leaves it out.
_WORDED = ("checks", "limits", "observer", "passedTests", "failedTests")


def statements(
    judgement: Judgement,
    state: ExpectedState,
    frames: Sequence[Frame],
    head: str,
    frames_sha256: str,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both statements. `head` and `frames_sha256` name the frame log, in hex.

    `state` is what the runner expected; the address is that of the log's first note.
    """
    plan = plan_of(state, frames)
    shown = None if plan is None else plan_json(plan)
    # Who reads the first statement alone must not take a weaker run for a strict one in a sandbox.
    how = {name: judgement.begin.get(name) for name in ("profile", "session")}
    log = {
        "name": "frames.jsonl",
        "digest": {"sha256": frames_sha256},
        "annotations": {"chain": head, "frames": len(frames), **how},
    }
    configuration = [log]
    if shown is not None:
        digest = hashlib.sha256(strict_json.canonical(shown)).hexdigest()
        configuration.append({"name": "plan", "digest": {"sha256": digest}})
    url = str(judgement.begin.get("url", ""))
    subject = {
        "name": url,
        "uri": f"git+{url}@{state.commit}",
        "digest": {"gitCommit": state.commit, "gitTree": state.tree},
    }
    result = {
        "result": "PASSED" if judgement.verdict is Verdict.PASS else "FAILED",
        "configuration": configuration,
        "passedTests": _names(judgement.checks, passed=True),
        "failedTests": _names(judgement.checks, passed=False),
    }
    observation = {
        "observer": {"name": "lettafast", "version": __version__},
        "invocation": _invocation(judgement, frames),
        "plan": shown,
        "calls": [dataclasses.asdict(call) for call in judgement.calls],
        "checks": [check_json(check) for check in judgement.checks],
        "chain": {"head": head, "frames_sha256": frames_sha256, "count": len(frames)},
        "verdict": str(judgement.verdict),
        "tool_receipts": judgement.receipts,
        "duration_ms": judgement.duration_ms,
        "final_text": judgement.final_text,
        "limits": _limits(judgement),
    }
    return _statement(subject, TEST_RESULT, result), _statement(subject, OBSERVATION, observation)


def plain(value: Any) -> Any:
    """A JSON value in a form that has canonical bytes, whatever came over the wire.

    Half a surrogate pair is spelled out, and so is a number that no double holds.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, int) and abs(value) > _LARGEST:
        return str(value)
    if isinstance(value, dict):
        return {plain(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def facts(statement: dict[str, Any]) -> dict[str, Any]:
    """A statement without what is only its wording."""
    predicate = statement.get("predicate")
    if not isinstance(predicate, dict):
        return statement
    kept = {name: value for name, value in predicate.items() if name not in _WORDED}
    return {**statement, "predicate": kept}


def plan_of(state: ExpectedState, frames: Sequence[Frame]) -> Plan | None:
    """The plan of a run, with its nonce and challenge; None where the log names none."""
    begin, challenge = note(frames, "begin"), note(frames, "challenge")
    try:
        plan = make_plan(state, str(begin["url"]), str(begin["nonce"]), str(begin["kind"]))
        return plan.challenged(str(challenge["challenge"])) if challenge else plan
    except (KeyError, PlanError):
        return None


def note(frames: Sequence[Frame], name: str) -> dict[str, Any]:
    """The members of the runner's first note of this name; empty where there is none."""
    for frame in frames:
        if frame.direction == "note":
            try:
                said = strict_json.parse_object(frame.raw)
            except ValueError:
                continue
            if said.get("note") == name:
                return said
    return {}


def check_json(check: Check) -> dict[str, Any]:
    """A check as JSON."""
    return {
        "name": check.name,
        "step": check.step,
        "verdict": str(check.verdict),
        "saw": check.saw,
        "sentence": check.sentence,
    }


def _statement(
    subject: dict[str, Any], predicate_type: str, predicate: dict[str, Any]
) -> dict[str, Any]:
    return {
        "_type": STATEMENT,
        "subject": [plain(subject)],
        "predicateType": predicate_type,
        "predicate": plain(predicate),
    }


def _invocation(judgement: Judgement, frames: Sequence[Frame]) -> dict[str, Any]:
    begin = judgement.begin
    said = {name: begin.get(name) for name in ("pipeline_id", "kind", "agent_id", "model")}
    return said | {
        "profile": begin.get("profile"),
        "session": begin.get("session"),
        "conversation_id": judgement.conversation_id,
        "sandbox_id": note(frames, "sandbox").get("sandbox_id"),
    }


def _names(checks: Sequence[Check], *, passed: bool) -> list[str]:
    return [one.name for one in checks if (one.verdict is Verdict.PASS) is passed]


def _limits(judgement: Judgement) -> list[str]:
    limits = list(LIMITS)
    if judgement.begin.get("profile") == "seed":
        limits.append(SEED_LIMIT)
    if judgement.begin.get("session") == "app-server":
        limits.append(DIRECT_LIMIT)
    return limits
