"""The client against real servers, and against a program that is none."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import sys
import time
from contextlib import closing

import pytest

from lettafast import TmuxError
from lettafast.tmux import listing
from lettafast.tmux.client import Tmux, find_program
from tmuxserver import SHELL, Server, until

TITLES = ["%0 #{pane_id} #[fg=red]", "a'b\"c\\d `x` $(y) | ; &", "é 漢 \u202e\u200b", "a\tb", " "]


def reason(error: pytest.ExceptionInfo[TmuxError]) -> str:
    assert error.value.hint or error.value.reason == "io"
    assert error.value.exit_code == 3
    return str(error.value.reason)


def test_a_pane(server: Server) -> None:
    pane_id = server.start(session="work")
    (pane,) = Tmux(server.socket).panes()
    assert (pane.pane_id, pane.place, pane.is_dead) == (pane_id, "work:0.0", False)
    assert pane.folder == str(server.folder)
    assert pane.pid == int(server.ask("#{pane_pid}"))
    assert pane.tty == server.ask("#{pane_tty}")
    assert Tmux(server.socket).server_pid() == server.pid


@pytest.mark.parametrize("title", TITLES)
def test_any_title(server: Server, title: str) -> None:
    pane_id = server.start()
    server("select-pane", "-t", pane_id, "-T", title.replace("#", "##"))
    (pane,) = Tmux(server.socket).panes()
    assert pane.title == server.ask("#{pane_title}", pane_id)
    assert pane.pane_id == pane_id


def test_a_long_title(server: Server) -> None:
    server.start()
    server("select-pane", "-T", "x" * 5000)
    assert Tmux(server.socket).panes()[0].title == "x" * 256


def test_a_title_that_a_program_sets(server: Server) -> None:
    """Controls, an end of the line and bytes that are no UTF-8 within it."""
    pane_id = server.start()
    for number, title in enumerate([b"one\ntwo", b"\x01\x02three", b"f\xffour", b"five"]):
        octal = "".join(f"\\{byte:03o}" for byte in title)
        server.type(pane_id, f"clear; printf '\\033]2;{octal}\\007done {number}\\n'")
        until(lambda number=number: f"done {number}" in server("capture-pane", "-p"))
        (pane,) = Tmux(server.socket).panes()
        assert pane.title == server.ask("#{pane_title}", pane_id)
    assert pane.title == "five"


@pytest.mark.parametrize("name", [b"a\nb", b"%1 x\t\x1b[2J", b"\xff\xfe", "é ' \" # \\".encode()])
def test_any_path(server: Server, name: bytes) -> None:
    folder = os.path.join(os.fsencode(server.folder), name)
    os.mkdir(folder)
    pane_id = server.start()
    server.type(pane_id, f"cd $'{''.join(f'{chr(92)}{byte:03o}' for byte in folder)}'")
    until(lambda: Tmux(server.socket).panes()[0].folder != str(server.folder))
    (pane,) = Tmux(server.socket).panes()
    assert os.fsencode(pane.folder) == folder


@pytest.mark.parametrize("name", ["a b", "%0", "é;x", "$(x)", "a'b"])
def test_any_name_of_a_session(server: Server, name: str) -> None:
    server.start(session=name)
    (pane,) = Tmux(server.socket).panes()
    assert pane.place == f"{server.ask('#{session_name}')}:0.0"


def test_a_socket_of_any_name(short: pathlib.Path) -> None:
    server = Server(short, "a b;$(touch x)'\"")
    try:
        server.start()
        assert len(Tmux(server.socket).panes()) == 1
    finally:
        server.stop()


def test_a_window_in_two_sessions_is_one(server: Server) -> None:
    first = server.start(session="one")
    server("new-session", "-d", "-t", "one", "-s", "again")
    second = server.window()
    other = server("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "other")
    server("link-window", "-s", first, "-t", "other:7")
    listed = server("list-panes", "-a", "-F", "#{pane_id}").split("\n")
    assert len(listed) > 3
    found = [pane.pane_id for pane in Tmux(server.socket).panes()]
    assert sorted(found) == sorted({first, second, other})


def test_what_a_pane_shows(server: Server) -> None:
    pane_id = server.start()
    server.type(pane_id, "clear; for n in $(seq 50); do echo row $n; done")
    until(lambda: "row 50" in server("capture-pane", "-p", "-t", pane_id))
    tmux = Tmux(server.socket)
    pid = int(server.ask("#{pane_pid}", pane_id))
    rows = tmux.capture(pane_id, pid).splitlines()
    assert [row for row in rows if row.startswith("row")] == [f"row {n}" for n in range(1, 51)]
    assert "row 1" not in tmux.capture(pane_id, pid, 0).splitlines()
    with pytest.raises(TmuxError, match="%99") as error:
        tmux.capture("%99", pid)
    assert reason(error) == "refused"


def test_a_pane_that_was_started_anew_is_another(server: Server) -> None:
    """By `respawn-pane`, or by another server at the same socket; no text of it is given."""
    server.start()
    pane_id = server.window()
    pid = int(server.ask("#{pane_pid}", pane_id))
    tmux = Tmux(server.socket)
    until(lambda: "$" in tmux.capture(pane_id, pid))
    server("respawn-pane", "-k", "-t", pane_id, *SHELL)
    with pytest.raises(TmuxError, match="another pane") as error:
        tmux.capture(pane_id, pid)
    assert reason(error) == "refused"


def test_no_server(short: pathlib.Path) -> None:
    server = Server(short)
    tmux = Tmux(server.socket)
    for call in (tmux.panes, tmux.server_pid):
        with pytest.raises(TmuxError) as error:
            call()
        assert reason(error) == "no_server"
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(server.socket)
    for call in (tmux.panes, tmux.server_pid):
        with pytest.raises(TmuxError) as error:
            call()
        assert reason(error) == "no_server"
    with pytest.raises(TmuxError) as error:
        Tmux(f"/{'x' * 200}").server_pid()
    assert reason(error) == "io"
    assert os.listdir(short / f"tmux-{os.geteuid()}") == ["default"]  # and none was started


def test_a_server_without_a_session(server: Server) -> None:
    server.start()
    server("set-option", "-s", "exit-empty", "off")
    server("kill-session")
    assert Tmux(server.socket).panes() == ()


def test_a_server_that_is_stopped(server: Server) -> None:
    server.start()
    os.kill(server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(TmuxError) as error:
            Tmux(server.socket, deadline=0.3).panes()
        assert reason(error) == "timeout"
        assert time.monotonic() - began < 2
    finally:
        os.kill(server.pid, signal.SIGCONT)


def program(folder: pathlib.Path, body: str) -> str:
    """A program in the place of tmux."""
    path = folder / "tmux"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_how_tmux_is_run(server: Server, short: pathlib.Path) -> None:
    """As a list of arguments, in an environment that holds nothing of ours."""
    server.start()
    said = short / "said"
    fake = program(
        short,
        f"open({str(said)!r}, 'w').write(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd(),"
        " os.fstat(0).st_rdev]))",
    )
    assert Tmux(server.socket, fake).panes() == ()
    argv, environ, folder, standard_input = json.loads(said.read_text())
    assert argv[:3] == ["-u", "-S", server.socket]
    assert argv[3:6] == ["list-panes", "-a", "-F"]
    assert set(environ) <= {"LC_ALL", "TERM", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert folder == "/"
    assert standard_input == os.stat(os.devnull).st_rdev


@pytest.mark.parametrize(
    "body",
    [
        "print('nonsense')",
        "print(sys.argv[-1])",
        "print(sys.argv[-1][:32] * 3)",
        "print(sys.argv[-1][:32] + (sys.argv[-1][:32].join(['%0'] * 9)) + sys.argv[-1][:32])",
        "sys.stdout.buffer.write(b'\\xff\\x00' * 1000)",
    ],
)
def test_answers_that_are_none(server: Server, short: pathlib.Path, body: str) -> None:
    server.start()
    with pytest.raises(TmuxError) as error:
        Tmux(server.socket, program(short, body)).panes()
    assert reason(error) == "answer"


def test_a_tmux_that_fails(server: Server, short: pathlib.Path) -> None:
    """It may be of another version than the server; what it prints is shown as it is safe to."""
    server.start()
    fake = program(short, "print('mismatch\\x1b[2J', file=sys.stderr); sys.exit(1)")
    with pytest.raises(TmuxError, match="mismatch") as error:
        Tmux(server.socket, fake).panes()
    assert reason(error) == "refused"
    assert "\x1b" not in str(error.value)


def test_a_tmux_that_hangs(server: Server, short: pathlib.Path) -> None:
    server.start()
    with pytest.raises(TmuxError) as error:
        Tmux(server.socket, program(short, "time.sleep(60)"), deadline=0.3).panes()
    assert reason(error) == "timeout"


def test_no_tmux(server: Server, short: pathlib.Path) -> None:
    assert find_program({"PATH": str(short)}) is None
    assert find_program({"PATH": "."}) is None
    with pytest.raises(TmuxError) as error:
        Tmux(server.socket, str(short / "missing")).panes()
    assert reason(error) == "not_installed"


def test_the_marks_are_of_one_question() -> None:
    """What stands in an answer to one cannot be put together for the next."""
    mark, other = b"a" * 32, b"b" * 32
    values = [b"%0", b"1", b"/dev/pts/0", b"0", b"s", b"0", b"0", other, b"/x\n" + other]
    answer = mark + b"".join(value + mark for value in values) + b"\n"
    (pane,) = listing.parse(mark, answer)
    assert (pane.title, pane.folder) == (other.decode(), "/x\n" + other.decode())
    assert len(listing.parse(mark, answer * 2)) == 1
    with pytest.raises(ValueError, match="no list"):
        listing.parse(other, answer)
