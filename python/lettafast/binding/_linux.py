"""Processes as Linux shows them: `/proc`, by proc(5) and namespaces(7)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from .facts import Folder, Identity, Span
from .folders import folder_at
from .pane import Terminal


@dataclass(frozen=True, slots=True)
class Status:
    """What `/proc/<pid>/stat` says."""

    parent: int
    group: int
    session: int
    terminal: int
    """The device number of the controlling terminal; 0 where there is none."""
    foreground: int
    """The process group in front of that terminal; -1 where there is none."""
    start_ticks: int


@cache
def boot_id() -> str:
    """The kernel's random name of this boot; the same in every container."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


@cache
def namespaces() -> str:
    """The numbers of our namespaces of pids and of time."""
    found = [_link("self", f"ns/{kind}") or "" for kind in ("pid", "time")]
    return "-".join("".join(filter(str.isdecimal, name)) for name in found)


def ticks_now() -> int:
    """Now, in the unit of `Identity.start_ticks`."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def clock_bounds() -> tuple[float, float]:
    """CLOCK_REALTIME minus CLOCK_BOOTTIME, within bounds: seconds."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = time.clock_gettime(time.CLOCK_REALTIME)
    after = time.clock_gettime(time.CLOCK_BOOTTIME)
    return now - after, now - before


def started(identity: Identity) -> Span:
    """When the process started, by the wall clock of now: Unix seconds."""
    least, most = clock_bounds()
    ticks = os.sysconf("SC_CLK_TCK")
    return Span(identity.start_ticks / ticks + least, (identity.start_ticks + 1) / ticks + most)


def pids() -> Iterator[int]:
    """Every process that is shown to us."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            yield int(name)


def status_of(pid: int) -> Status | None:
    """None where the process is gone, or dead and not yet waited for."""
    text = _bytes(pid, "stat")
    if text is None:
        return None
    # The name in parentheses may hold anything; what follows the last one is numbers.
    state, *rest = text[text.rindex(b")") + 1 :].split()
    if state in (b"Z", b"X", b"x"):
        return None
    parent, group, session, terminal, foreground = map(int, rest[:5])
    return Status(parent, group, session, _device(terminal), foreground, int(rest[18]))


def foregrounds(terminals: Sequence[Terminal | None]) -> Sequence[tuple[int, ...]]:
    """The pids of the process group in front of each terminal.

    A terminal is known by its session, whose number is unique here: a container may have
    another terminal of the same device number.
    """
    fronts = [None if terminal is None else _front(terminal) for terminal in terminals]
    if not any(fronts):
        return [() for _ in terminals]
    members: dict[tuple[int, int], list[int]] = {}
    for pid in pids():
        status = status_of(pid)
        if status is not None:
            members.setdefault((status.session, status.group), []).append(pid)
    return [() if front is None else tuple(members.get(front, ())) for front in fronts]


def _front(terminal: Terminal) -> tuple[int, int] | None:
    """The session of a terminal, and the process group in front of it."""
    status = status_of(terminal.leader)
    try:
        device = os.stat(terminal.path).st_rdev
    except (OSError, ValueError):
        return None
    if status is None or status.session != terminal.leader or status.terminal != device:
        return None
    return status.session, status.foreground


def _device(number: int) -> int:
    """A device's number as `stat` has it, from that of `/proc/<pid>/stat`."""
    major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
    return os.makedev(major, minor)


def argv_of(pid: int) -> tuple[str, ...]:
    """What it was started with, unless it wrote over that."""
    text = _bytes(pid, "cmdline") or b""
    return (
        tuple(os.fsdecode(word) for word in text.removesuffix(b"\0").split(b"\0")) if text else ()
    )


def executable_of(pid: int) -> str | None:
    """The file it runs; None where that may not be known."""
    return _link(pid, "exe")


def folder_of(pid: int) -> Folder | None:
    """The folder that it is in."""
    return folder_at(folder_path(pid))


def folder_path(pid: int) -> str:
    """What leads to the folder that it is in, for as long as it runs."""
    return f"/proc/{pid}/cwd"


def folder_name(pid: int) -> str | None:
    """The path of that folder as text, in whichever root."""
    return _link(pid, "cwd")


def environ_of(pid: int) -> Mapping[str, str] | None:
    """The environment that it was started with; None where it may not be read."""
    text = _bytes(pid, "environ")
    if text is None:
        return None
    found: dict[str, str] = {}
    for entry in text.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if equals:
            # As getenv(3) does, the first of two counts.
            found.setdefault(os.fsdecode(name), os.fsdecode(value))
    return found


def same_user(pid: int) -> bool:
    """Whether all its user ids are ours, and ours are one."""
    for line in (_bytes(pid, "status") or b"").splitlines():
        if line.startswith(b"Uid:"):
            ids = {int(number) for number in line.split()[1:]}
            return ids == set(os.getresuid()) == {os.geteuid()}
    return False


def same_namespace(pid: int, kind: str) -> bool | None:
    """Whether it is in our namespace of this kind; None where that may not be known."""
    try:
        ours = os.stat(f"/proc/self/ns/{kind}")
    except OSError:
        # This kernel has no such namespaces, so there is one.
        return True
    try:
        theirs = os.stat(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None
    return os.path.samestat(ours, theirs)


def same_root(pid: int) -> bool | None:
    """Whether its root is ours, also as a mount; None where that may not be known."""
    ours = _mounted("/")
    theirs = _mounted(f"/proc/{pid}/root")
    return None if ours is None or theirs is None else ours == theirs


def root_path(pid: int) -> str:
    """What to put before its absolute paths."""
    return "" if same_root(pid) is not False else f"/proc/{pid}/root"


def _mounted(path: str) -> tuple[int, int, str] | None:
    try:
        fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        return found.st_dev, found.st_ino, mount_id(fd)
    except OSError:
        return None
    finally:
        os.close(fd)


def mount_id(fd: int) -> str:
    """The id of the mount that a descriptor was opened on, as `mountinfo` has it; "" unknown."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        for line in file:
            if line.startswith("mnt_id:"):
                return line.split()[1]
    return ""


def _bytes(pid: int, name: str) -> bytes | None:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return None


def _link(pid: int | str, name: str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return None
