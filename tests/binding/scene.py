"""A pane with a letta in it: real processes and files, and the herdr double that shows them."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import time
from collections.abc import Iterator
from typing import Any

from double import HerdrDouble
from lettafast.binding import Binder, HerdrPanes, Memory, Provider
from lettafast.binding.process import identity_of
from lettafast.binding.witness_file import FOLDER
from lettafast.herdr.client import Herdr
from lettas import Desk, Letta
from support import assistant, user

AGENT = "agent-local-1c476545-d691-45b8-9c87-36c166265eda"
OLDER = 2.1
"""Seconds by which a record must be older than the process, and some more."""


class Scene:
    """One herdr session with the panes `w1:p1` to `w1:p3`, and a home with conversations."""

    def __init__(self, folder: pathlib.Path, herdr: HerdrDouble, desk: Desk) -> None:
        self.folder = folder
        self.double = herdr
        self.desk = desk
        self.herdr = HerdrPanes(Herdr(herdr.path))
        self.letta_home = desk.home / ".letta"
        self._told = 0

    def conversation(self, conversation: str, *, turns: int = 1) -> pathlib.Path:
        """A conversation in the local store with its transcript; where that is."""
        key = f"conversation:{conversation}" if conversation != "default" else f"default:{AGENT}"
        name = base64.urlsafe_b64encode(key.encode()).rstrip(b"=").decode()
        stored = self.letta_home / "lc-local-backend" / "conversations" / name
        stored.mkdir(parents=True)
        said = {"id": conversation, "agent_id": AGENT, "created_at": "2026-01-01T00:00:00.000Z"}
        (stored / "conversation.json").write_text(json.dumps(said))
        transcript = self.letta_home / "transcripts" / AGENT / conversation / "transcript.jsonl"
        transcript.parent.mkdir(parents=True)
        lines = [user(f"prompt {n} of {conversation}") + assistant("answer") for n in range(turns)]
        transcript.write_bytes(b"".join(lines))
        return transcript

    def record(self, conversation: str, folder: pathlib.Path | None = None) -> pathlib.Path:
        """Letta's settings record of `folder` (else the project's), as Letta writes it."""
        store = self.letta_home / "lc-local-backend"
        session = {"agentId": AGENT, "conversationId": conversation}
        path = (folder or self.desk.project) / ".letta" / "settings.local.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        said = {
            "lastAgent": AGENT,
            "sessionsByServer": {f"local:{store}": session},
            "lastSession": session,
        }
        path.write_text(json.dumps(said, indent=2))
        return path

    def start(self, pane_id: str = "w1:p1", report: str | None = None, **options: Any) -> Letta:
        """A letta in front of the pane, reported as herdr's integration does."""
        letta = self.desk.run(**options)
        cwd = str(options.get("cwd") or self.desk.project)
        argv = ["node", str(self.desk.script)]
        self.double.start_letta(pane_id, letta.pid, argv, cwd)
        if report is not None:
            assert self.double.report(pane_id, report)
        return letta

    def resumed(self, conversation: str = "local-conv-1") -> Letta:
        """The simplest proof: a letta that resumed what its folder's old record names."""
        self.conversation(conversation)
        self.record(conversation)
        time.sleep(OLDER)
        return self.start(report=conversation)

    def says(self, pid: int, conversation: str, agent: str = AGENT, **more: Any) -> pathlib.Path:
        """What lettafast's mod in that letta writes, as it writes it; the place of its file."""
        identity = identity_of(pid)
        assert identity is not None
        self._told += 1
        said = {
            "v": 1,
            "boot_id": identity.boot_id,
            "pid": pid,
            "start_ticks": identity.start_ticks,
            "agent_id": agent,
            "conversation_id": conversation,
            "seq": self._told,
            "event": "switch",
            "at_ms": time.time_ns() // 1_000_000,
        }
        folder = self.desk.home / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = folder / f"{pid}.new"
        new.touch(0o600)
        new.write_text(json.dumps(said | more))
        return new.replace(folder / f"{pid}.json")

    @property
    def environ(self) -> dict[str, str]:
        """What a binder is to find sessions by: there is none but those that it is given."""
        return {"HOME": str(self.desk.home), "TMUX_TMPDIR": str(self.folder)}

    def binder(self, *others: Provider) -> Binder:
        return Binder([self.herdr, *others], self.environ, Memory(str(self.folder / "state")))


@contextlib.contextmanager
def scene(folder: pathlib.Path) -> Iterator[Scene]:
    panes = [{"pane_id": f"w1:p{number}", "shell_pid": 1} for number in (1, 2, 3)]
    tab = {"tab_id": "w1:t1", "label": "1", "panes": panes}
    workspaces = [{"workspace_id": "w1", "label": "w", "tabs": [tab]}]
    desk = Desk(folder)
    try:
        with HerdrDouble(folder / "herdr.sock", {"workspaces": workspaces}) as herdr:
            yield Scene(folder, herdr, desk)
    finally:
        desk.close()
