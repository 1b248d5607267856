"""What lettafast's mod in a running letta says of its own process: one file for each pid.

`lettafast/witness/lettafast-witness.js` writes it at one blow, every five seconds and whenever
letta shows another conversation.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from lettafast._beneath import Root
from lettafast.errors import SourceError, SourceReason
from lettafast.strict_json import parse

from .facts import Identity, Problem, Witness
from .steady import file_times
from .verdict import Reason

FOLDER = ".local/state/lettafast/witness"
"""Beneath the home of the letta."""
VERSION = 1
"""Of the mod and of what it writes."""
CLOSED = "closed"

LARGEST = 4096
"""Bytes that are read of what a letta says."""
_LARGEST_NUMBER = (1 << 53) - 1
"""JavaScript's `Number.MAX_SAFE_INTEGER`."""
_TRIES = 3
_AHEAD = 5.0
"""How far a time may lie in the future: seconds. A clock that was set back makes old look new."""
_EVENTS = ("start", "switch", "turn_start", "turn_end", CLOSED)
_FORM: dict[str, type] = {
    "v": int,
    "boot_id": str,
    "pid": int,
    "start_ticks": int,
    "agent_id": str,
    "conversation_id": str,
    "seq": int,
    "event": str,
    "at_ms": int,
}
OPEN_TO_OTHERS = 0o077
"""What the mode of the folder, and of a file in it, may not have."""


def name_of(identity: Identity) -> str:
    """Where the letta `identity` says what it shows: a path beneath its home."""
    return f"{FOLDER}/{identity.pid}.json"


def read_witness(home: str, identity: Identity, now: float) -> Witness | Problem:
    """What the letta `identity`, whose HOME is `home`, says it shows; `now` is Unix seconds.

    Nothing beneath `home` is reached through a link, and what anybody else can
    write is not believed.
    """
    relative = name_of(identity)
    path = f"{home}/{relative}"
    try:
        with Root(home) as root:
            folder = os.stat(f"{home}/{FOLDER}", follow_symlinks=False)
            if problem := _open_to_others(f"{home}/{FOLDER}", folder):
                return problem
            return _witness(root, relative, identity, now)
    except FileNotFoundError:
        return _missing(path)
    except SourceError as error:
        if error.reason is SourceReason.MISSING:
            return _missing(path)
        return Problem(Reason.WITNESS_INVALID, str(error))
    except OSError as error:
        return Problem(Reason.WITNESS_INVALID, f"{path}: {error.strerror}")
    except ValueError as error:
        return Problem(Reason.WITNESS_INVALID, f"{path}: {error}")


def _missing(path: str) -> Problem:
    return Problem(Reason.WITNESS_MISSING, f"there is no {path}")


def _open_to_others(path: str, found: os.stat_result) -> Problem | None:
    if found.st_uid != os.geteuid():
        return Problem(Reason.WITNESS_INVALID, f"{path} belongs to user {found.st_uid}")
    if found.st_mode & OPEN_TO_OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        return Problem(Reason.WITNESS_INVALID, f"{path} is open to others: mode {mode:04o}")
    return None


def _witness(root: Root, relative: str, identity: Identity, now: float) -> Witness | Problem:
    path = f"{root.path}/{relative}"
    for _ in range(_TRIES):
        fd, before = root.open_file(relative)
        try:
            if problem := _open_to_others(path, before):
                return problem
            text = os.read(fd, LARGEST + 1)
            after = os.fstat(fd)
        finally:
            os.close(fd)
        if len(text) > LARGEST:
            raise ValueError(f"more than {LARGEST:,} bytes")
        # The mod puts another file in its place, which moves the times of this one.
        if file_times(before) == file_times(after):
            break
    else:
        raise ValueError("it changed whenever it was read")
    said = _checked(parse(text))
    named = Identity(said["boot_id"], said["pid"], said["start_ticks"])
    if named != identity:
        raise ValueError(f"it is of another process: {named}")
    touched_at = after.st_mtime
    if max(touched_at, said["at_ms"] / 1000) > now + _AHEAD:
        raise ValueError("it is of the future")
    return Witness(
        agent_id=said["agent_id"],
        conversation_id=said["conversation_id"],
        seq=said["seq"],
        event=said["event"],
        at_ms=said["at_ms"],
        closed=said["event"] == CLOSED,
        touched_at=touched_at,
        path=path,
    )


def _checked(said: Any) -> dict[str, Any]:
    """`ValueError` for what this version of the mod would not have written."""
    if not isinstance(said, dict) or said.get("v") != VERSION:
        raise ValueError(f"not of version {VERSION}")
    if said.keys() != _FORM.keys():
        raise ValueError("not the members of this version")
    for name, kind in _FORM.items():
        value = said[name]
        if type(value) is not kind or (kind is int and not 0 <= said[name] <= _LARGEST_NUMBER):
            raise ValueError(f"{name} is {value!r}")
    if said["event"] not in _EVENTS:
        raise ValueError(f"event is {said['event']!r}")
    return said
