"""Verdicts as plain values, for JSON."""

from __future__ import annotations

from typing import Any

from lettafast.visible import file_name

from .advice import advice_on
from .bind import BoundPane
from .names import session_name, terminal_name
from .pane import Pane
from .verdict import Bound, Verdict


def pane_shape(bound: BoundPane) -> dict[str, Any]:
    """The members of a pane, what it is called in addresses, and those of the verdict on it."""
    pane: Pane = bound.pane
    shape = {
        "provider": pane.provider,
        "socket": pane.socket,
        "pane_id": pane.pane_id,
        "terminal_id": pane.terminal_id,
        "session": session_name(pane.provider, pane.socket),
        "terminal": terminal_name(pane.terminal_id),
        "label": pane.label,
        "title": pane.title,
        "cwd": pane.cwd,
        "agent": pane.agent,
        "agent_status": pane.agent_status,
        **verdict_shape(bound.verdict),
    }
    return {name: _text(value) for name, value in shape.items()}


def verdict_shape(verdict: Verdict) -> dict[str, Any]:
    """The members of a verdict; `verdict` is `bound` or `terminal`.

    A terminal whose letta named a conversation that has no completed turn yet
    has `agent_id` and `conversation_id` too.
    """
    evidence = [
        {
            "proof": found.proof,
            "rule": found.rule,
            "held": found.held,
            "reason": None if found.reason is None else str(found.reason),
            "saw": _text(found.saw),
            "sentence": found.sentence,
        }
        for found in verdict.evidence
    ]
    if isinstance(verdict, Bound):
        return {
            "verdict": "bound",
            "agent_id": verdict.agent_id,
            "conversation_id": verdict.conversation_id,
            "root": _text(verdict.root),
            "proof": verdict.proof,
            "evidence": evidence,
            "checked_at": verdict.checked_at,
        }
    named = {}
    if verdict.agent_id is not None:
        named = {"agent_id": verdict.agent_id, "conversation_id": verdict.conversation_id}
    return {
        "verdict": "terminal",
        "reason": str(verdict.reason),
        "sentence": verdict.evidence[-1].sentence,
        "advice": advice_on(verdict),
        **named,
        "evidence": evidence,
        "checked_at": verdict.checked_at,
    }


def _text(value: Any) -> Any:
    """A value that JSON can hold: the name of a file may hold bytes that are no UTF-8."""
    return file_name(value) if isinstance(value, str) else value
