"""A real server on a loopback port, the client of a script, and event streams."""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from lettafast.binding import Binder
from lettafast.web import Access, WebLimits, create_app
from lettafast.web.serving import Server, listen

SECONDS = 10
"""How long anything may take that is not measured."""
TOKEN = "a-token-for-the-tests-0123456789"
AGENT = "agent-1"


class Event(NamedTuple):
    name: str
    data: dict[str, Any]
    at: float
    """When it came: `time.monotonic()`."""


class Stream:
    """One client of `/api/events`."""

    def __init__(self, site: Site, *watches: str) -> None:
        query = "&".join(f"watch={quote(watch, safe='')}" for watch in watches)
        self._connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=SECONDS)
        self._connection.request("GET", f"/api/events?{query}", headers=site.headers)
        self.response = self._connection.getresponse()

    def next(self) -> Event:
        """The next event; comments are passed over."""
        name = None
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                assert name is not None
                return Event(name, json.loads(line.removeprefix("data: ")), time.monotonic())

    def line(self) -> bytes:
        return self.response.readline()

    def wait(self, name: str) -> Event:
        """The next event of this name; others are passed over."""
        while (event := self.next()).name != name:
            pass
        return event

    def is_silent(self, seconds: float) -> bool:
        self._connection.sock.settimeout(seconds)
        try:
            return self.response.readline() in (b"", b"\n")
        except TimeoutError:
            return True

    def close(self) -> None:
        self.response.close()
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Site:
    """The application served by the real server in a thread."""

    def __init__(
        self,
        root: pathlib.Path | None,
        binder: Binder | None = None,
        note: str | None = None,
        **limits: Any,
    ) -> None:
        bounds = WebLimits(**limits)
        self.root = root
        self.socket = listen("127.0.0.1", 0, bounds)
        self.port = self.socket.getsockname()[1]
        self.access = Access(self.port, token=TOKEN)
        self.app = create_app(root, access=self.access, binder=binder, note=note, limits=bounds)
        self.server = Server(self.app, bounds)
        self.headers = {"Authorization": f"Bearer {TOKEN}"}
        self.base = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.base, headers=self.headers, timeout=SECONDS)
        self._thread = threading.Thread(target=self.server.run, args=([self.socket],))

    def start(self) -> Site:
        self._thread.start()
        until = time.monotonic() + SECONDS
        while not self.server.started and time.monotonic() < until:
            time.sleep(0.005)
        assert self.server.started
        return self

    def stop(self) -> float:
        """Ends the server; how many seconds that took."""
        began = time.monotonic()
        self.server.should_exit = True
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        self.client.close()
        return time.monotonic() - began

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path, **options)

    def json(self, path: str, status: int = 200) -> Any:
        answer = self.get(path)
        assert answer.status_code == status, answer.text
        kind = "application/json" if status < 400 else "application/problem+json"
        assert answer.headers["content-type"] == kind
        return answer.json()

    def stream(self, *watches: str) -> Stream:
        return Stream(self, *watches)

    def health(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json("/api/health")
        return found

    def write(self, conversation: str, data: bytes, agent: str = AGENT) -> pathlib.Path:
        """A transcript with these bytes."""
        assert self.root is not None
        path = self.root / agent / conversation / "transcript.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


@contextlib.contextmanager
def serving(root: pathlib.Path | None, *arguments: Any, **options: Any) -> Iterator[Site]:
    site = Site(root, *arguments, **options).start()
    try:
        yield site
    finally:
        site.stop()


def raw(port: int, data: bytes) -> bytes:
    """The bytes that come back for these bytes, until the server closes or falls silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(data)
        connection.settimeout(1)
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while piece := connection.recv(1 << 16):
                answer += piece
        return answer


def until(holds: Any, seconds: float = SECONDS) -> None:
    """Waits for a condition."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
