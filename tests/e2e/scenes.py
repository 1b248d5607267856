"""What is said of a pane, twice: with the letta's witness, and as if there were none.

Every answer becomes a row of the table in docs/BINDING.md, which the last test compares;
`LETTAFAST_WRITE_TABLE=1` writes it instead.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from letta_world import World
from lettafast.binding import Binder, Bound, Facts, Reason, Verdict, decide, gather
from lettafast.binding.facts import Problem
from stage import Screen

DOC = Path(__file__).parents[2] / "docs" / "BINDING.md"
BOUND = "bound"
PASSING = (Reason.CHANGED_WHILE_READING, Reason.RECORD_CHANGED, Reason.STORE_CHANGED)
"""Letta was at work just then, and the reason says to look again."""
NO_WITNESS = Problem(Reason.WITNESS_MISSING, "this test does not look")
rows: list[tuple[str, str, str, str]] = []
"""Scene, moment, and for each proof `bound` or the reason; only answers that are right."""


class Scene:
    """Looks at panes and keeps what was answered, as rows of the table."""

    def __init__(self, name: str, world: World, binder: Binder) -> None:
        self.name = name
        self.world = world
        self.binder = binder

    def sees(
        self,
        moment: str,
        screen: Screen,
        without: Reason | str,
        witnessed: Reason | str = BOUND,
        *,
        agent: str = "",
    ) -> Verdict:
        """Both verdicts are as expected, and what is bound is what is on the screen.

        `agent` is the one that is shown, where it is not the world's own.

        Returns the one with the witness.
        """
        until = time.monotonic() + 5
        found = both(self.facts(screen))
        while any(map(_is_passing, found)) and time.monotonic() < until:
            found = both(self.facts(screen))
        judged(
            self.name, moment, found, (without, witnessed), screen.title, agent or self.world.agent
        )
        return found[1]

    def verdict(self, screen: Screen) -> Verdict:
        """With the witness, once; no row."""
        return decide(self.facts(screen))

    def facts(self, screen: Screen) -> Facts:
        """What one look at the pane gathers."""
        world = self.binder.look()
        (seen,) = (
            seen
            for seen in world.panes
            if (seen.provider.socket, seen.pane.pane_id) == (self.world.stage.path, screen.pane_id)
        )
        return gather(world, seen, self.binder.memory, self.binder._transcripts)


def both(facts: Facts) -> tuple[Verdict, Verdict]:
    """The verdict without a witness, and the one with it."""
    return decide(replace(facts, witness=NO_WITNESS, others_show=frozenset())), decide(facts)


def _is_passing(verdict: Verdict) -> bool:
    return getattr(verdict, "reason", None) in PASSING


def judged(
    scene: str,
    moment: str,
    found: tuple[Verdict, Verdict],
    expected: tuple[Reason | str, Reason | str],
    shown: str,
    agent: str,
) -> None:
    """Keeps the row, unless an answer is another than expected, or wrong."""
    answers = tuple(_answer(verdict, shown, agent) for verdict in found)
    assert answers == tuple(map(str, expected)), (shown, *found)
    rows.append((scene, moment, *answers))


def _answer(verdict: Verdict, shown: str, agent: str) -> str:
    if isinstance(verdict, Bound):
        # Never another conversation than the one on the screen.
        assert (verdict.agent_id, verdict.conversation_id) == (agent, shown), verdict
        return BOUND
    return str(verdict.reason)


def table() -> str:
    """The rows as they stand in the documentation."""
    lines = [
        "| scene | moment | without the witness | with it | wrong conversation |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {scene} | {moment} | {_cell(without)} | {_cell(witnessed)} | |"
            for scene, moment, without, witnessed in rows
        ),
    ]
    return "".join(f"{line}\n" for line in lines)


def _cell(answer: str) -> str:
    return "right" if answer == BOUND else f"`{answer}`"


def written(begin: str, end: str, now: str) -> str:
    """What the page has between two marks; with `LETTAFAST_WRITE_TABLE` it is made `now` first."""
    text = DOC.read_text("utf-8")
    before, _, rest = text.partition(begin)
    found, _, after = rest.partition(end)
    if os.environ.get("LETTAFAST_WRITE_TABLE"):
        DOC.write_text(before + begin + now + end + after, "utf-8")
        return now
    return found
