"""What lettafast remembers of running processes and of the clock, on disk, from look to look.

One file for each boot and its namespaces: a state folder that several machines
or containers share keeps them apart, and no name of a process outlives its boot.
What was forgotten by damage is answered the safe way: every process that had
started by then is distrusted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from lettafast.strict_json import parse

from . import process
from .facts import Identity

_VERSION = 2
_MOST_MOVED = 10_000
_MOST_WRITABLE = 1_000
_LARGEST = 4 << 20
"""Of a file that is read: bytes. The bounds above keep it below 1 MiB."""
_LOCK_WAIT = 1.0
"""For another lettafast: seconds."""
_LOCK_PAUSE = 0.01
_IMPATIENT = 30.0
"""For how long nothing is waited for after that: seconds."""
_AT_ONCE = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_NEVER_READ = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ENODEV)
"""What reading again does not mend, as it may where there are too few descriptors."""
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
    lost_until: int = -1
    """Of each process that started at these ticks or before something may have been forgotten."""
    writable: dict[tuple[int, int, int], None] = field(default_factory=dict)
    """Device, inode and ctime of each file that was opened for writing, the oldest first."""


class Memory:
    """What is kept in `folder`: `LETTAFAST_STATE_DIR`, else the user's state folder.

    Where the folder cannot be used, all goes on within this process alone and
    `problem` says why. Safe for several threads and processes at once.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or os.environ.get("LETTAFAST_STATE_DIR") or _state_folder()
        """Absolute, or as it was given; "" where there is none."""
        self._boots: dict[str, _Boot] = {}
        self._read_at: dict[str, tuple[int, int, int]] = {}
        self._written: set[str] = set()
        """The boots whose file this process has written, and that has been well since."""
        self._problems: dict[str, str] = {}
        self._impatient_until = 0.0
        self._lock = threading.Lock()

    @property
    def problem(self) -> str | None:
        """Why what is to be remembered is not kept on disk now; None while all is well.

        Set from the first use on, for that writes, and None again once all was written.
        """
        return next(iter(self._problems.values()), None)

    def moved(self, identity: Identity) -> bool:
        """Whether this very process was once seen outside the folder it started in."""
        boot = self._known(identity.boot_id)
        return (identity.pid, identity.start_ticks) in boot.moved

    def distrusts(self, identity: Identity) -> bool:
        """Whether it may have been seen elsewhere, but what was remembered of it is lost."""
        return identity.start_ticks <= self._known(identity.boot_id).lost_until

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
        if not self.folder:
            return
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
        """What is known of the boot; what is not well on disk is made good."""
        with self._lock:
            self._merge(boot_id)
            well = boot_id in self._written
        if not well:
            with self._updated(boot_id):
                pass
        return self._boots[boot_id]

    def _merge(self, boot_id: str) -> bool:
        """Adds what the file says, also through other processes until now.

        False where it cannot be read for now, so that it must not be replaced.
        """
        boot = self._boots.setdefault(boot_id, _Boot())
        if not self.folder:
            return False
        path = self._path(boot_id)
        try:
            with _opened(path) as file:
                status = os.fstat(file.fileno())
                state = (status.st_ino, status.st_mtime_ns, status.st_size)
                if self._read_at.get(boot_id) == state:
                    return True
                kept = _parsed(file.read(_LARGEST + 1))
        except FileNotFoundError:
            self._written.discard(boot_id)
            return True
        except OSError as error:
            self._fail(boot_id, f"{path}: {error.strerror}")
            return error.errno in _NEVER_READ and self._lose(boot)
        except ValueError as error:
            self._fail(boot_id, f"{path}: {error}")
            return self._lose(boot)
        if boot.clock_offset is None or kept.clock_offset is not None:
            boot.clock_offset = kept.clock_offset
        boot.moved |= kept.moved
        boot.lost_until = max(boot.lost_until, kept.lost_until)
        boot.writable = {**kept.writable, **boot.writable}
        self._read_at[boot_id] = state
        return True

    def _lose(self, boot: _Boot) -> bool:
        boot.lost_until = process.ticks_now()
        return True

    def _fail(self, boot_id: str, problem: str) -> None:
        self._problems[boot_id] = problem
        self._written.discard(boot_id)

    @contextlib.contextmanager
    def _updated(self, boot_id: str) -> Iterator[_Boot]:
        """What is known of the boot, to be changed and then written."""
        with self._lock, contextlib.ExitStack() as stack:
            alone = self._lock_out_others(boot_id, stack)
            replaceable = self._merge(boot_id)
            boot = self._boots[boot_id]
            yield boot
            if not (alone and replaceable):
                return
            try:
                # The first time in any case: so it shows whether it can be done.
                _keep(self._path(boot_id), _text(boot), always=boot_id not in self._written)
            except OSError as error:
                self._fail(boot_id, f"{self.folder}: {error.strerror}")
            else:
                self._written.add(boot_id)
                self._problems.pop(boot_id, None)

    def _lock_out_others(self, boot_id: str, stack: contextlib.ExitStack) -> bool:
        """Whether other lettafasts are now locked out, until `stack` ends."""
        if not self.folder:
            self._fail(boot_id, "no state folder: LETTAFAST_STATE_DIR and HOME are not set")
            return False
        patient = time.monotonic() >= self._impatient_until
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            lock = os.path.join(self.folder, "lock")
            stack.enter_context(_locked(lock, _LOCK_WAIT if patient else 0))
        except OSError as error:
            if patient and isinstance(error, TimeoutError):
                self._impatient_until = time.monotonic() + _IMPATIENT
            self._fail(boot_id, f"{self.folder}: {error.strerror}")
            return False
        return True


def _state_folder() -> str:
    import platformdirs

    try:
        found = platformdirs.user_state_path("lettafast")
    except RuntimeError:
        # There is no HOME, and nobody knows this user.
        return ""
    return str(found) if found.is_absolute() else ""


def _opened(path: str) -> BinaryIO:
    """The file to be read; `ValueError` for what is no regular file, which is not waited for."""
    fd = os.open(path, os.O_RDONLY | _AT_ONCE)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ValueError("no regular file")
    return open(fd, "rb")


@contextlib.contextmanager
def _locked(path: str, patience: float) -> Iterator[None]:
    """Holds the lock file; `TimeoutError` where another holds it for longer than `patience`."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | _AT_ONCE, 0o600)
    try:
        deadline = time.monotonic() + patience
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


def _keep(path: str, text: str, *, always: bool) -> None:
    """Makes the file hold `text`, at one blow, if it does not already or `always`."""
    with contextlib.suppress(OSError, ValueError), _opened(path) as kept:
        if not always and kept.read(_LARGEST) == text.encode("ascii"):
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
            "lost_until": boot.lost_until,
            "writable": list(boot.writable),
        }
    )


def _parsed(text: bytes) -> _Boot:
    """`ValueError` for what lettafast would not have written."""
    said = parse(text)
    if not isinstance(said, dict) or said.get("version") != _VERSION:
        raise ValueError("not of the form that this lettafast writes")
    offset, until = said.get("clock_offset"), said.get("lost_until")
    if not isinstance(until, int) or not (offset is None or isinstance(offset, float)):
        raise ValueError("a number is missing")
    return _Boot(
        clock_offset=offset,
        moved={(pid, ticks) for pid, ticks in _tuples(said.get("moved"), 2)},
        lost_until=until,
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
        if not process.is_gone(Identity(boot_id, pid, ticks))
    }


def _make_room(boot_id: str, boot: _Boot) -> None:
    """Forgets those that are gone; what must go beyond that goes into `lost_until`."""
    if boot_id == process.boot_id():
        boot.moved = _running(boot_id, boot)
    oldest_first = sorted(boot.moved, key=lambda entry: entry[1])
    surplus = oldest_first[: max(0, len(oldest_first) - _MOST_MOVED)]
    for entry in surplus:
        boot.moved.discard(entry)
        boot.lost_until = max(boot.lost_until, entry[1])
