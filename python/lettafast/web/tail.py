"""What is known of the end of one transcript, and what of it is news; decides, reads nothing."""

from __future__ import annotations

from typing import Any, TypeAlias

from lettafast.errors import LettafastError, TranscriptRefused

from .places import Place, Stamp
from .problems import problem_of

News: TypeAlias = tuple[str, dict[str, Any]]
"""An event's name and its members."""


class Tail:
    """The end of the transcript at `place`, from one look to the next."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.path = place.path
        self.stamp: Stamp | None = None
        """Of the file when it was last read; None before."""
        self.busy = False
        """Whether it is being read now."""
        self.standing: News | None = None
        """What who begins to watch is told; None before the first look."""
        self._end: str | None = None
        """The last end that was seen, also while the transcript cannot be read."""

    def found(self, end: str | None) -> News | None:
        """The transcript was read, and ends at this cursor."""
        before, known = self.standing, self._end
        self.standing = "grown", {"bytes": 0, "cursor": end}
        self._end = end or known
        if before is None:
            return self.standing
        if before[0] == "refused":
            return "history_changed", {"reason": "accepted"}
        if known is not None and _history(end) != _history(known):
            return "history_changed", {"reason": "other_history"}
        if before[0] != "grown":
            return self.standing
        if end is None or end == known:
            return None
        return "grown", {"bytes": _offset(end) - _offset(known), "cursor": end}

    def failed(self, error: LettafastError) -> News | None:
        """The transcript could not be read, or was refused."""
        before = self.standing
        name = "refused" if isinstance(error, TranscriptRefused) else "missing"
        self.standing = name, {"problem": problem_of(error).body}
        return None if self.standing == before else self.standing


def _history(cursor: str | None) -> str | None:
    return None if cursor is None else cursor.rpartition(":")[0]


def _offset(cursor: str | None) -> int:
    return 0 if cursor is None else int(cursor.rpartition(":")[2])
