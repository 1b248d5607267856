"""The reading API: `open_transcript` and `Transcript`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Literal, cast

from . import _backend
from .errors import CursorError, CursorReason, HistoryChanged, HistoryReason
from .records import (
    MAX_PAGE_LIMIT,
    MAX_RANGE_BYTES,
    PAGE_LIMIT,
    ContentPart,
    Diagnostic,
    Entry,
    FileId,
    Limits,
    Mode,
    Page,
    Part,
    Summary,
    TextRange,
    Turn,
)

NO_TURNS = b'"turns":[]}'
"""How a page without a row ends."""


def open_transcript(
    path: str | os.PathLike[str], mode: Mode = "strict", limits: Limits | None = None
) -> Transcript:
    """Opens one transcript file; its parent folder is trusted, the file's own name is not.

    Everything that is there is read and checked before this returns.
    Raises `SourceError`, and in strict mode `TranscriptRefused`.
    """
    name = os.fsdecode(path)
    root, relative = os.path.split(name)
    return Transcript(root or ".", relative, name, mode, limits or Limits())


class Transcript:
    """An open transcript: a root, one descriptor, and an index of what was validated.

    Methods may be called from several threads; inside they run one at a time.
    Every method may raise `HistoryChanged`: after it only `reopen` and `close`
    do anything else. After `close` every call is a `ValueError`.
    """

    def __init__(self, root: str, relative: str, name: str, mode: Mode, limits: Limits) -> None:
        """Use `open_transcript` or `Store.transcript`."""
        if mode not in ("strict", "lenient"):
            raise ValueError(f"`mode` must be `strict` or `lenient`, not `{mode}`")
        self.name = name
        self.mode = mode
        self.limits = limits
        self._lock = threading.Lock()
        self._opened = 1
        backend = _backend.current()
        self._loads = backend.loads
        self._open: _backend.Handle | None = backend.open(root, relative, name, mode, limits)

    @property
    def _handle(self) -> _backend.Handle:
        if self._open is None:
            raise ValueError(f"{self.name}: this transcript was closed")
        return self._open

    @property
    def file_id(self) -> FileId:
        """The device and inode of the open file."""
        with self._lock:
            return self._handle.file_id()

    @property
    def summary(self) -> Summary:
        """Counts of what was validated so far."""
        with self._lock:
            return self._handle.summary()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The first 100 faults that a lenient reading met, in the order of the file."""
        with self._lock:
            return self._handle.diagnostics()

    @property
    def diagnostics_total(self) -> int:
        """How many faults a lenient reading met in all."""
        with self._lock:
            return self._handle.diagnostics_total()

    def page_json(self, before: str | None = None, limit: int = PAGE_LIMIT) -> bytes:
        """The newest page, or the page that ends where the cursor `before` points, as JSON bytes.

        `limit` is units (a user entry with what follows it), 1 to 1,000. The
        members are those of `docs/PAGES.md`. Raises `CursorError`.
        """
        with self._lock:
            handle = self._handle
            if not 1 <= limit <= MAX_PAGE_LIMIT:
                handle.validated()  # what ended the history comes first
                raise CursorError(CursorReason.LIMIT)
            return handle.page_json(before, limit)

    def page(self, before: str | None = None, limit: int = PAGE_LIMIT) -> Page:
        """`page_json` as records."""
        return _page(self._loads(self.page_json(before, limit)))

    @property
    def end(self) -> str | None:
        """The cursor of the place where the next row will begin; None while there is no entry."""
        with self._lock:
            handle = self._handle
            end = handle.validated()
            data, _ = handle.appended_json(end)
            history_id = self._loads(data)["history_id"]
            return None if history_id is None else f"{history_id}:{end}"

    def appended_json(self, after: str) -> tuple[bytes, str]:
        """The page of the rows from the cursor `after` on, as JSON bytes, and the cursor behind it.

        It spans at most `max_page_bytes`: go on from the second value until that is `end`.
        Raises `CursorError`.
        """
        with self._lock:
            handle = self._handle
            handle.page_json(after, 1)  # judges the cursor
            history_id, _, offset = after.rpartition(":")
            data, end = handle.appended_json(int(offset))
            return data, f"{history_id}:{end}"

    def entries(self, start: int = 0) -> Iterator[Entry]:
        """The rows from byte `start` to what is validated now, read in bounded memory.

        `start` is the offset of a row (or 0). Raises `CursorError` at once when
        it is not.
        """
        with self._lock:
            handle = self._handle
            if start != 0 and not handle.is_row(start):
                raise CursorError(CursorReason.NOT_A_ROW)
            end, opened = handle.validated(), self._opened
        return self._entries(start, end, opened)

    def _entries(self, start: int, end: int, opened: int) -> Iterator[Entry]:
        while start < end:
            with self._lock:
                handle = self._same(opened)
                batch, start = handle.entries(start, end)
            yield from batch

    def content(
        self, ref: str, part: ContentPart, start: int = 0, length: int = MAX_RANGE_BYTES
    ) -> TextRange:
        """Bytes `start` to `start + length` (at most 1 MiB) of one decoded text.

        The range is widened to whole characters. `ref` is a page's `ref`, or the
        bare id of a tool call that exactly one has; a bare id is searched for in
        the whole file. Raises `RefError`; `ValueError` when `start` is above the
        text's size or a number is negative.
        """
        with self._lock:
            handle = self._handle
            if start < 0 or length < 0:
                handle.validated()  # what ended the history comes first
                raise ValueError("`start` and `length` must not be negative")
            return handle.content(ref, part, start, min(length, MAX_RANGE_BYTES))

    def tool_output(
        self, ref_or_id: str, start: int = 0, length: int = MAX_RANGE_BYTES
    ) -> TextRange:
        """`content(ref_or_id, "output", start, length)`."""
        return self.content(ref_or_id, "output", start, length)

    def refresh(self, verify: bool = False) -> Literal["unchanged", "grown"]:
        """Reads what was appended: `grown` when at least one row was added.

        `verify` reads everything again and compares its checksum, which finds a
        rewrite far before the end. Raises `HistoryChanged`, and in strict mode
        `TranscriptRefused`, which every later call then raises until `reopen`.
        """
        with self._lock:
            return "grown" if self._handle.refresh(verify) else "unchanged"

    def follow(self, poll: float = 0.25) -> Iterator[Page]:
        """Pages of only the rows that are appended from now on, as they come.

        Looks every `poll` seconds. Ends with `HistoryChanged` or
        `TranscriptRefused`, or with `ValueError` once the transcript is closed.
        """
        return (_page(self._loads(data)) for data in self.follow_json(poll))

    def follow_json(self, poll: float = 0.25) -> Iterator[bytes]:
        """`follow` as JSON bytes, a page each."""
        with self._lock:
            seen, opened = self._handle.validated(), self._opened
        return self._follow(seen, opened, poll)

    def _follow(self, seen: int, opened: int, poll: float) -> Iterator[bytes]:
        while True:
            with self._lock:
                handle = self._same(opened)
                handle.refresh(False)
                end = handle.validated()
            while seen < end:
                with self._lock:
                    data, seen = self._same(opened).appended_json(seen)
                if not data.endswith(NO_TURNS):
                    yield data
            time.sleep(poll)

    def reopen(self) -> None:
        """Opens the same place again, after which old cursors and refs are refused.

        Raises what `open_transcript` raises; the transcript then stays as it was.
        """
        with self._lock:
            self._handle.reopen()
            self._opened += 1

    def close(self) -> None:
        """Gives the descriptors back. Closing twice is fine."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def __enter__(self) -> Transcript:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _same(self, opened: int) -> _backend.Handle:
        handle = self._handle
        if opened != self._opened:
            raise HistoryChanged(HistoryReason.OTHER_HISTORY, self.name)
        return handle


def _page(raw: dict[str, Any]) -> Page:
    raw["turns"] = tuple([_turn(turn) for turn in raw["turns"]])
    return Page(**raw)


def _turn(raw: dict[str, Any]) -> Turn:
    raw["parts"] = tuple([_part(part) for part in raw["parts"]])
    return Turn(**raw)


def _part(raw: dict[str, Any]) -> Part:
    """`Part(**raw)` in a third of the time, which a page of hundreds of parts is made of.

    A frozen record sets its members through `object.__setattr__`, one call each. This one
    is filled as a plain object and then becomes a `Part`, which has the same slots.
    """
    part: Any = _OpenPart(**raw)
    part.__class__ = Part
    return cast("Part", part)


class _OpenPart:
    __slots__ = Part.__slots__

    def __init__(  # noqa: PLR0913, PLR0917 - the members of a part
        self,
        kind: str,
        text: str | None = None,
        ref: str | None = None,
        size: int | None = None,
        id: str | None = None,  # noqa: A002 - the name of the member
        name: str | None = None,
        state: str | None = None,
        input: str | None = None,  # noqa: A002 - the name of the member
        input_size: int | None = None,
        output: str | None = None,
        output_size: int | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.ref = ref
        self.size = size
        self.id = id
        self.name = name
        self.state = state
        self.input = input
        self.input_size = input_size
        self.output = output
        self.output_size = output_size
