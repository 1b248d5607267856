"""Where herdr's sessions listen, by its own rules.

Source: herdr 0.8.2, `src/session.rs` and `src/config/io.rs`. The folder is
`$XDG_CONFIG_HOME/herdr` when that variable is set, else `$HOME/.config/herdr`
(on macOS too), else `herdr` in the folder for temporary files; a debug build says
`herdr-dev`. The default session listens at `herdr.sock` there, another at
`sessions/<name>/herdr.sock`. Beside each lies `herdr-client.sock`, which speaks
another protocol and is never touched.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping

from lettafast.errors import HerdrUnavailable, HerdrUnavailableReason

SOCKET_NAME = "herdr.sock"
CLIENT_SOCKET_NAME = "herdr-client.sock"

_DEFAULT = "default"
_SESSION = re.compile(r"(?!\.\.?\Z)[A-Za-z0-9._-]{1,64}")


def socket_path(session: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """The socket that herdr itself would use; whether one is there is not looked at.

    The first of these that is given: `session` (`default` is the default one),
    `HERDR_SOCKET_PATH` as it is, `HERDR_SESSION` unless no session can have that
    name, the default session. Raises `HerdrUnavailable` with `bad_name` where
    `session` is no name of a session.
    """
    if session is None:
        if "HERDR_SOCKET_PATH" in environ:
            return environ["HERDR_SOCKET_PATH"]
        session = environ.get("HERDR_SESSION", _DEFAULT)
        if not _SESSION.fullmatch(session):
            session = _DEFAULT
    elif not _SESSION.fullmatch(session):
        raise HerdrUnavailable(HerdrUnavailableReason.BAD_NAME, session)
    return _socket_of(_folder("herdr", environ), session)


def find_sockets(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every session's socket that is there, each once: the one that `environ` names first.

    Whether a server still listens is not looked at. A folder that cannot be read
    holds none.
    """
    found: dict[tuple[int, int], str] = {}
    for path in _candidates(environ):
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISSOCK(status.st_mode) and not is_client_socket(path):
            found.setdefault((status.st_dev, status.st_ino), path)
    return tuple(found.values())


def is_client_socket(path: str) -> bool:
    """Whether it is the socket of herdr's terminal client, itself or through links."""
    names = (os.path.basename(path), os.path.basename(os.path.realpath(path)))
    return CLIENT_SOCKET_NAME in names


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    yield socket_path(None, environ)
    for name in ("herdr", "herdr-dev"):
        folder = _folder(name, environ)
        yield _socket_of(folder, _DEFAULT)
        try:
            sessions = sorted(os.listdir(os.path.join(folder, "sessions")))
        except OSError:
            continue
        for session in filter(_SESSION.fullmatch, sessions):
            if session != _DEFAULT:
                yield _socket_of(folder, session)


def _folder(name: str, environ: Mapping[str, str]) -> str:
    if "XDG_CONFIG_HOME" in environ:
        return os.path.join(environ["XDG_CONFIG_HOME"], name)
    if "HOME" in environ:
        return os.path.join(environ["HOME"], ".config", name)
    return os.path.join(environ.get("TMPDIR", "/tmp"), name)  # noqa: S108 - herdr's own choice


def _socket_of(folder: str, session: str) -> str:
    parts = () if session == _DEFAULT else ("sessions", session)
    return os.path.join(folder, *parts, SOCKET_NAME)
