"""Where this user's tmux servers listen, by tmux's own rules.

Source: tmux 3.3a, `tmux.c`, `make_label` and `main`: a server that was given a name listens
at `<folder>/tmux-<uid>/<name>`, the folder being `$TMUX_TMPDIR` or, where none is there,
`/tmp`; `TMUX` names the socket of the server that a program runs in, up to the first comma.

A tmux client does what its server tells it, running a command too. So no socket counts that
anybody but this user and root can have put in its place.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def find_sockets(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every such socket that is there, each once, as a path without links.

    The one that `TMUX` names comes first. Whether a server still listens is not looked at.
    """
    if sys.platform == "win32":
        return ()
    return tuple(dict.fromkeys(path for path in map(_real, _candidates(environ)) if is_safe(path)))


def is_safe(path: str) -> bool:
    """Whether `path`, which has no link in it, is a socket of this user in a folder of their own.

    Only they may write in that folder, and no one else can put another in its place.
    """
    uid = os.geteuid()
    folder = os.path.dirname(path)
    try:
        found, own = os.lstat(path), os.lstat(folder)
        above = [os.lstat(name) for name in _above(folder)]
    except (OSError, ValueError):
        return False
    return (
        stat.S_ISSOCK(found.st_mode)
        and found.st_uid == own.st_uid == uid
        and not own.st_mode & _OTHERS_WRITE
        and all(one.st_uid in (0, uid) and _is_kept(one.st_mode) for one in above)
    )


def _is_kept(mode: int) -> bool:
    """Whether only its owner can take away what is in a folder of this mode."""
    return bool(mode & stat.S_ISVTX) or not mode & _OTHERS_WRITE


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a NUL in it
        return ""


def _above(folder: str) -> Iterator[str]:
    while (parent := os.path.dirname(folder)) != folder:
        yield parent
        folder = parent


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    named = environ.get("TMUX", "").partition(",")[0]
    if os.path.isabs(named):
        yield named
    folder = _folder(environ)
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError):
        return
    for name in names:
        yield os.path.join(folder, name)


def _folder(environ: Mapping[str, str]) -> str:
    chosen = environ.get("TMUX_TMPDIR", "")
    base = chosen if os.path.isabs(chosen) and os.path.isdir(chosen) else "/tmp"  # noqa: S108
    return os.path.join(base, f"tmux-{os.geteuid()}")
