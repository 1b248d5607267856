"""The statements of a receipt, as in-toto's own library reads them."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import pytest
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

import wire
from lettafast.receipts.plan import plan_json
from lettafast.receipts.statement import (
    DIRECT_LIMIT,
    OBSERVATION,
    SEED_LIMIT,
    TEST_RESULT,
    facts,
    plan_of,
    statements,
)
from lettafast.receipts.strict_json import canonical
from lettafast.receipts.verify import Check, Verdict, judge

HEAD, SHA256 = "a" * 64, "b" * 64


def made(run):
    expectation = wire.EXPECTATION
    judgement = judge(expectation, run.frames)
    return judgement, statements(judgement, expectation.state, run.frames, HEAD, SHA256)


@pytest.mark.parametrize("session", ["cloud", "app-server"])
def test_in_totos_library_finds_them_valid(session) -> None:
    _, both = made(wire.honest(session))
    for statement, kind in zip(both, (TEST_RESULT, OBSERVATION), strict=True):
        message = json_format.Parse(canonical(statement), statement_pb2.Statement())
        read = Statement.copy_from_pb(message)
        read.validate()
        assert message.type == "https://in-toto.io/Statement/v1"
        assert message.predicate_type == kind
        (subject,) = message.subject
        assert dict(subject.digest) == {"gitCommit": wire.STATE.commit, "gitTree": wire.STATE.tree}
        assert subject.uri == f"git+{wire.URL}@{wire.STATE.commit}"
        assert subject.name == wire.URL


def test_the_test_result() -> None:
    judgement, (result, _) = made(wire.honest())
    predicate = result["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["passedTests"] == [check.name for check in judgement.checks]
    assert predicate["failedTests"] == []
    log, plan = predicate["configuration"]
    assert log["digest"] == {"sha256": SHA256}
    assert log["annotations"] == {
        "chain": HEAD,
        "frames": len(wire.honest().frames),
        "profile": "strict",
        "session": "app-server",
    }
    digest = hashlib.sha256(canonical(plan_json(wire.CHALLENGED))).hexdigest()
    assert plan == {"name": "plan", "digest": {"sha256": digest}}


def test_the_observation() -> None:
    run = wire.honest("cloud")
    judgement, (_, observation) = made(run)
    predicate = observation["predicate"]
    assert predicate["verdict"] == "PASS"
    assert predicate["chain"] == {
        "head": HEAD,
        "frames_sha256": SHA256,
        "count": len(run.frames),
    }
    assert predicate["invocation"] == {
        "pipeline_id": None,
        "kind": "push",
        "agent_id": wire.AGENT,
        "model": None,
        "profile": "strict",
        "session": "cloud",
        "conversation_id": wire.CONVERSATION,
        "sandbox_id": wire.SANDBOX,
    }
    assert [call["step"] for call in predicate["calls"]] == [f"s{n}" for n in range(1, 8)]
    assert predicate["calls"][3]["output_sha256"] == predicate["calls"][3]["expected_sha256"]
    assert predicate["plan"] == plan_json(wire.CHALLENGED)
    assert [check["name"] for check in predicate["checks"]] == [
        check.name for check in judgement.checks
    ]
    assert "does not stand against a sandbox whose harness lies" in " ".join(predicate["limits"])
    assert "code is right" in " ".join(predicate["limits"])
    assert SEED_LIMIT not in predicate["limits"]


def test_numbers_stay_whole() -> None:
    """The library's own structures would make floats of them."""
    _, (_, observation) = made(wire.honest())
    assert b'"duration_ms":12345,' in canonical(observation)


def test_what_is_no_pass_says_so() -> None:
    run = wire.honest()
    del run.frames[40:]
    judgement, (result, observation) = made(run)
    assert judgement.verdict is not Verdict.PASS
    assert result["predicate"]["result"] == "FAILED"
    assert result["predicate"]["failedTests"]
    assert observation["predicate"]["verdict"] == str(judgement.verdict)


def test_the_limits_of_other_sessions() -> None:
    _, (_, observation) = made(wire.honest("app-server"))
    assert DIRECT_LIMIT in observation["predicate"]["limits"]
    _, (_, observation) = made(wire.honest("cloud", "seed"))
    assert SEED_LIMIT in observation["predicate"]["limits"]
    assert observation["predicate"]["invocation"]["profile"] == "seed"


def test_a_log_without_a_beginning_has_statements_too() -> None:
    judgement = judge(wire.EXPECTATION, [])
    both = statements(judgement, wire.STATE, [], HEAD, SHA256)
    assert both[1]["predicate"]["plan"] is None
    assert both[0]["predicate"]["result"] == "FAILED"
    assert json.loads(canonical(both[0])) == both[0]


def test_the_plan_of_a_log() -> None:
    assert plan_of(wire.STATE, wire.honest().frames) == wire.CHALLENGED
    run = wire.Wire()
    run.opening()
    assert plan_of(wire.STATE, run.frames) == wire.PLAN
    broken = wire.Wire()
    broken.begin(nonce=7)
    assert plan_of(wire.STATE, broken.frames) is None
    broken = wire.Wire()
    broken.add("note", "runner", "no JSON")
    broken.begin()
    assert plan_of(wire.STATE, broken.frames) == wire.PLAN


def test_whatever_was_said_has_canonical_bytes() -> None:
    """JSON may hold half a surrogate pair, and numbers that no double holds."""
    run = wire.honest()
    judgement, _ = made(run)
    judgement = dataclasses.replace(
        judgement,
        begin={**judgement.begin, "pipeline_id": "\ud83d", "model": [2**60, {"\ud83d": 1.5}]},
        checks=(Check("\udc00", Verdict.FAIL, "\ud83d", "\ud83d\n"),),
        final_text="\ud83d and\nmore",
    )
    both = statements(judgement, wire.STATE, run.frames, HEAD, SHA256)
    for statement in both:
        assert json.loads(canonical(statement)) == statement
    predicate = both[1]["predicate"]
    assert predicate["final_text"] == "\\ud83d and\nmore"
    assert predicate["invocation"]["pipeline_id"] == "\\ud83d"
    assert predicate["invocation"]["model"] == [str(2**60), {"\\ud83d": 1.5}]
    assert predicate["checks"][0]["saw"] == "\\ud83d"
    assert both[0]["predicate"]["failedTests"] == ["\\udc00"]


def test_facts_are_all_but_the_wording() -> None:
    _, (result, observation) = made(wire.honest())
    left_out = set(observation["predicate"]) - set(facts(observation)["predicate"])
    assert left_out == {"checks", "limits", "observer"}
    left_out = set(result["predicate"]) - set(facts(result)["predicate"])
    assert left_out == {"passedTests", "failedTests"}
    assert facts({"predicate": 1}) == {"predicate": 1}
