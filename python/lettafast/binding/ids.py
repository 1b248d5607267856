"""What Letta's ids look like, and which kind of conversation they name."""

from __future__ import annotations

import re
from typing import TypeGuard

DEFAULT = "default"
"""The conversation that every agent has; only together with its agent a name."""
LOCAL_AGENT = "agent-local-"
"""How the id of an agent of the local backend begins."""
LOCAL_CONVERSATION = "local-conv-"
"""How the id of any other conversation of such an agent begins."""

_ID = re.compile(r"[A-Za-z0-9._-]+")


def is_id(said: object) -> TypeGuard[str]:
    """Whether it names a folder of its own beneath the root, unchanged by Letta's sanitizing."""
    return isinstance(said, str) and said not in (".", "..") and bool(_ID.fullmatch(said))
