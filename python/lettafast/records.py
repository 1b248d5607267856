"""The values that lettafast returns: frozen, slotted, made of plain types.

Offsets, sizes and lengths are bytes unless a name says `chars`. No string here
contains a surrogate: an escaped lone surrogate was read as U+FFFD.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["user", "assistant", "reasoning", "error", "tool_call"]
Mode = Literal["strict", "lenient"]
ContentPart = Literal["text", "input", "output"]
ConversationState = Literal["present", "empty", "missing", "unreadable"]

KINDS: tuple[Kind, ...] = ("user", "assistant", "reasoning", "error", "tool_call")

PAGE_LIMIT = 50
"""Units of a page where the caller names no limit."""
MAX_PAGE_LIMIT = 1_000
"""Most units that one page may be asked for."""
TOOL_PREVIEW_CHARS = 4_000
"""Scalar values of a tool call's input or output that a page shows."""
TEXT_PREVIEW_CHARS = 1_048_576
"""Scalar values of any other text that a page shows; joined rows stay within it."""
MAX_RANGE_BYTES = 1 << 20
"""UTF-8 bytes of a text that one `content` call returns."""
MAX_KEPT_DIAGNOSTICS = 100
"""Diagnostics that are kept; the rest are only counted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that a caller may set when opening.

    `max_line_bytes`: a longer line (bytes before its LF) is refused.
    `max_page_bytes`: a page spans no more bytes of the file, except that it
    always holds at least one row.
    """

    max_line_bytes: int = 64 << 20
    max_page_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        for name in ("max_line_bytes", "max_page_bytes"):
            value = getattr(self, name)
            if not 1 <= value < 1 << 48:
                raise ValueError(f"`{name}` must be from 1 to 2**48 - 1 bytes, not {value}")


@dataclass(frozen=True, slots=True)
class FileId:
    """Which file it is, as `fstat` says."""

    dev: int
    ino: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a transcript. `offset` (the row's first byte) is its identity.

    A member that the row does not have is None: `text` of a tool call, the four
    tool members of the other kinds, and whatever is optional.
    `replaced_surrogates` counts the lone surrogates read as U+FFFD in this row.
    """

    offset: int
    kind: Kind
    captured_at: str
    text: str | None = None
    name: str | None = None
    args_text: str | None = None
    result_text: str | None = None
    result_ok: bool | None = None
    source_line_id: str | None = None
    source_message_id: str | None = None
    replaced_surrogates: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a turn, as in the page JSON (`docs/PAGES.md`).

    `kind` is `text`, `thinking` or `error` (then `text`, and `ref` and `size`
    when `text` is only a preview), or `tool` (then `ref` and the last seven).
    Sizes are UTF-8 bytes of the whole decoded text.
    """

    kind: Literal["text", "thinking", "error", "tool"]
    text: str | None = None
    ref: str | None = None
    size: int | None = None
    id: str | None = None
    name: str | None = None
    state: Literal["ok", "failed", "unfinished", "unknown"] | None = None
    input: str | None = None
    input_size: int | None = None
    output: str | None = None
    output_size: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A user entry, or all entries between two of them."""

    role: Literal["user", "assistant"]
    ts: str
    end_ts: str
    offset: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Turns of a transcript, oldest first, and where the page lies in it."""

    v: int
    source: str
    state: Literal["ok", "empty"]
    history_id: str | None
    cursor: str | None
    older: str | None
    starts_mid_turn: bool
    ends_mid_turn: bool
    replaced_surrogates: int
    tail_bytes: int | None
    diagnostics_total: int | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class TextRange:
    """Bytes `start` to `end` of one decoded text that is `size` bytes of UTF-8 long."""

    text: str
    start: int
    end: int
    size: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What was validated so far. `bytes` includes the tail."""

    entries: int
    user_entries: int
    turns: int
    kinds: dict[Kind, int]
    bytes: int
    tail_bytes: int
    replaced_surrogates: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A fault that a lenient reading met; the fields of `TranscriptRefused`."""

    reason: str
    line: int
    line_offset: int
    offset: int
    field: str | None
    excerpt: str


@dataclass(frozen=True, slots=True)
class ConversationRef:
    """One conversation folder of a store, by its folder names.

    `size` (bytes) and `mtime` (seconds since the epoch) are None when `state`
    is `missing` or `unreadable`; `reason` then says why.
    """

    agent: str
    conversation: str
    state: ConversationState
    size: int | None = None
    mtime: float | None = None
    reason: str | None = field(default=None)
