"""SIGTERM and SIGINT during a run: the first one ends it, and none skips what its end has to do."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """While it is entered, signals set `asked`; where signals cannot be handled it does nothing.

    They can be handled in the main thread alone. `on_signal` is called with each signal's name and
    whether it is the first one.
    """

    def __init__(self, on_signal: Callable[[str, bool], None]) -> None:
        self.asked = asyncio.Event()
        self.signal: signal.Signals | None = None
        self._on_signal = on_signal
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for each in _SIGNALS:
                self._before[each] = signal.getsignal(each)
                loop.add_signal_handler(each, self._stop, each)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for each, before in self._before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, before)

    def _stop(self, which: signal.Signals) -> None:
        first = self.signal is None
        if first:
            self.signal = which
        self.asked.set()
        self._on_signal(which.name, first)
