"""From facts to the verdict: which proof decides, and what overrules it."""

from __future__ import annotations

from collections.abc import Iterable

from .facts import Facts, TranscriptFacts, Witness
from .proof import Finding
from .rules import RECORDED, answer_of
from .verdict import Bound, Evidence, Reason, Terminal, Verdict
from .witnessed import WITNESSED, witness_of

PROOFS = (WITNESSED, RECORDED)
"""The first that can say anything decides."""


def decide(facts: Facts) -> Verdict:
    """The verdict on a pane; true at `facts.read_at`."""
    witnessed, recorded = WITNESSED.look_at(facts), RECORDED.look_at(facts)
    # What decides comes last, and what overrules it after that.
    if _speaks(witnessed):
        name, evidence = WITNESSED.name, [*recorded, *witnessed]
        answer, transcript = witness_of(facts), facts.witness_transcript
    else:
        name, evidence = RECORDED.name, [*witnessed, *recorded]
        answer, transcript = answer_of(facts), facts.transcript
    for rule, finding in (
        ("agreement", _disagreement(facts, recorded)),
        ("unchanged", _moved(facts)),
    ):
        if finding is not None:
            evidence.append(Evidence(name, rule, finding.reason, finding.saw, finding.sentence))
    reason = evidence[-1].reason
    if reason is None:
        assert answer is not None
        assert isinstance(transcript, TranscriptFacts)
        return Bound(
            answer.agent_id,
            answer.conversation_id,
            transcript.root,
            transcript.file,
            name,
            tuple(evidence),
            facts.read_at,
        )
    if reason is Reason.TRANSCRIPT_MISSING and name == WITNESSED.name and answer is not None:
        return Terminal(
            reason, tuple(evidence), facts.read_at, answer.agent_id, answer.conversation_id
        )
    return Terminal(reason, tuple(evidence), facts.read_at)


def _speaks(witnessed: Iterable[Evidence]) -> bool:
    """Whether the witness says which conversation is shown: then it alone decides."""
    return any(found.rule == "witness" and found.held for found in witnessed)


def _disagreement(facts: Facts, recorded: Iterable[Evidence]) -> Finding | None:
    """A witness of this very process, were it an old one, against the other proof."""
    witness, answer = facts.witness, answer_of(facts)
    if not isinstance(witness, Witness) or not all(found.held for found in recorded):
        return None
    if witness_of(facts) == answer:
        return None
    return Finding(
        Reason.CONFLICT,
        f"{witness.path}: {witness.agent_id} {witness.conversation_id}",
        "The letta itself named another conversation than the record and the report do.",
    )


def _moved(facts: Facts) -> Finding | None:
    """What moved between the first fact and the last."""
    first, again = facts.first, facts.again
    if first == again:
        return None
    moved = "The pane"
    if first is not None and again is not None:
        names = {
            "agent": "The label",
            "report": "The report",
            "lettas": "The set of lettas in front",
            "folder": "The letta's folder",
            "environ": "The letta's environment",
            "record": "The record",
            "witness": "What the letta says that it shows",
        }
        moved = next(
            words for name, words in names.items() if getattr(first, name) != getattr(again, name)
        )
    return Finding(Reason.CHANGED_WHILE_READING, moved, f"{moved} changed while it was looked at.")
