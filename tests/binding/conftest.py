from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

import scene as scenes


@pytest.fixture
def scene(tmp_path: pathlib.Path) -> Iterator[scenes.Scene]:
    with scenes.scene(tmp_path) as found:
        yield found
