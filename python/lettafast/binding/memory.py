"""What lettafast remembers of running processes and of the clock, on disk, from look to look.

One file for each boot and its namespaces: a state folder that several machines
or containers share keeps them apart, and no name of a process outlives its boot.
What was forgotten by damage is answered the safe way: every process that had
started by then counts as one that has moved.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import process
from .facts import Identity
from .strict_json import parse

_VERSION = 1
_MOST_MOVED = 10_000
_MOST_WRITABLE = 1_000
_LARGEST = 4 << 20
"""Of a file that is read: bytes. The bounds above keep it below 1 MiB."""
_LOCK_WAIT = 1.0
"""For another lettafast: seconds."""
_LOCK_PAUSE = 0.01
_DAY = 86_400
_KEPT_DAYS = 100
"""How long the file of a boot is kept that no lettafast of that boot has used."""
_FILE = re.compile(r"boot-[A-Za-z0-9-]+\.json")


@dataclass(slots=True)
class _Boot:
    """What is remembered of one boot."""

    clock_offset: float | None = None
    """The wall clock minus CLOCK_BOOTTIME at the first look: seconds."""
    moved: set[tuple[int, int]] = field(default_factory=set)
    """Pid and start ticks of each process that was seen outside its start folder."""
    moved_until: int = -1
    """Every process that started at these ticks or before counts as moved."""
    writable: dict[tuple[int, int, int], None] = field(default_factory=dict)
    """Device, inode and ctime of each file that was opened for writing, the oldest first."""


class Memory:
    """What is kept in `folder`: `LETTAFAST_STATE_DIR`, else the user's state folder.

    Where the folder cannot be used, all goes on within this process alone and
    `problem` says why. Safe for several threads and processes at once.
    """

    problem: str | None = None
    """Why something could not be kept, or was lost; None while all is well."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or os.environ.get("LETTAFAST_STATE_DIR") or _state_folder()
        self._boots: dict[str, _Boot] = {}
        self._read_at: dict[str, tuple[int, int, int]] = {}
        self._damaged = False
        self._lock = threading.Lock()

    def moved(self, identity: Identity) -> bool:
        """Whether this very process was once seen outside the folder it started in."""
        boot = self._known(identity.boot_id)
        return (
            identity.start_ticks <= boot.moved_until
            or (identity.pid, identity.start_ticks) in boot.moved
        )

    def remember_moved(self, identity: Identity) -> None:
        """Remembers that this process was seen elsewhere, for as long as it runs."""
        if self.moved(identity):
            return
        with self._updated(identity.boot_id) as boot:
            boot.moved.add((identity.pid, identity.start_ticks))
            if len(boot.moved) > _MOST_MOVED:
                _make_room(identity.boot_id, boot)

    def clock_moved(self, boot_id: str, offset: float) -> float:
        """By how many seconds `offset` differs from that of the first look in this boot.

        `offset` is `process.clock_offset()`.
        """
        first = self._known(boot_id).clock_offset
        if first is None:
            with self._updated(boot_id) as boot:
                if boot.clock_offset is None:
                    boot.clock_offset = offset
                first = boot.clock_offset
        return offset - first

    def writable(self, device: int, inode: int, ctime_ns: int, try_it: Callable[[], bool]) -> bool:
        """Whether a file in this state can be written; `try_it` is asked until it once says yes.

        A no is not kept: it disturbs nobody to try again, and a file system
        that becomes writable moves no ctime.
        """
        key = (device, inode, ctime_ns)
        boot_id = process.boot_id()
        if key in self._known(boot_id).writable:
            return True
        if not try_it():
            return False
        with self._updated(boot_id) as boot:
            boot.writable[key] = None
            while len(boot.writable) > _MOST_WRITABLE:
                del boot.writable[next(iter(boot.writable))]
        return True

    def prune(self) -> None:
        """Forgets the processes of this boot that are gone, and the files of boots long past."""
        boot_id = process.boot_id()
        with self._updated(boot_id) as boot:
            boot.moved = _running(boot_id, boot)
        oldest = time.time() - _KEPT_DAYS * _DAY
        with contextlib.suppress(OSError):
            own = self._path(boot_id)
            if os.stat(own).st_mtime < time.time() - _DAY:
                # So that it does not seem to be of a boot long past.
                os.utime(own)
            for name in os.listdir(self.folder):
                path = os.path.join(self.folder, name)
                if _FILE.fullmatch(name) and os.stat(path).st_mtime < oldest:
                    os.unlink(path)

    def _path(self, boot_id: str) -> str:
        name = re.sub("[^A-Za-z0-9-]", "-", f"{boot_id}-{process.namespaces()}")
        return os.path.join(self.folder, f"boot-{name}.json")

    def _known(self, boot_id: str) -> _Boot:
        """What is known of the boot; a file that was damaged is made good."""
        with self._lock:
            boot = self._current(boot_id)
        if self._damaged:
            with self._updated(boot_id):
                pass
        return boot

    def _current(self, boot_id: str) -> _Boot:
        """What is known of the boot, also through other processes until now."""
        boot = self._boots.setdefault(boot_id, _Boot())
        path = self._path(boot_id)
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                state = (status.st_ino, status.st_mtime_ns, status.st_size)
                if self._read_at.get(boot_id) == state:
                    return boot
                kept = _parsed(file.read(_LARGEST + 1))
        except FileNotFoundError:
            return boot
        except (OSError, ValueError) as error:
            self._distrust(boot, f"{path}: {error}")
            return boot
        if boot.clock_offset is None or kept.clock_offset is not None:
            boot.clock_offset = kept.clock_offset
        boot.moved |= kept.moved
        boot.moved_until = max(boot.moved_until, kept.moved_until)
        boot.writable = {**kept.writable, **boot.writable}
        self._read_at[boot_id] = state
        return boot

    def _distrust(self, boot: _Boot, problem: str) -> None:
        self.problem = problem
        self._damaged = True
        boot.moved_until = process.ticks_now()

    @contextlib.contextmanager
    def _updated(self, boot_id: str) -> Iterator[_Boot]:
        """What is known of the boot, to be changed and then written."""
        with self._lock, contextlib.ExitStack() as stack:
            try:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                stack.enter_context(_locked(os.path.join(self.folder, "lock")))
            except OSError as error:
                self.problem = f"{self.folder}: {error.strerror}"
                yield self._current(boot_id)
                return
            boot = self._current(boot_id)
            yield boot
            try:
                _keep(self._path(boot_id), _text(boot))
                self._damaged = False
            except OSError as error:
                self.problem = f"{self.folder}: {error.strerror}"


def _state_folder() -> str:
    import platformdirs

    return str(platformdirs.user_state_path("lettafast"))


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Holds the lock file; `TimeoutError` where another holds it for too long."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + _LOCK_WAIT
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise TimeoutError(0, "another process holds the lock") from None
            time.sleep(_LOCK_PAUSE)
        yield
    finally:
        os.close(fd)


def _keep(path: str, text: str) -> None:
    """Makes the file hold `text`, at one blow, if it does not already."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as kept:
        if kept.read(_LARGEST) == text:
            return
    fd, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix="new-")
    try:
        with open(fd, "w", encoding="ascii") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _text(boot: _Boot) -> str:
    return json.dumps(
        {
            "version": _VERSION,
            "clock_offset": boot.clock_offset,
            "moved": sorted(boot.moved),
            "moved_until": boot.moved_until,
            "writable": list(boot.writable),
        }
    )


def _parsed(text: bytes) -> _Boot:
    """`ValueError` for what lettafast would not have written."""
    said = parse(text)
    if not isinstance(said, dict) or said.get("version") != _VERSION:
        raise ValueError("not of the form that this lettafast writes")
    offset, until = said.get("clock_offset"), said.get("moved_until")
    if not isinstance(until, int) or not (offset is None or isinstance(offset, float)):
        raise ValueError("a number is missing")
    return _Boot(
        clock_offset=offset,
        moved={(pid, ticks) for pid, ticks in _tuples(said.get("moved"), 2)},
        moved_until=until,
        writable=dict.fromkeys(
            (device, inode, ctime) for device, inode, ctime in _tuples(said.get("writable"), 3)
        ),
    )


def _tuples(said: Any, length: int) -> list[list[int]]:
    if isinstance(said, list) and all(
        isinstance(entry, list)
        and len(entry) == length
        and all(isinstance(number, int) for number in entry)
        for entry in said
    ):
        return said
    raise ValueError("a list is missing")


def _running(boot_id: str, boot: _Boot) -> set[tuple[int, int]]:
    return {
        (pid, ticks)
        for pid, ticks in boot.moved
        if process.is_running(Identity(boot_id, pid, ticks))
    }


def _make_room(boot_id: str, boot: _Boot) -> None:
    """Forgets those that are gone; what must go beyond that goes into `moved_until`."""
    if boot_id == process.boot_id():
        boot.moved = _running(boot_id, boot)
    oldest_first = sorted(boot.moved, key=lambda entry: entry[1])
    surplus = oldest_first[: max(0, len(oldest_first) - _MOST_MOVED)]
    for entry in surplus:
        boot.moved.discard(entry)
        boot.moved_until = max(boot.moved_until, entry[1])
