"""Letta's settings: the record of a folder, and the `env` of the user's own settings.

Source: Letta Code 0.34.12, class `SettingsManager`. The record is the last
session that a letta of that folder started or switched to. It is read, merged,
truncated and written again in place.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import Any, TypeGuard

from lettafast._beneath import Root
from lettafast.errors import SourceError, SourceReason

from .facts import FileTimes, Problem, Record, Session
from .filesystems import filesystem_of
from .memory import Memory
from .steady import UnsteadyError, file_times, read_json
from .strict_json import parse
from .verdict import Reason

_LETTA = ".letta"
_NAME = "settings.local.json"
_RECORD = f"{_LETTA}/{_NAME}"
_LARGEST = 16 << 20
"""Of a settings file that is read: bytes."""
_LOOK = os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
_FOLDER = os.O_DIRECTORY | _LOOK
_ID = re.compile(r"[A-Za-z0-9._-]+")


def read_record(folder: str, memory: Memory) -> Record | Problem:
    """The record of the folder that `folder` leads to (`process.folder_path` of a process).

    No link is followed beneath it. Whether the record can be written is tried
    once for each state of it, by `memory`.
    """
    try:
        fd = os.open(folder, _FOLDER)
    except (OSError, ValueError):
        return Problem(Reason.CHANGED_WHILE_READING, "the folder can no longer be opened")
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
    except SourceError:
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
        return Problem(Reason.STORE_UNKNOWN, f"{path}: {error.strerror}")
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return Problem(Reason.STORE_UNKNOWN, f"{path} is no regular file")
        said = parse(os.read(fd, _LARGEST))
    except (OSError, ValueError) as error:
        return Problem(Reason.STORE_UNKNOWN, f"{path}: {error}")
    finally:
        os.close(fd)
    env = said.get("env") if isinstance(said, dict) else None
    if not isinstance(env, dict):
        return {}
    return {name: value for name, value in env.items() if isinstance(value, str)}


class _RefusedError(Exception):
    """The record cannot be had, or is none."""

    def __init__(self, reason: Reason, saw: str) -> None:
        self.reason = reason
        self.saw = saw
        super().__init__(saw)


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
    except OSError as error:
        raise _RefusedError(Reason.RECORD_CHANGED, f"{folder}/{_LETTA}: {error.strerror}") from None
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
        raise _RefusedError(Reason.RECORD_INVALID, f"{path}: {error.strerror}") from None


def _read(root: Root, folder: str) -> tuple[Any, FileTimes]:
    path = f"{folder}/{_RECORD}"
    try:
        return read_json(root, _RECORD, _LARGEST)
    except UnsteadyError:
        raise _RefusedError(
            Reason.RECORD_CHANGED, f"{path} was empty, half or changing at each of five looks"
        ) from None
    except SourceError as error:
        missing = error.reason is SourceReason.MISSING
        reason = Reason.RECORD_MISSING if missing else Reason.RECORD_INVALID
        raise _RefusedError(reason, f"{path}: {str(error.reason).replace('_', ' ')}") from None
    except ValueError as error:
        raise _RefusedError(Reason.RECORD_INVALID, f"{path}: {error}") from None


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
    if agent is not None and not _is_id(agent):
        raise _RefusedError(Reason.RECORD_INVALID, "lastAgent is no id")
    return sessions, None if last is None else _session(last, "lastSession"), agent


def _session(said: Any, what: str) -> Session:
    if isinstance(said, dict):
        agent, conversation = said.get("agentId"), said.get("conversationId")
        if _is_id(agent) and _is_id(conversation):
            return Session(agent, conversation)
    raise _RefusedError(Reason.RECORD_INVALID, f"{what} is not an agent and a conversation")


def _is_id(said: Any) -> TypeGuard[str]:
    return isinstance(said, str) and said not in (".", "..") and bool(_ID.fullmatch(said))


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
        return filesystem_of(fd), writable
    finally:
        os.close(fd)


def _opens_for_writing(letta: int, file: FileTimes) -> bool:
    """Whether Letta's `open` would succeed: `access` does not know of append-only files."""
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        fd = os.open(_NAME, flags, dir_fd=letta)
    except OSError:
        return False
    try:
        return file_times(os.fstat(fd)) == file
    finally:
        os.close(fd)


def _name_of(fd: int, folder: str) -> str:
    """The folder's real path, for people."""
    return os.path.realpath(f"/proc/self/fd/{fd}" if os.path.exists("/proc/self/fd") else folder)
