"""Every target in one table: what must hold, and what is aimed at.

A target with `each` grows with the size of what was measured: with the KiB that a page spans,
or with a transcript's entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

PROFILES = ("chat", "tools", "tiny", "huge", "cjk")

Backend = Literal["native", "pure", "any"]


@dataclass(frozen=True)
class Target:
    """`must` and `goal` in `unit`; `each` is what `must_each` and `goal_each` are added for."""

    name: str
    profile: str
    what: str
    unit: str
    higher: bool
    """Whether more is better: a ratio, rather than a time or a size."""
    backend: Backend
    must: float
    goal: float
    must_each: float = 0.0
    goal_each: float = 0.0
    each: str = ""
    full_only: bool = False
    """Whether it is about a size that a quick run does not have, and so judges only a full one."""

    def bounds(self, scale: float) -> tuple[float, float]:
        """Must and goal for something that is `scale` of `each`."""
        return self.must + scale * self.must_each, self.goal + scale * self.goal_each

    def reached(self, value: float, bound: float) -> bool:
        return value >= bound if self.higher else value <= bound


def _ratio(
    name: str, profile: str, what: str, must: float, goal: float, backend: Backend = "native"
) -> Target:
    return Target(name, profile, what, "×", True, backend, must, goal)


def _time(name: str, profile: str, what: str, must: float, goal: float) -> Target:
    return Target(name, profile, what, "µs", False, "native", must, goal)


def _targets() -> Iterator[Target]:
    for profile, must, goal in zip(PROFILES, (6, 5, 9, 6, 6), (11, 11, 18, 20, 11), strict=True):
        yield _ratio("open", profile, "strict open, × msgspec per line", must, goal)
    musts, goals = (0.5, 0.45, 0.4, 0.35, 0.5), (0.8, 0.8, 0.65, 0.7, 0.75)
    for profile, least, aim in zip(PROFILES, musts, goals, strict=True):
        what = "strict open, as a fraction of read + memchr"
        limit = _ratio("open of limit", profile, what, least, aim)
        # A short run's file lies in the processor's cache, where reading it costs next to nothing.
        yield replace(limit, full_only=True)
    product = _ratio("product", "tools", "open and all turns, × agent-trajectory", 100, 300)
    yield replace(product, full_only=True)  # of 100 MB
    for profile in PROFILES:
        page = _time("page core", profile, "newest page of 50 units, in the core", 100, 25)
        yield replace(page, must_each=0.5, goal_each=0.2, each="KiB spanned")
    yield _time("page json", "chat", "newest page, added by Python: JSON bytes", 50, 15)
    yield _time("page objects", "chat", "newest page, added by Python: objects", 1000, 400)
    yield _time("append", "chat", "one small turn appended: refresh and newest page", 150, 40)
    yield _time("tool output", "tools", "one output by ref, beyond decoding it", 20, 2)
    yield _ratio("two threads", "chat", "scan of many files, × one thread", 1.7, 1.7)
    for profile in PROFILES:
        what = "pure strict open, × json.loads with the same checks"
        yield _ratio("pure open", profile, what, 1, 1, "pure")
    what = "pure on a refused file, × json.loads that refuses it"
    yield _ratio("pure refused", "chat", what, 1 / 3, 1 / 3, "pure")
    for profile in ("tiny", "huge"):
        yield from _memory(profile)
    what = "import lettafast, beyond import json"
    yield Target("import", "", what, "ms", False, "any", 40, 15)


def _memory(profile: str) -> Iterator[Target]:
    mib = 1 << 20
    native = Target(
        "memory native",
        profile,
        "peak above the bare interpreter, less the page",
        "MiB",
        False,
        "native",
        16,
        4,
        32 / mib,
        8 / mib,
        "entry",
    )
    yield native
    what = f"{native.what}, one line and its value"
    yield replace(native, name="memory pure", what=what, backend="pure")


TARGETS = {(target.name, target.profile): target for target in _targets()}
