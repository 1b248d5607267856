"""Puts the mod into a home folder, and takes it away again with all that it has left there.

Nothing beneath the home folder is reached through a link, and no file that is
not as some lettafast made it is changed or removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lettafast.binding.witness_file import FOLDER, OPEN_TO_OTHERS
from lettafast.errors import WitnessError, WitnessReason

from .mod import LARGEST, NAME, Found, State, recognized, text

LETTA = ".letta"
MODS = "mods"
CACHE = "mod-cache"
"""Where Letta Code keeps the copy that it loads. Source: 0.34.12, `getModCacheDirectory`."""

_CACHED = re.compile(r"\.letta-mod-lettafast-witness-[0-9a-f]{16}\.mjs")
_WITNESS = re.compile(r"([0-9]{1,10})\.(json|new)")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True)
class Removed:
    """What `uninstall` has taken away."""

    mod: Found
    """What had been installed."""
    witnesses: int
    """How many files of lettas that had ended, or never had the mod."""
    left: tuple[int, ...]
    """The pids of the lettas that still have the mod; each takes its file away when it exits."""


def mod_path(home: str) -> str:
    """Where the mod is installed."""
    return os.path.join(home, LETTA, MODS, NAME)


def installed(home: str) -> Found:
    """What lies at the mod's place. Raises `WitnessError` where that cannot be known."""
    with _folder(home, LETTA, MODS) as mods:
        return _look(mods, mod_path(home))


def check_place(home: str) -> None:
    """Raises `WitnessError` where the mod would write nothing: behind a link, or open to others."""
    with _folder(home, *FOLDER.split("/")) as folder:
        if folder is not None and os.fstat(folder).st_mode & OPEN_TO_OTHERS:
            raise WitnessError(WitnessReason.OPEN, os.path.join(home, FOLDER))


def install(home: str) -> Found:
    """Installs this version of the mod, unless it is there; returns what was there before.

    Raises `WitnessError`: where no Letta Code has run, where something else has
    the mod's name, where a link is in the way, and where nothing can be written.
    """
    check_place(home)
    path = mod_path(home)
    missing = WitnessError(WitnessReason.NO_LETTA, os.path.join(home, LETTA))
    with _folder(home, LETTA) as letta:
        if letta is None:
            raise missing
        with _told(os.path.join(home, LETTA, MODS)), contextlib.suppress(FileExistsError):
            os.mkdir(MODS, 0o755, dir_fd=letta)
    with _folder(home, LETTA, MODS) as mods:
        if mods is None:
            raise missing
        found = _look(mods, path)
        if found.state is not State.CURRENT:
            _refuse_what_is_not_ours(found, path)
            with _told(path):
                _write(mods, text(), replace=found.state is State.OTHER)
    return found


def uninstall(home: str, running: Collection[int]) -> Removed:
    """Removes the mod, Letta's copies of it, and the witnesses of all but the pids `running`.

    What is not there is not missed. Raises `WitnessError` as `install` does,
    before anything is removed where the mod is not as it was installed.
    """
    path = mod_path(home)
    with _folder(home, LETTA) as letta, _folder(home, LETTA, MODS) as mods:
        found = _look(mods, path)
        _refuse_what_is_not_ours(found, path)
        if letta is not None and mods is not None and found.state is not State.MISSING:
            with _told(path):
                os.unlink(NAME, dir_fd=mods)
            _remove_if_empty(MODS, letta)
    _remove_copies(home)
    return Removed(found, *_remove_witnesses(home, running))


def _refuse_what_is_not_ours(found: Found, path: str) -> None:
    if found.state in (State.CHANGED, State.FOREIGN):
        raise WitnessError(WitnessReason.NOT_OURS, path)


def _look(folder: int | None, path: str) -> Found:
    """What the mod's name in this folder leads to; None is the folder that is missing."""
    said = None if folder is None else _content(folder, NAME, path)
    return Found(State.MISSING) if said is None else recognized(said)


def _content(folder: int, name: str, path: str) -> bytes | None:
    """What a regular file begins with; b"" for what is none, None where nothing is there."""
    with _told(path):
        try:
            fd = os.open(name, _FILE, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            # A socket, or a device that nothing drives.
            if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):
                return b""
            raise
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return b""
            with open(fd, "rb", closefd=False) as file:
                return file.read(LARGEST)
        finally:
            os.close(fd)


def _write(folder: int, said: bytes, *, replace: bool) -> None:
    """Makes the mod appear at one blow; only with `replace` in the place of another file."""
    # Letta loads nothing whose name begins with a dot.
    new = f".{NAME}.{secrets.token_hex(8)}"
    # It is no secret, and what root installs for a user that user's Letta has to read.
    fd = os.open(new, _NEW, 0o644, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(said)
            file.flush()
            os.fsync(fd)
        if replace:
            os.replace(new, NAME, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.link(new, NAME, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)


def _remove_copies(home: str) -> None:
    path = os.path.join(home, LETTA, CACHE)
    with _folder(home, LETTA, CACHE) as cache:
        if cache is None:
            return
        for name in os.listdir(cache):
            if _CACHED.fullmatch(name):
                said = _content(cache, name, os.path.join(path, name)) or b""
                if recognized(said).state in (State.CURRENT, State.OTHER):
                    with _told(os.path.join(path, name)):
                        _unlink(name, cache)


def _remove_witnesses(home: str, running: Collection[int]) -> tuple[int, tuple[int, ...]]:
    """How many were removed, and the pids of those that were left."""
    parts = FOLDER.split("/")
    count = 0
    left: set[int] = set()
    try:
        with _folder(home, *parts) as folder:
            for name in [] if folder is None else os.listdir(folder):
                named = _WITNESS.fullmatch(name)
                if named is None:
                    continue
                if int(named[1]) in running:
                    left.add(int(named[1]))
                    continue
                with _told(os.path.join(home, FOLDER, name)):
                    count += _unlink(name, folder)
        for depth in (3, 2):
            with _folder(home, *parts[:depth]) as folder:
                if folder is not None:
                    _remove_if_empty(parts[depth], folder)
    except WitnessError as error:
        # The mod writes nothing through a link, so there is nothing of it.
        if error.reason is not WitnessReason.SYMLINK:
            raise
    return count, tuple(sorted(left))


def _unlink(name: str, folder: int | None) -> bool:
    """Whether there was such a file."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _remove_if_empty(name: str, folder: int) -> None:
    """An empty folder that stays is in nobody's way."""
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=folder)


@contextlib.contextmanager
def _folder(home: str, *parts: str) -> Iterator[int | None]:
    """A descriptor of the folder beneath `home` that `parts` lead to; None where one is missing.

    The home folder itself may be a link.
    """
    path = home
    with contextlib.ExitStack() as opened:
        here = _open(home, None, home)
        for part in parts:
            if here is None:
                break
            opened.callback(os.close, here)
            path = os.path.join(path, part)
            here = _open(part, here, path)
        if here is not None:
            opened.callback(os.close, here)
        yield here


def _open(name: str, folder: int | None, path: str) -> int | None:
    with _told(path):
        try:
            return os.open(name, _FOLDER | (0 if folder is None else os.O_NOFOLLOW), dir_fd=folder)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            # Linux says this of a link, too.
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise WitnessError(WitnessReason.SYMLINK, path) from None
            raise


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    """Says what went wrong at `path` as lettafast says it."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        if number == errno.ELOOP:
            raise WitnessError(WitnessReason.SYMLINK, path) from None
        if number in _DENIED:
            raise WitnessError(WitnessReason.PERMISSION_DENIED, path, number) from None
        raise WitnessError(WitnessReason.IO, path, number) from None
