"""Safe opening beneath a trusted folder: no link is followed on the way."""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType

from .errors import SourceError, SourceReason

# O_PATH (Linux) needs only the right to pass through a folder, as opening by a path does.
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_NO_LINK = getattr(os, "O_NOFOLLOW_ANY", os.O_NOFOLLOW)
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | _NO_LINK

_REASONS = {
    errno.ENOENT: SourceReason.MISSING,
    errno.ENOTDIR: SourceReason.MISSING,
    errno.ELOOP: SourceReason.SYMLINK,
    errno.EACCES: SourceReason.PERMISSION_DENIED,
    errno.EPERM: SourceReason.PERMISSION_DENIED,
    # Opening a socket, or a device that nothing drives.
    errno.ENXIO: SourceReason.NOT_REGULAR,
    errno.ENODEV: SourceReason.NOT_REGULAR,
    errno.EOPNOTSUPP: SourceReason.NOT_REGULAR,
}


class Root:
    """A trusted folder, opened once; links in its own path are followed.

    Raises `SourceError` when it cannot be opened. Every name beneath it is
    relative, with `/` between its parts.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._fd = os.open(path, _FOLDER)
        except ValueError:
            raise SourceError(SourceReason.BAD_NAME, path) from None
        except OSError as error:
            if error.errno == errno.ENOTDIR:
                raise SourceError(SourceReason.NOT_REGULAR, path) from None
            raise _source_error(error, path) from None

    def close(self) -> None:
        """Gives the descriptor back. Closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        # Where opening failed there is no descriptor yet.
        if hasattr(self, "_fd"):
            self.close()

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open_file(self, relative: str) -> tuple[int, os.stat_result]:
        """A descriptor of the regular file `relative`, which the caller closes, and its `fstat`."""
        name = self._name(relative)
        *folders, last = checked_parts(relative, name)
        folder = self._folder(folders, name)
        try:
            return _regular(last, folder, name)
        finally:
            os.close(folder)

    def status(self, relative: str) -> os.stat_result:
        """What `fstat` says of the regular file `relative`."""
        fd, found = self.open_file(relative)
        os.close(fd)
        return found

    def folders(self, relative: str) -> list[str]:
        """The names of the folders directly beneath `relative` ("" is the root), sorted.

        Links are left out, whatever they point to.
        """
        name = self._name(relative)
        folder = self._folder(checked_parts(relative, name) if relative else [], name)
        try:
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(listed) as found:
                    return sorted(
                        entry.name for entry in found if entry.is_dir(follow_symlinks=False)
                    )
            finally:
                os.close(listed)
        except OSError as error:
            raise _source_error(error, name) from None
        finally:
            os.close(folder)

    def _name(self, relative: str) -> str:
        return os.path.join(self.path, relative) if relative else self.path

    def _folder(self, folders: list[str], name: str) -> int:
        """A descriptor of the folder that `folders` lead to."""
        try:
            here = os.dup(self._fd)
        except OSError as error:
            raise _source_error(error, name) from None
        try:
            for part in folders:
                below = _folder_at(part, here, name)
                os.close(here)
                here = below
        except BaseException:
            os.close(here)
            raise
        return here


def checked_parts(relative: str, name: str) -> list[str]:
    """The parts of `relative`; `bad_name` when one could lead elsewhere, before any system call."""
    found = relative.split("/")
    if "\0" in relative or any(part in ("", ".", "..") for part in found):
        raise SourceError(SourceReason.BAD_NAME, name)
    return found


def _folder_at(part: str, folder: int, name: str) -> int:
    try:
        return os.open(part, _FOLDER | _NO_LINK, dir_fd=folder)
    except OSError as error:
        # Linux says ENOTDIR of a link too.
        if error.errno == errno.ENOTDIR and _is_link(part, folder):
            raise SourceError(SourceReason.SYMLINK, name) from None
        raise _source_error(error, name) from None


def _is_link(part: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _regular(last: str, folder: int, name: str) -> tuple[int, os.stat_result]:
    try:
        fd = os.open(last, _FILE, dir_fd=folder)
    except OSError as error:
        raise _source_error(error, name) from None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise SourceError(SourceReason.NOT_REGULAR, name)
    except OSError as error:
        os.close(fd)
        raise _source_error(error, name) from None
    except BaseException:
        os.close(fd)
        raise
    return fd, found


def _source_error(error: OSError, name: str) -> SourceError:
    reason = _REASONS.get(error.errno or 0)
    if reason is None:
        return SourceError(SourceReason.IO, name, error.errno or 0)
    return SourceError(reason, name)
