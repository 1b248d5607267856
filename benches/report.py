"""What was measured, what it is worth against the targets, and how it is written down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from . import machine
from .rounds import Spread, Times, ratios, spread
from .targets import TARGETS, Target

RECORDS = Path(__file__).with_name("record")


@dataclass(frozen=True)
class Value:
    """One measured value: of the target (`name`, `profile`), or only for the reader."""

    name: str
    profile: str
    unit: str
    spread: Spread
    scale: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Jobs that ran in the same rounds, all over the same bytes."""

    title: str
    profile: str
    bytes: int
    base: str
    """The job that ratios are taken to."""
    seconds: Times


@dataclass
class Report:
    """All that one run measured with one backend."""

    mode: str
    backend: str
    size: int
    rounds: int
    echo: bool = True
    """Whether each value is printed when it is known; a full run takes long."""
    values: list[Value] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What could not be measured, and why."""
    faults: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """By peer: what it accepts that it should not, and the other way round."""

    def add(
        self,
        name: str,
        profile: str,
        values: Sequence[float] | Spread,
        *,
        unit: str = "",
        scale: float = 0.0,
        note: str = "",
    ) -> None:
        """Takes one value for every round, or their spread."""
        target = TARGETS.get((name, profile))
        if not isinstance(values, Spread):
            values = spread(values)
        unit = target.unit if target else unit
        value = Value(name, profile, unit, values, scale, note)
        self.values.append(value)
        if self.echo:
            print("\n" + self.line(value), end="", flush=True)

    def claimed(self, target: Target) -> bool:
        """Whether this run's backend is the one that the target is about.

        Values of the pure backend are measured on the pure backend in every run.
        """
        return target.backend != "native" or self.backend == "native"

    def verdict(self, value: Value) -> str:
        target = TARGETS.get((value.name, value.profile))
        if target is None:
            return ""
        if not self.claimed(target):
            return f"not claimed: measured on the {self.backend} backend"
        must, goal = target.bounds(value.scale)
        if target.reached(value.spread.median, goal):
            return "goal"
        return "must" if target.reached(value.spread.median, must) else "MISSED"

    def misses(self, allowance: float = 1.0) -> list[Value]:
        """Values under their must; an `allowance` of 0.5 lets half a must pass.

        With an allowance the quartile of the better rounds is judged, not the median: short
        rounds get worse by whatever else runs, while a regression shows in all of them.
        """
        found = []
        for value in self.values:
            target = TARGETS.get((value.name, value.profile))
            if target is None or not self.claimed(target):
                continue
            if target.full_only and self.mode != "full":
                continue
            must = target.bounds(value.scale)[0]
            bound = must * allowance if target.higher else must / allowance
            measured = value.spread.median
            if allowance < 1.0:
                measured = value.spread.high if target.higher else value.spread.low
            if not target.reached(measured, bound):
                found.append(value)
        return found

    def not_measured(self) -> list[str]:
        """What could not be measured, and the targets that this run has no value for."""
        have = {(value.name, value.profile) for value in self.values}
        targets = [f"{name} {profile}".strip() for name, profile in TARGETS.keys() - have]
        return [*self.missing, *(f"{target}: no value" for target in sorted(targets))]

    def line(self, value: Value) -> str:
        target = TARGETS.get((value.name, value.profile))
        median = f"{_short(value.spread.median)} {value.unit}"
        quartiles = f"{_short(value.spread.low)} to {_short(value.spread.high)}"
        label = f"{value.name} {value.profile}".strip()
        words = f"{label:28} {median:>14}  ({quartiles}; n={value.spread.count})"
        if target is not None:
            must, goal = target.bounds(value.scale)
            words += f"  must {_short(must)}, goal {_short(goal)}: {self.verdict(value)}"
        return words + (f"  [{value.note}]" if value.note else "")

    def table(self) -> str:
        """Every target of this run as a Markdown table."""
        rows = [
            "| what | profile | measured | quartiles | must | goal | verdict |",
            "| --- | --- | ---: | ---: | ---: | ---: | --- |",
        ]
        for value in self.values:
            target = TARGETS.get((value.name, value.profile))
            what, must, goal = value.name, "", ""
            if target is not None:
                what = target.what
                must, goal = map(_short, target.bounds(value.scale))
            if value.note:
                what += f" ({value.note})"
            rows.append(
                f"| {what} | {value.profile} | {_short(value.spread.median)} {value.unit} "
                f"| {_short(value.spread.low)} to {_short(value.spread.high)} "
                f"| {must} | {goal} | {self.verdict(value)} |"
            )
        return "\n".join(rows)

    def group_tables(self) -> str:
        """Each group of rounds with the speed of its jobs and their ratio to the base."""
        parts = []
        for title in dict.fromkeys(group.title for group in self.groups):
            groups = [group for group in self.groups if group.title == title]
            jobs = dict.fromkeys(name for group in groups for name in group.seconds)
            parts += [
                f"### {title}",
                "",
                f"Median MB/s, and the median ratio to {groups[0].base} in the same rounds.",
                "",
                "| job | " + " | ".join(group.profile for group in groups) + " |",
                "| --- |" + " ---: |" * len(groups),
                *(f"| {job} | " + " | ".join(_cell(g, job) for g in groups) + " |" for job in jobs),
                "",
            ]
        return "\n".join(parts)

    def markdown(self, date: str, where: dict[str, object]) -> str:
        packages = where["packages"]
        assert isinstance(packages, dict)
        facts = [where["system"], where["python"], where["rustc"], f"node {where['node']}"]
        facts += [f"{name} {number}" for name, number in packages.items()]
        commit = f"{where['commit']}{' and changes' if where['changed'] else ''}"
        lines = [
            f"# {date}: {where['processor']}, {where['cores']} cores",
            "",
            ", ".join(str(fact) for fact in facts) + ".",
            "",
            f"Commit {commit}, backend {self.backend}, vectors {where['simd']}, "  # noqa: ISC004
            f"{self.size >> 20} MiB a profile, {self.rounds} rounds, page cache warm. "
            "`../README.md` says how to read this.",
            "",
            "## Targets",
            "",
            self.table(),
            "",
            "## Rounds",
            "",
            self.group_tables(),
        ]
        if self.faults:
            lines += ["## What each peer lets pass", "", "| peer | accepts | fails on |"]
            lines += ["| --- | --- | --- |"]
            lines += [
                f"| {name} | {', '.join(found['accepts']) or 'nothing'} "
                f"| {', '.join(found['fails on']) or 'nothing'} |"
                for name, found in self.faults.items()
            ]
            lines.append("")
        if absent := self.not_measured():
            lines += ["## Not measured", "", *(f"- {reason}" for reason in absent), ""]
        return "\n".join(lines)

    def write(self, folder: Path = RECORDS) -> Path:
        """Writes the dated record, JSON and Markdown; returns the place of the Markdown."""
        date = datetime.now(timezone.utc).date().isoformat()
        where = machine.facts()
        folder.mkdir(parents=True, exist_ok=True)
        text = self.markdown(date, where)
        path = folder / f"{date}-{machine.short_name()}.md"
        path.write_text(text, encoding="utf-8")
        record = {
            "date": date,
            "machine": where,
            "mode": self.mode,
            "backend": self.backend,
            "bytes a profile": self.size,
            "rounds": self.rounds,
            "values": [self._value(value) for value in self.values],
            "groups": [asdict(group) for group in self.groups],
            "faults": self.faults,
            "not measured": self.not_measured(),
        }
        data = json.dumps(record, ensure_ascii=False, indent=1)
        path.with_suffix(".json").write_text(data + "\n", encoding="utf-8")
        return path

    def _value(self, value: Value) -> dict[str, object]:
        row = asdict(value)
        target = TARGETS.get((value.name, value.profile))
        if target is not None:
            row["must"], row["goal"] = target.bounds(value.scale)
            row["verdict"] = self.verdict(value)
        return row


def _cell(group: Group, job: str) -> str:
    if job not in group.seconds:
        return ""
    seconds = group.seconds[job]
    speed = group.bytes / spread(seconds).median / 1e6
    ratio = spread(ratios(group.seconds[group.base], seconds)).median
    return f"{speed:,.0f} ({ratio:.2f} ×)"


def _short(value: float) -> str:
    """Three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
