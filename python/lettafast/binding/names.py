"""How panes are named in addresses: by their session's socket and their terminal's id."""

from __future__ import annotations

import base64
import hashlib
import os

PROVIDER = "herdr"
_DIGITS = 16


def session_name(socket: str) -> str:
    """`herdr-` and 16 hexadecimal digits of the SHA-256 of the socket's absolute path."""
    path = os.fsencode(os.path.abspath(socket))
    return f"{PROVIDER}-{hashlib.sha256(path).hexdigest()[:_DIGITS]}"


def terminal_name(terminal_id: str) -> str:
    """The unpadded base64url of a terminal's id, which may hold any character."""
    data = terminal_id.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
