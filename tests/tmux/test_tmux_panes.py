"""Panes of tmux as a binder sees them: real servers, terminals and lettas."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from double import HerdrDouble
from lettafast import ProviderError, TmuxError
from lettafast.binding import (
    Binder,
    Bound,
    HerdrPanes,
    Memory,
    Pane,
    Reason,
    Terminal,
    TmuxPanes,
)
from lettafast.binding.pid_pane import PidPane
from lettafast.binding.process import SUPPORTED, foregrounds
from lettafast.binding.world import SeenPane, look_around
from lettafast.herdr.client import Herdr
from lettafast.tmux.client import Tmux
from lettas import Desk
from scene import AGENT, scene
from tmuxserver import Server, as_command, has_ended, until


@pytest.fixture
def binder(short: pathlib.Path, desk: Desk) -> Iterator[Binder]:
    """A binder that finds the servers of `short`, and nothing else."""
    environ = {"HOME": str(desk.home), "TMUX_TMPDIR": str(short), "PATH": os.environ["PATH"]}
    with Binder([], environ, Memory(str(short / "state"))) as found:
        yield found


def seen(binder: Binder) -> dict[str, SeenPane]:
    return {one.pane.pane_id: one for one in binder.look().panes}


def letta(desk: Desk) -> list[str]:
    return [str(desk.node), str(desk.script)]


def run_letta(server: Server, desk: Desk, pane: str) -> int:
    """A letta as a job of the pane's shell; its pid."""
    known = lettas_of(server, pane)
    server.type(pane, as_command(letta(desk), desk.environ()))
    until(lambda: lettas_of(server, pane) - known)
    (pid,) = lettas_of(server, pane) - known
    return pid


def lettas_of(server: Server, pane: str) -> set[int]:
    """The pids of the processes on the pane's terminal that run `letta.js`."""
    tty = server.ask("#{pane_tty}", pane).removeprefix("/dev/")
    said = subprocess.run(
        ["ps", "-ww", "-t", tty, "-o", "pid=,args="], capture_output=True, text=True, check=False
    ).stdout
    rows = [line.split(None, 2) for line in said.splitlines()]
    return {int(row[0]) for row in rows if len(row) > 2 and row[2].endswith("letta.js")}


def test_a_letta_in_a_pane(server: Server, desk: Desk, binder: Binder) -> None:
    pane_id = server.start()
    shell = seen(binder)[pane_id]
    assert (shell.pane.provider, shell.pane.socket) == ("tmux", server.socket)
    assert (shell.pane.agent, shell.lettas, shell.runs_letta) == (None, (), False)
    assert [one.pid for one in shell.foreground] == [int(server.ask("#{pane_pid}"))]
    pid = run_letta(server, desk, pane_id)
    found = seen(binder)[pane_id]
    assert [one.identity.pid for one in found.lettas] == [pid]
    assert (found.pane.agent, found.pane.report, found.runs_letta) == ("letta", None, True)
    assert found.pane.terminal_id == shell.pane.terminal_id
    assert found.letta_folders == (str(server.folder),)


def test_what_is_not_in_front(server: Server, desk: Desk, binder: Binder) -> None:
    """A letta that was put aside is on no screen."""
    pane_id = server.start()
    pid = run_letta(server, desk, pane_id)
    until(lambda: seen(binder)[pane_id].lettas)
    server("send-keys", "-t", pane_id, "C-z")
    until(lambda: not seen(binder)[pane_id].lettas)
    assert seen(binder)[pane_id].pane.agent is None
    server.type(pane_id, "fg")
    until(lambda: [one.identity.pid for one in seen(binder)[pane_id].lettas] == [pid])


def test_a_letta_that_tmux_itself_runs(server: Server, desk: Desk, binder: Binder) -> None:
    pane_id = server.start(as_command(letta(desk), desk.environ()), cwd=desk.project)
    until(lambda: seen(binder)[pane_id].lettas)
    found = seen(binder)[pane_id]
    assert [one.identity.pid for one in found.lettas] == [int(server.ask("#{pane_pid}"))]
    assert found.pane.cwd == str(desk.project)


def test_a_tmux_within_a_tmux(server: Server, desk: Desk, binder: Binder) -> None:
    """The letta is in front of the inner pane; the outer one shows a client of tmux."""
    inner = Server(server.folder, "inner")
    try:
        inside = inner.start(session="inner")
        outside = server.start(session="outer")
        server.type(outside, f"TERM=screen tmux -u -S {inner.socket} attach")
        until(lambda: inner("list-clients"))
        pid = run_letta(inner, desk, inside)
        panes = {one.pane.socket: one for one in binder.look().panes}
        assert [one.identity.pid for one in panes[inner.socket].lettas] == [pid]
        assert panes[server.socket].lettas == ()
        assert panes[server.socket].foreground != ()
    finally:
        inner.stop()


def test_a_tmux_within_herdr(server: Server, desk: Desk, short: pathlib.Path) -> None:
    """herdr says that its pane runs the client, whatever label it kept."""
    pane_id = server.start()
    pid = run_letta(server, desk, pane_id)
    outer = Server(short, "outer")
    try:
        client_pane = outer.start()
        outer.type(client_pane, f"TERM=screen tmux -u -S {server.socket} attach")
        until(lambda: server("list-clients"))
        client = int(server("list-clients", "-F", "#{client_pid}"))
        said = {"pid": client, "argv": ["tmux"], "cwd": str(short)}
        panes = [{"pane_id": "w1:p1", "shell_pid": 1, "agent": "letta", "processes": [said]}]
        tabs = [{"tab_id": "w1:t1", "label": "1", "panes": panes}]
        workspaces = [{"workspace_id": "w1", "label": "w", "tabs": tabs}]
        with HerdrDouble(short / "herdr.sock", {"workspaces": workspaces}) as double:
            herdr = HerdrPanes(Herdr(double.path))
            world = look_around([herdr, TmuxPanes(Tmux(server.socket))])
        by_provider = {one.pane.provider: one for one in world.panes}
        assert by_provider["herdr"].lettas == ()
        assert not by_provider["herdr"].runs_letta
        assert [one.identity.pid for one in by_provider["tmux"].lettas] == [pid]
    finally:
        outer.stop()


def test_a_pane_that_died(server: Server, desk: Desk, binder: Binder) -> None:
    """tmux keeps its screen; nothing runs in front any more."""
    server.start()
    server("set-option", "-g", "remain-on-exit", "on")
    pane_id = server.window(as_command(letta(desk), desk.environ()))
    until(lambda: seen(binder)[pane_id].lettas)
    os.kill(seen(binder)[pane_id].lettas[0].identity.pid, signal.SIGKILL)
    until(lambda: server.ask("#{pane_dead}", pane_id) == "1")
    found = seen(binder)[pane_id]
    assert (found.foreground, found.lettas, found.runs_letta) == ((), (), False)
    verdict = binder.bind(pane_id, found.provider)
    assert isinstance(verdict, Terminal)
    assert verdict.reason is Reason.NOT_LETTA
    server("respawn-pane", "-t", pane_id, *("env", "-i", "PATH=/usr/bin:/bin", "bash", "--norc"))
    assert seen(binder)[pane_id].pane.terminal_id != found.pane.terminal_id


def test_the_terminal_of_a_pane(server: Server, binder: Binder) -> None:
    """Text, without what steers a terminal, and no rows that nothing was written in."""
    pane_id = server.start()
    server.type(
        pane_id, "clear; printf '\\033[31mred\\033[0m \\033]8;;http://x\\007link'; echo; echo"
    )
    until(lambda: "red link" in server("capture-pane", "-p", "-t", pane_id))
    found = seen(binder)[pane_id]
    text = found.provider.terminal_text(found.pane)
    assert "red link\n" in text
    assert "\x1b" not in text
    assert text.endswith("$\n")
    server("clear-history")
    server("send-keys", "-R", "-t", pane_id)
    server("kill-server")
    with pytest.raises(ProviderError):
        found.provider.terminal_text(found.pane)


def test_an_empty_terminal(server: Server, binder: Binder) -> None:
    pane_id = server.start("sleep", "60")
    found = seen(binder)[pane_id]
    assert found.provider.terminal_text(found.pane) == ""


def test_a_pane_is_asked_for_alone(server: Server, binder: Binder) -> None:
    pane_id = server.start()
    found = seen(binder)[pane_id]
    assert found.provider.pane(pane_id) == found.pane
    assert found.provider.pane("%99") is None


def test_no_server_and_no_tmux(short: pathlib.Path, desk: Desk, binder: Binder) -> None:
    world = binder.look()
    assert (world.panes, world.unseen, world.answered) == ((), {}, frozenset())
    server = Server(short)
    server.start()
    environ = {"HOME": str(desk.home), "TMUX_TMPDIR": str(short), "PATH": str(short)}
    try:
        with Binder([], environ, Memory(str(short / "state"))) as without:
            assert without.look().panes == ()
            assert without.look().unseen == {}
        assert len(binder.look().panes) == 1
    finally:
        server.stop()
    left = binder.look()
    assert (left.panes, left.unseen) == ((), {})


def test_a_server_that_is_stopped_is_named(server: Server, short: pathlib.Path) -> None:
    """Its panes are not known; those of another server are."""
    server.start()
    other = Server(short, "other")
    try:
        other.start()
        os.kill(server.pid, signal.SIGSTOP)
        began = time.monotonic()
        one, two = TmuxPanes(Tmux(server.socket, deadline=0.4)), TmuxPanes(Tmux(other.socket))
        world = look_around([one, two])
        assert time.monotonic() - began < 2
        assert [seen.pane.socket for seen in world.panes] == [other.socket]
        assert world.unseen[one].reason is Reason.TMUX_UNAVAILABLE
        assert server.socket in world.unseen[one].saw
        assert world.answered == {two}
    finally:
        os.kill(server.pid, signal.SIGCONT)
        other.stop()


def test_all_providers_are_asked_at_once() -> None:
    """Each waits for the other one, as nobody could who was asked after it had answered."""

    class Waiting(PidPane):
        def panes(self):
            both.wait(5)
            return super().panes()

    both = threading.Barrier(2)
    providers = [Waiting(os.getpid()), Waiting(os.getppid())]
    world = look_around(providers)
    assert [seen.provider for seen in world.panes] == providers
    with pytest.raises(RuntimeError, match="no such thing"):
        look_around([Failing(os.getpid()), PidPane(os.getpid())])


class Failing(PidPane):
    def panes(self):
        raise RuntimeError("no such thing")


def test_a_pane_or_a_server_that_is_not_there(server: Server, binder: Binder) -> None:
    server.start()
    provider = TmuxPanes(Tmux(server.socket))
    verdict = binder.bind("%99", provider)
    assert isinstance(verdict, Terminal)
    assert (verdict.reason, verdict.evidence[-1].saw) == (
        Reason.NOT_LETTA,
        f"{server.socket} has no pane %99",
    )
    server.stop()
    verdict = binder.bind("%0", provider)
    assert isinstance(verdict, Terminal)
    assert verdict.reason is Reason.TMUX_UNAVAILABLE


def test_a_given_server_is_not_found_again(server: Server, short: pathlib.Path) -> None:
    server.start()
    (short / "link").symlink_to(server.socket)
    environ = {"HOME": str(short), "TMUX_TMPDIR": str(short), "PATH": os.environ["PATH"]}
    given = TmuxPanes(Tmux(str(short / "link")))
    with Binder([given], environ, Memory(str(short / "state"))) as binder:
        assert binder.providers() == (given,)
        assert len(binder.look().panes) == 1


def test_another_server_at_the_same_socket(server: Server, binder: Binder) -> None:
    """It counts from `%0` again, and that is another pane."""
    before = server.start()
    first = seen(binder)[before].pane.terminal_id
    server.stop()
    after = server.start()
    assert after == before
    assert seen(binder)[after].pane.terminal_id != first


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a namespace of pids")
def test_a_server_in_another_namespace_of_pids(short: pathlib.Path, binder: Binder) -> None:
    """Its pids mean other processes here, so nothing is known of what runs in its panes."""
    server = Server(short)
    # The shell is the first process of the namespace, and all in it ends with that one.
    script = f"tmux -f /dev/null -S {server.socket} new-session -d sleep 60; read line"
    command = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environ) as inside:
        try:
            until(lambda: binder.look().panes)
            (found,) = binder.look().panes
            assert not found.in_our_pid_namespace
            assert (found.lettas, found.runs_letta, found.pane.agent) == ((), False, None)
            assert isinstance(binder.bind(found.pane.pane_id, found.provider), Terminal)
        finally:
            assert inside.stdin is not None
            inside.stdin.close()
            inside.wait(10)


def test_foregrounds_of_nothing() -> None:
    assert foregrounds([]) == []
    assert foregrounds([None]) == [()]


def test_a_terminal_of_another_session(server: Server, binder: Binder) -> None:
    """A pid that leads no session of that device names nothing here: it may be of a container."""
    assert SUPPORTED
    pane_id = server.start()
    other = server.window()
    provider = seen(binder)[pane_id].provider
    assert isinstance(provider, TmuxPanes)
    terminals = dict(provider._terminals)
    (one, two) = terminals.values()
    assert foregrounds([one, two]) == [(one.leader,), (two.leader,)]
    for wrong in (
        type(one)(one.leader, two.path),
        type(one)(one.leader, "/dev/null"),
        type(one)(one.leader, "/nonexistent"),
        type(one)(one.leader, "/\0"),
        type(one)(os.getpid(), one.path),
        type(one)(server.pid, one.path),
    ):
        assert foregrounds([wrong]) == [()]
    assert other in seen(binder)


def test_the_foreground_as_macos_tells_it(server: Server, desk: Desk, binder: Binder) -> None:
    """By `ps`, whose options are those of macOS; here it is that of Linux."""
    from lettafast.binding import _darwin, _linux

    pane_id = server.start()
    run_letta(server, desk, pane_id)
    until(lambda: seen(binder)[pane_id].lettas)
    provider = seen(binder)[pane_id].provider
    assert isinstance(provider, TmuxPanes)
    terminals = [*provider._terminals.values(), None]
    assert _darwin.foregrounds(terminals) == _linux.foregrounds(terminals)


def test_many_panes_cost_one_look(server: Server, binder: Binder) -> None:
    server.start()
    for _ in range(20):
        server.window("sleep", "60")
    binder.look()
    began = time.monotonic()
    world = binder.look()
    took = time.monotonic() - began
    print(f"21 panes: {took * 1000:.0f} ms")
    assert len(world.panes) == 21
    assert all(len(one.foreground) == 1 for one in world.panes)
    assert took < 0.5


def test_a_server_that_ends_while_it_is_asked(server: Server, binder: Binder) -> None:
    pane_id = server.start()
    provider = seen(binder)[pane_id].provider
    pid = server.pid
    server("kill-server")
    until(lambda: has_ended(pid))
    with pytest.raises(TmuxError) as error:
        provider.pane(pane_id)
    assert error.value.reason == "no_server"
    assert binder.look().unseen == {}


class Moving(TmuxPanes):
    """Lets something happen before a pane is looked at for the second time."""

    happening: Callable[[], object] = staticmethod(lambda: None)

    def pane(self, pane_id: str) -> Pane | None:
        self.happening()
        return super().pane(pane_id)


@pytest.mark.parametrize("what", ["nothing", "pane", "letta", "server", "another letta", "hang"])
def test_what_moves_while_it_is_looked_at(short: pathlib.Path, what: str) -> None:
    with scene(short) as stage:
        server = Server(short)
        server.start()
        pane_id = server.window(cwd=stage.desk.project)
        try:
            pid = run_letta(server, stage.desk, pane_id)
            stage.conversation("local-conv-1")
            stage.says(pid, "local-conv-1")
            provider = Moving(Tmux(server.socket, deadline=0.5))
            happenings: dict[str, Callable[[], object]] = {
                "nothing": lambda: None,
                "pane": lambda: server("kill-pane", "-t", pane_id),
                "letta": lambda: os.kill(pid, signal.SIGKILL),
                "server": lambda: server("kill-server"),
                "another letta": lambda: (
                    os.kill(pid, signal.SIGSTOP),
                    run_letta(server, stage.desk, pane_id),
                ),
                "hang": lambda: os.kill(server.pid, signal.SIGSTOP),
            }
            provider.happening = happenings[what]
            with Binder([provider], stage.environ, Memory(str(short / "state"))) as binder:
                verdict = binder.bind(pane_id, provider)
            if what == "nothing":
                assert isinstance(verdict, Bound)
                assert (verdict.conversation_id, verdict.proof) == ("local-conv-1", "witnessed")
            else:
                assert isinstance(verdict, Terminal)
                away = what in ("server", "hang")
                expected = Reason.TMUX_UNAVAILABLE if away else Reason.CHANGED_WHILE_READING
                assert verdict.reason is expected
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(server.pid, signal.SIGCONT)
            server.stop()


def test_a_letta_by_its_pid(short: pathlib.Path) -> None:
    """In no pane that is known, with a witness and without; and what is none."""
    with scene(short) as stage, stage.binder() as binder:
        stage.conversation("local-conv-1")
        letta = stage.desk.run()
        verdict = binder.bind_pid(letta.pid)
        assert isinstance(verdict, Terminal)
        assert "witness_missing" in [one.reason for one in verdict.evidence]
        stage.says(letta.pid, "local-conv-1")
        verdict = binder.bind_pid(letta.pid)
        assert isinstance(verdict, Bound)
        assert (verdict.agent_id, verdict.conversation_id) == (AGENT, "local-conv-1")
        letta.stop()
        for nobody in (letta.pid, 2**31, 10**18):
            verdict = binder.bind_pid(nobody)
            assert isinstance(verdict, Terminal)
            assert verdict.reason is Reason.NOT_LETTA
            assert verdict.evidence[-1].saw == f"no process has the pid {nobody}"
        verdict = binder.bind_pid(os.getpid())
        assert isinstance(verdict, Terminal)
        assert verdict.reason is Reason.NOT_LETTA


def test_a_pid_beside_others_in_front(short: pathlib.Path) -> None:
    """Two lettas in one pane are several there; one by itself is what was asked for."""
    with scene(short) as stage, stage.binder() as binder:
        stage.conversation("local-conv-1")
        one, two = stage.start("w1:p1"), stage.desk.run()
        processes = stage.double.pane("w1:p1")["processes"]
        both = [*processes, {**processes[0], "pid": two.pid}]
        stage.double.set_pane("w1:p1", processes=both)
        stage.says(one.pid, "local-conv-1")
        world, seen_pane = binder.look_at_pid(one.pid) or pytest.fail("it runs")
        assert seen_pane.pane.provider == "pid"
        assert len(world.panes) == 4
        verdict = binder.bind_pid(one.pid)
        assert isinstance(verdict, Bound)
