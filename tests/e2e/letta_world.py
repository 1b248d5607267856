"""A home with one agent and its conversations, and folders whose records name them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from letta_code import Home
from scripted_model import MODEL
from stage import Screen, Stage


class World:
    """A home with one agent and some conversations, of which the last has no completed turn."""

    def __init__(self, home: Home, folder: Path, stage: Stage, agent: str = "") -> None:
        self.home = home
        self.folder = folder
        self.stage = stage
        self.agent = agent

    def prepare(self) -> None:
        """Makes the agent and conversations, then folders whose records are old enough."""
        screen = self.stage.open("w1:p0", self.home.project)
        screen.start("-m", f"openai-compatible/{MODEL}", conversation="default")
        screen.say("SCN:plain in default")
        for number in (1, 2):
            screen.command("/new", f"local-conv-{number}")
            screen.say(f"SCN:plain in {number}")
        screen.command("/new", "local-conv-3")
        screen.quit()
        self.stage.close(screen)
        record = self._record_path(self.home.project)
        self.record_text = record.read_text()
        self.agent = json.loads(self.record_text)["lastAgent"]

    def _record_path(self, folder: Path) -> Path:
        return folder / ".letta" / "settings.local.json"

    def project(self, name: str, conversation: str = "local-conv-1", **change: Any) -> Path:
        """A folder whose record names `conversation`, as Letta writes it, but for `change`."""
        folder = self.folder / name
        (folder / ".letta").mkdir(parents=True)
        said = json.loads(self.record_text.replace("local-conv-3", conversation))
        self._record_path(folder).write_text(json.dumps(said | change, indent=2))
        return folder


@contextmanager
def pane(world: World, pane_id: str, folder: Path, **environ: str) -> Iterator[Screen]:
    screen = world.stage.open(pane_id, folder, **environ)
    try:
        yield screen
    finally:
        world.stage.blind = False
        world.stage.close(screen)
