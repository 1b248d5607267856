"""Which running lettas have the mod."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from enum import Enum

from lettafast.binding import process
from lettafast.binding.facts import Identity, Problem, ProcessFacts, Witness
from lettafast.binding.witness_file import read_witness
from lettafast.binding.witnessed import FRESH_SECONDS

_OFF = ("LETTA_DISABLE_MODS", "LETTA_DISABLE_EXTENSIONS")
"""Where one of these is true, no mod is loaded. Source: Letta Code 0.34.12, `areModsDisabled`."""
_TRUE = ("1", "true", "yes", "on")
_HEADLESS = ("-p", "--prompt", "--run")
_TERMINAL = re.compile(r"/dev/(pts/|tty)")


class Loaded(Enum):
    """How the mod stands in one running letta."""

    LOADED = "loaded"
    STALE = "stale"
    """It was loaded, and that letta has not said so for a while: it is stopped, or very busy."""
    NOT_LOADED = "not_loaded"
    """`/reload`, or another start, loads what is installed."""
    MODS_OFF = "mods_off"
    """It was started so that it loads no mod."""
    HEADLESS = "headless"
    """It shows no conversation to anybody, so there is nothing to say."""


@dataclass(frozen=True, slots=True)
class LettaStatus:
    """One running letta of a home folder."""

    pid: int
    folder: str | None
    loaded: Loaded
    witness: Witness | None
    """What it says; only of one that is `loaded` or `stale`."""
    saw: str
    """What was seen where it is neither."""


def lettas_of(home: str) -> tuple[LettaStatus, ...]:
    """The running lettas of this user whose HOME is the same folder as `home`, by their pids."""
    real = os.path.realpath(home)
    found = [
        facts
        for letta in process.running_lettas()
        if letta.home == real and (facts := _again(letta.identity)) is not None
    ]
    statuses = {facts.identity: _status(home, facts) for facts in found}
    if any(status.loaded is Loaded.NOT_LOADED for status in statuses.values()):
        # What letta forks shows for a moment what letta itself executes.
        time.sleep(process.LOOK_AGAIN)
    return tuple(
        status
        for identity, status in sorted(statuses.items(), key=lambda item: item[0].pid)
        if status.loaded is not Loaded.NOT_LOADED or _again(identity) is not None
    )


def _again(identity: Identity) -> ProcessFacts | None:
    """What that very process is now; None where it has ended or executes something else."""
    facts = process.look_at(identity.pid)
    return facts if facts is not None and facts.identity == identity else None


def _status(home: str, facts: ProcessFacts) -> LettaStatus:
    identity = facts.identity
    folder = None if facts.folder is None else facts.folder.path
    witness = read_witness(home, identity, time.time())
    if isinstance(witness, Witness) and not witness.closed:
        fresh = time.time() - witness.touched_at <= FRESH_SECONDS
        state = Loaded.LOADED if fresh else Loaded.STALE
        return LettaStatus(identity.pid, folder, state, witness, "")
    saw = witness.saw if isinstance(witness, Problem) else f"{witness.path} is closed"
    # Its own rule: Letta Code 0.34.12, `isHeadlessStartup`.
    state = why_not(facts) if _has_terminal(identity.pid) else Loaded.HEADLESS
    return LettaStatus(identity.pid, folder, state, None, saw)


def _has_terminal(pid: int) -> bool:
    """Whether its standard input may be a terminal; a subagent gets its prompt by that."""
    try:
        return _TERMINAL.match(os.readlink(f"/proc/{pid}/fd/0")) is not None
    except OSError:
        return True


def _is_headless(arguments: tuple[str, ...]) -> bool:
    """Whether it was started as a command, such as `server`, or with a prompt to answer."""
    if arguments and not arguments[0].startswith("-"):
        return True
    return any(word.partition("=")[0] in _HEADLESS for word in arguments)


def why_not(facts: ProcessFacts) -> Loaded:
    """How the mod stands in a letta that has none: whether it could load it."""
    if _is_headless(facts.arguments):
        return Loaded.HEADLESS
    environ = facts.environ or {}
    off = any(environ.get(name, "").strip().lower() in _TRUE for name in _OFF)
    if off or "--no-mods" in facts.arguments:
        return Loaded.MODS_OFF
    return Loaded.NOT_LOADED
