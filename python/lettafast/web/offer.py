"""The offer to install lettafast's witness, where that would help.

This front-end changes nothing: it says what the command does, and the reader runs it.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lettafast.errors import LettafastError

if TYPE_CHECKING:  # needs the extra `binding`
    from lettafast.binding import BoundPane


@dataclass(frozen=True, slots=True)
class Offer:
    """What lets the lettas of one home folder say which conversation they show."""

    home: str
    command: str
    """What to type in a shell."""
    file: str
    """What that puts there: the mod that each letta of this home then loads."""
    folder: str
    """Where each of them keeps the one small file that it then writes."""


def offer_for(bound: BoundPane, is_missing: Callable[[str], bool]) -> Offer | None:
    """What would help this pane; None where nothing is known to.

    `is_missing` says of a home folder whether nothing is at the mod's place.
    """
    from lettafast.binding.advice import silent_witness
    from lettafast.binding.verdict import Reason, Terminal
    from lettafast.binding.witness_file import FOLDER
    from lettafast.witness import Loaded, mod_path
    from lettafast.witness.running import why_not

    verdict, letta = bound.verdict, bound.letta
    if sys.platform != "linux" or letta is None or not isinstance(verdict, Terminal):
        return None
    if silent_witness(verdict) is not Reason.WITNESS_MISSING:
        return None
    home = (letta.environ or {}).get("HOME", "")
    if not os.path.isabs(home) or why_not(letta) is not Loaded.NOT_LOADED or not is_missing(home):
        return None
    command = "lettafast witness install"
    if os.path.realpath(home) != os.path.realpath(os.path.expanduser("~")):
        command += f" --home {shlex.quote(home)}"
    return Offer(home, command, mod_path(home), os.path.join(home, FOLDER))


def is_mod_missing(home: str) -> bool:
    """Whether nothing is at the place of the mod beneath this home folder."""
    from lettafast.witness import State, installed

    try:
        return installed(home).state is State.MISSING
    except LettafastError:
        return False
