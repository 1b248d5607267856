"""What other processes of the same user can read of this one: its memory, its first environment.

`/proc/PID/environ` shows what a process was started with, also after it has taken a variable out of
its environment. https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

_GET_DUMPABLE, _SET_DUMPABLE = 3, 4


@contextlib.contextmanager
def unreadable() -> Iterator[None]:
    """While it is entered, only who may trace any process can read this one; it dumps no core.

    Linux alone has that; elsewhere nothing is done.
    """
    if sys.platform != "linux":
        yield
        return
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    before = prctl(_GET_DUMPABLE, 0, 0, 0, 0)
    prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        # 2 ("suidsafe") cannot be set.
        prctl(_SET_DUMPABLE, int(before == 1), 0, 0, 0)
