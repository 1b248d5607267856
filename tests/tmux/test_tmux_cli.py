"""`panes`, `explain` and `bind` as real processes, beside a real tmux and a double of herdr."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from double import HerdrDouble
from lettafast.binding.names import session_name
from scene import AGENT, Scene, scene
from tmuxserver import SECONDS, Server, as_command, until


class Result(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """Runs lettafast beside the stage's herdr and the servers of its folder, and no others."""

    def __init__(self, stage: Scene) -> None:
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            **stage.environ,
            "HERDR_SOCKET_PATH": stage.double.path,
            "LETTAFAST_STATE_DIR": str(stage.folder / "state"),
            "LC_ALL": "C.UTF-8",
            "PYTHONWARNINGS": "error",
        }

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "lettafast", *arguments],
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str, **environ: str) -> Result:
        with self.start(*arguments, **environ) as process:
            out, err = process.communicate(timeout=SECONDS * 2)
        assert "Traceback" not in err
        return Result(process.returncode, out, err)


@pytest.fixture
def stage(short: pathlib.Path) -> Iterator[Scene]:
    with scene(short) as found:
        yield found


@pytest.fixture
def command(stage: Scene) -> Command:
    return Command(stage)


def start_letta(server: Server, stage: Scene) -> str:
    argv = [str(stage.desk.node), str(stage.desk.script)]
    pane = server.start(as_command(argv, stage.desk.environ()), cwd=stage.desk.project)
    until(lambda: "ready" in server("capture-pane", "-p", "-t", pane))
    return pane


def test_both_providers_are_listed(server: Server, stage: Scene, command: Command) -> None:
    pane = start_letta(server, stage)
    result = command("panes", "--json")
    assert (result.status, result.err) == (0, "")
    *herdr, tmux = result.json
    assert {one["provider"] for one in herdr} == {"herdr"}
    assert (tmux["provider"], tmux["pane_id"], tmux["agent"]) == ("tmux", pane, "letta")
    assert tmux["session"] == session_name("tmux", server.socket)
    assert tmux["cwd"] == str(stage.desk.project)
    assert tmux["label"] == "work:0.0"
    assert tmux["verdict"] == "terminal"
    rows = command("panes").out.splitlines()
    assert rows[-1].split()[:2] == [pane, "letta"]
    assert rows[-1].endswith(server.socket)


def test_one_session_is_named(server: Server, stage: Scene, command: Command) -> None:
    """By its address, or by its socket, whatever it is a socket of."""
    server.start()
    for chosen in (
        ("--session", session_name("tmux", server.socket)),
        ("--socket", server.socket),
        ("--socket", f"{server.folder}/../{server.folder.name}/tmux-{os.geteuid()}/default"),
    ):
        result = command("panes", "--json", *chosen)
        assert (result.status, result.err) == (0, "")
        assert [one["socket"] for one in result.json] == [server.socket]
    for chosen in (
        ("--session", session_name("herdr", stage.double.path)),
        ("--socket", stage.double.path),
    ):
        result = command("panes", "--json", *chosen)
        assert {one["socket"] for one in result.json} == {stage.double.path}
    missing = session_name("tmux", "/nowhere")
    result = command("panes", "--session", missing)
    assert (result.status, result.out) == (3, "")
    assert result.err == f"no session {missing} is running here\n"


def test_a_server_at_a_socket_of_ones_own(stage: Scene, command: Command) -> None:
    """`tmux -S`: found by its path alone, and asked only where nobody else can have put it."""
    own = Server(stage.folder, "own")
    own.socket = str(stage.folder / "own")
    try:
        pane = own.start()
        result = command("panes", "--json", "--socket", own.socket)
        assert (result.status, result.err) == (0, "")
        assert [(one["socket"], one["pane_id"]) for one in result.json] == [(own.socket, pane)]
        stage.folder.chmod(0o777)
        result = command("panes", "--socket", own.socket)
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith(f"{own.socket}: others may put another socket")
    finally:
        stage.folder.chmod(0o700)
        own.stop()


def test_nothing_is_said_of_herdr_where_there_is_none(
    server: Server, stage: Scene, command: Command
) -> None:
    server.start()
    server("set-option", "-g", "remain-on-exit", "on")
    pane = server.window("true")
    until(lambda: server.ask("#{pane_dead}", pane) == "1")
    (found,) = command("explain", pane, "--json").json
    assert "herdr" not in " ".join(one["sentence"] for one in found["evidence"])
    assert "What runs in this pane's foreground is not known." in str(found["evidence"])


def test_a_tmux_pane_is_explained(server: Server, stage: Scene, command: Command) -> None:
    pane = server.start()
    name = f"{session_name('tmux', server.socket)}/{pane}"
    for said in (pane, name):
        result = command("explain", said, "--json")
        assert result.status == 1
        (found,) = result.json
        assert (found["pane_id"], found["reason"]) == (pane, "not_letta")
    other = Server(server.folder, "other")
    try:
        assert other.start() == pane
        result = command("explain", pane)
        assert result.status == 2
        assert name in result.err
        assert command("explain", name).status == 1
    finally:
        other.stop()


def test_a_tmux_that_does_not_answer(server: Server, stage: Scene, command: Command) -> None:
    """It is named, and hides no pane of herdr; nobody says that its panes are gone."""
    server.start()
    os.kill(server.pid, signal.SIGSTOP)
    try:
        result = command("panes", "--json")
        assert result.status == 0
        assert {one["provider"] for one in result.json} == {"herdr"}
        assert result.err == f"{server.socket}: no whole answer came in time\n"
        assert command("panes", "--socket", server.socket).status == 3
        assert command("explain", "%0").status == 3
    finally:
        os.kill(server.pid, signal.SIGCONT)


def test_a_tmux_alone(server: Server, stage: Scene, command: Command) -> None:
    """Without any herdr."""
    server.start()
    result = command("panes", "--json", HERDR_SOCKET_PATH="/nonexistent/herdr.sock")
    assert (result.status, result.err) == (0, "")
    assert len(result.json) == 1


def test_a_letta_by_its_pid(stage: Scene, command: Command) -> None:
    """In no pane at all, or in that of herdr, whose verdict it is then."""
    stage.resumed()
    bound = stage.double.pane("w1:p1")["processes"][0]["pid"]
    result = command("bind", "--pid", str(bound), "--json")
    assert result.status == 0
    assert (result.json[0]["conversation_id"], result.json[0]["pane_id"]) == (
        "local-conv-1",
        "w1:p1",
    )
    assert command("bind", "--pid", str(bound)).out.startswith(
        f"w1:p1 shows {AGENT}/local-conv-1\n"
    )
    alone = stage.desk.run(cwd=stage.folder)
    result = command("bind", "--pid", str(alone.pid), "--json")
    assert result.status == 1
    (found,) = result.json
    assert (found["provider"], found["pane_id"], found["agent"]) == ("pid", str(alone.pid), "letta")
    assert found["cwd"] == str(stage.folder)
    assert found["verdict"] == "terminal"


def test_what_is_no_letta(stage: Scene, command: Command) -> None:
    result = command("bind", "--pid", str(os.getpid()), "--json")
    assert (result.status, result.json[0]["reason"]) == (1, "not_letta")
    letta = stage.desk.run()
    letta.stop()
    result = command("bind", "--pid", str(letta.pid))
    assert (result.status, result.out) == (2, "")
    assert f"no process has the pid {letta.pid}" in result.err
    for wrong in ("0", "-1", "x", "1.5", "9" * 19):
        assert command("bind", "--pid", wrong).status == 2
    assert command("bind", "--pid", "9" * 18).status == 2
    assert command("bind").status == 2


def test_a_letta_is_watched_until_it_ends(stage: Scene, command: Command) -> None:
    """A switch in it is told within a second."""
    for number in (1, 2):
        stage.conversation(f"local-conv-{number}")
    letta = stage.desk.run()
    with command.start("bind", "--pid", str(letta.pid), "--watch", "--json") as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["verdict"] == "terminal"
            for number in (1, 2, 1):
                time.sleep(0.3 * number)
                began = time.monotonic()
                stage.says(letta.pid, f"local-conv-{number}")
                told = json.loads(process.stdout.readline())
                assert told["conversation_id"] == f"local-conv-{number}"
                assert time.monotonic() - began < 1
            letta.stop()
            assert process.wait(SECONDS) == 2
        finally:
            process.kill()
            process.communicate(timeout=SECONDS)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a letta of another user")
def test_a_letta_of_another_user(stage: Scene, command: Command) -> None:
    for folder in (stage.folder, stage.desk.project, stage.desk.home):
        folder.chmod(0o755)
    letta = stage.desk.run(user=65534)
    result = command("bind", "--pid", str(letta.pid), "--json")
    assert result.status == 1
    assert result.json[0]["verdict"] == "terminal"


def test_a_letta_of_tmux_by_its_pid(server: Server, stage: Scene, command: Command) -> None:
    pane = start_letta(server, stage)
    result = command("bind", "--pid", server.ask("#{pane_pid}", pane), "--json")
    assert (result.json[0]["provider"], result.json[0]["pane_id"]) == ("tmux", pane)


def test_a_herdr_that_does_not_answer_does_not_hide_tmux(
    server: Server, stage: Scene, command: Command
) -> None:
    server.start()
    with HerdrDouble(stage.folder / "h2" / "herdr.sock") as other:
        other.fault("garbage")
        result = command("panes", "--json", HERDR_SOCKET_PATH=other.path)
        assert result.status == 0
        assert [one["provider"] for one in result.json] == ["tmux"]
        assert "answer not understood" in result.err
