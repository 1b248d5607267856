"""How many descriptors this process may have open."""

from __future__ import annotations

import contextlib
import resource

_WANTED = 4_096
"""What the soft limit is raised to, where the hard one lets it."""
_SHARE = 8
"""One descriptor in so many is for a transcript that stays open, of which each needs two."""
_FEWEST = 4


def raise_limit() -> None:
    """A connection, a transcript and a session cost descriptors; the soft limit is often low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_transcripts(asked: int) -> int:
    """How many transcripts may stay open, so that connections are never short of descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return asked
    return min(asked, max(_FEWEST, soft // _SHARE))
