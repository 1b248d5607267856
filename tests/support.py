"""What the tests share: the profile, rows to write, and waiting for the clock."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Any
from unittest import mock

import pytest

import lettafast
from lettafast import BackendError, Limits, Transcript, _backend, open_transcript
from oracle import Oracle

ROOT = pathlib.Path(__file__).parents[1]
CASES = ROOT / "fixtures" / "cases"
RECORDINGS = sorted((ROOT / "fixtures").glob("*/transcripts/*/*/transcript.jsonl"))
BACKENDS = ("native", "pure")
PURE_ONLY = os.environ.get("LETTAFAST_TEST_ALLOW_PURE_ONLY") == "1"
"""Set while there is no native library to test: its tests are skipped instead of failing."""

PROFILE = os.environ.get("LETTAFAST_TEST_PROFILE", "ci")
"""`ci` for every change, `nightly` for the long ones too."""
NIGHTLY = PROFILE == "nightly"

TIME = "2026-09-01T00:00:00.000Z"


def load(choice: str) -> _backend.Backend:
    """One backend, in this process; `native` is skipped only where that was allowed."""
    try:
        return _backend.load(choice)
    except ImportError as error:
        if choice == "native" and PURE_ONLY:
            pytest.skip(f"THE NATIVE BACKEND IS NOT TESTED HERE ({error})")
        pytest.fail(f"the {choice} backend does not load: {error}")


def instructions() -> list[str]:
    """The sets of instructions that the native scan can be told to use on this machine."""
    native = load("native")
    found = []
    for name in ("scalar", "avx2", "avx512", "neon"):
        with mock.patch.dict(os.environ, {"LETTAFAST_SIMD": name}), fast_folder() as folder:
            pathlib.Path(folder, "x").write_bytes(b"")
            try:
                native.open(folder, "x", "x", "strict", Limits()).close()
            except BackendError:
                continue
            found.append(name)
    return found


def row(kind: str, **members: Any) -> bytes:
    """A line as Letta Code's `JSON.stringify` writes it; members that are None are left out."""
    said = {"kind": kind, **{name: value for name, value in members.items() if value is not None}}
    said.setdefault("captured_at", TIME)
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    text = re.sub("[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", text)
    return text.encode() + b"\n"


def user(text: str = "hi", line_id: str | None = None, **members: Any) -> bytes:
    return row("user", text=text, source_line_id=line_id, **members)


def assistant(
    text: str = "yo", line_id: str | None = None, message: str | None = None, **members: Any
) -> bytes:
    return row("assistant", text=text, source_line_id=line_id, source_message_id=message, **members)


def reasoning(text: str = "hm", **members: Any) -> bytes:
    return row("reasoning", text=text, **members)


def error(text: str = "oh", **members: Any) -> bytes:
    return row("error", text=text, **members)


def tool(
    output: str | None = "out",
    line_id: str | None = "call-1",
    *,
    name: str | None = "Bash",
    arguments: str | None = "{}",
    ok: bool | None = True,
    **members: Any,
) -> bytes:
    return row(
        "tool_call",
        name=name,
        argsText=arguments,
        resultText=output,
        resultOk=ok,
        source_line_id=line_id,
        **members,
    )


def padded(line: bytes, size: int) -> bytes:
    """The line with spaces before its LF, `size` bytes in all."""
    if len(line) > size:
        raise ValueError(len(line))
    return line[:-1] + b" " * (size - len(line)) + b"\n"


def descriptors() -> dict[int, str]:
    """The open descriptors of this process and what they are, but for the one that looks."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def append(path: os.PathLike[str], data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def overwrite(path: os.PathLike[str], at: int, data: bytes) -> None:
    """Writes in place, once the clock that stamps files has moved on, and keeps the mtime."""
    before = os.stat(path)
    while True:
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if os.stat(path).st_ctime_ns != before.st_ctime_ns:
            return
        time.sleep(0.002)


def run_python(code: str, *arguments: str, **environ: str) -> dict[str, Any]:
    """Runs `code` in a Python of its own, with this lettafast; the JSON that it prints last."""
    # PYTHONPATH is the folder that lettafast was imported from, installed or not.
    where = pathlib.Path(lettafast.__file__).parents[1]
    here = pathlib.Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{where}{os.pathsep}{here}", **environ},
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode(errors="replace") or f"exit {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


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


def as_dict(record: Any) -> dict[str, Any]:
    """`dataclasses.asdict` of a flat record, several times faster."""
    return {name: getattr(record, name) for name in record.__slots__}


def entries(transcript: Transcript, start: int = 0) -> list[dict[str, Any]]:
    return list(map(as_dict, transcript.entries(start)))


def diagnostics(transcript: Transcript) -> list[dict[str, Any]]:
    return list(map(as_dict, transcript.diagnostics))


def page(transcript: Transcript, **arguments: Any) -> dict[str, Any]:
    return json.loads(transcript.page_json(**arguments))


def fast_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory where there is one: for tests that write thousands of small files."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
