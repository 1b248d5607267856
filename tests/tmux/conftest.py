from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator

import pytest

import lettas
from tmuxserver import Server


@pytest.fixture
def short() -> Iterator[pathlib.Path]:
    """Not pytest's folder: the path of a socket must be short."""
    with tempfile.TemporaryDirectory(prefix="lt") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def server(short: pathlib.Path) -> Iterator[Server]:
    found = Server(short)
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def desk(short: pathlib.Path) -> Iterator[lettas.Desk]:
    with lettas.desk(short) as found:
        yield found
