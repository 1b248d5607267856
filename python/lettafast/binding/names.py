"""How panes are named in addresses: by their server's socket and their terminal's id."""

from __future__ import annotations

import base64
import hashlib
import os
import re

_DIGITS = 16
_SESSION = re.compile(f"(herdr|tmux)-[0-9a-f]{{{_DIGITS}}}")


def session_name(provider: str, socket: str) -> str:
    """`<provider>-` and 16 hexadecimal digits of the SHA-256 of the socket's absolute path."""
    path = os.fsencode(os.path.abspath(socket))
    return f"{provider}-{hashlib.sha256(path).hexdigest()[:_DIGITS]}"


def is_session_name(text: str) -> bool:
    """Whether `text` has the form of what `session_name` gives."""
    return _SESSION.fullmatch(text) is not None


def terminal_name(terminal_id: str) -> str:
    """The unpadded base64url of a terminal's id, which may hold any character."""
    data = terminal_id.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
