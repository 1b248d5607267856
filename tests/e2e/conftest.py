"""One Letta Code for the whole folder: starting it is what takes the time."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from letta_code import ANSWERING, Conversation, Home, tui, wait_until
from scripted_model import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


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
