"""What can go wrong: one class for each thing that a caller would do differently.

Each error has a `reason` from a closed enumeration, a `hint` for people (or
None) and the `exit_code` that the command line ends with.
"""

from __future__ import annotations

import os
from enum import Enum


class _Reason(str, Enum):
    """`enum.StrEnum`, which Python 3.10 lacks."""

    def __str__(self) -> str:
        return str(self.value)


class SourceReason(_Reason):
    """Why a file could not be opened or read."""

    MISSING = "missing"
    PERMISSION_DENIED = "permission_denied"
    SYMLINK = "symlink"
    NOT_REGULAR = "not_regular"
    BAD_NAME = "bad_name"
    CHANGED = "changed"
    IO = "io"


class RefusedReason(_Reason):
    """Why a line was refused; `docs/FORMAT.md` says when each is given."""

    BOM = "bom"
    LINE_TOO_LONG = "line_too_long"
    NUL_PADDING = "nul_padding"
    BLANK_LINE = "blank_line"
    NOT_AN_OBJECT = "not_an_object"
    MALFORMED_JSON = "malformed_json"
    INVALID_UTF8 = "invalid_utf8"
    CONTROL_CHARACTER = "control_character"
    DUPLICATE_KEY = "duplicate_key"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_KIND = "unknown_kind"
    BAD_TIMESTAMP = "bad_timestamp"
    MISSING_FIELD = "missing_field"
    TRAILING_DATA = "trailing_data"


class HistoryReason(_Reason):
    """How a transcript stopped being the history that was read."""

    TRUNCATED = "truncated"
    REPLACED = "replaced"
    REWRITTEN = "rewritten"
    OTHER_HISTORY = "other_history"
    BEYOND_END = "beyond_end"


class CursorReason(_Reason):
    """Why a cursor, an offset or a limit is no place in a transcript."""

    FORM = "form"
    NOT_A_LINE = "not_a_line"
    NOT_A_ROW = "not_a_row"
    LIMIT = "limit"


class RefReason(_Reason):
    """Why a ref or a bare id names no text."""

    FORM = "form"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    NO_SUCH_PART = "no_such_part"


class HerdrUnavailableReason(_Reason):
    """Why herdr could not be reached, or did not answer."""

    UNSUPPORTED_PLATFORM = "unsupported_platform"
    BAD_NAME = "bad_name"
    PATH_TOO_LONG = "path_too_long"
    MISSING = "missing"
    NOT_LISTENING = "not_listening"
    PERMISSION_DENIED = "permission_denied"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    SHUTTING_DOWN = "shutting_down"
    IO = "io"


class HerdrProtocolReason(_Reason):
    """Why an answer is not one that herdr's protocol knows."""

    TOO_LONG = "too_long"
    INVALID_UTF8 = "invalid_utf8"
    MALFORMED_JSON = "malformed_json"
    NOT_AN_OBJECT = "not_an_object"
    UNEXPECTED_RESULT = "unexpected_result"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"


class HerdrRefusedReason(_Reason):
    """What herdr answered instead of a result: its own code where lettafast knows it."""

    INVALID_REQUEST = "invalid_request"
    PANE_NOT_FOUND = "pane_not_found"
    EVENTS_LOST = "events_lost"
    OTHER = "other"


class BackendReason(_Reason):
    """Why the backend that was asked for does not run."""

    UNKNOWN = "unknown"
    NOT_LOADABLE = "not_loadable"
    ABI = "abi"


class InternalReason(_Reason):
    """A bug in lettafast."""

    PANIC = "panic"


class LettafastError(Exception):
    """Base of all errors of lettafast."""

    reason: _Reason
    hint: str | None = None
    exit_code: int = 1


class SourceError(LettafastError):
    """A file could not be opened or read. `errno` is set for `io` (else 0)."""

    exit_code = 3
    _HINTS = {
        SourceReason.MISSING: "no transcript is there: Letta Code writes one when the first turn is complete",
        SourceReason.PERMISSION_DENIED: "check the permissions of the file and of each folder above it",
        SourceReason.SYMLINK: "nothing beneath the root may be a link: name the real place, or make the link part of the root",
        SourceReason.NOT_REGULAR: "a transcript is a regular file",
        SourceReason.BAD_NAME: "name a place beneath the root, without `..`, `.` or empty parts",
        SourceReason.CHANGED: "the file shrank while it was read: open it again",
        SourceReason.IO: None,
    }

    def __init__(self, reason: SourceReason, name: str, errno: int = 0) -> None:
        self.reason = reason
        self.name = name
        self.errno = errno
        self.hint = self._HINTS[reason]
        words = reason.value.replace("_", " ")
        detail = f" ({os.strerror(errno)})" if errno else ""
        super().__init__(f"{name}: {words}{detail}")


class TranscriptRefused(LettafastError, ValueError):
    r"""A strict reading met a fault; the transcript is refused as a whole.

    `line` counts from 1; `line_offset` and `offset` are bytes from the start of
    the file; `field` is the member concerned (at most 64 characters) or None;
    `excerpt` is printable ASCII around `offset`, other bytes as `\xNN`.
    """

    hint = "nothing was read: mend the line, or read leniently to skip and count what is damaged"

    def __init__(
        self,
        reason: RefusedReason,
        name: str,
        *,
        line: int,
        line_offset: int,
        offset: int,
        field: str | None,
        excerpt: str,
    ) -> None:
        self.reason = reason
        self.name = name
        self.line = line
        self.line_offset = line_offset
        self.offset = offset
        self.field = field
        self.excerpt = excerpt
        quoted = f' "{_printable(field)}"' if field is not None else ""
        super().__init__(
            f"{name}:{line}: {reason.value.replace('_', ' ')}{quoted} at byte {offset}"
        )


class HistoryChanged(LettafastError):
    """The history that a cursor, a ref or an open transcript knew is gone: start over."""

    hint = "reopen the transcript and start from its newest page"
    _WORDS = {
        HistoryReason.TRUNCATED: "the file is shorter than what was read",
        HistoryReason.REPLACED: "another file, or none, is at its place",
        HistoryReason.REWRITTEN: "what was read is no longer what the file holds",
        HistoryReason.OTHER_HISTORY: "the cursor or ref belongs to another history",
        HistoryReason.BEYOND_END: "the cursor or ref lies beyond the end",
    }

    def __init__(self, reason: HistoryReason, name: str) -> None:
        self.reason = reason
        self.name = name
        super().__init__(f"{name}: history changed: {self._WORDS[reason]}")


class CursorError(LettafastError, ValueError):
    """A cursor of another form, an offset that begins no line or row, or a limit out of bounds."""

    exit_code = 2
    _WORDS = {
        CursorReason.FORM: "not a cursor: it is `<history_id>:<offset>`, as a page gave it",
        CursorReason.NOT_A_LINE: "the cursor's offset begins no line",
        CursorReason.NOT_A_ROW: "the offset begins no row",
        CursorReason.LIMIT: "the limit must be from 1 to 1,000 units",
    }

    def __init__(self, reason: CursorReason) -> None:
        self.reason = reason
        super().__init__(self._WORDS[reason])


class RefError(LettafastError, ValueError):
    """A ref or bare id that names no text, or more than one."""

    exit_code = 2
    _WORDS = {
        RefReason.FORM: "not a ref: it is `at:<history_id>:<offset>` or the id of one tool call",
        RefReason.NOT_FOUND: "no entry is there",
        RefReason.AMBIGUOUS: "several tool calls have this id: use a ref of the form `at:<history_id>:<offset>`",
        RefReason.NO_SUCH_PART: "an entry of this kind has no such part",
    }

    def __init__(self, reason: RefReason) -> None:
        self.reason = reason
        super().__init__(self._WORDS[reason])


class HerdrError(LettafastError):
    """herdr gave no answer that can be used. `socket` is the path that was asked."""

    exit_code = 3
    socket: str


class HerdrUnavailable(HerdrError):
    """herdr could not be reached, or did not answer in time. `errno` is set for `io` (else 0)."""

    _WORDS = {
        HerdrUnavailableReason.UNSUPPORTED_PLATFORM: "herdr's socket cannot be used on this platform",
        HerdrUnavailableReason.BAD_NAME: "not the name of a herdr socket",
        HerdrUnavailableReason.PATH_TOO_LONG: "the socket's path is too long to connect to",
        HerdrUnavailableReason.MISSING: "no socket is there",
        HerdrUnavailableReason.NOT_LISTENING: "nothing listens at the socket",
        HerdrUnavailableReason.PERMISSION_DENIED: "permission denied",
        HerdrUnavailableReason.TIMEOUT: "no whole answer came in time",
        HerdrUnavailableReason.CLOSED: "the connection was closed before a whole answer",
        HerdrUnavailableReason.SHUTTING_DOWN: "herdr is shutting down",
        HerdrUnavailableReason.IO: "the connection failed",
    }
    _HINTS = {
        HerdrUnavailableReason.UNSUPPORTED_PLATFORM: "herdr on Windows listens at a named pipe, which lettafast does not speak",
        HerdrUnavailableReason.BAD_NAME: "name a session of 1 to 64 of `A-Z a-z 0-9 . _ -`, or a path ending in `herdr.sock`",
        HerdrUnavailableReason.PATH_TOO_LONG: "set XDG_CONFIG_HOME or HERDR_SOCKET_PATH to a shorter path and restart herdr",
        HerdrUnavailableReason.MISSING: "start herdr, or name its session or its socket (HERDR_SESSION, HERDR_SOCKET_PATH)",
        HerdrUnavailableReason.NOT_LISTENING: "herdr ended without removing its socket: start it again",
        HerdrUnavailableReason.PERMISSION_DENIED: "the socket belongs to another user: run as the user that runs herdr",
        HerdrUnavailableReason.TIMEOUT: "herdr is busy or stopped: try again",
        HerdrUnavailableReason.CLOSED: "herdr may be restarting: try again",
        HerdrUnavailableReason.SHUTTING_DOWN: "start herdr again",
        HerdrUnavailableReason.IO: None,
    }

    def __init__(self, reason: HerdrUnavailableReason, socket: str, errno: int = 0) -> None:
        self.reason = reason
        self.socket = socket
        self.errno = errno
        self.hint = self._HINTS[reason]
        detail = f" ({os.strerror(errno)})" if errno else ""
        super().__init__(f"{socket}: {self._WORDS[reason]}{detail}")


class HerdrProtocolError(HerdrError):
    """An answer that herdr's protocol does not know. `field` is the member concerned, or None."""

    hint = "is this herdr's API socket? If so, this herdr is newer or older than lettafast knows: please report it"

    def __init__(self, reason: HerdrProtocolReason, socket: str, field: str | None = None) -> None:
        self.reason = reason
        self.socket = socket
        self.field = field
        quoted = f' "{_printable(field)}"' if field is not None else ""
        super().__init__(
            f"{socket}: answer not understood: {reason.value.replace('_', ' ')}{quoted}"
        )


class HerdrRefused(HerdrError):
    """herdr's own error reply: its `code`, and its `message` (at most 500 characters)."""

    _HINTS = {
        HerdrRefusedReason.INVALID_REQUEST: "this herdr does not know the call: it may be too old",
        HerdrRefusedReason.PANE_NOT_FOUND: "no such pane, or nothing was started in it yet",
        HerdrRefusedReason.EVENTS_LOST: "events came faster than they were read: subscribe again",
        HerdrRefusedReason.OTHER: None,
    }

    def __init__(self, socket: str, code: str, message: str) -> None:
        known = {str(reason): reason for reason in HerdrRefusedReason}
        self.reason = known.get(code, HerdrRefusedReason.OTHER)
        self.socket = socket
        self.code = code
        self.message = message[:500]
        self.hint = self._HINTS[self.reason]
        super().__init__(f"{socket}: herdr refused: {_printable(self.message or code)}")


class BackendError(LettafastError, ImportError):
    """The backend that `LETTAFAST_BACKEND` asks for cannot run; there is no silent downgrade."""

    exit_code = 2
    hint = "set LETTAFAST_BACKEND to `auto`, `native` or `pure`"

    def __init__(self, reason: BackendReason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class InternalError(LettafastError):
    """A bug in lettafast; nothing was changed. Please report it with its message."""

    exit_code = 70
    hint = "this is a bug in lettafast: please report it"

    def __init__(self, message: str) -> None:
        self.reason = InternalReason.PANIC
        super().__init__(message)


def _printable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
