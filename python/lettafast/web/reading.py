"""What is read of a transcript for one answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lettafast.records import Diagnostic, FileId
from lettafast.transcript import Transcript

_HISTORY = re.compile(rb'"history_id":"([^"]+)"')
_HEAD = 200
"""Bytes of a page in which its history id stands."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A page's JSON bytes, the cursor behind its rows, and whether that is the end."""

    data: bytes
    end: str | None
    at_end: bool
    diagnostics: Sequence[Diagnostic]
    file: FileId


def read_page(transcript: Transcript, before: str | None, after: str | None, limit: int) -> Reading:
    """The newest page, the one before a cursor, or the rows after one.

    Raises `CursorError` and `HistoryChanged`.
    """
    found = transcript.summary
    now = found.bytes - found.tail_bytes
    if after is not None:
        data, end = transcript.appended_json(after)
        at_end = end.endswith(f":{now}")
        return Reading(data, end, at_end, transcript.diagnostics, transcript.file_id)
    data = transcript.page_json(before, limit)
    if before is None:
        history = _HISTORY.search(data, 0, _HEAD)
        newest = None if history is None else f"{history[1].decode('ascii')}:{now}"
    else:
        newest = before
    at_end = before is None or before.endswith(f":{now}")
    return Reading(data, newest, at_end, transcript.diagnostics, transcript.file_id)
