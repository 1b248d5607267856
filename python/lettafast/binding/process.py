"""The lettas that run: recognised by what they execute, named so that no other has the name.

Linux and macOS; elsewhere nothing is looked at.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .facts import Folder, Identity, ProcessFacts, Span
from .launch import Launch, launch_of, options_preload, program_named, runner_named, runner_of
from .pane import Terminal

if sys.platform == "darwin":
    from . import _darwin as _system
else:
    from . import _linux as _system

SUPPORTED = sys.platform in ("linux", "darwin")

LOOK_AGAIN = 0.3
"""For how long, in seconds, a forked child may show its parent's `argv` before it executes."""
_PAUSE = 0.03
_CLOCK_READINGS = 5


@dataclass(frozen=True, slots=True)
class RunningLetta:
    """A letta that runs on this machine."""

    identity: Identity
    started: Span
    folder: Folder | None
    """The folder that it is in."""
    home: str
    """The real path of its HOME."""


def boot_id() -> str:
    """The name of this boot. Raises `OSError` where the kernel does not tell."""
    return _system.boot_id()


def namespaces() -> str:
    """A name of where pids and start ticks mean what they mean to us, within this boot."""
    return _system.namespaces()


def ticks_now() -> int:
    """Now, in the unit of `Identity.start_ticks`."""
    return _system.ticks_now()


def clock_offset() -> float:
    """The wall clock minus the clock that only runs on (CLOCK_BOOTTIME): seconds."""
    bounds = [_system.clock_bounds() for _ in range(_CLOCK_READINGS)]
    least, most = min(bounds, key=lambda pair: pair[1] - pair[0])
    return (least + most) / 2


def identity_of(pid: int) -> Identity | None:
    """The process that has this pid now; None where none runs."""
    if not SUPPORTED:
        return None
    status = _system.status_of(pid)
    return None if status is None else Identity(boot_id(), pid, status.start_ticks)


def is_running(identity: Identity) -> bool:
    """Whether that very process still runs."""
    return identity_of(identity.pid) == identity


def is_gone(identity: Identity) -> bool:
    """Whether that very process surely runs no longer; one that cannot be looked at may."""
    found = identity_of(identity.pid)
    if found is not None:
        return found != identity
    try:
        os.kill(identity.pid, 0)
    except OverflowError:
        return True
    except OSError as error:
        return error.errno == errno.ESRCH
    return False


def folder_path(pid: int) -> str:
    """What to open for the folder that the process is in."""
    return _system.folder_path(pid)


def folder_name(pid: int) -> str | None:
    """The path of the folder that the process is in; None where that may not be known."""
    return _system.folder_name(pid) if SUPPORTED else None


def foregrounds(terminals: Sequence[Terminal | None]) -> Sequence[tuple[int, ...]]:
    """The pids of the process group in front of each terminal; none where that is not known.

    All processes are looked at once, however many terminals there are.
    """
    return _system.foregrounds(terminals) if SUPPORTED else [() for _ in terminals]


def runs_program(pid: int, name: str) -> bool:
    """Whether the process is known to run a file of this name."""
    executable = _system.executable_of(pid) if SUPPORTED else None
    return executable is not None and program_named(executable) == name


def peer_shares_pid_namespace(pid: int) -> bool:
    """Whether the peer of a socket, by the pid that the kernel gives, means by a pid what we do.

    The kernel gives 0 for a peer that has none here; no such process is found.
    """
    return SUPPORTED and _system.same_namespace(pid, "pid") is True


def look_at(pid: int) -> ProcessFacts | None:
    """The letta that has this pid; None where none runs or it is no letta.

    All facts are of one process that executes one thing: what names it is read
    again after the rest.
    """
    for _ in range(2):
        executable = _system.executable_of(pid)
        if executable is not None and runner_named(executable) is None:
            return None
        identity = identity_of(pid)
        if identity is None:
            return None
        argv, executable = _system.argv_of(pid), _system.executable_of(pid)
        facts = _facts(identity, argv, executable)
        if identity_of(pid) == identity and (argv, executable) == (
            _system.argv_of(pid),
            _system.executable_of(pid),
        ):
            return facts
    return None


def lettas_in(pids: Iterable[int]) -> tuple[ProcessFacts, ...]:
    """The lettas among `pids` that have no letta above them there.

    Before it executes, a forked child shows what its parent executes, so
    several are answered only when they are still there 0.3 s later.
    """
    among = tuple(dict.fromkeys(pids))
    deadline = time.monotonic() + LOOK_AGAIN
    while True:
        found = _topmost(among)
        if len(found) < 2 or time.monotonic() >= deadline:  # noqa: PLR2004 - several
            return found
        time.sleep(_PAUSE)


def running_lettas() -> tuple[RunningLetta, ...]:
    """Every running letta of this user and this file system that has an absolute HOME.

    All processes are looked at: one answer is enough for a look at many panes.
    """
    if not SUPPORTED:
        return ()
    return tuple(letta for pid in _system.pids() if (letta := _own_letta(pid)) is not None)


def _own_letta(pid: int) -> RunningLetta | None:
    executable = _system.executable_of(pid)
    if executable is not None and runner_named(executable) is None:
        return None
    # Nothing that another user's process names is opened.
    facts = look_at(pid) if _system.same_user(pid) else None
    if facts is None or not facts.same_user or not facts.same_root or facts.environ is None:
        return None
    home = facts.environ.get("HOME", "")
    if not os.path.isabs(home):
        return None
    return RunningLetta(facts.identity, facts.started, facts.folder, os.path.realpath(home))


def _topmost(pids: Iterable[int]) -> tuple[ProcessFacts, ...]:
    found = {facts.identity: facts for pid in pids if (facts := look_at(pid)) is not None}
    return tuple(
        facts for identity, facts in found.items() if not _has_ancestor(identity.pid, found)
    )


def _has_ancestor(pid: int, among: Mapping[Identity, ProcessFacts]) -> bool:
    seen = {pid}
    while (status := _system.status_of(pid)) is not None:
        pid = status.parent
        if pid in seen:
            break
        seen.add(pid)
        if identity_of(pid) in among:
            return True
    return False


def _facts(
    identity: Identity, argv: tuple[str, ...], executable: str | None
) -> ProcessFacts | None:
    if runner_of(executable, argv) is None:
        return None
    pid = identity.pid
    environ = _system.environ_of(pid)
    launch = launch_of(executable, argv, _system.root_path(pid), _folders(pid, environ))
    if launch is None:
        return None
    return ProcessFacts(
        identity=identity,
        started=_system.started(identity),
        argv=argv,
        arguments=launch.arguments,
        script=launch.script,
        folder=_system.folder_of(pid),
        environ=None if _adds_to_environ(launch, pid, environ or {}) else environ,
        same_user=_system.same_user(pid),
        same_pid_namespace=_system.same_namespace(pid, "pid"),
        same_mount_namespace=_system.same_namespace(pid, "mnt"),
        same_root=_system.same_root(pid),
        same_time_namespace=_system.same_namespace(pid, "time"),
    )


def _folders(pid: int, environ: Mapping[str, str] | None) -> list[str]:
    """Where a relative script may have been meant: where it was started, then where it is."""
    found = [(environ or {}).get("PWD"), _system.folder_name(pid)]
    return [folder for folder in found if folder and os.path.isabs(folder)]


def _adds_to_environ(launch: Launch, pid: int, environ: Mapping[str, str]) -> bool:
    """Whether Letta's environment may be another than the kernel shows.

    Node reads the file that `--env-file` names, Bun each `.env` of its folder,
    and what either preloads, by a flag or by Bun's `bunfig.toml`, can do anything.
    """
    if launch.preloads or options_preload(environ):
        return True
    if not launch.reads_env_files:
        return False
    try:
        names = os.listdir(_system.folder_path(pid))
    except OSError:
        return True
    return any(name.startswith(".env") or name == "bunfig.toml" for name in names)
