"""The rules as tables: facts that differ in one thing from right ones, and the verdict on them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from facts_files import FILES, base, case, facts
from lettafast.binding.advice import ADVICE, advice_on
from lettafast.binding.decide import PROOFS, decide
from lettafast.binding.facts import Facts, Places, Problem
from lettafast.binding.verdict import Bound, Evidence, Reason, Terminal, Verdict

NAMES = {proof.name: [name for name, _ in proof.rules] for proof in PROOFS}
OVERRULING = ["agreement", "unchanged"]
"""They are looked at whatever the rules say."""
WITNESS = (Reason.WITNESS_MISSING, Reason.WITNESS_STALE, Reason.WITNESS_INVALID)
"""With them the other proof decides, so they stand in the evidence."""
# Names that are written small, also where a sentence begins.
SMALL = ("herdr", "herdr's", "tmux")


def check_sentences(verdict: Verdict) -> None:
    assert verdict.evidence
    for evidence in verdict.evidence:
        sentence = evidence.sentence
        first = sentence.split()[0]
        assert first in SMALL or first[0].isupper(), sentence
        assert re.fullmatch(r"[^\n.!?]+\.", sentence), sentence


def check_evidence(verdict: Verdict) -> None:
    """Each proof's rules in their order, none after one that fails; what decides comes last."""
    for proof, names in NAMES.items():
        found = [one for one in verdict.evidence if one.proof == proof]
        rules = [one for one in found if one.rule not in OVERRULING]
        assert [one.rule for one in rules] == names[: len(rules)]
        assert rules
        assert all(one.held for one in rules[:-1])
        assert len(rules) == len(names) or not rules[-1].held
        assert not any(one.held for one in found if one.rule in OVERRULING)
    order = [one.proof for one in verdict.evidence]
    assert order == sorted(order, key=lambda proof: proof == order[-1])


def witness_of(verdict: Verdict) -> Evidence | None:
    return next((one for one in verdict.evidence if one.rule == "witness"), None)


def said(verdict: Verdict) -> dict[str, str]:
    """The verdict in the words of a fixture."""
    last = verdict.evidence[-1]
    found = {"proof": last.proof}
    if isinstance(verdict, Terminal):
        assert last.reason is verdict.reason
        found |= {"reason": str(verdict.reason), "rule": last.rule}
    else:
        assert verdict.proof == last.proof
    if verdict.agent_id is not None and verdict.conversation_id is not None:
        found |= {"agent_id": verdict.agent_id, "conversation_id": verdict.conversation_id}
    return found


@pytest.mark.parametrize("name", FILES)
def test_fixture(name: str) -> None:
    given, expected = case(FILES[name])
    verdict = decide(given)
    check_sentences(verdict)
    check_evidence(verdict)
    assert verdict.checked_at == given.read_at
    witness = witness_of(verdict)
    if "witness" in expected:
        assert witness is not None
        assert witness.reason == expected["witness"]
    assert said(verdict) == {key: value for key, value in expected.items() if key != "witness"}
    if isinstance(verdict, Bound):
        witnessed = verdict.proof == "witnessed"
        judged = given.witness_transcript if witnessed else given.transcript
        assert (verdict.root, verdict.file) == (judged.root, judged.file)
        assert witnessed == (witness is not None and witness.held)


@pytest.mark.parametrize("name", FILES)
def test_the_name_of_a_fixture_says_what_comes_out(name: str) -> None:
    _, expected = case(FILES[name])
    first = name.partition("-")[0]
    if first in map(str, WITNESS):
        assert first == expected["witness"]
    else:
        assert first == expected.get("reason", "bound")


def test_every_reason_has_a_fixture() -> None:
    assert {name.partition("-")[0] for name in FILES} == {*map(str, Reason), "bound"}


def test_every_rule_has_a_fixture_in_which_it_fails() -> None:
    failed = {
        (found.proof, found.rule)
        for path in FILES.values()
        for found in decide(case(path)[0]).evidence
        if not found.held
    }
    assert failed == {(proof, rule) for proof in NAMES for rule in [*NAMES[proof], *OVERRULING]}


def test_each_proof_gives_each_of_its_reasons_in_a_fixture() -> None:
    """Those of the process, the store and the transcript are of both."""
    given: dict[str, set[str]] = {proof: set() for proof in NAMES}
    for path in FILES.values():
        for found in decide(case(path)[0]).evidence:
            if found.reason is not None:
                given[found.proof].add(str(found.reason))
    assert given["witnessed"] == {
        *map(str, WITNESS),
        *("unsupported_platform", "not_letta", "herdr_unavailable", "herdr_protocol"),
        *("tmux_unavailable", "no_process", "several_processes", "other_user", "other_namespace"),
        *("environment_unreadable", "no_home", "store_unknown", "store_missing", "store_changed"),
        *("store_names_another", "id_reused", "transcript_missing", "transcript_unsafe"),
        *("transcript_refused", "conflict", "changed_while_reading"),
    }
    assert given["recorded"] == {str(reason) for reason in Reason if reason not in WITNESS}


def advised(name: str) -> str:
    verdict = decide(case(FILES[name])[0])
    assert isinstance(verdict, Terminal)
    return advice_on(verdict)


def test_the_witness_is_advised_where_it_would_help() -> None:
    both = (ADVICE[Reason.RECORD_NEWER_THAN_PROCESS], ADVICE[Reason.WITNESS_MISSING])
    assert advised("witness_missing") == " Or with a witness: ".join(both)
    assert ADVICE[Reason.WITNESS_STALE] in advised("witness_stale-closed")
    assert ADVICE[Reason.WITNESS_MISSING] in advised("peer_in_folder")
    for name in ("transcript_missing", "store_missing", "changed_while_reading-record"):
        assert "witness" not in advised(name)
    # It is there, or there is nothing that could have one.
    assert "witness" not in advised("transcript_missing-witnessed")
    assert "witness" not in advised("no_process")


def test_the_bases_are_bound() -> None:
    """So the change in a file is what makes its verdict."""
    for kind in ("local", "cloud", "default", "witnessed", "witnessed-tmux"):
        assert isinstance(decide(facts(base(kind))), Bound)


def problem(reason: Reason) -> Problem:
    return Problem(reason, "seen")


def partial_facts() -> Iterator[Facts]:
    """Facts as they are gathered until something cannot be had: every stage, every outcome."""
    whole = facts(base("local"))
    cloud = facts(base("cloud"))
    bare = Facts(whole.read_at, "linux", whole.pane)
    for reason in (Reason.HERDR_UNAVAILABLE, Reason.HERDR_PROTOCOL):
        # Before anything was seen, and at the second look.
        yield replace(bare, pane=problem(reason))
        yield replace(whole, pane=problem(reason), first=None, again=None)
        yield replace(bare, unseen=(problem(reason),))
    (letta,) = whole.lettas
    lettas = [
        (),
        (letta,),
        (letta, letta),
        (replace(letta, environ=None),),
        (replace(letta, folder=None),),
        (replace(letta, environ=None, folder=None, same_root=None, same_mount_namespace=None),),
    ]
    agents_and_reports = itertools.product(("letta", None), (whole.pane.report, None))
    for (agent, report), found in itertools.product(agents_and_reports, lettas):
        pane = replace(whole.pane, agent=agent, report=report)
        readable = len(found) == 1 and found[0].environ is not None
        here = replace(bare, lettas=found, places=problem(Reason.NO_HOME) if readable else None)
        yield replace(here, pane=pane)
        yield replace(here, pane=replace(pane, foreground=()))

    places = [problem(Reason.NO_HOME), problem(Reason.STORE_UNKNOWN), whole.places]
    folders = [whole.start_folder, None]
    for place, start, home in itertools.product(places, folders, folders):
        around = bare if isinstance(place, Problem) else whole
        at_home = replace(
            around, lettas=(letta,), start_folder=start, home_folder=home, places=place
        )
        yield at_home
        pane = replace(whole.pane, report=None)
        yield replace(at_home, pane=pane, record=None, stored=None, transcript=None)

    records = [
        problem(reason)
        for reason in (
            Reason.RECORD_MISSING,
            Reason.RECORD_INVALID,
            Reason.RECORD_CHANGED,
            Reason.CHANGED_WHILE_READING,
        )
    ]
    another = replace(whole.record, sessions={}, last_session=None, last_agent=None)
    for record, again in itertools.product((*records, another), (whole.again, None)):
        # Nothing is looked for where the record and the report do not name one conversation.
        yield replace(whole, record=record, stored=None, transcript=None, again=again)
        yield replace(whole, record=record, stored=None, transcript=None, again=again, clock=None)

    stored = [problem(Reason.STORE_MISSING), problem(Reason.STORE_CHANGED), whole.stored]
    transcripts = [
        problem(reason)
        for reason in (
            Reason.TRANSCRIPT_MISSING,
            Reason.TRANSCRIPT_UNSAFE,
            Reason.TRANSCRIPT_REFUSED,
            Reason.CHANGED_WHILE_READING,
        )
    ]
    empty = replace(whole.transcript, entries=0, first_captured_at=None)
    agains = (whole.again, None, replace(whole.again, record=None, folder=None, environ=None))
    for one, transcript, again in itertools.product(
        stored, (*transcripts, empty, whole.transcript), agains
    ):
        yield replace(whole, stored=one, transcript=transcript, again=again)
    for transcript in (*transcripts, empty):
        yield replace(cloud, transcript=transcript)


def with_witnesses(given: Facts) -> Iterator[Facts]:
    """The same, with all that may have become of the witness of a letta with a home."""
    yield given
    if not isinstance(given.places, Places):
        return
    witnessed = facts(base("witnessed"))
    for reason in (Reason.WITNESS_MISSING, Reason.WITNESS_INVALID):
        yield replace(given, witness=problem(reason))
    yield replace(given, witness=replace(witnessed.witness, agent_id="", conversation_id=""))
    for stored, transcript, touched_at, again in itertools.product(
        (problem(Reason.STORE_MISSING), witnessed.witness_stored),
        (problem(Reason.TRANSCRIPT_MISSING), witnessed.witness_transcript),
        (0.0, witnessed.witness.touched_at),
        (given.again, None, witnessed.again),
    ):
        yield replace(
            given,
            witness=replace(witnessed.witness, touched_at=touched_at),
            witness_stored=stored,
            witness_transcript=transcript,
            again=again,
        )


def test_facts_that_could_not_be_had_raise_nothing() -> None:
    given = [one for partial in partial_facts() for one in with_witnesses(partial)]
    assert len(given) > 1_000
    reasons = set()
    for one in given:
        verdict = decide(one)
        check_sentences(verdict)
        if isinstance(verdict, Terminal):
            reasons.add(verdict.reason)
    assert len(reasons) > 15
