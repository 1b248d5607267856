"""Letta's local store: which agent a conversation belongs to.

Source: Letta Code 0.34.12: `conversations/<base64url of the key>/conversation.json`
beneath the store, the key being `default:<agent>` or `conversation:<conversation>`.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import stat
from datetime import datetime, timezone
from typing import Any

from lettafast._beneath import Root
from lettafast.errors import SourceError, SourceReason

from .facts import Problem, StoredConversation
from .ids import DEFAULT
from .steady import UnsteadyError, read_json
from .verdict import Reason

_LARGEST = 64 << 20
"""Of a `conversation.json` that is read, in bytes: it lists every message in context."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# What `Date.prototype.toISOString` gives.
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def read_stored(
    store: str, agent_id: str | None, conversation_id: str
) -> StoredConversation | Problem:
    """What the store says of a conversation; `default` is one for each agent, so it needs that.

    No link is followed beneath `store`. What it says may be another agent or
    conversation than was asked for: that is for the caller to compare.
    """
    relative = f"conversations/{folder_of(agent_id, conversation_id)}/conversation.json"
    path = f"{store}/{relative}"
    try:
        with Root(store) as root:
            said, _ = read_json(root, relative, _LARGEST)
    except UnsteadyError:
        return Problem(
            Reason.STORE_CHANGED, f"{path} was empty, half or changing at each of five looks"
        )
    except SourceError as error:
        return _unopened(error, path)
    except OSError as error:
        return Problem(Reason.CHANGED_WHILE_READING, f"{path}: {error.strerror}")
    except ValueError as error:
        return Problem(Reason.STORE_MISSING, f"{path} is not what Letta writes: {error}")
    return _stored(path, said)


def _unopened(error: SourceError, path: str) -> Problem:
    if error.reason is SourceReason.IO and error.errno != errno.ENAMETOOLONG:
        return Problem(Reason.CHANGED_WHILE_READING, f"{path}: {os.strerror(error.errno)}")
    if error.reason is SourceReason.SYMLINK:
        words = "it, or a folder on the way, is a link"
    elif error.reason is SourceReason.NOT_REGULAR:
        words = f"{_kind(path)}, no regular file"
    else:
        words = str(error.reason).replace("_", " ")
    return Problem(Reason.STORE_MISSING, f"{path}: {words}")


def _kind(path: str) -> str:
    """What lies there that is no regular file."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return "something"
    return next((words for is_one, words in _KINDS if is_one(mode)), "something")


def folder_of(agent_id: str | None, conversation_id: str) -> str:
    """The name of a conversation's folder beneath `conversations`; `default` needs its agent."""
    if conversation_id != DEFAULT:
        key = f"conversation:{conversation_id}"
    elif agent_id is not None:
        key = f"{DEFAULT}:{agent_id}"
    else:
        raise ValueError("the default conversation of which agent?")
    return base64.urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _stored(path: str, said: Any) -> StoredConversation | Problem:
    if isinstance(said, dict):
        conversation, agent = said.get("id"), said.get("agent_id")
        created = _seconds(said.get("created_at"))
        if isinstance(conversation, str) and isinstance(agent, str) and created is not None:
            return StoredConversation(path, conversation, agent, created)
    return Problem(Reason.STORE_MISSING, f"{path} names no conversation, agent and time")


def _seconds(said: Any) -> float | None:
    if not isinstance(said, str) or not _TIME.fullmatch(said):
        return None
    try:
        found = datetime.fromisoformat(said[:-1])
    except ValueError:
        return None
    return found.replace(tzinfo=timezone.utc).timestamp()
