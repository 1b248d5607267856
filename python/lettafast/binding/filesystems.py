"""Which file system a file is on."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from .facts import Problem
from .verdict import Reason

UNKNOWN = "unknown"


_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EINTR)


def filesystem_of(fd: int) -> str | Problem:
    """The kernel's name of the file system that `fd` was opened on, such as `ext4`.

    `UNKNOWN` where it has none; a `Problem` where looking again may help.
    """
    try:
        return _from_partitions(fd) if sys.platform == "darwin" else _from_mountinfo(fd)
    except OSError as error:
        if error.errno in _PASSING:
            return Problem(Reason.CHANGED_WHILE_READING, f"its file system: {error.strerror}")
        return UNKNOWN


def _from_mountinfo(fd: int) -> str:
    """By the id of the mount: the device that `stat` gives is another one on btrfs."""
    from ._linux import mount_id

    mount = os.fsencode(mount_id(fd))
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            head, _, tail = line.partition(b" - ")
            if head.split(b" ", 1)[0] == mount:
                return os.fsdecode(tail.split(b" ", 1)[0])
    return UNKNOWN


def _from_partitions(fd: int) -> str:
    import psutil

    device = os.fstat(fd).st_dev
    for partition in psutil.disk_partitions(all=True):
        with contextlib.suppress(OSError):
            if os.stat(partition.mountpoint).st_dev == device:
                return str(partition.fstype)
    return UNKNOWN
