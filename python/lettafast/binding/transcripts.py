"""Transcripts that stay open between two looks, so that an accepted one is only refreshed."""

from __future__ import annotations

import datetime as dt
import threading
from collections import OrderedDict

from lettafast.errors import HistoryChanged, SourceError, SourceReason, TranscriptRefused
from lettafast.store import Store
from lettafast.transcript import Transcript

from .facts import Problem, Session, TranscriptFacts
from .verdict import Reason

_MOST_OPEN = 16


class Transcripts:
    """At most 16 open transcripts; the one that was longest not asked for is closed first."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, Session], Transcript] = OrderedDict()
        self._lock = threading.Lock()

    def judge(self, root: str, session: Session) -> TranscriptFacts | Problem:
        """What the strict reader says of the transcript of `session` beneath `root`."""
        with self._lock:
            try:
                return _facts(root, self._current(root, session))
            except TranscriptRefused as error:
                problem = Problem(Reason.TRANSCRIPT_REFUSED, str(error))
            except SourceError as error:
                missing = error.reason is SourceReason.MISSING
                reason = Reason.TRANSCRIPT_MISSING if missing else Reason.TRANSCRIPT_UNSAFE
                problem = Problem(reason, str(error))
            except HistoryChanged as error:  # twice within one look
                problem = Problem(Reason.CHANGED_WHILE_READING, str(error))
            self._forget((root, session))
            return problem

    def close(self) -> None:
        """Closes all."""
        with self._lock:
            for key in list(self._open):
                self._forget(key)

    def _current(self, root: str, session: Session) -> Transcript:
        key = (root, session)
        known = self._open.get(key)
        if known is not None:
            try:
                known.refresh()
            except (HistoryChanged, TranscriptRefused):
                known.reopen()
            self._open.move_to_end(key)
            return known
        opened = Store(root).transcript(session.agent_id, session.conversation_id)
        self._open[key] = opened
        if len(self._open) > _MOST_OPEN:
            self._forget(next(iter(self._open)))
        return opened

    def _forget(self, key: tuple[str, Session]) -> None:
        known = self._open.pop(key, None)
        if known is not None:
            known.close()


def _facts(root: str, transcript: Transcript) -> TranscriptFacts:
    first = next(transcript.entries(), None)
    return TranscriptFacts(
        root,
        transcript.file_id,
        transcript.summary.entries,
        None if first is None else seconds(first.captured_at),
    )


def seconds(captured_at: str) -> float:
    """Unix seconds of an entry's time, which the strict reader found to be one."""
    try:
        return dt.datetime.fromisoformat(captured_at.replace("Z", "+00:00")).timestamp()
    except ValueError:  # the year 0, which Python does not know
        return float("-inf")
