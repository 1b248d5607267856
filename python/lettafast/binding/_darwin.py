"""Processes as macOS shows them, through psutil; None for what it cannot say."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from .facts import Folder, Identity, Span
from .folders import folder_at
from .pane import Terminal

_MICROSECONDS = 1_000_000
_PS = ("/bin/ps", "-A", "-o", "pid=,pgid=,tpgid=,tty=")
_PS_SECONDS = 2.0
_UNCERTAIN = 0.001
"""By how much psutil's float may be off what the kernel has: seconds."""


@dataclass(frozen=True, slots=True)
class Status:
    """The parent, and the start in microseconds since 1970: macOS counts no ticks."""

    parent: int
    start_ticks: int


@cache
def boot_id() -> str:
    """The name that the kernel gave this boot."""
    text = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, 0):
        raise OSError(ctypes.get_errno(), "kern.bootsessionuuid")
    return text.value.decode("ascii")


def namespaces() -> str:
    """Nothing: macOS has no namespaces."""
    return ""


def ticks_now() -> int:
    """Now, in the unit of `Identity.start_ticks`."""
    return int(time.time() * _MICROSECONDS)


def clock_bounds() -> tuple[float, float]:
    """CLOCK_REALTIME minus the monotonic clock, which runs on in sleep: seconds."""
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    now = time.clock_gettime(time.CLOCK_REALTIME)
    after = time.clock_gettime(time.CLOCK_MONOTONIC)
    return now - after, now - before


def started(identity: Identity) -> Span:
    """When the process started, by the wall clock of then: Unix seconds."""
    start = identity.start_ticks / _MICROSECONDS
    return Span(start - _UNCERTAIN, start + _UNCERTAIN)


def pids() -> Iterator[int]:
    """Every process that is shown to us."""
    import psutil

    yield from psutil.pids()


def status_of(pid: int) -> Status | None:
    """None where the process is gone, or dead and not yet waited for."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Status(process.ppid(), round(process.create_time() * _MICROSECONDS))
    except psutil.Error:
        return None


def foregrounds(terminals: Sequence[Terminal | None]) -> Sequence[tuple[int, ...]]:
    """The pids of the process group in front of each terminal, as `ps` names it."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            _PS, capture_output=True, timeout=_PS_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return [() for _ in terminals]
    members: dict[str, list[int]] = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        pid, group, foreground, tty = line.split(None, 3)
        if group == foreground:
            members.setdefault(f"/dev/{tty.strip()}", []).append(int(pid))
    return [() if found is None else tuple(members.get(found.path, ())) for found in terminals]


def argv_of(pid: int) -> tuple[str, ...]:
    """What it was started with, unless it wrote over that."""
    import psutil

    try:
        return tuple(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ()


def executable_of(pid: int) -> str | None:
    """The file it runs; None where that may not be known."""
    import psutil

    try:
        return psutil.Process(pid).exe() or None
    except psutil.Error:
        return None


def folder_of(pid: int) -> Folder | None:
    """The folder that it is in."""
    name = folder_name(pid)
    return None if name is None else folder_at(name)


def folder_path(pid: int) -> str:
    """What leads to the folder that it is in; "" where that may not be known."""
    return folder_name(pid) or ""


def folder_name(pid: int) -> str | None:
    """The path of that folder."""
    import psutil

    try:
        return psutil.Process(pid).cwd() or None
    except psutil.Error:
        return None


def environ_of(pid: int) -> Mapping[str, str] | None:
    """The environment that it was started with; None where it may not be read."""
    import psutil

    try:
        return psutil.Process(pid).environ()
    except psutil.Error:
        return None


def same_user(pid: int) -> bool:
    """Whether all its user ids are ours."""
    import psutil

    try:
        return set(psutil.Process(pid).uids()) == {os.getuid(), os.geteuid()}
    except psutil.Error:
        return False


def same_namespace(_pid: int, _kind: str) -> bool | None:
    """True: macOS has no namespaces."""
    return True


def same_root(_pid: int) -> bool | None:
    """True: nothing tells, and only root can change its root."""
    return True


def root_path(_pid: int) -> str:
    """What to put before its absolute paths."""
    return ""
