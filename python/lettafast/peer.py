"""Who listens at a Unix socket, by what the kernel says."""

from __future__ import annotations

import socket
import struct
import sys

# macOS, <sys/un.h>: neither is in the socket module.
_SOL_LOCAL = 0
_LOCAL_PEERPID = 2


def peer_pid(connected: socket.socket) -> int | None:
    """The pid of the process that listens; 0 where its pid namespace is not seen from here.

    None where the system does not say.
    """
    try:
        if sys.platform == "darwin":
            return connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
        if not hasattr(socket, "SO_PEERCRED"):
            return None
        said = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    except OSError:
        return None
    pid: int = struct.unpack("iII", said)[0]
    return pid
