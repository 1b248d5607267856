"""A folder as a fact: its real path, and that this path leads to that very folder."""

from __future__ import annotations

import os
import sys

from .facts import Folder

_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


def folder_at(path: str) -> Folder | None:
    """The folder that `path` leads to, through links; None where no real path leads to it.

    That is so for one that was deleted, that another name covers, or that may
    not be looked at.
    """
    try:
        fd = os.open(path, _FOLDER)
    except (OSError, ValueError):
        return None
    try:
        return _opened(fd, path)
    except OSError:
        return None
    finally:
        os.close(fd)


def _opened(fd: int, path: str) -> Folder | None:
    found = os.fstat(fd)
    # The descriptor's own link: `path` may be that of a process, which moves.
    real = os.path.realpath(f"/proc/self/fd/{fd}" if sys.platform == "linux" else path)
    there = os.stat(real)
    # Of a deleted folder Linux gives its old path and " (deleted)", which may be another's name.
    if (there.st_dev, there.st_ino) != (found.st_dev, found.st_ino):
        return None
    return Folder(real, found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
