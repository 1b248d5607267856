"""Which transcript is meant, and how it is written in addresses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, unquote

from lettafast.records import Mode
from lettafast.store import TRANSCRIPT_NAME

Stamp: TypeAlias = tuple[int, ...] | int
"""Which file it is, its size and its times; or why it cannot be looked at, as an `errno`."""


@dataclass(frozen=True, slots=True)
class Place:
    """One conversation's transcript beneath a root, read strictly or leniently."""

    root: str
    agent: str
    conversation: str
    mode: Mode

    @property
    def folder(self) -> str:
        """The conversation's folder."""
        return os.path.join(self.root, self.agent, self.conversation)

    @property
    def path(self) -> str:
        """The transcript; only to look at, not to open."""
        return os.path.join(self.folder, TRANSCRIPT_NAME)


def stamp(path: str) -> Stamp:
    """What moves whenever the file at `path` is appended to, rewritten, replaced or taken away.

    A `stat` by name: it sees more than `fstat` of the open file, and costs less
    than reaching the file safely, which is done once the stamp has moved.
    """
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError as error:
        return error.errno or 0
    except ValueError:  # a NUL in the name
        return 0
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


def quoted(name: str) -> str:
    """A file-system name as one part of a path in an address."""
    return quote(os.fsencode(name), safe="")


def unquoted(part: str) -> str:
    """The name that `quoted` gives."""
    return unquote(part, errors="surrogateescape")
