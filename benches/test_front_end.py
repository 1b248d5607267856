"""The front-end as a process: first page of a large conversation, an append, and what idles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from .generate import Transcript, sample
from .report import Report

AGENT = "agent-local-bench"
IDLE = 100
IDLE_SECONDS = 10.0
APPENDS = 15
SECONDS = 60.0
WATCHES = 64
"""What one client may watch."""


class Server:
    """A started `lettafast serve` over `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        command = [sys.executable, "-m", "lettafast", "serve", "--json", "--port", "0"]
        environ = {**os.environ, "HOME": str(root), "LETTAFAST_STATE_DIR": str(root / "state")}
        environ.pop("HERDR_SOCKET_PATH", None)
        self._process = subprocess.Popen(
            [*command, "--root", str(root)], env=environ, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        origin = said["url"].split("/?")[0]
        headers = {"authorization": f"Bearer {said['token']}"}
        self.client = httpx.Client(base_url=origin, headers=headers, timeout=SECONDS)
        self.usage = psutil.Process(self._process.pid)

    def place(self, conversation: str, path: Path) -> Path:
        """The transcript of a conversation: the file at `path`, by another name."""
        transcript = self.root / AGENT / conversation / "transcript.jsonl"
        transcript.parent.mkdir(parents=True)
        os.link(path, transcript)
        return transcript

    def page(self, conversation: str) -> float:
        """Seconds until the page of a conversation is here."""
        start = time.perf_counter()
        answer = self.client.get(f"/conversations/{AGENT}/{conversation}")
        seconds = time.perf_counter() - start
        assert answer.status_code == 200
        assert 'id="turns"' in answer.text
        return seconds

    def close(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path)
    try:
        yield started
    finally:
        started.close()


def linked(profile: str, size: int, folder: Path) -> Path:
    """A sample on the file system of `folder`, where it can have more names."""
    copy = folder / f"{profile}.jsonl"
    shutil.copyfile(sample(profile, size).path, copy)
    return copy


def test_first_page(server: Server, report: Report, full: bool) -> None:
    size = (500 if full else 8) << 20
    path = linked("chat", size, server.root)
    path.read_bytes()  # into the page cache
    server.place("large", path)
    note = f"{size >> 20} MB"
    report.add("first page over HTTP", "chat", [1e3 * server.page("large")], unit="ms", note=note)
    again = [1e3 * server.page("large") for _ in range(9)]
    report.add("page over HTTP again", "chat", again, unit="ms", note=note)


def test_append_to_event(server: Server, report: Report, full: bool) -> None:
    """From the end of the write to the event; the page then fetches a fragment."""
    size = (500 if full else 8) << 20
    transcript = server.place("growing", linked("chat", size, server.root))
    server.page("growing")
    grown = threading.Event()
    stop = threading.Event()

    def listen() -> None:
        with server.client.stream("GET", events("growing")) as stream:
            for line in stream.iter_lines():
                if line == "event: grown":
                    grown.set()
                if stop.is_set():
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    assert grown.wait(SECONDS)  # how it stands at the start
    source, seconds = Transcript("chat", seed=2), []
    with transcript.open("ab", buffering=0) as file:
        for _ in range(APPENDS):
            grown.clear()
            turn = b"\n".join([*source.turn(), b""])
            start = time.perf_counter()
            file.write(turn)
            assert grown.wait(SECONDS)
            seconds.append(1e3 * (time.perf_counter() - start))
        stop.set()
        file.write(b"\n".join([*source.turn(), b""]))
    listener.join(SECONDS)
    report.add(
        "append to event", "chat", seconds, unit="ms", note="files are looked at every 250 ms"
    )


def test_idle_conversations(server: Server, report: Report) -> None:
    """What 100 conversations cost that are open and do not change."""
    path = linked("chat", 1 << 20, server.root)
    before = server.usage.memory_info().rss
    names = [f"idle-{number}" for number in range(IDLE)]
    for name in names:
        server.place(name, path)
        server.page(name)
    memory = (server.usage.memory_info().rss - before) / IDLE / 1024
    report.add("memory of an open conversation", "chat", [memory], unit="KiB", note="1 MB each")
    halves = [names[:WATCHES], names[WATCHES:]]
    streams: list[Any] = [server.client.stream("GET", events(*half)) for half in halves]
    answers = [stream.__enter__() for stream in streams]
    try:
        for answer, half in zip(answers, halves, strict=True):
            lines = answer.iter_lines()
            for _ in half:  # each is told how it stands
                next(line for line in lines if line.startswith("event: grown"))
        used, start = sum(server.usage.cpu_times()[:2]), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        share = (sum(server.usage.cpu_times()[:2]) - used) / (time.perf_counter() - start)
    finally:
        for stream in streams:
            stream.__exit__(None, None, None)
    note = f"{IDLE} open conversations over {IDLE_SECONDS:.0f} s"
    report.add("idle front-end", "chat", [100 * share], unit="% of a core", note=note)


def events(*conversations: str) -> str:
    watches = "&".join(f"watch=conversation:{AGENT}/{name}" for name in conversations)
    return f"/api/events?{watches}"
