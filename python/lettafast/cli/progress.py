"""A line on standard error that says what takes so long, for people only."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from types import TracebackType

from lettafast.visible import file_name, visible_line

from .output import is_terminal

PATIENCE = 1.0
"""Seconds of work before anything is shown."""
_EVERY = 0.25
_ERASE = "\r\x1b[K"


class Progress:
    """Shows its current line while it is entered, once `PATIENCE` is over.

    It does nothing unless standard error is a terminal. Before anything else is
    written to a terminal, call `hide`.
    """

    def __init__(self) -> None:
        self._text = ""
        self._shown = False
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, text: str) -> None:
        """What is being done from now on."""
        self._text = visible_line(file_name(text))

    def hide(self) -> None:
        """Takes the line away until `say` is called again."""
        with self._lock:
            self._text = ""
            if self._shown:
                self._put(_ERASE)
                self._shown = False

    def __enter__(self) -> Progress:
        if is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()
            self.hide()

    def _run(self) -> None:
        began = time.monotonic()
        wait = PATIENCE
        while not self._done.wait(wait):
            wait = _EVERY
            with self._lock:
                if self._text:
                    seconds = f" ({time.monotonic() - began:.0f} s)"
                    room = _columns() - 1 - len(seconds)
                    self._put(_ERASE + self._text[:room] + seconds)
                    self._shown = True

    def _put(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80
