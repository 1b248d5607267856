"""lettafast's mod for Letta Code: letta itself says which conversation it shows.

    from lettafast.witness import install, uninstall

    install("/home/user")

The mod is `lettafast-witness.js`. It is installed as it stands here, beneath
one line that says its version and the SHA-256 of the rest. By that line each
version of lettafast knows each version of the mod, and knows one that somebody
has changed, which it leaves alone.

What the mod writes is read by `lettafast.binding.witness_file`.
"""

from __future__ import annotations

from lettafast.binding.witness_file import VERSION

from .installer import Removed, check_place, install, installed, mod_path, uninstall
from .mod import Found, State
from .running import LettaStatus, Loaded, lettas_of

__all__ = [
    "VERSION",
    "Found",
    "LettaStatus",
    "Loaded",
    "Removed",
    "State",
    "check_place",
    "install",
    "installed",
    "lettas_of",
    "mod_path",
    "uninstall",
]
