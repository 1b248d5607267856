"""The mod in a real Node, with a double of what Letta Code gives it (`driver.mjs`)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from lettafast.binding import process
from lettafast.binding.facts import Identity
from lettafast.binding.witness_file import FOLDER
from lettafast.witness.mod import NAME

MOD = Path(process.__file__).parents[1] / "witness" / NAME
DRIVER = Path(__file__).parent / "driver.mjs"
AGENT = "agent-local-1c476545-d691-45b8-9c87-36c166265eda"
TOUCH = 0.1
"""Seconds between two touches, and two doubts; the mod itself waits 5 s, and 1 s."""


def wait(what: str, check, seconds: float = 10.0):
    """What `check` gives once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := check():
            return found
        time.sleep(0.02)
    raise TimeoutError(what)


def context(conversation: str | None, agent: str | None = AGENT) -> dict[str, Any]:
    """What a panel is drawn with, as far as the mod looks."""
    return {"agent": {"id": agent, "name": "Tutor"}, "sessionId": conversation, "width": 80}


class Host:
    """A Node process whose HOME is `home`, or is `spelled` so; `path` is the mod."""

    def __init__(
        self, node: str, home: Path, path: Path, spelled: str = "", cwd: Path | None = None
    ) -> None:
        self.home = home
        self.path = path
        self.folder = home / FOLDER
        self._process = subprocess.Popen(
            [node, DRIVER],
            env={"HOME": spelled or str(home), "PATH": os.environ["PATH"]},
            cwd=cwd or home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.file = self.folder / f"{self.pid}.json"

    def do(self, what: str, **more: Any) -> Any:
        self._process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], 20)[0], "it does not answer"
        return json.loads(self._process.stdout.readline())

    def activate(self, **more: Any) -> Any:
        return self.do("activate", path=str(more.pop("path", self.path)), **more)

    def draw(self, conversation: str | None, **more: Any) -> Any:
        return self.do("draw", context=context(conversation), **more)

    def record(self, conversation: str, agent: str = AGENT) -> None:
        """What some letta writes into the folder of this one when it opens a conversation."""
        session = {"agentId": agent, "conversationId": conversation}
        place = self.home / ".letta" / "settings.local.json"
        place.write_text(json.dumps({"lastSession": session, "lastAgent": agent}))

    def said(self) -> dict[str, Any]:
        return json.loads(self.file.read_text())

    @property
    def identity(self) -> Identity:
        found = process.identity_of(self.pid)
        assert found is not None
        return found

    def end(self) -> None:
        """Lets it exit. It may have said nothing at all; ending it twice is fine."""
        if self._process.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        with self._process.stdout, self._process.stderr:
            assert (self._process.stdout.read(), self._process.stderr.read()) == ("", "")
