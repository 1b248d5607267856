"""The rules as tables: facts that differ in one thing from right ones, and the verdict on them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from facts_files import FILES, base, case, facts
from lettafast.binding.facts import Facts, Problem
from lettafast.binding.rules import RULES, decide
from lettafast.binding.verdict import Bound, Reason, Terminal, Verdict

NAMES = [name for name, _ in RULES]
# Names that are written small, also where a sentence begins.
SMALL = ("herdr", "herdr's")


def check_sentences(verdict: Verdict) -> None:
    assert verdict.evidence
    for evidence in verdict.evidence:
        sentence = evidence.sentence
        first = sentence.split()[0]
        assert first in SMALL or first[0].isupper(), sentence
        assert re.fullmatch(r"[^\n.!?]+\.", sentence), sentence


@pytest.mark.parametrize("name", FILES)
def test_fixture(name: str) -> None:
    given, expected = case(FILES[name])
    verdict = decide(given)
    check_sentences(verdict)
    assert verdict.checked_at == given.read_at
    looked_at = [evidence.rule for evidence in verdict.evidence]
    held = [evidence.rule for evidence in verdict.evidence if evidence.held]
    if isinstance(verdict, Bound):
        found = {"agent_id": verdict.agent_id, "conversation_id": verdict.conversation_id}
        assert found == expected
        assert held == looked_at == NAMES
        assert verdict.proof == "recorded"
        assert (verdict.root, verdict.file) == (given.transcript.root, given.transcript.file)
        return
    assert {"reason": verdict.reason, "rule": looked_at[-1]} == expected
    assert not verdict.evidence[-1].held
    if looked_at[-1] == "unchanged":
        # It is looked at whatever the rules say, and overrules them.
        assert looked_at[:-1] == NAMES[: len(looked_at) - 1]
    else:
        assert looked_at == NAMES[: len(looked_at)]
        assert held == looked_at[:-1]


@pytest.mark.parametrize("name", FILES)
def test_the_name_of_a_fixture_says_what_comes_out(name: str) -> None:
    _, expected = case(FILES[name])
    assert name.partition("-")[0] == expected.get("reason", "bound")


def test_every_reason_has_a_fixture() -> None:
    assert {name.partition("-")[0] for name in FILES} == {*map(str, Reason), "bound"}


def test_every_rule_has_a_fixture_in_which_it_fails() -> None:
    rules = {case(path)[1].get("rule") for path in FILES.values()}
    assert rules == {*NAMES, "unchanged", None}


def test_the_bases_are_bound() -> None:
    """So the change in a file is what makes its verdict."""
    for kind in ("local", "cloud", "default"):
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
        yield replace(bare, pane=pane, lettas=found)
        yield replace(bare, pane=replace(pane, foreground=()), lettas=found)

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


def test_facts_that_could_not_be_had_raise_nothing() -> None:
    given = list(partial_facts())
    assert len(given) > 100
    reasons = set()
    for one in given:
        verdict = decide(one)
        check_sentences(verdict)
        if isinstance(verdict, Terminal):
            reasons.add(verdict.reason)
    assert len(reasons) > 15
