"""What each peer leaves unchecked, found out with one bad line a reason of `docs/FORMAT.md`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .generate import Sample
from .peers import Peer

_LINE = (
    b'{"kind":"user","text":"hi","captured_at":"2026-01-05T08:00:05.614Z","source_line_id":"u-1"}'
)
_BAD = {
    "byte order mark": b"\xef\xbb\xbf" + _LINE,
    "NUL padding": b"\x00\x00" + _LINE,
    "blank line": b"",
    "not an object": b"[1]",
    "malformed JSON": _LINE.replace(b'"hi",', b'"hi",,'),
    "cut-off line": _LINE[:40],
    "invalid UTF-8": _LINE.replace(b"hi", b"h\xff"),
    "control character": _LINE.replace(b"hi", b"h\x01"),
    "duplicate member": _LINE.replace(b'"text":"hi"', b'"text":"hi","text":"ho"'),
    "unknown member": _LINE.replace(b'"text"', b'"extra":"x","text"'),
    "member of another kind": _LINE.replace(b'"text"', b'"argsText":"{}","text"'),
    "wrong type": _LINE.replace(b'"hi"', b"7"),
    "null for a string": _LINE.replace(b'"u-1"', b"null"),
    "unknown kind": _LINE.replace(b'"user"', b'"system"'),
    "timestamp": _LINE.replace(b"2026-01", b"2026-13"),
    "missing member": _LINE.replace(b'"text":"hi",', b""),
    "trailing data": _LINE + b" {}",
    "two objects on one line": _LINE + _LINE,
}
_BEFORE = _LINE + b"\n" + _LINE.replace(b'"user"', b'"assistant"') + b"\n"
_GOOD = {
    "a half-written last line": _LINE[:30],
    "an escaped lone surrogate": _LINE.replace(b"hi", b"\\ud83d") + b"\n",
}


def accepted_faults(peer: Peer) -> list[str]:
    """The faults that `peer` reads over without a word of refusal."""
    return [name for name, line in _BAD.items() if _reads(peer, line + b"\n" + _LINE + b"\n")]


def refused_or_miscounted(peer: Peer) -> list[str]:
    """What Letta Code writes and `peer` refuses, or takes for an entry where it is none."""
    return [name for name, line in _GOOD.items() if _reads(peer, line) != 2 + line.count(b"\n")]


def _reads(peer: Peer, after: bytes) -> int:
    """The entries that `peer` finds in two good lines and `after`; 0 when it refuses."""
    data = _BEFORE + after
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.jsonl"
        path.write_bytes(data)
        sample = Sample(len(data), 0, 0, 0, len(_LINE), path, "")
        try:
            return peer.counts(peer.make()(sample))[0]
        except Exception:  # noqa: BLE001 - each tool refuses with an exception of its own
            return 0
