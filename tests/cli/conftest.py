"""The command as a real process, and small transcripts for it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

SECONDS = 20


class Result(NamedTuple):
    status: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode()

    @property
    def json(self):
        """The objects that were printed, one a line, with their members in order."""
        assert self.out.endswith(b"\n")
        return [json.loads(line) for line in self.out.decode().split("\n")[:-1]]


class Cli:
    """Runs `python -m lettafast` in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.root = self.home / ".letta" / "transcripts"
        kept = ("PATH", "PYTHONPATH", "LETTAFAST_BACKEND", "LD_LIBRARY_PATH")
        self.environment = {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "TZ": "UTC",
            "PYTHONWARNINGS": "error",
        }

    def start(self, *arguments, env=None, code=None, **options):
        """The process; `code` runs instead of `-m lettafast`."""
        how = ["-m", "lettafast"] if code is None else ["-c", code]
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.folder,
            "env": {**self.environment, **(env or {})},
            **options,
        }
        return subprocess.Popen([sys.executable, *how, *map(os.fspath, arguments)], **options)

    def __call__(self, *arguments, **options):
        with self.start(*arguments, **options) as process:
            out, err = process.communicate(timeout=SECONDS)
        result = Result(process.returncode, out or b"", (err or b"").decode(errors="strict"))
        assert "Traceback" not in result.err
        assert "Exception ignored" not in result.err
        return result

    def on_terminal(self, *arguments, streams=("stdout", "stderr"), **options):
        """Runs with those streams on one pseudo-terminal; `out` is what the terminal got."""
        master, slave = pty.openpty()
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, master)
            options = {**options, **dict.fromkeys(streams, slave)}
            process = stack.enter_context(self.start(*arguments, **options))
            os.close(slave)
            got = read_terminal(master)
            out, err = process.communicate(timeout=SECONDS)
        other = (out or b"") + (err or b"")
        assert b"Traceback" not in got + other
        return Result(process.returncode, got.replace(b"\r\n", b"\n"), other.decode())


def read_terminal(master):
    got = b""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if select.select([master], [], [], 0.1)[0]:
            try:
                piece = os.read(master, 1 << 16)
            except OSError:  # every end of the terminal was closed
                return got
            if not piece:
                return got
            got += piece
    raise AssertionError("the process did not end")


class Make:
    """Files of the lines that `support` writes."""

    def __init__(self, folder):
        self.folder = folder

    def file(self, *lines, name="transcript.jsonl"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))
        return path

    def conversation(self, root, agent, conversation, *lines):
        folder = Path(root) / agent / conversation
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "transcript.jsonl").write_bytes(b"".join(lines))
        return folder


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


@pytest.fixture
def make(tmp_path):
    return Make(tmp_path)


@pytest.fixture
def complaint():
    """Checks the form of an error: one line, a blank line, a hint of one line."""

    def check(err, message=".*", hint=".+"):
        form = re.compile(r"(?P<message>[^\n]+)\n\nhint: (?P<hint>[^\n]+)\n")
        found = form.fullmatch(err)
        assert found, err
        assert re.search(message, found["message"]), err
        assert re.search(hint, found["hint"]), err

    return check
