"""The limits: reading a file, and reading it while counting its LFs with memchr.

They are measured by `limits.rs`, because `bytearray.count` is no memchr before Python 3.13 (a
third of its speed) and one call an LF costs more than memchr does.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from .generate import FOLDER

_SOURCE = Path(__file__).with_name("limits.rs")


class Reading(NamedTuple):
    """One file read once; `found` is its LFs, or 0 where they were not counted."""

    bytes: int
    found: int
    seconds: float


def build(folder: Path = FOLDER) -> Path | None:
    """The program, compiled when its source is newer; None without a Rust compiler."""
    program = folder / "limits"
    if not program.exists() or program.stat().st_mtime < _SOURCE.stat().st_mtime:
        compiler = shutil.which("rustc")
        if compiler is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "--edition=2024", "-O", "-o", program, _SOURCE], check=True)
    return program


class Limits:
    """A running `limits` program, so that starting it is in no time. A context manager."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def _ask(self, job: str, path: Path) -> Reading:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{job} {path}\n")
        size, found, nanoseconds = map(int, self._process.stdout.readline().split())
        return Reading(size, found, nanoseconds / 1e9)

    def read(self, path: Path) -> Reading:
        return self._ask("read", path)

    def memchr(self, path: Path) -> Reading:
        return self._ask("memchr", path)

    def __enter__(self) -> Limits:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
