"""The native backend: calls of the C ABI (`docs/ABI.md`), bytes and records out.

Environment, looked at when a transcript is opened: `LETTAFAST_NO_OPENAT2=1` reaches
files by the component walk only; `LETTAFAST_SIMD` names the instructions that the
scan must use (`scalar`, `avx2`, `avx512`, `neon`), else it takes the widest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from .errors import (
    BackendError,
    BackendReason,
    CursorError,
    CursorReason,
    HistoryChanged,
    HistoryReason,
    InternalError,
    LettafastError,
    RefError,
    RefReason,
    RefusedReason,
    SourceError,
    SourceReason,
    TranscriptRefused,
)
from .records import KINDS, Diagnostic, Entry, FileId, Limits, Mode, Summary, TextRange

try:
    from ._native_lib import ffi, lib
except (ImportError, OSError) as error:
    raise BackendError(
        BackendReason.NOT_LOADABLE, f"the native library cannot be loaded: {error}"
    ) from error

_loads: Callable[[bytes], Any]
try:
    from orjson import loads as _loads
except ImportError:
    _loads = json.loads

ABI = 1

LENIENT = 1
NO_OPENAT2 = 2
NONE = 0xFFFFFFFF

PANIC = -1
RANGE = 501
NO_SUCH_ISA = 601

SOURCE = dict(enumerate(SourceReason, 1))
REFUSED = dict(enumerate(RefusedReason, 101))
HISTORY = dict(enumerate(HistoryReason, 201))
CURSOR = {301: CursorReason.FORM, 302: CursorReason.NOT_A_LINE}
REF = dict(enumerate(RefReason, 401))
PARTS = {"text": 0, "input": 1, "output": 2}
NO_PART = 3
ISAS = {"scalar": 1, "avx2": 2, "avx512": 3, "neon": 4}


class NativeBackend:
    """The Rust core."""

    name = "native"

    def __init__(self) -> None:
        if lib.lettafast_abi() != ABI:
            raise BackendError(
                BackendReason.ABI,
                f"the native library speaks ABI {lib.lettafast_abi()}, this package {ABI}",
            )

    def loads(self, data: bytes) -> Any:
        """The value of a JSON text; by orjson where it is installed."""
        return _loads(data)

    def isa(self) -> str:
        """The instructions that the scan takes where `LETTAFAST_SIMD` names none."""
        return {number: name for name, number in ISAS.items()}[lib.lettafast_isa()]

    def open(self, root: str, relative: str, name: str, mode: Mode, limits: Limits) -> NativeHandle:
        """See `_backend.Backend`."""
        return NativeHandle(root, relative, name, mode, limits)


class NativeHandle:
    """One open transcript; see `_backend.Handle`."""

    def __init__(self, root: str, relative: str, name: str, mode: Mode, limits: Limits) -> None:
        self._name = name
        self._error = ffi.new("lettafast_error *")
        self._view = ffi.new("lettafast_view *")
        flags = LENIENT if mode == "lenient" else 0
        if os.environ.get("LETTAFAST_NO_OPENAT2") == "1":
            flags |= NO_OPENAT2
        options = ffi.new(
            "lettafast_options *",
            {
                "size": ffi.sizeof("lettafast_options"),
                "flags": flags,
                "isa": _isa(),
                "max_line_bytes": limits.max_line_bytes,
                "max_page_bytes": limits.max_page_bytes,
            },
        )
        place, below = os.fsencode(root), os.fsencode(relative)
        if b"\0" in place:
            raise SourceError(SourceReason.BAD_NAME, name)
        out = ffi.new("lettafast_transcript **")
        self._check(
            lib.lettafast_open(
                ffi.from_buffer(place),
                len(place),
                ffi.from_buffer(below),
                len(below),
                options,
                out,
                self._error,
            )
        )
        self._handle = ffi.gc(out[0], lib.lettafast_close)

    def file_id(self) -> FileId:
        """See `_backend.Handle`."""
        totals = self._totals()
        return FileId(totals.dev, totals.ino)

    def validated(self) -> int:
        """See `_backend.Handle`."""
        return int(self._totals().validated)

    def summary(self) -> Summary:
        """See `_backend.Handle`."""
        totals = self._totals()
        kinds = list(totals.kinds)
        return Summary(
            entries=sum(kinds),
            user_entries=kinds[0],
            turns=totals.turns,
            kinds=dict(zip(KINDS, kinds, strict=True)),
            bytes=totals.validated + totals.tail_bytes,
            tail_bytes=totals.tail_bytes,
            replaced_surrogates=totals.replaced_surrogates,
        )

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """See `_backend.Handle`."""
        found = ffi.new("lettafast_error *")
        kept: list[Diagnostic] = []
        while True:
            self._check(lib.lettafast_diagnostic(self._handle, len(kept), found, self._error))
            if found.code == 0:
                return tuple(kept)
            kept.append(Diagnostic(REFUSED[found.code].value, **_place(found)))

    def diagnostics_total(self) -> int:
        """See `_backend.Handle`."""
        return int(self._totals().diagnostics_total)

    def page_json(self, before: str | None, limit: int) -> bytes:
        """See `_backend.Handle`."""
        if before is None:
            cursor, length = ffi.NULL, 0
        else:
            data = _encode(before)
            cursor, length = ffi.from_buffer(data), len(data)
        self._check(
            lib.lettafast_page(self._handle, cursor, length, limit, self._view, self._error)
        )
        return self._bytes()

    def appended_json(self, start: int) -> tuple[bytes, int]:
        """See `_backend.Handle`."""
        self._check(lib.lettafast_appended(self._handle, start, self._view, self._error))
        return self._bytes(), int(self._view.next)

    def entries(self, start: int, end: int) -> tuple[list[Entry], int]:
        """See `_backend.Handle`."""
        self._check(lib.lettafast_entries(self._handle, start, end, self._view, self._error))
        rows = _loads(self._bytes())
        return [Entry(*row) for row in rows], int(self._view.next)

    def is_row(self, offset: int) -> bool:
        """See `_backend.Handle`."""
        if not 0 <= offset < 1 << 63:
            return False
        out = ffi.new("uint32_t *")
        self._check(lib.lettafast_is_row(self._handle, offset, out, self._error))
        return bool(out[0])

    def content(self, ref: str, part: str, start: int, length: int) -> TextRange:
        """See `_backend.Handle`."""
        data = _encode(ref)
        out = ffi.new("lettafast_text *")
        self._check(
            lib.lettafast_content(
                self._handle,
                ffi.from_buffer(data),
                len(data),
                PARTS.get(part, NO_PART),
                min(start, (1 << 64) - 1),
                length,
                out,
                self._error,
            )
        )
        text = str(ffi.buffer(out.bytes, out.length), "utf-8")
        return TextRange(text, out.start, out.end, out.size)

    def refresh(self, verify: bool) -> bool:
        """See `_backend.Handle`."""
        out = ffi.new("uint32_t *")
        self._check(lib.lettafast_refresh(self._handle, verify, out, self._error))
        return bool(out[0])

    def reopen(self) -> None:
        """See `_backend.Handle`."""
        self._check(lib.lettafast_reopen(self._handle, self._error))

    def close(self) -> None:
        """See `_backend.Handle`."""
        ffi.release(self._handle)

    def _totals(self) -> Any:
        out = ffi.new("lettafast_summary_t *")
        self._check(lib.lettafast_summary(self._handle, out, self._error))
        return out

    def _bytes(self) -> bytes:
        return bytes(ffi.buffer(self._view.bytes, self._view.length))

    def _check(self, code: int) -> None:
        if code != 0:
            raise _failure(self._error, self._name)


def _isa() -> int:
    name = os.environ.get("LETTAFAST_SIMD")
    if not name:
        return 0
    if name not in ISAS:
        raise BackendError(BackendReason.UNKNOWN, f"LETTAFAST_SIMD is `{name}`")
    return ISAS[name]


def _encode(text: str) -> bytes:
    # A lone surrogate is in no cursor, ref or id: the core refuses what it becomes.
    return text.encode("utf-8", "surrogatepass")


def _text(array: Any, length: int) -> str:
    return str(ffi.buffer(array, length), "utf-8")


def _place(error: Any) -> dict[str, Any]:
    field = None if error.field_length == NONE else _text(error.field, error.field_length)
    return {
        "line": error.line,
        "line_offset": error.line_offset,
        "offset": error.offset,
        "field": field,
        "excerpt": _text(error.excerpt, error.excerpt_length),
    }


def _failure(error: Any, name: str) -> Exception:
    code = error.code
    if code in REFUSED:
        return TranscriptRefused(REFUSED[code], name, **_place(error))
    if code in HISTORY:
        return HistoryChanged(HISTORY[code], name)
    if code in SOURCE:
        return SourceError(SOURCE[code], name, error.os_error)
    if code in CURSOR:
        return CursorError(CURSOR[code])
    if code in REF:
        return RefError(REF[code])
    if code == RANGE:
        return ValueError(f"`start` is above the text's size of {error.offset} bytes")
    return _bug_or_backend(code, _text(error.excerpt, error.excerpt_length))


def _bug_or_backend(code: int, message: str) -> LettafastError:
    if code == NO_SUCH_ISA:
        asked = os.environ.get("LETTAFAST_SIMD")
        return BackendError(
            BackendReason.NOT_LOADABLE, f"this machine lacks LETTAFAST_SIMD `{asked}`"
        )
    return InternalError(f"error {code} of the native library: {message}")
