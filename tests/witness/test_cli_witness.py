"""`lettafast witness` as a real process; the lettas are real processes that stand in for Letta."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lettafast.binding import process
from lettafast.binding.witness_file import FOLDER, VERSION
from lettafast.witness import mod_path
from lettafast.witness.mod import text
from lettas import Desk, desk
from witness_host import AGENT


class Result(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@pytest.fixture
def place(tmp_path: Path):
    with desk(tmp_path) as found:
        (found.home / ".letta").mkdir()
        yield found


@pytest.fixture
def cli(place: Desk):
    """Runs the command as the user whose home folder is that of `place`."""

    def run(*arguments: str | Path, **environ: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "lettafast", "witness", *arguments],
            env=os.environ | {"HOME": str(place.home), "PYTHONWARNINGS": "error"} | environ,
            cwd=place.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert "Traceback" not in done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def on_terminal(place: Desk):
    """Starts lettas whose standard input is a terminal, as that of a TUI is."""
    with contextlib.ExitStack() as running:

        def start(*arguments: str, cwd: Path | None = None, **environ: str) -> int:
            master, slave = pty.openpty()
            running.callback(os.close, master)
            try:
                child = subprocess.Popen(
                    ["node", place.script, *arguments],
                    executable=place.node,
                    cwd=cwd or place.project,
                    env=place.environ(**environ),
                    stdin=slave,
                    stdout=subprocess.PIPE,
                )
            finally:
                os.close(slave)
            running.enter_context(child)
            running.callback(child.kill)
            assert child.stdout.readline() == b"ready\n"
            return child.pid

        yield start


def speak(place: Desk, pid: int, *, age: float = 0.0, **change: Any) -> None:
    """Writes what the mod in this letta would have written `age` seconds ago."""
    identity = process.identity_of(pid)
    then = time.time() - age
    said = {
        "v": VERSION,
        "boot_id": identity.boot_id,
        "pid": identity.pid,
        "start_ticks": identity.start_ticks,
        "agent_id": AGENT,
        "conversation_id": "local-conv-3",
        "seq": 1,
        "event": "start",
        "at_ms": int(then * 1000),
    }
    folder = place.home / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / f"{pid}.json"
    file.write_text(json.dumps(said | change))
    file.chmod(0o600)
    os.utime(file, (then, then))


def lettas(found: Result) -> dict[int, str]:
    return {letta["pid"]: letta["state"] for letta in found.json["lettas"]}


def test_install_status_uninstall(cli, place):
    path = mod_path(str(place.home))
    found = cli("status")
    assert (found.status, found.err) == (1, "")
    assert found.out == f"{path} is not there: `lettafast witness install` puts it there\n"
    found = cli("install")
    assert (found.status, found.err) == (0, "")
    assert found.out.splitlines() == [
        f"{path} was installed",
        "A letta that runs already loads it after /reload.",
    ]
    assert Path(path).read_bytes() == text()
    found = cli("install")
    assert (found.status, found.out) == (0, f"{path} is there already\n")
    found = cli("status")
    assert (found.status, found.out) == (0, f"{path} is installed, version {VERSION}\n")
    found = cli("uninstall")
    assert (found.status, found.out, found.err) == (0, f"{path} was removed\n", "")
    found = cli("uninstall")
    assert (found.status, found.out) == (0, f"{path} was not there\n")
    assert list((place.home / ".letta").iterdir()) == []


def test_the_same_as_json(cli, place):
    mod = {"path": mod_path(str(place.home)), "newest": VERSION}
    missing = mod | {"installed": "missing", "version": None}
    current = mod | {"installed": "current", "version": VERSION}
    found = cli("status", "--json")
    assert (found.status, found.json) == (1, missing | {"lettas": []})
    assert cli("install", "--json").json == current | {"changed": True}
    assert cli("install", "--json").json == current | {"changed": False}
    found = cli("status", "--json")
    assert (found.status, found.json) == (0, current | {"lettas": []})
    removed = {"witnesses": 0, "left": []}
    assert cli("uninstall", "--json").json == missing | removed | {"changed": True}
    assert cli("uninstall", "--json").json == missing | removed | {"changed": False}


def test_another_home(cli, place, tmp_path):
    (tmp_path / "other" / ".letta").mkdir(parents=True)
    assert cli("install", "--home", "other").status == 0, "beneath the folder it runs in"
    assert Path(mod_path(str(tmp_path / "other"))).exists()
    assert cli("status", "--home", tmp_path / "other").status == 0
    assert cli("status").status == 1
    assert cli("uninstall", "--home", tmp_path / "other").status == 0
    assert list((place.home / ".letta").iterdir()) == []


def test_another_version(cli, place):
    path = Path(mod_path(str(place.home)))
    path.parent.mkdir()
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    path.write_text(f"// lettafast-witness 9 {empty}\n")
    found = cli("status")
    assert found.status == 1
    assert "is of another lettafast, version 9: `lettafast witness install` replaces" in found.out
    assert cli("status", "--json").json["installed"] == "other"
    assert ", in the place of version 9\n" in cli("install").out
    assert path.read_bytes() == text()


@pytest.mark.parametrize(("content", "state"), [(b"mine", "foreign"), (text() + b"//", "changed")])
def test_what_is_not_ours(cli, place, content, state):
    path = Path(mod_path(str(place.home)))
    path.parent.mkdir()
    path.write_bytes(content)
    found = cli("status", "--json")
    assert (found.status, found.json["installed"]) == (1, state)
    assert "is left as it is" in cli("status").out
    for action in ("install", "uninstall"):
        found = cli(action)
        assert (found.status, found.out) == (1, "")
        assert found.err.startswith(f"{path}: not as lettafast has installed it")
        assert "\n\nhint: move it away" in found.err
    assert path.read_bytes() == content


def test_what_cannot_be_done(cli, place, tmp_path):
    (place.home / ".letta").rmdir()
    found = cli("install")
    assert (found.status, found.out) == (3, "")
    assert found.err.startswith(f"{place.home}/.letta: there is no such folder")
    assert "hint: start Letta Code once as this user" in found.err
    (tmp_path / "aside").mkdir()
    (place.home / ".letta").symlink_to(tmp_path / "aside")
    for action in ("install", "uninstall", "status"):
        found = cli(action)
        assert (found.status, found.out) == (3, "")
        assert found.err.startswith(f"{place.home}/.letta: a link is in the way")


@pytest.mark.parametrize(
    "arguments", [(), ("remove",), ("install", "x"), ("install", "--home", ""), ("--json",)]
)
def test_usage(cli, place, arguments):
    found = cli(*arguments)
    assert (found.status, found.out) == (2, "")
    assert "hint: " in found.err
    assert list((place.home / ".letta").iterdir()) == []


def test_a_home_that_is_no_absolute_path(cli):
    found = cli("status", HOME="home")
    assert (found.status, found.out) == (2, "")
    assert "hint: name the home folder with --home" in found.err


def test_which_lettas_have_it(cli, place, on_terminal):
    assert cli("install").status == 0
    script = str(place.script)
    silent = on_terminal()
    loaded, stale, closed = on_terminal(), on_terminal(), on_terminal()
    speak(place, loaded)
    speak(place, stale, age=60.0)
    speak(place, closed, event="closed")
    reused = on_terminal()
    speak(place, reused, start_ticks=1)
    headless = place.run(["node", script, "-p", "hi"], executable=place.node)
    subagent = place.run()
    server = place.run(["node", script, "server"], executable=place.node)
    off = on_terminal("--no-mods")
    off_too = on_terminal(LETTA_DISABLE_MODS=" Yes ")
    other = on_terminal(HOME=str(place.folder))
    found = cli("status", "--json")
    assert found.status == 0
    assert lettas(found) == {
        silent: "not_loaded",
        loaded: "loaded",
        stale: "stale",
        closed: "not_loaded",
        reused: "not_loaded",
        headless.pid: "headless",
        server.pid: "headless",
        subagent.pid: "headless",
        off: "mods_off",
        off_too: "mods_off",
    }
    assert other not in lettas(found)
    by_pid = {letta["pid"]: letta for letta in found.json["lettas"]}
    assert by_pid[loaded] == {
        "pid": loaded,
        "folder": str(place.project),
        "state": "loaded",
        "agent_id": AGENT,
        "conversation_id": "local-conv-3",
        "saw": None,
    }
    assert by_pid[silent]["conversation_id"] is None
    assert by_pid[silent]["saw"].startswith("there is no ")
    assert by_pid[closed]["saw"].endswith("is closed")
    assert "another process" in by_pid[reused]["saw"]

    lines = cli("status").out.splitlines()
    assert lines[1] == ""
    assert lines[2].split() == ["PID", "MOD", "SHOWS", "FOLDER"]
    (line,) = [line for line in lines if line.startswith(f"{loaded} ")]
    assert f"{AGENT}/local-conv-3" in line
    (line,) = [line for line in lines if line.startswith(f"{silent} ")]
    assert "type /reload there, or start it again" in line


def test_uninstall_leaves_what_a_running_letta_goes_on_writing(cli, place, on_terminal):
    cli("install")
    letta = place.run()
    speak(place, letta.pid)
    (place.home / FOLDER / "999999999.json").write_text("")
    found = cli("uninstall", "--json")
    assert (found.json["witnesses"], found.json["left"]) == (1, [letta.pid])
    assert os.listdir(place.home / FOLDER) == [f"{letta.pid}.json"]
    assert "These lettas keep it until they end or /reload: " in cli("uninstall").out
    letta.stop()
    assert cli("uninstall", "--json").json["left"] == []
    assert not (place.home / ".local" / "state" / "lettafast").exists()


def test_names_that_would_move_the_terminal(cli, place, on_terminal):
    """An id or a folder is whatever somebody wrote."""
    cli("install")
    folder = place.folder / "a\x1b[2J\nb"
    folder.mkdir()
    speak(place, on_terminal(cwd=folder), conversation_id="\x1b]0;x\x07")
    found = cli("status")
    assert found.status == 0
    assert "\x1b" not in found.out
    assert "\x07" not in found.out
    assert cli("status", "--json").json["lettas"][0]["folder"] == str(folder)
