"""The file behind a transcript: exact reads, complete lines, and the scan that validates them."""

from __future__ import annotations

import os
from array import array
from codecs import utf_8_decode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from zlib import crc32

from ._pure_line import BOM, LONG_LINE, Fault, accept, read, walk
from .errors import RefusedReason, SourceError, SourceReason, TranscriptRefused
from .records import KINDS, MAX_KEPT_DIAGNOSTICS, Diagnostic, Entry, Kind, Limits

BLOCK = LONG_LINE
_KEPT = 1 << 16
_EXCERPT = 40
_UTF8_PIECE = 1 << 14


class SourceChanged(Exception):
    """The file no longer holds the bytes that it held a moment ago."""


class Lines(NamedTuple):
    """Bytes `start` to `end` of the file: complete lines with their LFs.

    `data` is None for a line that is longer than allowed; it is not held then.
    A line of more than `BLOCK` bytes comes alone.
    """

    start: int
    end: int
    data: bytes | None


class Source:
    """One open file. `name` is for messages."""

    def __init__(self, fd: int, name: str, limits: Limits, *, lenient: bool) -> None:
        self.fd = fd
        self.name = name
        self.limits = limits
        self.lenient = lenient

    def close(self) -> None:
        """Gives the descriptor back. Closing twice is fine."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        self.close()

    def status(self) -> os.stat_result:
        """`fstat`. Raises `SourceError`."""
        try:
            return os.fstat(self.fd)
        except OSError as error:
            raise SourceError(SourceReason.IO, self.name, error.errno or 0) from None

    def read(self, start: int, end: int) -> bytes:
        """Exactly the bytes `start` to `end`. Raises `SourceChanged`, `SourceError`."""
        pieces = []
        try:
            while start < end:
                piece = os.pread(self.fd, end - start, start)
                if not piece:
                    raise SourceChanged
                pieces.append(piece)
                start += len(piece)
        except OSError as error:
            raise SourceError(SourceReason.IO, self.name, error.errno or 0) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def blocks(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes `start` to `end`, a block at a time."""
        while start < end:
            block = self.read(start, min(start + BLOCK, end))
            yield block
            start += len(block)

    def lines(self, start: int, searched: int, end: int) -> Iterator[Lines]:
        """The complete lines from byte `start`, where one begins, to `end`.

        No LF lies before `searched`: those bytes are not searched again.
        """
        while searched < end:
            if searched - start < BLOCK // 2:
                block = self.read(start, min(start + BLOCK, end))
                size = block.rfind(b"\n", searched - start) + 1
                searched = start + len(block)
                if size:
                    yield Lines(start, start + size, block[:size])
                    start += size
                continue
            # A long line: it is held only when it is complete and short enough.
            block = self.read(searched, min(searched + BLOCK, end))
            size = block.find(b"\n") + 1
            if not size:
                searched += len(block)
                continue
            stop = searched + size
            yield Lines(start, stop, self._long_line(start, stop))
            start = searched = stop

    def _long_line(self, start: int, stop: int) -> bytes | None:
        if stop - 1 - start > self.limits.max_line_bytes:
            return None
        line = self.read(start, stop)
        if line.find(b"\n") != len(line) - 1:
            raise SourceChanged
        return line

    def rows(self, start: int, end: int) -> Iterator[tuple[Entry, int]]:
        """Each row from byte `start` to `end`, both line starts, and where its line ends.

        Raises `SourceChanged` when no line ends at `end`, and as `rows_in` does.
        """
        reached = start
        for lines in self.lines(start, start, end):
            yield from self.rows_in(lines)
            reached = lines.end
        if reached != end:
            raise SourceChanged

    def rows_in(self, lines: Lines) -> Iterator[tuple[Entry, int]]:
        """Each row of lines that were validated before, and where its line ends.

        Raises `SourceChanged` in strict mode for a line that is no row.
        """
        data = lines.data or b""  # one that is too long is no row in lenient mode, else not here
        start = 0
        while start < len(data):
            end = data.index(b"\n", start) + 1
            entry = self._entry(data[start:end], lines.start + start)
            if entry is not None:
                yield entry, lines.start + end
            start = end

    def row_at(self, offset: int, end: int) -> Entry | None:
        """The row of the line that begins at `offset`, in lines that end at `end`."""
        for lines in self.lines(offset, offset, end):
            entry, _ = next(self.rows_in(lines), (None, 0))
            return entry if entry and entry.offset == offset else None
        raise SourceChanged

    def _entry(self, line: bytes, offset: int) -> Entry | None:
        with suppress(Fault):
            if len(line) - 1 <= self.limits.max_line_bytes:
                return read(line, offset, lenient=self.lenient)
        if not self.lenient:
            raise SourceChanged
        return None


@dataclass
class Progress:
    """What a scan knows so far. `seen` is the size up to which LFs were searched for."""

    validated: int = 0
    seen: int = 0
    lines: int = 0
    turns: int = 0
    replaced: int = 0
    # Whether the last row belongs to an assistant turn.
    goes_on: bool = False
    kinds: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    # The raw bytes before `validated`, at most `_KEPT`, and the CRC-32 of all of them.
    kept: bytes = b""
    checksum: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)
    diagnostics_total: int = 0

    @property
    def entries(self) -> int:
        """How many rows there are."""
        return sum(self.kinds.values())


class Scan:
    """Validates the lines of a source and indexes its units.

    `units` holds the first byte of each: of every user entry, and of the first
    entry whatever it is.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.progress = Progress()
        self.units = array("Q")

    @property
    def leading(self) -> bool:
        """Whether the first unit does not begin with a user entry."""
        return len(self.units) > self.progress.kinds["user"]

    def advance(self, size: int) -> None:
        """Validates what is complete up to byte `size`, all of it or nothing.

        Raises `SourceChanged`, `SourceError`, `TranscriptRefused`.
        """
        known = self.progress
        units = len(self.units)
        self.progress = replace(known, kinds=dict(known.kinds), diagnostics=list(known.diagnostics))
        try:
            self._take(size)
        except BaseException:
            self.progress = known
            del self.units[units:]
            raise

    def is_as_kept(self) -> bool:
        """Whether the last of the validated bytes are still those that were validated."""
        end, kept = self.progress.validated, self.progress.kept
        return self.source.read(end - len(kept), end) == kept

    def is_as_validated(self) -> bool:
        """Whether all of the validated bytes still have their checksum."""
        checksum = 0
        for block in self.source.blocks(0, self.progress.validated):
            checksum = crc32(block, checksum)
        return checksum == self.progress.checksum

    def _take(self, size: int) -> None:
        source, progress = self.source, self.progress
        if not (source.lenient or progress.validated):
            self._refuse_bom(size)
        for start, end, data in source.lines(progress.validated, progress.seen, size):
            if data is None:
                for block in source.blocks(start, end):
                    self._keep(block)
                self._too_long(start, end)
            else:
                self._keep(data)
                if len(data) > BLOCK:
                    self._walk(data, start)
                else:
                    self._take_block(data, start)
            progress.validated = end
        progress.seen = size

    def _keep(self, data: bytes) -> None:
        progress = self.progress
        progress.checksum = crc32(data, progress.checksum)
        progress.kept = (data if len(data) >= _KEPT else progress.kept + data)[-_KEPT:]

    def _refuse_bom(self, size: int) -> None:
        head = self.source.read(0, min(size, _EXCERPT))
        if head.startswith(BOM):
            self._fault(Fault(RefusedReason.BOM, 0), 0, head)

    def _take_block(self, block: bytes, offset: int) -> None:
        """Judges the lines of `block`; the first begins at byte `offset` of the file."""
        progress, longest = self.progress, self.source.limits.max_line_bytes
        sure = _is_utf8(block)
        # Bytes as characters: the same JSON, with sizes in bytes and nothing decoded.
        text = block.decode("latin-1")
        start = 0
        while start < len(text):
            end = text.index("\n", start)
            if end - start > longest:
                self._too_long(offset + start, offset + end + 1)
            elif row := (
                accept(text, start, end, "latin-1") if sure else _accept_alone(block[start:end])
            ):
                progress.lines += 1
                self._row(row[0], offset + start)
            else:
                self._walk(block[start : end + 1], offset + start)
                # `json` takes LF for white space: now it is shown no more than one line.
                sure = False
            start = end + 1

    def _walk(self, line: bytes, offset: int) -> None:
        progress = self.progress
        first = progress.lines == 0
        progress.lines += 1
        try:
            row = walk(line, lenient=self.source.lenient, first=first, keep=False)
        except Fault as fault:
            for found in (*fault.notes, fault):
                self._fault(found, offset, line)
        else:
            for note in row.notes:
                self._fault(note, offset, line)
            progress.diagnostics_total += row.noted - len(row.notes)
            progress.replaced += row.replaced
            self._row(row.kind, offset)

    def _too_long(self, start: int, end: int) -> None:
        self.progress.lines += 1
        at = self.source.limits.max_line_bytes
        first = max(at - _EXCERPT, 0)
        near = self.source.read(start + first, min(start + at + _EXCERPT, end - 1))
        self._fault(Fault(RefusedReason.LINE_TOO_LONG, at), start, near, first)

    def _fault(self, fault: Fault, line_offset: int, near: bytes, near_at: int = 0) -> None:
        """Refuses the transcript, or keeps a diagnostic; `near` is the line from `near_at` on."""
        progress = self.progress
        line, offset = max(progress.lines, 1), line_offset + fault.at
        excerpt = _excerpt(near, fault.at - near_at)
        if not self.source.lenient:
            raise TranscriptRefused(
                fault.reason,
                self.source.name,
                line=line,
                line_offset=line_offset,
                offset=offset,
                field=fault.field,
                excerpt=excerpt,
            )
        progress.diagnostics_total += 1
        if len(progress.diagnostics) < MAX_KEPT_DIAGNOSTICS:
            progress.diagnostics.append(
                Diagnostic(str(fault.reason), line, line_offset, offset, fault.field, excerpt)
            )

    def _row(self, kind: Kind, offset: int) -> None:
        progress = self.progress
        progress.kinds[kind] += 1
        user = kind == "user"
        if user or not self.units:
            self.units.append(offset)
        if user or not progress.goes_on:
            progress.turns += 1
        progress.goes_on = not user


def _is_utf8(data: bytes) -> bool:
    start = 0 if not data.isascii() else len(data)
    try:
        # In pieces, so that what is made and thrown away stays in the cache.
        while start < len(data):
            piece = data[start : start + _UTF8_PIECE]
            start += utf_8_decode(piece, "strict", start + len(piece) == len(data))[1]
    except UnicodeDecodeError:
        return False
    return True


def _accept_alone(line: bytes) -> tuple[Kind, tuple[str, ...], tuple[Any, ...]] | None:
    """`accept` for a line without its LF that is perhaps no UTF-8."""
    return accept(line.decode("latin-1"), 0, len(line), "latin-1") if _is_utf8(line) else None


def _excerpt(line: bytes, at: int) -> str:
    """What is around byte `at` of `line`, printable ASCII as it is, other bytes in hexadecimal."""
    near = line[max(at - _EXCERPT, 0) : at] + line[at : at + _EXCERPT].split(b"\n")[0]
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x5C else f"\\x{byte:02x}" for byte in near
    )
