"""What is expected of a run, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .expected import ExpectedState


class Verdict(str, Enum):
    """What a run shows. The worst one of its checks counts."""

    PASS = "PASS"  # noqa: S105 - no password
    """Every step has its own evidence, and nothing else was asked for."""
    INCOMPLETE = "INCOMPLETE"
    """Evidence is missing or cannot be read."""
    FAIL = "FAIL"
    """The evidence contradicts what was expected."""
    POLICY = "POLICY"
    """Something beyond the plan was asked for or done."""
    UNSIGNED = "UNSIGNED"
    """Offline only: what would be a PASS, of a receipt that nobody signed."""

    def __str__(self) -> str:
        return str(self.value)


Profile = Literal["strict", "seed"]
MODES: dict[str, str] = {"strict": "strict", "seed": "unrestricted"}
"""The permission mode of each profile."""
EXIT = {
    Verdict.PASS: 0,
    Verdict.FAIL: 10,
    Verdict.INCOMPLETE: 11,
    Verdict.POLICY: 12,
    Verdict.UNSIGNED: 13,
}
"""The exit code of each verdict."""
_LONGEST_SAW = 300
_WORST_FIRST = (Verdict.POLICY, Verdict.FAIL, Verdict.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the caller knows without the frames. None, after the agent, is: any will do.

    `session` is `cloud` or `app-server`: whether the tools ran in a sandbox of Letta Cloud.
    """

    state: ExpectedState
    url: str
    agent_id: str
    kind: str | None
    profile: str | None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One rule. `verdict` is PASS where it holds; `saw` is short; `sentence` says the rule."""

    name: str
    verdict: Verdict
    saw: str
    sentence: str
    step: str | None = None


@dataclass(frozen=True, slots=True)
class CallEvidence:
    """One tool call: ids as on the wire, digests in hex, `event_seq` of its start and end.

    None where the frames do not hold it. `step` is None for a call that is none of the plan;
    `args_sha256` is over the RFC 8785 form, `command_sha256` and `output_sha256` over UTF-8.
    """

    step: str | None
    tool_call_id: str
    run_id: str | None
    approval_request_id: str | None
    command_sha256: str | None
    args_sha256: str | None
    start_seq: int | None
    end_seq: int | None
    final_id: str | None
    status: str | None
    output_sha256: str | None
    output_bytes: int | None
    expected_sha256: str | None
    provisional_count: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all that it rests on.

    `begin` is the runner's own note, empty where there is none. `receipts` counts the steps whose
    call succeeded with the expected output. `final_text` is what the agent said last, or None.
    """

    verdict: Verdict
    checks: tuple[Check, ...]
    calls: tuple[CallEvidence, ...]
    begin: Mapping[str, Any]
    conversation_id: str | None
    duration_ms: int | None
    final_text: str | None
    receipts: int


Wrong = tuple[Verdict, str]
"""What breaks a rule, and what was seen of it."""


def rule(
    name: str, sentence: str, wrong: Iterable[Wrong], saw: str = "", step: str | None = None
) -> Check:
    """A check that holds where nothing is `wrong`; else the worst of it counts."""
    found = list(wrong)
    for verdict in _WORST_FIRST:
        seen = [text for how, text in found if how is verdict]
        if seen:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            return Check(name, verdict, _short(seen[0]) + more, f"Not so: {sentence}", step)
    return Check(name, Verdict.PASS, saw, sentence, step)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SAW else text[:_LONGEST_SAW] + "…"


def worst(checks: tuple[Check, ...]) -> Verdict:
    """The verdict that counts. No check at all is no evidence."""
    found = {check.verdict for check in checks}
    for verdict in _WORST_FIRST:
        if verdict in found:
            return verdict
    return Verdict.PASS if checks else Verdict.INCOMPLETE
