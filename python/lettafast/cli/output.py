"""Where things go: data to standard output, always UTF-8; everything else to standard error."""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import Any, TextIO

from lettafast.visible import file_name, visible_line


class OutputError(Exception):
    """Standard output cannot be written to (a full disk, a closed descriptor)."""


def write(data: bytes) -> None:
    """Writes to standard output, perhaps later. Raises `OutputError`, `BrokenPipeError`."""
    try:
        _stdout().buffer.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(os.strerror(error.errno or errno.EIO)) from error


def write_text(text: str) -> None:
    """Writes text that holds no surrogate to standard output."""
    write(text.encode())


def write_json(value: Any) -> None:
    """Writes one JSON value and an LF."""
    write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def flush() -> None:
    """Hands over what was written. Raises `OutputError`, `BrokenPipeError`."""
    if sys.stdout is None:  # closed before we began: nothing was written, or `write` said so
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(os.strerror(error.errno or errno.EIO)) from error


def abandon() -> None:
    """Lets the rest of standard output go nowhere, so that Python's own flush at exit is quiet."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def note(text: str) -> None:
    """Writes a line for people to standard error; there is nobody to tell when that fails."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except OSError:
            pass


def complain(message: str, hint: str | None) -> None:
    """Says what went wrong and, after a blank line, what to do about it."""
    text = visible_line(file_name(message))
    note(f"{text}\n\nhint: {visible_line(file_name(hint))}" if hint else text)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at the stream."""
    return stream is not None and stream.isatty()


def _stdout() -> TextIO:
    if sys.stdout is None:
        raise OutputError(os.strerror(errno.EBADF))
    return sys.stdout
