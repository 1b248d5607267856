"""Reads the conversations of Letta Code strictly and fast.

    import lettafast

    with lettafast.open_transcript(path) as transcript:
        page = transcript.page()

`lettafast.backend` says which backend runs: `native` (the Rust core) or `pure`.
"""

from __future__ import annotations

from . import _backend
from .errors import (
    BackendError,
    BackendReason,
    CursorError,
    CursorReason,
    EnvelopeError,
    EnvelopeReason,
    ExpectedReason,
    ExpectedStateError,
    HerdrError,
    HerdrProtocolError,
    HerdrProtocolReason,
    HerdrRefused,
    HerdrRefusedReason,
    HerdrUnavailable,
    HerdrUnavailableReason,
    HistoryChanged,
    HistoryReason,
    InternalError,
    InternalReason,
    LettafastError,
    MetadataError,
    MetadataReason,
    ProviderError,
    ReceiptError,
    RefError,
    RefReason,
    RefusedReason,
    SessionError,
    SessionReason,
    SigningKeyError,
    SigningKeyReason,
    SourceError,
    SourceReason,
    TmuxError,
    TmuxReason,
    TranscriptRefused,
    WitnessError,
    WitnessReason,
)
from .records import (
    ConversationRef,
    Diagnostic,
    Entry,
    FileId,
    Limits,
    Page,
    Part,
    Summary,
    TextRange,
    Turn,
)
from .store import Store
from .transcript import Transcript, open_transcript

__version__ = "0.1.0"

backend: str
"""Which backend reads transcripts: `native` or `pure`. Loads it, or raises `BackendError`."""


def __getattr__(name: str) -> str:
    if name == "backend":
        return _backend.current().name
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


__all__ = [
    "BackendError",
    "BackendReason",
    "ConversationRef",
    "CursorError",
    "CursorReason",
    "Diagnostic",
    "Entry",
    "EnvelopeError",
    "EnvelopeReason",
    "ExpectedReason",
    "ExpectedStateError",
    "FileId",
    "HerdrError",
    "HerdrProtocolError",
    "HerdrProtocolReason",
    "HerdrRefused",
    "HerdrRefusedReason",
    "HerdrUnavailable",
    "HerdrUnavailableReason",
    "HistoryChanged",
    "HistoryReason",
    "InternalError",
    "InternalReason",
    "LettafastError",
    "Limits",
    "MetadataError",
    "MetadataReason",
    "Page",
    "Part",
    "ProviderError",
    "ReceiptError",
    "RefError",
    "RefReason",
    "RefusedReason",
    "SessionError",
    "SessionReason",
    "SigningKeyError",
    "SigningKeyReason",
    "SourceError",
    "SourceReason",
    "Store",
    "Summary",
    "TextRange",
    "TmuxError",
    "TmuxReason",
    "Transcript",
    "TranscriptRefused",
    "Turn",
    "WitnessError",
    "WitnessReason",
    "__version__",
    "backend",
    "open_transcript",
]
