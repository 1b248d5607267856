"""Letta's chunk logs: what one process streamed last.

Source: Letta Code 0.34.12, class `ChunkLog`: `<agent>/<start ms>-<random>.jsonl`
beneath `logs/chunk-logs`, the last 100 chunks of one TUI process, all written
again in place at the end of each stream. Not every chunk names a conversation.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

from lettafast._beneath import Root
from lettafast.errors import SourceError
from lettafast.strict_json import parse

from .facts import ChunkLog
from .steady import file_times

_NAME = re.compile(r"([0-9]{1,15})-[A-Za-z0-9]+\.jsonl")
_MOST_READ = 4 << 20
"""Of the end of a log: bytes. Letta cuts what a chunk says to 200 characters."""
_TRIES = 5
_PAUSE = 0.02
"""Between two tries: seconds."""


def read_chunk_logs(folder: str, earliest: float, latest: float) -> tuple[ChunkLog, ...]:
    """The logs, of any agent, whose names' times lie in this window (Unix seconds, inclusive).

    In the order of their times. No link is followed beneath `folder`; what
    cannot be read, or names no conversation, gives nothing.
    """
    found: list[ChunkLog] = []
    try:
        with Root(folder) as root:
            for agent in root.folders(""):
                for name, started in _logs(folder, agent):
                    if earliest <= started <= latest:
                        found.extend(_look(root, f"{agent}/{name}", started))
    except (SourceError, OSError):
        pass
    return tuple(sorted(found, key=lambda log: log.started))


def _logs(folder: str, agent: str) -> Iterator[tuple[str, float]]:
    """The names that have the form of a log's, and the times in them."""
    try:
        names = os.listdir(os.path.join(folder, agent))
    except OSError:
        return
    for name in names:
        if matched := _NAME.fullmatch(name):
            yield name, int(matched[1]) / 1000


def _look(root: Root, relative: str, started: float) -> Iterator[ChunkLog]:
    """The log, once it is whole, or what could be read of it at the last try."""
    session, written = None, 0.0
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        try:
            text, before, after = _tail(root, relative)
        except (SourceError, OSError):
            break
        session, written = _last_session(text) or session, after.st_mtime
        if file_times(before) == file_times(after) and text.endswith(b"\n"):
            break
    if session is not None:
        yield ChunkLog(os.path.join(root.path, relative), started, written, *session)


def _tail(root: Root, relative: str) -> tuple[bytes, os.stat_result, os.stat_result]:
    """The end of the log, and what `fstat` said before and after it was read."""
    fd, before = root.open_file(relative)
    try:
        start = max(0, before.st_size - _MOST_READ)
        return os.pread(fd, _MOST_READ, start), before, os.fstat(fd)
    finally:
        os.close(fd)


def _last_session(text: bytes) -> tuple[str, str] | None:
    """The agent and conversation that the last whole line with both names."""
    for line in reversed(text.split(b"\n")):
        try:
            # Letta cuts texts to a length, which can be in the middle of a pair.
            said = parse(line, lone_surrogates=True)
        except ValueError:
            continue
        if isinstance(said, dict):
            agent, conversation = said.get("agent_id"), said.get("conversation_id")
            if isinstance(agent, str) and isinstance(conversation, str):
                return _shown(agent), _shown(conversation)
    return None


def _shown(name: str) -> str:
    """A name that is text: half of a surrogate pair, which no id has, as its escape."""
    return name.encode("utf-8", "backslashreplace").decode()
