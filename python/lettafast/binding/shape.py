"""Verdicts as plain values, for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lettafast.herdr.records import Pane
from lettafast.visible import file_name

from .advice import ADVICE
from .bind import BoundPane
from .names import session_name, terminal_name
from .verdict import Bound, Verdict


def pane_shape(bound: BoundPane) -> dict[str, Any]:
    """The members of a pane, what it is called in addresses, and those of the verdict on it."""
    pane: Pane = bound.pane
    shape = {
        "socket": pane.socket,
        "pane_id": pane.pane_id,
        "terminal_id": pane.terminal_id,
        "session": session_name(pane.socket),
        "terminal": terminal_name(pane.terminal_id),
        "label": pane.label,
        "title": pane.title,
        "cwd": pane.foreground_cwd or pane.cwd,
        "agent": pane.agent,
        "agent_status": pane.agent_status,
        **verdict_shape(bound.verdict),
    }
    return {name: _text(value) for name, value in shape.items()}


def verdict_shape(verdict: Verdict) -> dict[str, Any]:
    """The members of a verdict; `verdict` is `bound` or `terminal`."""
    evidence = [
        {name: _text(value) for name, value in asdict(found).items()} for found in verdict.evidence
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
    return {
        "verdict": "terminal",
        "reason": str(verdict.reason),
        "sentence": verdict.evidence[-1].sentence,
        "advice": ADVICE[verdict.reason],
        "evidence": evidence,
        "checked_at": verdict.checked_at,
    }


def _text(value: Any) -> Any:
    """A value that JSON can hold: the name of a file may hold bytes that are no UTF-8."""
    return file_name(value) if isinstance(value, str) else value
