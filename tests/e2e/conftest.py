"""One Letta Code for the whole folder: starting it is what takes the time."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from letta_code import ANSWERING, Conversation, Home, tui, wait_until
from letta_world import World
from lettafast.binding import Binder, HerdrPanes, Memory
from lettafast.herdr.client import Herdr
from scenes import Scene
from scripted_model import serving
from stage import OLDER, Stage, install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def letta() -> str:
    path = os.environ.get("LETTAFAST_LETTA")
    if not path:
        pytest.skip("`make test-e2e` installs Letta Code and names it in LETTAFAST_LETTA")
    assert shutil.which("tmux"), "the end-to-end tests need tmux"
    return path


@pytest.fixture(scope="session")
def model() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    # Not pytest's: the path of a tmux socket must be short.
    with tempfile.TemporaryDirectory(prefix="lettafast-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def conversation(letta: str, model: str, folder: Path) -> Iterator[Conversation]:
    """A running TUI whose first turn is written."""
    (folder / "tui").mkdir()
    home = Home(letta, folder / "tui", model)
    with tui(home) as screen:
        screen.say("SCN:plain first")
        found = wait_until("the first turn", ANSWERING, home.transcripts)
        yield Conversation(screen, found.pop())


@pytest.fixture(scope="session")
def world(letta: str, model: str, folder: Path) -> Iterator[World]:
    (folder / "b").mkdir()
    home = Home(letta, folder / "b", model)
    install(home)
    with Stage(home, folder / "b") as stage:
        world = World(home, folder / "b", stage)
        try:
            world.prepare()
            yield world
        finally:
            stage.close_all()


@pytest.fixture
def fresh(request: pytest.FixtureRequest, world: World) -> Callable[..., Path]:
    """Makes a folder whose record is old enough when this returns."""

    def make(*arguments: Any, suffix: str = "", **change: Any) -> Path:
        folder = world.project(f"{request.node.name}{suffix}", *arguments, **change)
        time.sleep(OLDER)
        return folder

    return make


@pytest.fixture
def binder(world: World, tmp_path: Path) -> Iterator[Binder]:
    """A binder that has seen nothing yet; this machine's own herdr is not looked for."""
    here = {"HOME": str(world.home.home), "TMUX_TMPDIR": str(tmp_path)}
    with Binder(
        [HerdrPanes(Herdr(world.stage.path))], here, Memory(str(tmp_path / "state"))
    ) as binder:
        yield binder


@pytest.fixture
def scene(request: pytest.FixtureRequest, world: World, binder: Binder) -> Scene:
    name = request.node.name.removeprefix("test_").replace("_", " ")
    return Scene(name, world, binder)
