"""Which backend runs, and the one protocol that both speak.

`LETTAFAST_BACKEND` is `auto` (the default), `native` or `pure`. What was asked
for and cannot be loaded is a `BackendError`; only `auto` falls back to `pure`.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Protocol

from .errors import BackendError, BackendReason
from .records import Diagnostic, Entry, FileId, Limits, Mode, Summary, TextRange


class Handle(Protocol):
    """One open transcript. Not safe for several threads at once: the caller locks.

    Every method may raise `SourceError`, `HistoryChanged` or `InternalError`; the
    first `HistoryChanged` or `TranscriptRefused` of `refresh` is raised again by
    every later call but `reopen` and `close`.
    """

    def file_id(self) -> FileId: ...

    def validated(self) -> int:
        """The offset up to which the file was validated: a line begins there, or will."""

    def summary(self) -> Summary: ...

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The first `MAX_KEPT_DIAGNOSTICS`, in the order of the file."""

    def diagnostics_total(self) -> int: ...

    def page_json(self, before: str | None, limit: int) -> bytes:
        """Raises `CursorError`."""

    def appended_json(self, start: int) -> tuple[bytes, int]:
        """The page of the rows from byte `start` on, up to `max_page_bytes`, and where it ends.

        `start` begins a line within what was validated. A page that holds no row
        has no turns. The caller goes on from the second value until it is `validated()`.
        """

    def entries(self, start: int, end: int) -> tuple[list[Entry], int]:
        """Some rows from byte `start`, where a line begins, and where to go on; done at `end`."""

    def is_row(self, offset: int) -> bool:
        """Whether a row begins at byte `offset`, any number at all."""

    def content(self, ref: str, part: str, start: int, length: int) -> TextRange:
        """Raises `RefError`, and `ValueError` for a range that cannot be."""

    def refresh(self, verify: bool) -> bool:
        """Whether rows were added. Raises `HistoryChanged`, `TranscriptRefused`."""

    def reopen(self) -> None:
        """Opens the place again, or raises `SourceError` or `TranscriptRefused`: no change."""

    def close(self) -> None:
        """Gives the descriptors back; no method is called after it."""


class Backend(Protocol):
    """Reads transcripts: the Rust core or plain Python, with the same answers to the byte."""

    @property
    def name(self) -> str:
        """`native` or `pure`."""

    def loads(self, data: bytes) -> Any:
        """The value of a JSON text that this backend wrote."""

    def open(self, root: str, relative: str, name: str, mode: Mode, limits: Limits) -> Handle:
        """Opens `relative` beneath the trusted folder `root`; `name` is for messages.

        Both are file-system strings (`os.fsdecode`). Raises `SourceError`, `TranscriptRefused`.
        """


def _native() -> Backend:
    from . import _native

    return _native.NativeBackend()


def _pure() -> Backend:
    from . import _pure

    return _pure.PureBackend()


def load(choice: str | None = None) -> Backend:
    """The backend that `choice`, else `LETTAFAST_BACKEND`, names. Raises `BackendError`."""
    choice = choice or os.environ.get("LETTAFAST_BACKEND") or "auto"
    if choice == "pure":
        return _pure()
    if choice == "native":
        return _native()
    if choice != "auto":
        raise BackendError(BackendReason.UNKNOWN, f"LETTAFAST_BACKEND is `{choice}`")
    try:
        return _native()
    except BackendError as error:
        if error.reason is not BackendReason.NOT_LOADABLE:
            raise
        return _pure()


@functools.cache
def current() -> Backend:
    """The backend of this process, loaded when it is first needed. Raises `BackendError`.

    Not at import: the command must be able to say what is wrong with the choice.
    """
    return load()
