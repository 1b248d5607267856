"""Transcripts that stay open between requests, so that a page costs the page."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from lettafast.errors import HistoryChanged, SourceError, SourceReason, TranscriptRefused
from lettafast.records import Limits
from lettafast.store import Store
from lettafast.transcript import Transcript

from .places import Place, Stamp, stamp
from .problems import CROWDED, NotWritten
from .workers import Workers

T = TypeVar("T")


class Shelf:
    """At most `most` open transcripts; the one that was longest not asked for is closed first.

    Used from one event loop; what blocks is done by `workers`.
    """

    def __init__(self, workers: Workers, limits: Limits, most: int) -> None:
        self._workers = workers
        self._limits = limits
        self._most = most
        self._kept: OrderedDict[Place, _Kept] = OrderedDict()

    @property
    def open_transcripts(self) -> int:
        """How many are open now."""
        return sum(kept.transcript is not None for kept in self._kept.values())

    async def read(self, place: Place, work: Callable[[Transcript], T]) -> T:
        """What `work` makes of the transcript as it is now; nobody else uses it meanwhile.

        A history that changed is left for the one that is there now. Raises
        `SourceError`, `TranscriptRefused`, and what `work` raises.
        """
        kept = self._kept.setdefault(place, _Kept())
        self._kept.move_to_end(place)
        kept.users += 1
        try:
            async with kept.lock:
                try:
                    return await self._workers.run(self._read, kept, place, work)
                except SourceError as error:
                    if error.errno not in CROWDED:
                        raise
                    self._tidy(0)
                    return await self._workers.run(self._read, kept, place, work)
        finally:
            kept.users -= 1
            self._tidy(self._most)

    def close(self) -> None:
        """Closes all."""
        for kept in self._kept.values():
            kept.close()
        self._kept.clear()

    def _tidy(self, most: int) -> None:
        """Closes what nobody uses now until `most` are left."""
        idle = [place for place, kept in self._kept.items() if not kept.users]
        for place in idle[: max(0, len(self._kept) - most)]:
            self._kept.pop(place).close()

    def _read(self, kept: _Kept, place: Place, work: Callable[[Transcript], T]) -> T:
        transcript = kept.current(place, self._limits)
        try:
            return work(transcript)
        except HistoryChanged:
            # It may have changed just now, or the cursor be of another history.
            return work(kept.current(place, self._limits))


class _Kept:
    """One place: its open transcript, or why it is refused."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        self.transcript: Transcript | None = None
        self._refused: tuple[Stamp, TranscriptRefused] | None = None

    def current(self, place: Place, limits: Limits) -> Transcript:
        """The transcript with what was appended, opened (again) where that is needed."""
        if self._refused is None and self.transcript is not None:
            try:
                self.transcript.refresh()
            except (HistoryChanged, TranscriptRefused):
                pass
            except SourceError:
                self.close()
                raise
            else:
                return self.transcript
        return self._opened(place, limits)

    def _opened(self, place: Place, limits: Limits) -> Transcript:
        now = stamp(place.path)
        if self._refused is not None:
            known, error = self._refused
            if known == now:  # reading it all again would refuse it again
                raise error.with_traceback(None)
        try:
            if self.transcript is None:
                store = Store(place.root)
                self.transcript = store.transcript(
                    place.agent, place.conversation, place.mode, limits
                )
            else:
                self.transcript.reopen()
        except TranscriptRefused as error:
            self._refused = now, error
            raise
        except SourceError as error:
            self.close()
            if error.reason is SourceReason.MISSING and os.path.isdir(place.folder):
                raise NotWritten(SourceReason.MISSING, error.name) from None
            raise
        self._refused = None
        return self.transcript

    def close(self) -> None:
        """Gives the descriptors back."""
        self._refused = None
        if self.transcript is not None:
            self.transcript.close()
            self.transcript = None
