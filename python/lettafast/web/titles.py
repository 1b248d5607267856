"""What a conversation is called: the local store's summary, else its first user text."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from typing import Any

from lettafast._beneath import Root
from lettafast.binding.local_store import folder_of
from lettafast.errors import SourceError
from lettafast.store import TRANSCRIPT_NAME

from .places import Stamp, stamp

TITLE_CHARS = 120
_MOST_KEPT = 20_000
_LARGEST_STORED = 64 << 20
"""Of a `conversation.json` that is read, in bytes: it lists every message in context."""
_HEAD_BYTES = (64 << 10, 4 << 20)
"""Bytes from the start of a transcript in which its first user text is looked for."""


class Titles:
    """Remembers the titles of what was not written to since. Used by one thread at a time.

    `local_store` is that of the Letta Code that writes beneath `root`.
    """

    def __init__(self, root: str, local_store: str | None) -> None:
        self._root = root
        self._local_store = local_store
        self._known: OrderedDict[str, tuple[Stamp, str]] = OrderedDict()

    def title(self, root: str, agent: str, conversation: str) -> str:
        """One line of at most 120 characters; "" where there is nothing to call it by."""
        if self._local_store is not None and root == self._root and agent and conversation:
            name = f"conversations/{folder_of(agent, conversation)}/conversation.json"
            if said := self._remembered(self._local_store, name, _summary):
                return said
        if not agent or not conversation:
            return ""
        return self._remembered(root, f"{agent}/{conversation}/{TRANSCRIPT_NAME}", _first)

    def _remembered(self, root: str, relative: str, read: Any) -> str:
        path = os.path.join(root, relative)
        now = stamp(path)
        if isinstance(now, int):
            return ""
        known = self._known.get(path)
        if known is None or known[0] != now:
            known = now, _line(read(root, relative))
            self._known[path] = known
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return known[1]


def _line(text: str) -> str:
    """The first line that says something, its white space collapsed."""
    line = next((found for found in text.splitlines() if found.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "\u2026"


def _summary(store: str, relative: str) -> str:
    """The `summary` of a conversation in the local store. Source: Letta Code 0.34.12."""
    data = _head(store, relative, _LARGEST_STORED + 1)
    if len(data) > _LARGEST_STORED:
        return ""
    said = _value(data)
    return _text(said.get("summary")) if isinstance(said, dict) else ""


def _first(root: str, relative: str) -> str:
    """The first user text; of a first line that is longer than what is read, nothing."""
    for size in _HEAD_BYTES:
        data = _head(root, relative, size)
        lines = data.split(b"\n")
        if len(data) == size:
            lines.pop()
        for line in lines:
            entry = _value(line)
            if isinstance(entry, dict) and entry.get("kind") == "user":
                return _text(entry.get("text"))
        if len(data) < size:
            break
    return ""


def _value(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _head(root: str, relative: str, size: int) -> bytes:
    """At most `size` bytes from the start of a file; nothing of what cannot be read."""
    try:
        with Root(root) as opened:
            fd, _ = opened.open_file(relative)
        with open(fd, "rb", buffering=0) as file:
            return _whole(file.read, size)
    except (SourceError, OSError):
        return b""


def _whole(read: Any, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (piece := read(size - len(data))):
        data += piece
    return bytes(data)
