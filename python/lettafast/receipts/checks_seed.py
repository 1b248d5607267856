"""The published pattern, for comparison: an unrestricted session, and a look at all its calls.

Nothing is bound here: which call printed what, and where, is not asked. It lets most adversarial
turns through, so that a receipt of this profile names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .checks_calls import command_of
from .judgement import Check, Verdict, Wrong, rule
from .plan import Plan
from .replay import Replay

_FRAGMENTS = ("git", "fetch", "rev-parse", "ls-tree")


def aggregate(run: Replay, plan: Plan) -> Check:
    """Fragments of commands, the commit and the names are found among the successful calls."""
    return rule(
        "seed.aggregate",
        "profile seed: fragments, commit and names are somewhere among the successful calls",
        _not_found(run, plan),
    )


def _not_found(run: Replay, plan: Plan) -> Iterator[Wrong]:
    good = [
        call
        for call in run.session.calls.values()
        if call.final is not None and call.final.status == call.end_status == "success"
    ]
    if not good:
        yield Verdict.INCOMPLETE, "no successful call"
        return
    commands = "\n".join(command_of(call) or "" for call in good)
    outputs = "\n".join(call.final.text for call in good if call.final is not None)
    lines = set(outputs.split("\n"))
    for fragment in (*_FRAGMENTS, plan.url):
        if fragment not in commands:
            yield Verdict.FAIL, f"no successful command holds {fragment!r}"
    for line in (plan.state.commit, *plan.state.names):
        if line not in lines:
            yield Verdict.FAIL, f"no successful command printed {line!r}"
