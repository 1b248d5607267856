"""Homes for the mod, and processes of Node that run it."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lettafast.witness.mod import NAME
from witness_host import MOD, TOUCH, Host


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".letta").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def start(home: Path, tmp_path: Path):
    """Starts processes of Node, and ends them."""
    node = os.environ.get("LETTAFAST_NODE") or shutil.which("node")
    if node is None:
        pytest.skip("there is no Node to run the mod in; LETTAFAST_NODE names one")
    copy = tmp_path / NAME.replace(".js", ".mjs")
    text = MOD.read_text("utf-8")
    for waits in ("TOUCH_MS = 5000;", "DOUBT_MS = 1000;"):
        assert waits in text
        text = text.replace(waits, f"{waits.split()[0]} = {TOUCH * 1000:.0f};")
    copy.write_text(text)
    with contextlib.ExitStack() as running:

        def one(**more: Any) -> Host:
            host = Host(node, home, copy, **more)
            running.callback(host.end)
            return host

        yield one


@pytest.fixture
def host(start) -> Host:
    return start()
