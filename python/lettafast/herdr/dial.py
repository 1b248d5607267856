"""Connecting to herdr's socket: what the blocking and the asyncio client share."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Iterator

from lettafast.errors import HerdrUnavailable, HerdrUnavailableReason

from .sockets import is_client_socket

RECEIVE_BYTES = 1 << 16
FULL_QUEUE_PAUSE = 0.01
"""Seconds until a connection is tried again that herdr had no room for."""

# `sun_path` holds 108 bytes on Linux and 104 on macOS, of which one ends the path.
_SHORT_PATH = 103

_REASONS = {
    errno.ENOENT: HerdrUnavailableReason.MISSING,
    errno.ENOTDIR: HerdrUnavailableReason.MISSING,
    errno.ECONNREFUSED: HerdrUnavailableReason.NOT_LISTENING,
    errno.EACCES: HerdrUnavailableReason.PERMISSION_DENIED,
    errno.EPERM: HerdrUnavailableReason.PERMISSION_DENIED,
    errno.ENAMETOOLONG: HerdrUnavailableReason.PATH_TOO_LONG,
    errno.EPIPE: HerdrUnavailableReason.CLOSED,
    errno.ECONNRESET: HerdrUnavailableReason.CLOSED,
    errno.ENOTCONN: HerdrUnavailableReason.CLOSED,
    errno.ETIMEDOUT: HerdrUnavailableReason.TIMEOUT,
}


def unavailable(path: str, reason: HerdrUnavailableReason) -> HerdrUnavailable:
    """The error for `path`."""
    return HerdrUnavailable(reason, path)


def from_os(path: str, error: OSError) -> HerdrUnavailable:
    """What the system's error means."""
    number = error.errno or 0
    reason = _REASONS.get(number)
    if reason is None:
        return HerdrUnavailable(HerdrUnavailableReason.IO, path, number)
    return HerdrUnavailable(reason, path)


def unconnected(path: str) -> socket.socket:
    """A socket that does not block, for `connect`. Raises `HerdrUnavailable`."""
    if sys.platform == "win32" or not hasattr(socket, "AF_UNIX"):
        raise unavailable(path, HerdrUnavailableReason.UNSUPPORTED_PLATFORM)
    if not path or "\0" in path or is_client_socket(path):
        raise unavailable(path, HerdrUnavailableReason.BAD_NAME)
    try:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        raise from_os(path, error) from None
    made.setblocking(False)
    return made


def connect(unconnected: socket.socket, path: str) -> bool:
    """Connects without waiting; False where herdr's queue is full. Raises `HerdrUnavailable`.

    A Unix socket that does not block is either connected at once or not at all.
    """
    try:
        with _address(path) as address:
            unconnected.connect(address)
    except BlockingIOError:
        return False
    except OSError as error:
        raise from_os(path, error) from None
    return True


@contextlib.contextmanager
def _address(path: str) -> Iterator[str]:
    """`path`, or where it is too long a short name of the same socket."""
    if len(os.fsencode(path)) <= _SHORT_PATH:
        yield path
        return
    if not hasattr(os, "O_PATH"):
        raise unavailable(path, HerdrUnavailableReason.PATH_TOO_LONG)
    found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{found}"
    finally:
        os.close(found)
