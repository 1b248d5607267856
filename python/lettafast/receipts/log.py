"""The frames of a run, sorted by who said what; nothing of them is judged here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .frame import Frame
from .strict_json import canonical, parse_object


@dataclass(frozen=True, slots=True)
class Said:
    """A frame's JSON object, and its place in the log."""

    index: int
    channel: str
    value: dict[str, Any]


@dataclass(slots=True)
class Log:
    """All that was said. `all` has the session's frames, both ways, and the notes, in order."""

    size: int
    all: list[tuple[str, Said]] = field(default_factory=list)
    notes: list[Said] = field(default_factory=list)
    sent: list[Said] = field(default_factory=list)
    asked: list[Said] = field(default_factory=list)
    answered: list[Said] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def noted(self, name: str) -> list[Said]:
        """The runner's notes of one name."""
        return [note for note in self.notes if note.value.get("note") == name]

    def one(self, name: str) -> dict[str, Any]:
        """The only note of that name; empty where there is none, or are several."""
        found = self.noted(name)
        return found[0].value if len(found) == 1 else {}


def read_log(frames: Sequence[Frame]) -> Log:
    """Sorts the frames. What is no JSON object is in `unreadable`."""
    log = Log(len(frames))
    for place, frame in enumerate(frames):
        if frame.index != place:
            log.unreadable.append(f"frame {place} says that it is number {frame.index}")
        try:
            value = parse_object(frame.raw)
            canonical(value)  # what has no such form could be compared with nothing
        except ValueError as error:
            log.unreadable.append(f"frame {place}: {error}")
            continue
        _sort(log, frame, Said(place, frame.channel, value))
    return log


def _sort(log: Log, frame: Frame, said: Said) -> None:
    is_note = frame.direction == "note"
    if is_note != (frame.channel == "runner"):
        log.unreadable.append(f"frame {said.index}: a {frame.direction} on {frame.channel}")
    elif frame.channel == "rest":
        (log.asked if frame.direction == "out" else log.answered).append(said)
    else:
        log.all.append((frame.direction, said))
        if is_note:
            log.notes.append(said)
        elif frame.direction == "out":
            log.sent.append(said)
