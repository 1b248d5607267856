"""What a proof is: rules over facts, of which all must hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .facts import Facts
from .verdict import Evidence, Reason


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule found: a reason where it does not hold, the fact it saw, and a sentence."""

    reason: Reason | None
    saw: str
    sentence: str


Rule = Callable[[Facts], Finding]


@dataclass(frozen=True, slots=True)
class Proof:
    """Rules that together show which conversation a pane shows, by name and in order.

    Each assumes those before it.
    """

    name: str
    rules: tuple[tuple[str, Rule], ...]

    def look_at(self, facts: Facts) -> tuple[Evidence, ...]:
        """What each rule finds, up to the first that does not hold."""
        found = []
        for name, rule in self.rules:
            finding = rule(facts)
            found.append(Evidence(self.name, name, finding.reason, finding.saw, finding.sentence))
            if finding.reason is not None:
                break
        return tuple(found)
