"""Which file system a file is on."""

from __future__ import annotations

import contextlib
import os
import sys

UNKNOWN = "unknown"


def filesystem_of(fd: int) -> str:
    """The kernel's name of the file system that `fd` was opened on, such as `ext4`."""
    try:
        return _from_partitions(fd) if sys.platform == "darwin" else _from_mountinfo(fd)
    except OSError:
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
