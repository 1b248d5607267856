from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import time

import lettafast
from support import append, assistant, reasoning, tool, user

SECONDS = 10


@contextlib.contextmanager
def following(cli, path, *arguments):
    """The process, once it has opened the transcript; its standard error is a terminal."""
    master, slave = pty.openpty()
    with open(master, "rb", buffering=0) as terminal:
        process = cli.start("follow", path, *arguments, stderr=slave)
        os.close(slave)
        process.said = b""
        process.terminal = terminal
        try:
            while b"Ctrl-C ends)" not in process.said:
                process.said += os.read(master, 4096)
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def rest(process):
    """What it said to the end, and its exit status."""
    status = process.wait(SECONDS)
    with contextlib.suppress(OSError):  # the terminal's other end is closed
        while piece := process.terminal.read(4096):
            process.said += piece
    assert b"Traceback" not in process.said
    return status, process.said.decode().replace("\r\n", "\n").split("Ctrl-C ends)\n")[1]


def test_only_what_is_appended_and_as_it_comes(cli, make):
    path = make.file(user("old"), assistant("old"))
    with following(cli, path) as process:
        assert process.said.startswith(b"2 turns so far")
        append(path, assistant("more") + user("new")[:20])
        read = process.stdout.readline
        assert read() == b"assistant  2026-09-01 00:00:00 UTC\n"
        assert read() == b"    more\n"
        append(path, user("new")[20:] + reasoning("\x1b[2J"))
        assert [read() for _ in range(5)] == [
            b"\n",
            b"user  2026-09-01 00:00:00 UTC\n",
            b"    new\n",
            b"\n",
            b"assistant  2026-09-01 00:00:00 UTC\n",
        ]
        assert read() == b"  ~ \\x1b[2J\n"
        append(path, tool(arguments='{"command":"ls"}', output="a\n"))
        assert read() == b"  * Bash ls (ok; in 16 B, out 2 B)\n"


def test_json_is_a_page_a_line(cli, make):
    path = make.file(user("old"))
    start = path.stat().st_size
    rows = [
        assistant("caf\u00e9 \x00 \u2028"),
        tool(),
        tool(None, None, name=None, arguments=None, ok=None),
    ]
    long = assistant("x" * ((1 << 20) + 1))
    with following(cli, path, "--json") as process:
        append(path, b"".join([*rows, long, b"tail"]))
        line = process.stdout.readline()
    with lettafast.open_transcript(path) as transcript:
        page, end = transcript._handle.appended_json(start)
        assert end == transcript._handle.validated()
    assert line == page + b"\n"
    assert json.loads(line)["starts_mid_turn"] is False


def test_ctrl_c_ends_it_quietly(cli, make):
    with following(cli, make.file(user())) as process:
        process.send_signal(signal.SIGINT)
        assert rest(process) == (130, "")


def test_a_lost_reader_ends_it_even_while_nothing_comes(cli, make):
    with following(cli, make.file(user())) as process:
        process.stdout.close()
        assert rest(process) == (141, "")


def test_a_changed_history_ends_it(cli, make, complaint):
    path = make.file(user("1"), user("2"))
    with following(cli, path) as process:
        os.truncate(path, 0)
        status, said = rest(process)
    assert status == 1
    complaint(said, "history changed: the file is shorter", "newest page")


def test_a_refused_line_ends_it_unless_lenient(cli, make, complaint):
    path = make.file(user())
    with following(cli, path) as process, following(cli, path, "--lenient") as lenient:
        append(path, b"x\n" + user("after"))
        status, said = rest(process)
        assert lenient.stdout.readline().startswith(b"user ")
        assert lenient.stdout.readline() == b"    after\n"
    assert status == 1
    complaint(said, "transcript.jsonl:2: not an object")


def test_nothing_is_written_before_something_is_appended(cli, make):
    with following(cli, make.file(user("old")), "--json") as process:
        os.set_blocking(process.stdout.fileno(), False)
        time.sleep(0.5)
        assert process.stdout.read() is None
