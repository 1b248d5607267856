"""What every command has in common: streams, statuses, signals, locale, color."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import lettafast
from lettafast.cli import main
from support import tool, user

COMMANDS = ["check", "page", "show", "content", "follow", "list", "doctor"]
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0"}


def test_the_version(cli):
    assert cli("--version") == (0, f"lettafast {lettafast.__version__}\n".encode(), "")


def test_the_version_needs_nothing_heavy(cli):
    code = (
        "import sys; from lettafast.cli import main; main(['--version']); "
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = set(cli(code=code).err.split())
    assert "lettafast.cli" in loaded
    heavy = {"asyncio", "ctypes", "email", "http", "importlib.metadata"}
    assert loaded.isdisjoint(heavy | {"multiprocessing", "socket", "ssl", "subprocess"})


def test_main_takes_arguments_and_returns_the_status(capfd):
    assert main(["--version"]) == 0
    assert main(["check", "--json", "/nowhere"]) == 3
    assert main(["page"]) == 2
    out, err = capfd.readouterr()
    assert out.startswith(f"lettafast {lettafast.__version__}\n{{")
    assert "hint: " in err


def test_help_names_every_command(cli):
    result = cli("--help")
    assert (result.status, result.err) == (0, "")
    assert all(f"\n    {command} " in result.text for command in COMMANDS)
    assert "exit status:" in result.text


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_has_examples(capfd, command):
    assert main([command, "--help"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"usage: lettafast {command} [-h]")
    assert f"  lettafast {command}" in out.split("\nexamples:\n")[1]
    assert err == ""


def test_help_is_the_same_in_the_c_locale(cli):
    assert cli("show", "--help", env=C_LOCALE) == cli("show", "--help")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["check"],
        ["check", "--nonsense", "x"],
        ["check", "--len", "x"],
        ["page", "a", "--limit"],
        ["show", b"\xff", b"\xfe\x1b[2J"],
        ["content", "a"],
    ],
)
def test_usage_errors(cli, complaint, arguments):
    result = cli(*arguments, env=C_LOCALE)
    assert (result.status, result.out) == (2, b"")
    complaint(result.err, "^lettafast", "--help` says how it is used$")


def test_arguments_after_two_dashes_are_paths(cli, make):
    make.file(user(), name="--json")
    assert cli("check", "--json", "--", "--json").json[0]["state"] == "ok"


@pytest.mark.parametrize(
    "arguments",
    [
        ["page", "big"],
        ["show", "big", "--all"],
        ["content", "big", "id"],
        ["content", "big", "id", "--json"],
        ["check", "--json", *["big"] * 3],
        ["list", "--json"],
        ["--help"],
        ["--version"],
    ],
)
def test_a_closed_pipe_is_no_accident(cli, make, arguments):
    output = "line\n" * 100_000
    make.file(user("x" * 500_000), tool(output=output, line_id="id"), name="big")
    make.conversation(cli.root, "a", "c")
    read, write = os.pipe()
    os.close(read)
    try:
        result = cli(*arguments, stdout=write)
    finally:
        os.close(write)
    assert (result.status, result.err) == (141, "")


def test_a_reader_that_goes_away_midway(cli, make):
    output = "line\n" * 1_000_000
    path = make.file(tool(output=output, line_id="id"))
    with cli.start("content", path, "id") as process:
        assert process.stdout.read(10) == b"line\nline\n"
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize("arguments", [["--version"], ["check", "file"], ["page", "file"]])
def test_a_full_disk_is_told(cli, make, arguments):
    make.file(user(), name="file")
    with open("/dev/full", "wb") as full:
        result = cli(*arguments, stdout=full)
    assert result.status == 3
    assert result.err == "standard output: No space left on device\n"


def test_a_closed_standard_output_is_told(cli, make):
    make.file(user(), name="file")
    result = shell(cli, '"$0" -m lettafast page file >&-')
    assert (result.returncode, result.stderr) == (3, b"standard output: Bad file descriptor\n")


def test_a_closed_standard_error_keeps_errors_off_standard_output(cli):
    result = shell(cli, '"$0" -m lettafast page file 2>&-')
    assert (result.returncode, result.stdout) == (3, b"")


def shell(cli, script):
    command = ["/bin/sh", "-c", script, sys.executable]
    return subprocess.run(
        command, cwd=cli.folder, env=cli.environment, capture_output=True, check=False, timeout=20
    )


def test_ctrl_c_while_reading_is_quiet(cli):
    """A reading that takes long is stood in for by one that sleeps."""
    code = (
        "import sys, time, lettafast.cli.locate as locate\n"
        "def open_at(path, mode): print('begun', file=sys.stderr, flush=True); time.sleep(60)\n"
        "locate.open_at = open_at\n"
        "from lettafast.cli import main\n"
        "sys.exit(main(['page', 'x']))"
    )
    with cli.start(code=code) as process:
        assert process.stderr.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == b""
        assert process.stdout.read() == b""


@pytest.mark.parametrize("arguments", [["page", "f"], ["show", "f"], ["content", "f", "id"]])
def test_data_is_utf_8_in_any_locale(cli, make, arguments):
    make.file(
        user("\u05d0\U0001f600"),
        tool(output="\u05d0\u20ac", line_id="id"),
        name="f",
    )
    plain = cli(*arguments)
    assert "\u05d0".encode() in plain.out
    assert cli(*arguments, env={**C_LOCALE, "PYTHONIOENCODING": "latin-1"}) == plain


def test_errors_are_told_in_the_c_locale(cli, make, complaint):
    make.file(b'{"kind":"user","\xd7\x90":1}\n', name="\u05d0")
    result = cli("page", "\u05d0".encode(), env=C_LOCALE)
    assert result.status == 1
    complaint(result.err, r'^\\u05d0:1: unknown field "\\u05d0" at byte 15$')


COLORED = [
    (["check", "f", "gone"], b"\x1b[32mok\x1b[39m"),
    (["list"], b"\x1b[2mAGENT"),
]


@pytest.mark.parametrize(("arguments", "dressed"), COLORED)
def test_color_only_on_a_terminal(cli, make, arguments, dressed):
    make.file(user(), name="f")
    make.conversation(cli.root, "a", "c", user())
    assert dressed in cli.on_terminal(*arguments).out
    assert b"\x1b" not in cli(*arguments).out


def test_color_only_where_it_is_wanted(cli, make):
    make.file(user(), name="f")
    for env in ({}, {"NO_COLOR": ""}):
        assert b"\x1b[36m\x1b[1muser" in cli.on_terminal("show", "f", env=env).out
    for env in ({"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}):
        assert b"\x1b" not in cli.on_terminal("show", "f", env=env).out
    only_errors = cli.on_terminal("show", "f", streams=["stderr"])
    assert "\x1b" not in only_errors.out.decode() + only_errors.err


SLOW = """
import sys, time
from lettafast.cli import check, main, progress
progress.PATIENCE = 0.1
opened = check.open_at
def open_at(path, mode):
    time.sleep(0.3)
    return opened(path, mode)
if {slow}: check.open_at = open_at
sys.exit(main(["check", {option} "f"]))
"""


def slow(option="", slow=True):
    return SLOW.format(option=option, slow=slow)


def test_progress_is_shown_for_long_work_and_taken_away(cli, make):
    make.file(user(), name="f")
    got = cli.on_terminal(code=slow('"--json",'), streams=["stderr"])
    assert got.out.startswith(b"\r\x1b[Kchecking 1 of 1: f (0 s)")
    assert got.out.endswith(b"\r\x1b[K")
    assert got.err.startswith('{"path":"f","state":"ok"')
    both = cli.on_terminal(code=slow(), env={"NO_COLOR": "1"})
    assert b"checking 1 of 1: f" in both.out
    assert both.out.endswith(
        f"\r\x1b[Kf: ok: {len(user())} bytes, 1 entry".encode() + (b" (1 user), 1 turn\n")
    )


def test_no_progress_for_short_work_or_without_a_terminal(cli, make):
    make.file(user(), name="f")
    assert cli.on_terminal("check", "f", streams=["stderr"]).out == b""
    assert cli(code=slow()).err == ""
    assert cli.on_terminal(code=slow(), streams=["stdout"], env={"NO_COLOR": "1"}).out.startswith(
        b"f: ok: "
    )
    assert b"checking" not in cli.on_terminal(code=slow(), env={"TERM": "dumb"}).out


@pytest.mark.parametrize("command", ["check", "page"])
def test_a_backend_that_does_not_exist_is_a_usage_error(cli, make, complaint, command):
    result = cli(command, make.file(user()), env={"LETTAFAST_BACKEND": "quick"})
    assert (result.status, result.out) == (2, b"")
    complaint(result.err, "`quick`", "`native` or `pure`")


def test_what_reads_no_transcript_needs_no_backend(cli):
    assert cli("list", env={"LETTAFAST_BACKEND": "quick"}).status == 3
    assert cli("--version", env={"LETTAFAST_BACKEND": "quick"}).status == 0
