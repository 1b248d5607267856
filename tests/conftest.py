"""One suite over both backends: the fixture `backend` and what opens a transcript on it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import hypothesis
import pytest

from lettafast import _backend
from support import BACKENDS, PROFILE, Desk, load

hypothesis.settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, max_examples=150
)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(PROFILE)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> _backend.Backend:
    """Each backend in turn, under `open_transcript` and `Store`."""
    chosen = load(request.param)
    monkeypatch.setattr("lettafast._backend.current", lambda: chosen)
    return chosen


@pytest.fixture(params=[*BACKENDS, "native-without-openat2"])
def source_backend(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> _backend.Backend:
    """Each backend, and the native one as on a kernel that lacks `openat2`."""
    if request.param == "native-without-openat2":
        monkeypatch.setenv("LETTAFAST_NO_OPENAT2", "1")
    else:
        monkeypatch.delenv("LETTAFAST_NO_OPENAT2", raising=False)
    chosen = load(request.param.split("-")[0])
    monkeypatch.setattr("lettafast._backend.current", lambda: chosen)
    return chosen


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()
