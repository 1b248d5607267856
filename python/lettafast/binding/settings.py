"""Letta's settings: the record of a folder, and the `env` of the user's own settings.

Source: Letta Code 0.34.12, class `SettingsManager`. The record is the last
session that a letta of that folder started or switched to. It is read, merged,
truncated and written again in place.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import Any

from lettafast._beneath import Root
from lettafast.errors import SourceError, SourceReason
from lettafast.strict_json import parse

from .facts import FileTimes, Problem, Record, Session
from .filesystems import filesystem_of
from .ids import is_id
from .memory import Memory
from .steady import UnsteadyError, file_times, read_json
from .verdict import Reason

_LETTA = ".letta"
_NAME = "settings.local.json"
_RECORD = f"{_LETTA}/{_NAME}"
_LARGEST = 1 << 20
"""Of a record that is read: bytes. One that Letta wrote has some thousands."""
_LARGEST_SETTINGS = 16 << 20
"""Of the user's own settings: bytes."""
_LOOK = os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
_FOLDER = os.O_DIRECTORY | _LOOK
_DENIED = frozenset((errno.EACCES, errno.EPERM))
_READ_ONLY = _DENIED | {errno.EROFS, errno.ETXTBSY}
_LASTING = _DENIED | {errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ENXIO, errno.ENODEV}
"""What looking again does not mend; too few descriptors, or a failing disk, may pass."""


def read_record(folder: str, memory: Memory) -> Record | Problem:
    """The record of the folder that `folder` leads to (`process.folder_path` of a process).

    No link is followed beneath it. Whether the record can be written is tried
    once for each state of it, by `memory`.
    """
    try:
        fd = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return Problem(Reason.CHANGED_WHILE_READING, "the folder can no longer be opened")
    except OSError as error:
        refused = _refused(error.errno, "the letta's folder", Reason.CHANGED_WHILE_READING)
        return Problem(refused.reason, refused.saw)
    except ValueError as error:
        return Problem(Reason.CHANGED_WHILE_READING, f"the letta's folder: {error}")
    try:
        return _record(fd, _name_of(fd, folder), memory)
    except _RefusedError as refused:
        return Problem(refused.reason, refused.saw)
    finally:
        os.close(fd)


def record_times(folder: str) -> FileTimes | None:
    """The times of the record that lies there now; None where none can be opened."""
    try:
        with Root(folder) as root:
            return file_times(root.status(_RECORD))
    except (SourceError, OSError):
        return None


def settings_env(config: str) -> Mapping[str, str] | Problem:
    """The `env` of the settings in Letta's own folder; empty where there are no settings.

    This folder is the user's, who may have made the file a link, and the values
    only choose a key of the record.
    """
    path = os.path.join(config, "settings.json")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        return {}
    except OSError as error:
        return _settings_problem(path, error)
    except ValueError as error:
        return Problem(Reason.STORE_UNKNOWN, f"{path}: {error}")
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Problem(Reason.STORE_UNKNOWN, f"{path} is no regular file")
        if status.st_size > _LARGEST_SETTINGS:
            return Problem(Reason.STORE_UNKNOWN, f"{path}: {status.st_size:,} bytes")
        said = parse(os.read(fd, _LARGEST_SETTINGS))
    except OSError as error:
        return _settings_problem(path, error)
    except ValueError as error:
        return Problem(Reason.STORE_UNKNOWN, f"{path}: {error}")
    finally:
        os.close(fd)
    env = said.get("env") if isinstance(said, dict) else None
    if not isinstance(env, dict):
        return {}
    return {name: value for name, value in env.items() if isinstance(value, str)}


def _settings_problem(path: str, error: OSError) -> Problem:
    lasting = error.errno in _LASTING
    reason = Reason.STORE_UNKNOWN if lasting else Reason.CHANGED_WHILE_READING
    return Problem(reason, f"{path}: {error.strerror}")


class _RefusedError(Exception):
    """The record cannot be had, or is none."""

    def __init__(self, reason: Reason, saw: str) -> None:
        self.reason = reason
        self.saw = saw
        super().__init__(saw)


def _refused(number: int | None, what: str, lasting: Reason) -> _RefusedError:
    """What the number of an error means; `lasting` where something else lies there."""
    words = os.strerror(number or 0)
    if number in _DENIED:
        return _RefusedError(Reason.RECORD_UNWRITABLE, f"{what} cannot be read: {words}")
    reason = lasting if number in _LASTING else Reason.CHANGED_WHILE_READING
    return _RefusedError(reason, f"{what}: {words}")


def _record(folder_fd: int, folder: str, memory: Memory) -> Record:
    # The descriptor's own link: beneath it lies what lies beneath the folder, wherever that is.
    root_path = f"/proc/self/fd/{folder_fd}" if os.path.exists("/proc/self/fd") else folder
    letta = _letta_folder(folder_fd, folder)
    try:
        before = os.fstat(letta)
        with Root(root_path) as root:
            said, file = _read(root, folder)
        sessions, last, agent = _sessions(said)
        filesystem, writable = _place(letta, file, memory)
        # Still the folder's, and not one that was put in its place meanwhile.
        after = os.stat(_LETTA, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        raise _RefusedError(
            Reason.RECORD_CHANGED, f"{folder}/{_RECORD} went away while it was read"
        ) from None
    except OSError as error:
        raise _refused(error.errno, f"{folder}/{_RECORD}", Reason.RECORD_CHANGED) from None
    except SourceError as error:
        raise _unopened(error, f"{folder}/{_RECORD}") from None
    finally:
        os.close(letta)
    if file_times(before) != file_times(after):
        raise _RefusedError(Reason.RECORD_CHANGED, f"{folder}/{_RECORD} changed while it was read")
    return Record(
        path=f"{folder}/{_RECORD}",
        sessions=sessions,
        last_session=last,
        last_agent=agent,
        file=file,
        letta_folder=file_times(after),
        filesystem=filesystem,
        writable=writable,
    )


def _letta_folder(folder_fd: int, folder: str) -> int:
    path = f"{folder}/{_LETTA}"
    try:
        return os.open(_LETTA, _FOLDER | os.O_NOFOLLOW, dir_fd=folder_fd)
    except FileNotFoundError:
        raise _RefusedError(Reason.RECORD_MISSING, f"there is no {path}") from None
    except OSError as error:
        raise _refused(error.errno, path, Reason.RECORD_INVALID) from None


def _read(root: Root, folder: str) -> tuple[Any, FileTimes]:
    path = f"{folder}/{_RECORD}"
    try:
        return read_json(root, _RECORD, _LARGEST)
    except UnsteadyError:
        raise _RefusedError(
            Reason.RECORD_CHANGED, f"{path} was empty, half or changing at each of five looks"
        ) from None
    except ValueError as error:
        raise _RefusedError(Reason.RECORD_INVALID, f"{path}: {error}") from None


def _unopened(error: SourceError, path: str) -> _RefusedError:
    if error.reason is SourceReason.PERMISSION_DENIED:
        return _refused(errno.EACCES, path, Reason.RECORD_INVALID)
    if error.reason is SourceReason.IO:
        return _refused(error.errno, path, Reason.RECORD_INVALID)
    missing = error.reason is SourceReason.MISSING
    reason = Reason.RECORD_MISSING if missing else Reason.RECORD_INVALID
    return _RefusedError(reason, f"{path}: {str(error.reason).replace('_', ' ')}")


def _sessions(said: Any) -> tuple[dict[str, Session], Session | None, str | None]:
    """All that the record says of sessions; one that is invalid makes the record so."""
    if not isinstance(said, dict):
        raise _RefusedError(Reason.RECORD_INVALID, "the record is no object")
    by_server = said.get("sessionsByServer")
    if by_server is None:
        by_server = {}
    if not isinstance(by_server, dict):
        raise _RefusedError(Reason.RECORD_INVALID, "sessionsByServer is no object")
    sessions = {key: _session(value, f"the session of {key!r}") for key, value in by_server.items()}
    last = said.get("lastSession")
    agent = said.get("lastAgent")
    if agent is not None and not is_id(agent):
        raise _RefusedError(Reason.RECORD_INVALID, "lastAgent is no id")
    return sessions, None if last is None else _session(last, "lastSession"), agent


def _session(said: Any, what: str) -> Session:
    if isinstance(said, dict):
        agent, conversation = said.get("agentId"), said.get("conversationId")
        if is_id(agent) and is_id(conversation):
            return Session(agent, conversation)
    raise _RefusedError(Reason.RECORD_INVALID, f"{what} is not an agent and a conversation")


def _place(letta: int, file: FileTimes, memory: Memory) -> tuple[str, bool]:
    """The record's file system, and whether it can be written there.

    The file is asked, not its folder: it may be a mount of its own.
    """
    fd = os.open(_NAME, _LOOK | os.O_NOFOLLOW, dir_fd=letta)
    try:
        if file_times(os.fstat(fd)) != file:
            raise _RefusedError(Reason.RECORD_CHANGED, "the record changed while it was read")
        # A file system may become read-only without any file's ctime moving.
        writable = not os.fstatvfs(fd).f_flag & os.ST_RDONLY and memory.writable(
            file.device, file.inode, file.ctime_ns, lambda: _opens_for_writing(letta, file)
        )
        filesystem = filesystem_of(fd)
        if isinstance(filesystem, Problem):
            raise _RefusedError(filesystem.reason, filesystem.saw)
        return filesystem, writable
    finally:
        os.close(fd)


def _opens_for_writing(letta: int, file: FileTimes) -> bool:
    """Whether Letta's `open` would succeed: `access` does not know of append-only files."""
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        fd = os.open(_NAME, flags, dir_fd=letta)
    except OSError as error:
        if error.errno in _READ_ONLY:
            return False
        raise
    try:
        return file_times(os.fstat(fd)) == file
    finally:
        os.close(fd)


def _name_of(fd: int, folder: str) -> str:
    """The folder's real path, for people."""
    return os.path.realpath(f"/proc/self/fd/{fd}" if os.path.exists("/proc/self/fd") else folder)
