"""The mod as it is installed, and how one that lies there is known again; nothing is written."""

from __future__ import annotations

import hashlib
import pathlib
import re
from dataclasses import dataclass
from enum import Enum

from lettafast.binding.witness_file import VERSION

NAME = "lettafast-witness.js"
"""In `~/.letta/mods`, from where Letta Code loads it."""
LARGEST = 1 << 20
"""Of a file that may be the mod: bytes."""

_HEADER = re.compile(rb"// lettafast-witness ([0-9]{1,9}) ([0-9a-f]{64})\n")


class State(Enum):
    """What lies at the mod's place."""

    MISSING = "missing"
    CURRENT = "current"
    """What this lettafast installs, to the byte."""
    OTHER = "other"
    """What another version of lettafast has installed, to the byte."""
    CHANGED = "changed"
    """Once the mod; somebody has changed it."""
    FOREIGN = "foreign"
    """Nothing that lettafast has made."""


@dataclass(frozen=True, slots=True)
class Found:
    """What lies at the mod's place, and the version that it says it is of."""

    state: State
    version: int | None = None


def text() -> bytes:
    """What is installed: the header, then the mod."""
    body = (pathlib.Path(__file__).parent / NAME).read_bytes()
    digest = hashlib.sha256(body).hexdigest()
    return f"// lettafast-witness {VERSION} {digest}\n".encode("ascii") + body


def recognized(said: bytes) -> Found:
    """What a file with these bytes is."""
    header = _HEADER.match(said)
    if header is None:
        return Found(State.FOREIGN)
    version = int(header[1])
    if hashlib.sha256(said[header.end() :]).hexdigest().encode("ascii") != header[2]:
        return Found(State.CHANGED, version)
    return Found(State.CURRENT if said == text() else State.OTHER, version)
