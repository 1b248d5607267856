"""`lettafast serve` as a real process."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from double import HerdrDouble
from support import user

SECONDS = 20
TOKEN = "0123456789abcdef-token"


@pytest.fixture
def home(tmp_path: pathlib.Path) -> pathlib.Path:
    """A home with one conversation."""
    path = tmp_path / "home" / ".letta" / "transcripts" / "agent-1" / "c" / "transcript.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(user("hello from home"))
    return tmp_path / "home"


class Command:
    """Starts the command; what it prints and how it ends."""

    def __init__(self, home: pathlib.Path) -> None:
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "HOME": str(home),
            "TMUX_TMPDIR": str(home),
            "PYTHONWARNINGS": "error",
        }
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, code: str | None = None, **environ: str) -> Any:
        how = ["-m", "lettafast"] if code is None else ["-c", code]
        process = subprocess.Popen(
            [sys.executable, *how, "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environ | environ,
        )
        self.processes.append(process)
        return process

    def end(self, process: Any, number: int = signal.SIGTERM) -> tuple[int, str, float]:
        """The status, standard error, and how long it took."""
        began = time.monotonic()
        process.send_signal(number)
        _, complaints = process.communicate(timeout=SECONDS)
        return process.returncode, complaints, time.monotonic() - began


@pytest.fixture
def command(home: pathlib.Path) -> Iterator[Command]:
    found = Command(home)
    yield found
    for process in found.processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_printed_address_lets_in_once(command: Command) -> None:
    process = command.start("--port", "0")
    url = process.stdout.readline().rstrip("\n")
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/\?start=[\w-]{43}", url)
    with httpx.Client(follow_redirects=True, timeout=SECONDS) as browser:
        shown = browser.get(url)
        assert (shown.status_code, shown.url.path, shown.url.query) == (200, "/", b"")
        assert "hello from home" in shown.text
        assert url.partition("=")[2] not in shown.text
    assert httpx.get(url).status_code == 401
    status, complaints, seconds = command.end(process, signal.SIGINT)
    assert status == 0
    assert seconds < 2
    token = re.fullmatch(
        r"the address works once, .* token for scripts: ([\w-]{43})\n", complaints
    )[1]
    assert token not in url


def test_json_root_note_and_token(command: Command, tmp_path: pathlib.Path) -> None:
    place = tmp_path / "backup" / "agent-2" / "d"
    place.mkdir(parents=True)
    (place / "transcript.jsonl").write_bytes(user("from the backup"))
    options = ["--root", str(tmp_path / "backup"), "--note", "A recording.", "--json"]
    process = command.start("--port", "0", *options, "--token", TOKEN)
    said = json.loads(process.stdout.readline())
    assert said["token"] == TOKEN
    base = said["url"].partition("?")[0]
    answer = httpx.get(base, headers={"Authorization": f"Bearer {TOKEN}"})
    assert "from the backup" in answer.text
    assert "A recording." in answer.text
    assert command.end(process)[:2] == (0, "")


def test_the_token_of_the_environment(command: Command) -> None:
    process = command.start("--port", "0", "--json", LETTAFAST_TOKEN=TOKEN)
    assert json.loads(process.stdout.readline())["token"] == TOKEN
    short = command.start("--token", "short")
    _, complaints = short.communicate(timeout=SECONDS)
    assert short.returncode == 2
    assert "hint:" in complaints
    assert "short" not in complaints.replace("or is short", "")


@pytest.mark.parametrize("port", ["-1", "65536", "x", "1.5", ""])
def test_what_is_no_port(command: Command, port: str) -> None:
    process = command.start("--port", port)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 2


def test_a_port_that_is_taken(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = command.start("--port", str(port))
        out, complaints = process.communicate(timeout=SECONDS)
        assert (process.returncode, out) == (3, "")
        assert f"127.0.0.1 port {port}: Address already in use" in complaints
        assert "--port 0" in complaints


def test_the_port_of_old_or_a_free_one(command: Command) -> None:
    first = command.start("--json")
    one = json.loads(first.stdout.readline())["url"]
    second = command.start("--json")
    other = json.loads(second.stdout.readline())["url"]
    ports = {int(re.search(r":(\d+)/", url)[1]) for url in (one, other)}
    assert len(ports) == 2


def test_beyond_the_loopback_it_warns(command: Command) -> None:
    process = command.start("--host", "0.0.0.0", "--port", "0")
    url = process.stdout.readline()
    assert url.startswith("http://localhost:")
    assert "who can read this network" in command.end(process)[1]
    nowhere = command.start("--host", "192.0.2.1", "--port", "0")
    nowhere.communicate(timeout=SECONDS)
    assert nowhere.returncode == 3


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a..b", "x" * 70, "[::1]", ""])
def test_what_is_no_host(command: Command, host: str) -> None:
    process = command.start("--host", host, "--port", "0")
    out, complaints = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, "")
    assert "Traceback" not in complaints
    assert "Unknown error" not in complaints
    assert "--port" not in complaints
    assert "hint: `--host`" in complaints


def test_ipv6(command: Command) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    process = command.start("--host", "::1", "--port", "0")
    url = process.stdout.readline().rstrip("\n")
    assert url.startswith("http://[::1]:")
    assert httpx.get(url).status_code == 303


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_with_streams_open(command: Command, number: int) -> None:
    process = command.start("--port", "0", "--json", "--token", TOKEN)
    base = json.loads(process.stdout.readline())["url"].partition("?")[0]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=base, headers=headers, timeout=SECONDS) as client:
        path = "/api/events?watch=conversation:agent-1/c"
        with client.stream("GET", path) as one, client.stream("GET", path) as other:
            lines = [stream.iter_lines() for stream in (one, other)]
            for found in lines:
                assert next(found) == "retry: 1000"
            began = time.monotonic()
            process.send_signal(number)
            for found in lines:
                assert "event: grown" in list(found)
            assert process.wait(SECONDS) == 0
            assert time.monotonic() - began < 2
    assert "Traceback" not in process.stderr.read()


def test_an_extra_that_is_missing(command: Command) -> None:
    for package, extra in (("starlette", "web"), ("psutil", "binding")):
        code = f"""
import sys
sys.modules[{package!r}] = None
from lettafast.cli import main
sys.exit(main())
"""
        process = command.start("--port", "0", "--json", code=code)
        if extra == "web":
            _, complaints = process.communicate(timeout=SECONDS)
            assert process.returncode == 2
        else:
            assert process.stdout.readline().startswith('{"url"')
            complaints = command.end(process)[1]
        assert package in complaints
        assert f"pip install 'lettafast[{extra}]'" in complaints


def test_the_browser_is_opened(command: Command, tmp_path: pathlib.Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" >{seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    process = command.start("--port", "0", "--open", BROWSER=f"{browser} %s")
    url = process.stdout.readline().rstrip("\n")
    end = time.monotonic() + SECONDS
    while not seen.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert seen.read_text() == url
    process = command.start("--port", "0", "--open")
    process.stdout.readline()
    assert "no browser is opened: there is no display" in command.end(process)[1]


def test_an_address_that_nobody_reads_is_not_served(command: Command) -> None:
    process = command.start("--port", "0")
    process.stdout.close()
    assert process.wait(SECONDS) == 141
    assert "Broken pipe" not in process.stderr.read()


def test_few_descriptors_are_enough(command: Command, tmp_path: pathlib.Path) -> None:
    """Transcripts are closed early, so that connections and herdr find descriptors left."""
    root = tmp_path / "many"
    for number in range(60):
        path = root / "agent-1" / f"c-{number}" / "transcript.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(user(str(number)))
    code = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
from lettafast.cli import main
sys.exit(main())
"""
    process = command.start(
        "--port", "0", "--json", "--token", TOKEN, "--root", str(root), code=code
    )
    base = json.loads(process.stdout.readline())["url"].partition("?")[0]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=base, headers=headers, timeout=SECONDS) as client:
        for number in range(60):
            assert client.get(f"/api/conversations/agent-1/c-{number}").status_code == 200
        for path in ("/", "/api/panes", "/api/conversations", "/static/style.css"):
            assert client.get(path).status_code == 200
        assert client.get("/api/health").json()["open_transcripts"] <= 6
    assert command.end(process)[:2] == (0, "")


@pytest.mark.parametrize("method", ["session.snapshot", "pane.process_info"])
def test_it_ends_while_a_herdr_hangs(command: Command, tmp_path: pathlib.Path, method: str) -> None:
    with HerdrDouble(tmp_path / "herdr.sock") as herdr:
        herdr.fault("hang", method=method)
        process = command.start(
            "--port", "0", "--json", "--token", TOKEN, HERDR_SOCKET_PATH=herdr.path
        )
        base = json.loads(process.stdout.readline())["url"].partition("?")[0]
        host = base.removeprefix("http://").rstrip("/")
        request = f"GET /api/panes HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}"
        address = ("127.0.0.1", int(host.partition(":")[2]))
        with socket.create_connection(address) as asking:
            asking.sendall(f"{request}\r\n\r\n".encode())
            end = time.monotonic() + SECONDS
            while method not in [one["method"] for one in herdr.requests]:
                assert time.monotonic() < end
                time.sleep(0.02)
            status, complaints, seconds = command.end(process)
        assert (status, complaints) == (0, "")
        assert seconds < 2
