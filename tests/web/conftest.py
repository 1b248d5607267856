from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

import scene as scenes
from webserver import Site, serving


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    """An empty root, served."""
    root = tmp_path / "transcripts"
    root.mkdir()
    with serving(root) as found:
        yield found


@pytest.fixture
def scene(tmp_path: pathlib.Path) -> Iterator[scenes.Scene]:
    with scenes.scene(tmp_path) as found:
        yield found
