"""The real App Server of Letta Code, in a HOME of its own: what stands for the sandbox of a run."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

from scripted_model import MODEL

if TYPE_CHECKING:
    from types import TracebackType

STARTING = 60.0
"""Seconds within which it must listen."""
ANSWERING = 20.0
_ADDRESS = re.compile(r"WebSocket: (ws://\S+)")
_ABSENT = ("LETTA", "TMUX", "GIT_")


class AppServer:
    """`letta server --backend local`, listening on a free port of loopback; a context manager.

    `environ` is added to its environment, and so to that of every command that an agent runs.
    """

    def __init__(self, letta: str, folder: Path, model: str, environ: dict[str, str]) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.log = folder / "log"
        temporary = folder / "tmp"
        for made in (self.home / ".letta", self.project, temporary):
            made.mkdir(parents=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_ABSENT) and not name.lower().endswith("_proxy")
        }
        self.environ = {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(temporary),
            "LC_ALL": "C.UTF-8",
            "LETTA_CODE_TELEM": "0",
            "LETTA_CODE_OFFLINE": "1",
            "LMSTUDIO_BASE_URL": model,
            **environ,
        }
        self._command = [letta, "server", "--backend", "local", "--listen"]

    def __enter__(self) -> AppServer:
        with self.log.open("wb") as errors:
            self._process = subprocess.Popen(
                self._command,
                cwd=self.project,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        try:
            self.url = self._listening()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    @property
    def pid(self) -> int:
        return self._process.pid

    def agent(self) -> str:
        """The id of a new agent that the scripted model speaks for."""
        body = {"name": "checks commits", "model": f"lmstudio/{MODEL}", "memory_blocks": []}
        said = self.ask(
            {
                "type": "runtime_start",
                "create_agent": {"body": body, "pin_global": False, "memfs": False},
                "create_conversation": {"body": {}},
                "mode": "strict",
            }
        )
        return str(said["runtime"]["agent_id"])

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one command, over a connection of its own."""
        with connect(self.url, proxy=None, compression=None, max_size=None) as socket:
            socket.send(json.dumps({**request, "request_id": "test"}))
            while True:
                said: dict[str, Any] = json.loads(socket.recv(timeout=ANSWERING))
                if said.get("request_id") == "test":
                    assert said.get("success") is True, said
                    return said

    def _listening(self) -> str:
        """The address that it prints once it listens."""
        assert self._process.stdout is not None
        until = time.monotonic() + STARTING
        printed = b""
        while time.monotonic() < until:
            ready, _, _ = select.select([self._process.stdout], [], [], 0.2)
            if ready:
                more = os.read(self._process.stdout.fileno(), 4096)
                assert more, f"it ended: {printed.decode()} {self.log.read_text()}"
                printed += more
                if found := _ADDRESS.search(printed.decode()):
                    return found[1]
        message = f"the App Server did not listen within {STARTING} seconds"
        raise TimeoutError(message)

    def _end(self) -> None:
        """Ends it and what it started: they are in a session of their own."""
        assert self._process.stdout is not None
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        except ProcessLookupError:
            self._process.wait(10)
        finally:
            self._process.stdout.close()
