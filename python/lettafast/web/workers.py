"""Threads for what blocks: reading files, asking herdr and tmux.

Daemon threads: one that waits for who does not answer must not keep the program from
ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Workers:
    """At most `count` threads, started as they are needed."""

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._pending = 0

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """What `work(*args)` gives, done in one of the threads."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            self._pending -= 1
            if future.cancelled():
                return
            if error is None:
                future.set_result(value)  # type: ignore[arg-type]
            else:
                future.set_exception(error)

        def job() -> None:
            value, failed = None, None
            try:
                value = work(*args)
            except BaseException as error:  # noqa: BLE001 - it belongs to who waits
                failed = error
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(settle, value, failed)

        self._pending += 1
        if len(self._threads) < min(self._pending, self._count):
            name = f"{self._name}-{len(self._threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)
        return await future

    def close(self, until: float) -> bool:
        """Ends the threads; whether all ended by `until`, as `time.monotonic` says."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
