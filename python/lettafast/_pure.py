"""The pure backend: plain Python and its standard library only; also the oracle of the tests."""

from __future__ import annotations

import hashlib
import json
import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ._beneath import Root, checked_parts
from ._pure_page import Parts, continues, to_json, turns, utf8_size
from ._pure_scan import BLOCK, Scan, Source, SourceChanged
from .errors import (
    CursorError,
    CursorReason,
    HistoryChanged,
    HistoryReason,
    RefError,
    RefReason,
    SourceError,
    SourceReason,
    TranscriptRefused,
)
from .records import Diagnostic, Entry, FileId, Limits, Mode, Summary, TextRange

_PLACE = re.compile(r"(v1-[0-9a-f]{16}(?:\.[1-9][0-9]*)?):(0|[1-9][0-9]*)").fullmatch
_BARE_ID = re.compile(r"(?!at:)[A-Za-z0-9_:.-]{1,128}").fullmatch
_REF = "at:"
_OFFSET_DIGITS = 20
_FIRST_LINE_BYTES = 4096
_SECOND_LOOK_SECONDS = 0.02
_MEMBERS = {"text": "text", "input": "args_text", "output": "result_text"}
# These say that a cursor or ref is of no use here, not that this history is gone.
_OTHERS = (HistoryReason.OTHER_HISTORY, HistoryReason.BEYOND_END)

_P = ParamSpec("_P")
_R = TypeVar("_R")


class PureBackend:
    """Reads transcripts in plain Python."""

    name = "pure"

    def loads(self, data: bytes) -> Any:
        """The value of a JSON text that this backend wrote."""
        return json.loads(data)

    def open(self, root: str, relative: str, name: str, mode: Mode, limits: Limits) -> PureHandle:
        """Opens `relative` beneath the folder `root`. Raises `SourceError`, `TranscriptRefused`."""
        return PureHandle(root, relative, name, mode, limits)


def _guarded(
    method: Callable[Concatenate[PureHandle, _P], _R],
) -> Callable[Concatenate[PureHandle, _P], _R]:
    """Makes a method raise again what ended this history, and remember what ends it."""

    @wraps(method)
    def guarded(self: PureHandle, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if self._ended is not None:
            raise self._ended.with_traceback(None)
        try:
            return method(self, *args, **kwargs)
        except SourceChanged:
            self._ended = HistoryChanged(HistoryReason.REWRITTEN, self._name)
        except TranscriptRefused as error:
            self._ended = error
        except HistoryChanged as error:
            if error.reason in _OTHERS:
                raise
            self._ended = error
        raise self._ended.with_traceback(None)

    return guarded


class PureHandle:
    """One open transcript, as `_backend.Handle` says."""

    def __init__(self, root: str, relative: str, name: str, mode: Mode, limits: Limits) -> None:
        self._relative = relative
        self._name = name
        self._lenient = mode == "lenient"
        self._limits = limits
        self._ended: HistoryChanged | TranscriptRefused | None = None
        self._known_ids: dict[str, int] = {}
        checked_parts(relative, name)
        self._root = self._named(lambda: Root(root))
        try:
            self._begin()
        except BaseException:
            self._root.close()
            raise

    def _named(self, opens: Callable[[], _R]) -> _R:
        """What `opens` gives; its errors with this transcript's name."""
        try:
            return opens()
        except SourceError as error:
            raise SourceError(SourceReason(error.reason), self._name, error.errno) from None

    def _begin(self) -> None:
        """Opens the place and takes it as this object's history, or changes nothing."""
        fd, found = self._named(lambda: self._root.open_file(self._relative))
        source = Source(fd, self._name, self._limits, lenient=self._lenient)
        try:
            scan = Scan(source)
            scan.advance(found.st_size)
            file_id = FileId(found.st_dev, found.st_ino)
            base = _base_id(scan, file_id)
        except SourceChanged:
            source.close()
            raise SourceError(SourceReason.CHANGED, self._name) from None
        except BaseException:
            source.close()
            raise
        self._source, self._scan = source, scan
        self._file_id = file_id
        self._ctime = found.st_ctime_ns
        self._history_id = self._new_id(base)
        self._ended = None

    def _new_id(self, base: str | None) -> str | None:
        """The history's id; it counts up when this object met `base` before."""
        if base is None:
            return None
        count = self._known_ids[base] = self._known_ids.get(base, -1) + 1
        return f"{base}.{count}" if count else base

    def reopen(self) -> None:
        """Opens the place again. Raises `SourceError`, `TranscriptRefused`: all is as it was."""
        before = self._source
        self._begin()
        before.close()

    def close(self) -> None:
        """Gives the descriptors back."""
        self._source.close()
        self._root.close()

    # What was validated.

    @_guarded
    def file_id(self) -> FileId:
        """The device and inode of the open file."""
        return self._file_id

    @_guarded
    def validated(self) -> int:
        """The offset up to which the file was validated."""
        return self._scan.progress.validated

    @_guarded
    def summary(self) -> Summary:
        """Counts of what was validated."""
        progress = self._scan.progress
        return Summary(
            entries=progress.entries,
            user_entries=progress.kinds["user"],
            turns=progress.turns,
            kinds=dict(progress.kinds),
            bytes=progress.seen,
            tail_bytes=progress.seen - progress.validated,
            replaced_surrogates=progress.replaced,
        )

    @_guarded
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The first faults that a lenient reading met."""
        return tuple(self._scan.progress.diagnostics)

    @_guarded
    def diagnostics_total(self) -> int:
        """How many faults a lenient reading met."""
        return self._scan.progress.diagnostics_total

    # Following.

    @_guarded
    def refresh(self, verify: bool) -> bool:
        """Whether rows were added. Raises `HistoryChanged`, `TranscriptRefused`."""
        scan = self._scan
        entries = scan.progress.entries
        size, ctime = self._look()
        grown = size > scan.progress.seen
        if (grown or verify) and not scan.is_as_kept():
            raise SourceChanged
        if grown:
            scan.advance(size)
        scan.progress.seen, self._ctime = size, ctime
        if self._history_id is None:
            self._history_id = self._new_id(_base_id(scan, self._file_id))
        if verify and not scan.is_as_validated():
            raise SourceChanged
        return scan.progress.entries > entries

    def _look(self) -> tuple[int, int]:
        """Size and ctime of the file, which still is the one at its place."""
        try:
            there = self._named(lambda: self._root.status(self._relative))
        except SourceError as error:
            if error.reason is SourceReason.IO:
                raise
            raise HistoryChanged(HistoryReason.REPLACED, self._name) from None
        if FileId(there.st_dev, there.st_ino) != self._file_id:
            raise HistoryChanged(HistoryReason.REPLACED, self._name)
        size, ctime = self._size_and_ctime()
        if ctime != self._ctime and size <= self._scan.progress.seen:
            # Kernels stamp the ctime of an append before its size.
            time.sleep(_SECOND_LOOK_SECONDS)
            size, ctime = self._size_and_ctime()
            if ctime != self._ctime and size <= self._scan.progress.seen:
                raise SourceChanged
        return size, ctime

    def _size_and_ctime(self) -> tuple[int, int]:
        found = self._source.status()
        if found.st_size < self._scan.progress.validated:
            raise HistoryChanged(HistoryReason.TRUNCATED, self._name)
        return found.st_size, found.st_ctime_ns

    # Pages.

    @_guarded
    def page_json(self, before: str | None, limit: int) -> bytes:
        """The newest page, or the one that ends where `before` points. Raises `CursorError`."""
        end = self._scan.progress.validated if before is None else self._cursor(before)
        units = self._scan.units
        # The units that begin before the end; the last may end behind it.
        count = bisect_left(units, end)
        if not count:
            return self._page([], end, newest=before is None, cursor=before)
        longest = self._limits.max_page_bytes
        first = bisect_left(units, end - longest, max(count - limit, 0), count - 1)
        start = units[first]
        if end - start > longest:
            start = self._cut(start, end)
        rows = [entry for entry, _ in self._source.rows(start, end)]
        self._check_units(rows, start, end)
        return self._page(rows, end, newest=before is None)

    @_guarded
    def appended_json(self, start: int) -> tuple[bytes, int]:
        """The page of the rows from byte `start` on, cut at `max_page_bytes`, and where it ends."""
        end = self._scan.progress.validated
        rows: list[Entry] = []
        parts, part = Parts(), 0
        for entry, stop in self._source.rows(start, end):
            joins = parts.joins(entry)
            if rows and stop - start > self._limits.max_page_bytes:
                end = entry.offset
                if joins and part:
                    end = rows[part].offset
                    del rows[part:]
                break
            if not joins:
                part = len(rows)
            rows.append(entry)
        self._check_units(rows, start, end)
        return self._page(rows, end, newest=True), end

    def _page(
        self, rows: list[Entry], end: int, *, newest: bool, cursor: str | None = None
    ) -> bytes:
        """The JSON of the page of `rows`, behind which byte `end` comes."""
        scan, history_id = self._scan, self._history_id
        older = None
        starts_mid_turn = ends_mid_turn = False
        if rows:
            first = rows[0].offset
            cursor = f"{history_id}:{first}"
            older = cursor if first > scan.units[0] else None
            starts_mid_turn = self._goes_on(first)
            ends_mid_turn = rows[-1].kind != "user" and self._next_is_no_user(end)
        progress = scan.progress
        page = {
            "v": 1,
            "source": "letta-transcript",
            "state": "ok" if scan.units else "empty",
            "history_id": history_id,
            "cursor": cursor,
            "older": older,
            "starts_mid_turn": starts_mid_turn,
            "ends_mid_turn": ends_mid_turn,
            "replaced_surrogates": sum(entry.replaced_surrogates for entry in rows),
            "tail_bytes": progress.seen - progress.validated if newest else None,
            "diagnostics_total": progress.diagnostics_total if newest else None,
            "turns": turns(rows, history_id or ""),
        }
        return to_json(page)

    def _check_units(self, rows: list[Entry], start: int, end: int) -> None:
        """The units from `start` to `end` must still begin where they did."""
        units = self._scan.units
        kinds = {entry.offset: entry.kind for entry in rows}
        for index in range(bisect_left(units, start), bisect_left(units, end)):
            kind = kinds.get(units[index])
            if kind is None or (kind != "user" and (index or not self._scan.leading)):
                raise SourceChanged

    def _goes_on(self, row: int) -> bool:
        """Whether the row at byte `row` and the row before it are of one assistant turn."""
        units = self._scan.units
        index = bisect_right(units, row) - 1
        unit = units[index]
        if unit == row:
            return False
        if index == 0 and self._scan.leading:
            return True
        return any(entry.offset != unit for entry, _ in self._source.rows(unit, row))

    def _next_is_no_user(self, end: int) -> bool:
        """Whether the row that comes next from byte `end` on exists and is no user entry."""
        units, validated = self._scan.units, self._scan.progress.validated
        after = bisect_left(units, end)
        unit = units[after] if after < len(units) else validated
        return next(self._source.rows(end, unit), None) is not None

    # Where a page starts inside a unit that is larger than a page.

    def _cut(self, unit: int, end: int) -> int:
        """The first row of the page that ends at `end` and cannot hold all of its only unit."""
        longest = self._limits.max_page_bytes
        line = self._line_from(end - longest, end)
        row, _ = next(self._source.rows(line, end), (None, 0))
        row = row or self._row_before(line, unit)
        if row is None:
            raise SourceChanged
        first = row
        while (before := self._row_before(first.offset, unit)) and continues(before, first):
            first = before
        if first is row:
            return row.offset
        return self._outside_part(row.offset, first.offset, end)

    def _outside_part(self, row: int, first: int, end: int) -> int:
        """Where a page starts that may not start at `row` when that is inside a joined part.

        The rows from `first` on may be joined by their ids.
        """
        parts = Parts()
        part = part_end = first
        for entry, stop in self._source.rows(first, end):
            if not parts.joins(entry):
                if part <= row < part_end:
                    after = entry.offset
                    break
                part = entry.offset
            part_end = stop
        else:
            after = part
        if part == row or part_end - part > self._limits.max_page_bytes:
            return row
        return after

    def _line_from(self, offset: int, end: int) -> int:
        """The first byte of the first line that begins at `offset` or later."""
        offset -= 1
        for block in self._source.blocks(offset, end):
            size = block.find(b"\n") + 1
            if size:
                return offset + size
            offset += len(block)
        raise SourceChanged

    def _row_before(self, offset: int, floor: int) -> Entry | None:
        """The last row before byte `offset`, where a line begins, and not before byte `floor`."""
        while offset > floor:
            start = self._line_before(offset, floor)
            row = self._source.row_at(start, offset)
            if row:
                return row
            offset = start
        return None

    def _line_before(self, offset: int, floor: int) -> int:
        """The first byte of the line that ends before byte `offset`."""
        end = offset - 1
        while end > floor:
            start = max(end - BLOCK, floor)
            size = self._source.read(start, end).rfind(b"\n") + 1
            if size:
                return start + size
            end = start
        return floor

    # Cursors, refs, texts.

    def _place(self, history_id: str, digits: str) -> int:
        if history_id != self._history_id:
            raise HistoryChanged(HistoryReason.OTHER_HISTORY, self._name)
        if len(digits) > _OFFSET_DIGITS or int(digits) > self._scan.progress.validated:
            raise HistoryChanged(HistoryReason.BEYOND_END, self._name)
        return int(digits)

    def _cursor(self, cursor: str) -> int:
        form = _PLACE(cursor)
        if form is None:
            raise CursorError(CursorReason.FORM)
        offset = self._place(*form.groups())
        if not self._begins_line(offset):
            raise CursorError(CursorReason.NOT_A_LINE)
        return offset

    def _begins_line(self, offset: int) -> bool:
        if offset in (0, self._scan.progress.validated):
            return True
        return self._source.read(offset - 1, offset) == b"\n"

    def _row_at(self, offset: int) -> Entry | None:
        end = self._scan.progress.validated
        if not 0 <= offset < end or not self._begins_line(offset):
            return None
        return self._source.row_at(offset, end)

    @_guarded
    def is_row(self, offset: int) -> bool:
        """Whether a row begins at byte `offset`."""
        return self._row_at(offset) is not None

    @_guarded
    def entries(self, start: int, end: int) -> tuple[list[Entry], int]:
        """The rows of about a block of lines from byte `start` on, and where to go on."""
        for lines in self._source.lines(start, start, end):
            rows = [entry for entry, _ in self._source.rows_in(lines)]
            self._check_units(rows, start, lines.end)
            return rows, lines.end
        raise SourceChanged

    @_guarded
    def content(self, ref: str, part: str, start: int, length: int) -> TextRange:
        """A range of one text. Raises `RefError`, and `ValueError` for one that cannot be."""
        entry = self._named_entry(ref)
        if part not in _MEMBERS or (part == "text") != (entry.kind != "tool_call"):
            raise RefError(RefReason.NO_SUCH_PART)
        return _text_range(getattr(entry, _MEMBERS[part]) or "", start, length)

    def _named_entry(self, ref: str) -> Entry:
        if ref.startswith(_REF) and (form := _PLACE(ref, len(_REF))):
            entry = self._row_at(self._place(*form.groups()))
            if entry is None:
                raise RefError(RefReason.NOT_FOUND)
            return entry
        if not _BARE_ID(ref):
            raise RefError(RefReason.FORM)
        return self._only_call(ref)

    def _only_call(self, line_id: str) -> Entry:
        only = None
        for entry, _ in self._source.rows(0, self._scan.progress.validated):
            if entry.kind == "tool_call" and entry.source_line_id == line_id:
                if only is not None:
                    raise RefError(RefReason.AMBIGUOUS)
                only = entry
        if only is None:
            raise RefError(RefReason.NOT_FOUND)
        return only


def _base_id(scan: Scan, file_id: FileId) -> str | None:
    """The history's id without a count; None while there is no entry."""
    if not scan.units:
        return None
    head = scan.source.read(0, min(_FIRST_LINE_BYTES, scan.progress.validated))
    line = head[: head.find(b"\n") + 1] or head
    place = f"{file_id.dev}:{file_id.ino}:".encode()
    return "v1-" + hashlib.sha256(place + line).hexdigest()[:16]


def _text_range(text: str, start: int, length: int) -> TextRange:
    """Bytes `start` to `start + length` of `text` as UTF-8, widened to whole characters."""
    size = utf8_size(text)
    if start > size:
        raise ValueError(f"`start` is above the text's size of {size} bytes")
    data = text.encode()
    end = min(size, start + length)
    while start and start < size and data[start] & 0xC0 == 0x80:
        start -= 1
    while length and end < size and data[end] & 0xC0 == 0x80:
        end += 1
    if not length:
        end = start
    return TextRange(data[start:end].decode(), start, end, size)
