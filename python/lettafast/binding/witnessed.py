"""The proof "witnessed": the letta itself says which conversation it shows.

Why each condition is there: `docs/BINDING.md`.
"""

from __future__ import annotations

from .facts import Facts, Problem, Session, Witness
from .ids import DEFAULT, LOCAL_AGENT, LOCAL_CONVERSATION, is_id
from .proof import Finding, Proof
from .rules import (
    kept,
    no_single_letta,
    own_chunk_logs,
    readable,
    unknown_environment,
    unknown_places,
    unseen_pane,
)
from .verdict import Reason

FRESH_SECONDS = 15.0
"""How long ago the mod may have said that it runs: it does every five seconds."""

_AGENT = "agent-"


def witness_of(facts: Facts) -> Session | None:
    """The agent and conversation that the witness names, if it can mean one."""
    witness = facts.witness
    if not isinstance(witness, Witness):
        return None
    agent, conversation = witness.agent_id, witness.conversation_id
    fits = (
        is_id(agent)
        and agent.startswith(_AGENT)
        and is_id(conversation)
        and (
            conversation == DEFAULT
            or conversation.startswith(LOCAL_CONVERSATION) == agent.startswith(LOCAL_AGENT)
        )
    )
    return Session(agent, conversation) if fits else None


def process_rule(facts: Facts) -> Finding:
    """One letta runs in front of the pane, here; where it was started does not matter."""
    unseen = unseen_pane(facts) or no_single_letta(facts)
    if unseen is not None:
        return unseen
    process = facts.lettas[0]
    return (
        unknown_environment(process)
        or unknown_places(facts)
        or Finding(None, f"pid {process.identity.pid}", "One letta runs in front.")
    )


def witness_rule(facts: Facts) -> Finding:
    """The mod in this very process runs, and says which conversation is shown."""
    witness = facts.witness
    if isinstance(witness, Problem):
        return Finding(witness.reason, witness.saw, _WITNESS[witness.reason])
    assert witness is not None
    if witness.closed:
        return Finding(
            Reason.WITNESS_STALE,
            f"{witness.path} is closed",
            "The letta's witness was taken out, and says no more what is shown.",
        )
    age = facts.read_at - witness.touched_at
    if age > FRESH_SECONDS:
        return Finding(
            Reason.WITNESS_STALE,
            f"{witness.path} is {age:.1f} s old",
            "The letta's witness was not heard of lately.",
        )
    saw = f"{witness.agent_id} {witness.conversation_id}"
    if witness_of(facts) is None:
        return Finding(
            Reason.WITNESS_INVALID, saw, "The letta's witness names no conversation of an agent."
        )
    return Finding(None, saw, "The letta itself says that it shows this conversation.")


_WITNESS = {
    Reason.WITNESS_MISSING: "The letta has no witness that says which conversation it shows.",
    Reason.WITNESS_INVALID: "What the letta's witness should have written cannot be believed.",
}


def store_rule(facts: Facts) -> Finding:
    """As that of the proof "recorded", for what the witness names."""
    answer, witness = witness_of(facts), facts.witness
    assert answer is not None
    assert isinstance(witness, Witness)
    return kept(answer, facts.witness_stored, facts.witness_transcript, witness.at_ms / 1000)


def contradiction_rule(facts: Facts) -> Finding:
    """Nothing that the letta streamed since belongs to another conversation."""
    answer, witness = witness_of(facts), facts.witness
    assert isinstance(witness, Witness)
    logs = list(own_chunk_logs(facts, facts.lettas[0]))
    for log in logs:
        streamed = Session(log.agent_id, log.conversation_id)
        # Lettas that start together may each have the other's log for their own.
        if (
            log.written > witness.at_ms / 1000
            and streamed != answer
            and streamed not in facts.others_show
        ):
            return Finding(
                Reason.CONFLICT,
                f"{log.path}: {log.agent_id} {log.conversation_id}",
                "What this letta streamed last belongs to another conversation.",
            )
    return Finding(None, f"{len(logs)} chunk logs", "Nothing newer names another conversation.")


def transcript_rule(facts: Facts) -> Finding:
    """As that of the proof "recorded", for what the witness names."""
    return readable(facts.witness_transcript)


WITNESSED = Proof(
    "witnessed",
    (
        ("process", process_rule),
        ("witness", witness_rule),
        ("store", store_rule),
        ("contradiction", contradiction_rule),
        ("transcript", transcript_rule),
    ),
)
