"""What bounds the front-end; every number has one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Bounds that whoever makes the application may set."""

    page_bytes: int = 512 << 10
    """Bytes of a transcript that one page spans, but for a row that is longer."""
    open_transcripts: int = 128
    """Transcripts that stay open between two requests; two descriptors each."""
    readers: int = 4
    """Threads that read transcripts."""
    streams: int = 300
    """Clients of `/api/events` at once."""
    watches: int = 64
    """What one client may watch."""
    watched: int = 2_000
    """What all clients watch together."""
    waiting: int = 256
    """Events that wait for one client; with one more it is let go."""
    heartbeat: float = 15.0
    """Seconds of silence on an event stream."""
    unread: float = 20.0
    """Seconds that a client may leave an event unread before it is let go."""
    conversations: int = 1_000
    """Conversations that a list names."""
    target_bytes: int = 8 << 10
    """Of a request's path with its query."""
    header_bytes: int = 32 << 10
    """Of all headers of a request."""
    poll: float = 0.25
    """Seconds between two looks at the files that are watched."""
    patience: float = 2.0
    """Seconds that the start page waits for panes; what is later comes to the page later."""
    verdicts: float = 2.0
    """Seconds between two looks at the panes that are watched."""
