"""One suite over both backends: the fixture `backend` and what opens a transcript on it."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import hypothesis
import pytest

from lettafast import Limits, Transcript, _backend, open_transcript
from oracle import Oracle
from support import BACKENDS, PROFILE, load

hypothesis.settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, max_examples=150
)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=5000)
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


class Desk:
    """A folder with one transcript in it, and what was opened there."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.path = folder / "transcript.jsonl"
        self._opened: list[Transcript] = []

    def open(self, data: bytes | None = None, mode: Any = "strict", **limits: int) -> Transcript:
        """Opens the transcript, after writing `data` to it when that is given."""
        if data is not None:
            self.path.write_bytes(data)
        transcript = open_transcript(self.path, mode, Limits(**limits))
        self._opened.append(transcript)
        return transcript

    def oracle(self, **options: Any) -> Oracle:
        """The plain answers for the file as it is now."""
        status = os.stat(self.path)
        return Oracle(self.path.read_bytes(), status.st_dev, status.st_ino, **options)

    def close(self) -> None:
        for transcript in self._opened:
            transcript.close()
        # pytest keeps the folders of several runs: not the large files in them.
        if self.path.is_file() and self.path.stat().st_size > 1 << 20:
            self.path.unlink()


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Any:
    desk = Desk(tmp_path)
    yield desk
    desk.close()
