"""Recognising the lettas that run, and what the kernel says of them: on real processes."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import pytest

from lettafast.binding import process
from lettafast.binding.facts import Folder, Identity
from lettafast.binding.folders import folder_at
from lettafast.binding.launch import launch_of
from lettas import VERSION, Desk, desk, npm, package, shell_named
from support import descriptors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")


@pytest.fixture
def place(tmp_path):
    with desk(tmp_path) as found:
        yield found


@pytest.fixture
def open_place():
    """A place that every user can look into."""
    with tempfile.TemporaryDirectory() as folder, desk(pathlib.Path(folder)) as found:
        os.chmod(folder, 0o755)
        yield found


def look(pid: int) -> process.ProcessFacts:
    facts = process.look_at(pid)
    assert facts is not None
    return facts


def unshared(place: Desk, *flags: str, command: Sequence[str] = ()):
    """A letta behind `unshare`, or a skip where that is not allowed."""
    argv = ["unshare", *flags, *(command or ("node", str(place.script)))]
    tried = subprocess.run(["unshare", *flags, "true"], check=False, capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"unshare {' '.join(flags)} is not allowed here")
    return place.run(argv)


def answer_as(user: int, function):
    """What `function` answers in a child of ours that runs as another user."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresuid(user, user, user)
            os.write(writable, pickle.dumps(function()))
        finally:
            os._exit(0)
    os.close(writable)
    with open(readable, "rb") as file:
        said = file.read()
    os.waitpid(pid, 0)
    return pickle.loads(said)


# What a letta is


def test_what_the_kernel_shows(place) -> None:
    before = time.time()
    letta = place.run(["node", str(place.script), "--yolo", ""], executable=place.node)
    after = time.time()
    facts = look(letta.pid)
    assert facts.identity == process.identity_of(letta.pid)
    assert facts.identity.boot_id == process.boot_id()
    assert facts.argv == ("node", str(place.script), "--yolo", "")
    assert facts.arguments == ("--yolo", "")
    assert facts.script.path == str(place.script)
    assert facts.script.version == VERSION
    assert facts.folder == folder_at(str(place.project))
    assert facts.environ == place.environ()
    assert facts.same_user
    assert facts.same_pid_namespace is True
    assert facts.same_mount_namespace is True
    assert facts.same_root is True
    assert facts.same_time_namespace is True
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert before - tick < facts.started.earliest <= facts.started.latest < after + tick
    assert 0.99 * tick < facts.started.latest - facts.started.earliest < 2 * tick


def test_npm_launcher(place) -> None:
    letta = place.run([str(place.launcher), "--agent", "x"])
    facts = look(letta.pid)
    assert facts.argv[1] == str(place.launcher)
    assert facts.script.path == str(place.script)
    assert facts.arguments == ("--agent", "x")


@pytest.mark.parametrize("word", ["../npm/bin/letta", "./../npm/lib/../bin/letta"])
def test_a_relative_launcher_survives_a_change_of_folder(place, word) -> None:
    letta = place.run(["node", word], executable=place.node)
    letta.tell("cd /")
    assert look(letta.pid).script.path == str(place.script)


def test_a_relative_launcher_where_pwd_is_wrong(place) -> None:
    letta = place.run(
        ["node", "../npm/bin/letta"], executable=place.node, environ=place.environ(PWD="/nowhere")
    )
    assert look(letta.pid).script.path == str(place.script)


def test_the_package_from_pypi(place, tmp_path) -> None:
    folder = tmp_path / "site-packages" / "letta_code" / "_payload"
    script = package(folder / "app", "0.33.8")
    node = shell_named(folder / "bin" / "node")
    letta = place.run([str(node), str(script), "-c", "x"])
    facts = look(letta.pid)
    assert (facts.script.path, facts.script.version) == (str(script), "0.33.8")
    assert facts.arguments == ("-c", "x")


def test_an_executable_letta(place, tmp_path) -> None:
    native = shell_named(tmp_path / "letta")
    argv = ["anything", "-c", "echo ready; read x", "--yolo"]
    letta = place.run(argv, executable=native)
    facts = look(letta.pid)
    assert facts.script.path == str(native)
    assert facts.script.version is None
    assert facts.script.package_ctime_ns is None
    assert facts.arguments == tuple(argv[1:])


def test_an_executable_that_was_replaced(place) -> None:
    letta = place.run()
    place.node.unlink()
    assert look(letta.pid).script.path == str(place.script)


def test_a_package_that_was_removed(place) -> None:
    letta = place.run([str(place.launcher)])
    shutil.rmtree(place.script.parent)
    facts = look(letta.pid)
    assert facts.script.path == str(place.script)
    assert facts.script.version is None
    assert facts.script.package_ctime_ns is None


def test_a_package_that_was_replaced_shows_its_age(place) -> None:
    letta = place.run([str(place.launcher)])
    old = look(letta.pid)
    assert old.script.package_ctime_ns is not None
    assert old.script.package_ctime_ns < time.time_ns()
    # Another version, of whose files each is as old, by way of the launcher.
    os.rename(place.script.parent, place.folder / "kept")
    npm(place.folder / "newer", "9.9.9")
    time.sleep(0.02)
    between = time.time_ns() - 10_000_000
    place.launcher.unlink()
    place.launcher.symlink_to(place.folder / "newer" / "bin" / "letta")
    new = look(letta.pid)
    assert new.script.version == "9.9.9"
    assert new.script.package_ctime_ns is not None
    assert new.script.package_ctime_ns >= between


def test_what_is_no_letta(place, tmp_path) -> None:
    other = tmp_path / "other.js"
    other.write_text("echo ready\nread x\n")
    letta_js = tmp_path / "mine" / "letta.js"
    letta_js.parent.mkdir()
    letta_js.write_text("echo ready\nread x\n")
    for argv in (
        ["node", str(other), str(place.script)],
        ["node", str(letta_js)],
        ["node", "-c", "echo ready; read x", str(place.script)],
    ):
        assert process.look_at(place.run(argv, executable=place.node).pid) is None, argv
    shell = shell_named(tmp_path / "sh-like")
    assert process.look_at(place.run(["node", str(place.script)], executable=shell).pid) is None
    assert process.look_at(os.getpid()) is None
    assert process.look_at(2**22 + 1) is None
    assert process.look_at(0) is None


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node is installed")
@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--max-old-space-size=256"],
        ["--no-warnings", "--require", "./extra.cjs"],
        ["-r", "./extra.cjs", "--"],
        ["--import", "./extra.mjs", "--stack-trace-limit=5"],
        ["-C", "development", "--title", "renamed"],
        ["--env-file", "./extra.env"],
    ],
)
def test_the_real_node(place, flags) -> None:
    for name in ("extra.cjs", "extra.mjs", "extra.env"):
        (place.project / name).touch()
    place.script.write_text("console.log('ready'); process.stdin.resume()")
    node = shutil.which("node")
    letta = place.run([node, *flags, str(place.launcher), "--yolo"])
    if "--title" in flags:
        # Node wrote over its own argv: nothing is left to recognise it by.
        assert process.look_at(letta.pid) is None
        return
    facts = look(letta.pid)
    assert facts.arguments == ("--yolo",)
    assert facts.script.path == str(place.script)
    early = ("--env-file", "--require", "-r", "--import")
    assert (facts.environ is None) == any(flag in early for flag in flags)


@pytest.mark.parametrize("runner", ["bun", "letta"])
def test_an_environment_that_may_have_grown(place, tmp_path, runner) -> None:
    """Bun, and what it compiles, adds what `.env` files of its folder say."""
    file = shell_named(tmp_path / "bin" / runner)
    argv = ["bun", str(place.script)] if runner == "bun" else ["letta", "-c", "echo ready; read x"]
    letta = place.run(argv, executable=file)
    assert look(letta.pid).environ == place.environ()
    (place.project / ".env.local").touch()
    assert look(letta.pid).environ is None


def test_bun_preloads_what_its_settings_name(place, tmp_path) -> None:
    file = shell_named(tmp_path / "bin" / "bun")
    letta = place.run(["bun", str(place.script)], executable=file)
    assert look(letta.pid).environ is not None
    (place.project / "bunfig.toml").touch()
    assert look(letta.pid).environ is None


@pytest.mark.parametrize(
    ("name", "options", "preloads"),
    [
        ("NODE_OPTIONS", "", False),
        ("NODE_OPTIONS", "--max-old-space-size=4096 --no-warnings", False),
        ("NODE_OPTIONS", "--report-on-signal --imported", False),
        ("NODE_OPTIONS", "-r ./x.cjs", True),
        ("NODE_OPTIONS", "--no-warnings --require=./x.cjs", True),
        ("NODE_OPTIONS", '--no-warnings "--require" ./x.cjs', True),
        ("NODE_OPTIONS", "--import ./x.mjs", True),
        ("NODE_OPTIONS", "--loader ./x.mjs", True),
        ("NODE_OPTIONS", "--experimental_loader=./x.mjs", True),
        ("NODE_OPTIONS", "--env-file-if-exists=.env", True),
        ("BUN_OPTIONS", "--preload ./x.ts", True),
        ("BUN_OPTIONS", "--smol", False),
    ],
)
def test_options_in_the_environment(place, name, options, preloads) -> None:
    letta = place.run(environ=place.environ(**{name: options}))
    assert (look(letta.pid).environ is None) == preloads


@pytest.mark.parametrize(
    ("flags", "preloads"),
    [
        ("--max-old-space-size=9", False),
        ("--conditions x", False),
        ("-r x", True),
        ("--require=x", True),
        ("--import x", True),
        ("--import=x", True),
        ("--loader x", True),
        ("--experimental-loader=x", True),
        ("--preload x", True),
        ("--env-file=x", True),
        ("--env_file x --", True),
        ("--env-file-if-exists x", True),
    ],
)
def test_flags_before_the_script(tmp_path, flags, preloads) -> None:
    script = str(package(tmp_path / "anywhere"))
    found = launch_of(None, ["node", *flags.split(), script, "-r", "--import"], "", ())
    assert found is not None
    assert found.preloads == preloads


# How it is executed, without a process


@pytest.mark.parametrize(
    ("argv", "arguments"),
    [
        ("node SCRIPT", ()),
        ("nodejs SCRIPT a", ("a",)),
        ("node22 SCRIPT", ()),
        ("node-22.19 SCRIPT", ()),
        ("/x/y/node --inspect SCRIPT --inspect", ("--inspect",)),
        ("node --unknown-flag SCRIPT", ()),
        ("node -r a -r b --loader c SCRIPT -r d", ("-r", "d")),
        ("node -- SCRIPT -- a", ("--", "a")),
        ("node STEM", ()),
        ("bun SCRIPT", ()),
        ("bun run SCRIPT -p", ("-p",)),
        ("bun --bun run --preload x SCRIPT", ()),
        ("bun -c bunfig.toml SCRIPT", ()),
        ("node", None),
        ("node --", None),
        ("node -r", None),
        ("node -e SCRIPT", None),
        ("node --check SCRIPT", None),
        ("node -c SCRIPT", None),
        ("node --watch SCRIPT", None),
        ("node inspect SCRIPT", None),
        ("node -r SCRIPT other.js", None),
        ("python SCRIPT", None),
        ("deno SCRIPT", None),
    ],
)
def test_launches(tmp_path, argv, arguments) -> None:
    script = str(package(tmp_path / "anywhere"))
    words = [
        word.replace("SCRIPT", script).replace("STEM", script[: -len(".js")])
        for word in argv.split()
    ]
    found = launch_of(None, words, "", ())
    assert (found and found.arguments) == arguments
    assert found is None or (found.script.path, found.script.version) == (script, VERSION)


def test_links_are_followed_in_the_root_of_the_process(tmp_path) -> None:
    root = tmp_path / "root"
    launcher = npm(root / "usr")
    launcher.unlink()
    launcher.symlink_to("/opt/./letta/../letta-code/letta.js")
    (root / "opt").mkdir()
    (root / "opt" / "letta").symlink_to("/usr/lib/node_modules/@letta-ai/letta-code")
    found = launch_of("/usr/bin/node", ["node", "bin/letta"], str(root), ("/home", "/usr"))
    assert found is not None
    assert found.script.path == "/usr/lib/node_modules/@letta-ai/letta-code/letta.js"
    assert found.script.version == VERSION
    assert launch_of("/usr/bin/node", ["node", "bin/letta"], "", ("/usr",)) is None


def test_links_that_lead_nowhere(tmp_path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "node_modules").mkdir()
    for word in (str(tmp_path / "a"), str(tmp_path / "a" / "letta.js"), "a\0b", "x" * 5000, ""):
        assert launch_of(None, ["node", word], "", (str(tmp_path),)) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"name": "letta-code", "version": "1"}', "[" * 100_000]
)
def test_a_package_that_is_another(tmp_path, text) -> None:
    script = package(tmp_path / "anywhere")
    (script.parent / "package.json").write_text(text)
    assert launch_of(None, ["node", str(script)], "", ()) is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_package_that_is_no_file_is_not_waited_for(tmp_path, make) -> None:
    script = package(tmp_path / "anywhere")
    (script.parent / "package.json").unlink()
    make(script.parent / "package.json")
    before = descriptors()
    started = time.monotonic()
    with stuck_after(5):
        assert launch_of(None, ["node", str(script)], "", ()) is None
    assert time.monotonic() - started < 1
    assert descriptors() == before


@contextlib.contextmanager
def stuck_after(seconds: int):
    """An error in place of a test that never ends."""

    def stuck(*_: object) -> None:
        raise TimeoutError("it waits for ever")

    handler = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


# Environment and folder


def test_the_first_of_two_variables_counts(place) -> None:
    environ = {**place.environ(), "TWICE": "first", b"TWICE": b"second", b"ODD": b"\xff", "E": ""}
    facts = look(place.run(environ=environ).pid)
    assert facts.environ is not None
    assert facts.environ["TWICE"] == "first"
    assert os.fsencode(facts.environ["ODD"]) == b"\xff"
    assert facts.environ["E"] == ""


def test_the_folder_it_is_in(place, tmp_path) -> None:
    (tmp_path / "link").symlink_to(place.project)
    letta = place.run(cwd=tmp_path / "link")
    assert look(letta.pid).folder == folder_at(str(tmp_path / "link"))
    os.rename(place.project, tmp_path / "renamed")
    moved = look(letta.pid).folder
    assert isinstance(moved, Folder)
    assert moved.path == str(tmp_path / "renamed")
    letta.tell("cd /")
    assert look(letta.pid).folder == folder_at("/")
    assert process.folder_path(letta.pid) == f"/proc/{letta.pid}/cwd"


def test_a_folder_that_was_deleted(place, tmp_path) -> None:
    letta = place.run()
    place.project.rmdir()
    assert look(letta.pid).folder is None
    # The name that the kernel gives it is another folder's.
    (tmp_path / "project (deleted)").mkdir()
    assert look(letta.pid).folder is None
    place.project.mkdir()
    assert look(letta.pid).folder is None


def test_folder_at(tmp_path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "a (deleted)").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "missing", "loop", "a\0b"):
        assert folder_at(str(tmp_path / name)) is None
    found = folder_at(f"{tmp_path}/./a (deleted)/")
    status = os.stat(tmp_path / "a (deleted)")
    assert found == Folder(
        str(tmp_path / "a (deleted)"),
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


# Who it is


def test_identity(place) -> None:
    letta = place.run()
    identity = process.identity_of(letta.pid)
    assert identity is not None
    assert process.is_running(identity)
    for other in (
        Identity(identity.boot_id, identity.pid, identity.start_ticks + 1),
        Identity("another", identity.pid, identity.start_ticks),
        Identity(identity.boot_id, os.getpid(), identity.start_ticks),
    ):
        assert not process.is_running(other)
    assert identity.start_ticks <= process.ticks_now() <= identity.start_ticks + 10 * 100
    os.kill(letta.pid, 9)
    # Dead, and not yet waited for.
    os.waitid(os.P_PID, letta.pid, os.WEXITED | os.WNOWAIT)
    assert process.identity_of(letta.pid) is None
    assert not process.is_running(identity)
    assert process.look_at(letta.pid) is None
    letta.stop()
    assert process.identity_of(letta.pid) is None
    assert process.is_gone(identity)
    assert process.is_gone(Identity(identity.boot_id, 10**30, 1))


def test_what_cannot_be_looked_at_is_not_gone(place, monkeypatch) -> None:
    letta = place.run()
    identity = process.identity_of(letta.pid)
    assert identity is not None
    assert not process.is_gone(identity)
    assert process.is_gone(Identity(identity.boot_id, identity.pid, identity.start_ticks + 1))
    monkeypatch.setattr(process._system, "status_of", lambda _pid: None)
    assert not process.is_gone(identity)


def test_a_name_that_looks_like_numbers(place, tmp_path) -> None:
    """The name in `/proc/<pid>/stat` may hold what ends a name."""
    odd = shell_named(tmp_path / "a) S 1 (b")
    letta = place.run(["node", str(place.script)], executable=odd)
    status = process._system.status_of(letta.pid)
    assert status is not None
    assert status.parent == os.getpid()


@as_root
def test_a_pid_that_is_used_again(place) -> None:
    first = place.run()
    identity = process.identity_of(first.pid)
    assert identity is not None
    first.stop()
    time.sleep(0.02)
    for _ in range(20):
        try:
            pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
        except OSError:
            pytest.skip("this kernel lets nobody choose a pid")
        second = place.run()
        if second.pid == first.pid:
            break
        second.stop()
    else:
        pytest.skip("another process took the pid each time")
    assert not process.is_running(identity)
    assert process.identity_of(first.pid) == look(second.pid).identity != identity


def test_a_process_that_executes_something_else(place) -> None:
    letta = place.run()
    identity = look(letta.pid).identity
    letta.send("exec sleep 60")
    deadline = time.monotonic() + 10
    while process.look_at(letta.pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.is_running(identity)


def test_facts_are_of_one_execution(place, monkeypatch) -> None:
    """It executes something else in the middle of a look, while its pid and start stay."""
    letta = place.run()
    real = process._system.environ_of
    looks = []

    def in_between(pid: int):
        looks.append(pid)
        if len(looks) == 1:
            letta.tell("export NEW=1")
            letta.send(f"exec node {place.script} --other")
            assert letta.process.stdout is not None
            assert letta.process.stdout.readline() == "ready\n"
        return real(pid)

    monkeypatch.setattr(process._system, "environ_of", in_between)
    facts = look(letta.pid)
    assert facts.arguments == ("--other",)
    assert facts.environ is not None
    assert facts.environ["NEW"] == "1"
    assert len(looks) == 2


def test_what_psutil_says_is_what_proc_says(place) -> None:
    """The part for macOS, as far as psutil answers the same here."""
    from lettafast.binding import _darwin, _linux

    letta = place.run()
    for name in ("argv_of", "executable_of", "folder_of", "folder_name", "environ_of", "same_user"):
        assert getattr(_darwin, name)(letta.pid) == getattr(_linux, name)(letta.pid), name
    assert letta.pid in _darwin.pids()
    status = _darwin.status_of(letta.pid)
    assert status is not None
    assert status.parent == os.getpid()
    identity = Identity("", letta.pid, status.start_ticks)
    assert abs(_darwin.started(identity).earliest - look(letta.pid).started.earliest) < 1
    assert status.start_ticks < _darwin.ticks_now()
    assert folder_at(_darwin.folder_path(letta.pid)) == folder_at(str(place.project))
    os.kill(letta.pid, 9)
    os.waitid(os.P_PID, letta.pid, os.WEXITED | os.WNOWAIT)
    assert _darwin.status_of(letta.pid) is None
    letta.stop()
    assert _darwin.argv_of(letta.pid) == ()
    for name in ("status_of", "executable_of", "folder_of", "folder_name", "environ_of"):
        assert getattr(_darwin, name)(letta.pid) is None, name
    assert not _darwin.same_user(letta.pid)
    assert _darwin.folder_path(letta.pid) == ""


@as_root
def test_another_user(open_place) -> None:
    place = open_place
    letta = place.run(user=NOBODY)
    assert not look(letta.pid).same_user
    own = place.run()

    facts = answer_as(NOBODY, lambda: process.look_at(own.pid))
    assert facts.identity == process.identity_of(own.pid)
    assert facts.argv == ("node", str(place.script))
    assert not facts.same_user
    assert facts.environ is None
    assert facts.folder is None
    assert facts.same_pid_namespace is None
    assert facts.same_root is None
    facts = answer_as(NOBODY, lambda: process.look_at(letta.pid))
    assert facts.same_user
    assert facts.environ == place.environ()
    assert answer_as(NOBODY, lambda: process.peer_shares_pid_namespace(own.pid)) is False


# Namespaces


@as_root
def test_another_mount_namespace(place) -> None:
    facts = look(unshared(place, "--mount").pid)
    assert facts.same_mount_namespace is False
    assert facts.same_pid_namespace is True
    assert facts.script.path == str(place.script)


@as_root
def test_another_root(place) -> None:
    other = place.folder / "other"
    other.mkdir()
    mount = f"mount --rbind / {other} && exec chroot {other} node {place.script}"
    facts = look(unshared(place, "--mount", command=["sh", "-c", mount]).pid)
    assert facts.same_root is False
    assert facts.script.path == str(place.script)
    assert facts.script.version == VERSION


@as_root
def test_another_pid_namespace(place) -> None:
    letta = unshared(place, "--pid", "--fork")
    child = child_of(letta.pid)
    assert look(child).same_pid_namespace is False
    assert not process.peer_shares_pid_namespace(child)


@as_root
def test_another_time_namespace(place) -> None:
    before = time.time()
    letta = unshared(place, "--time", "--boottime", "100000")
    facts = look(letta.pid)
    assert facts.same_time_namespace is False
    assert before - 1 < facts.started.earliest <= facts.started.latest < time.time() + 1


def test_peers() -> None:
    assert process.peer_shares_pid_namespace(os.getpid())
    assert not process.peer_shares_pid_namespace(0)
    assert not process.peer_shares_pid_namespace(-1)
    assert not process.peer_shares_pid_namespace(2**22 + 1)


def test_the_clock() -> None:
    plain = time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_BOOTTIME)
    assert abs(process.clock_offset() - plain) < 0.01
    assert abs(process.clock_offset() - process.clock_offset()) < 0.001


# Several


def pids_of(found) -> list[int]:
    return [facts.identity.pid for facts in found]


def child_of(pid: int) -> int:
    """The only child of a process, once it executes what will stay."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + 10
    while not (found := children.read_text().split()) or process.look_at(int(found[0])) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(found[0])


def test_subagents_have_a_letta_above_them(place) -> None:
    letta = place.run()
    subagent = f"node {place.script} -p hi </dev/zero >/dev/null"
    child = int(letta.tell(f"{subagent} & echo $!"))
    between = int(letta.tell(f"sh -c '{subagent}; true' >/dev/null & echo $!"))
    grandchild = child_of(between)
    assert pids_of(process.lettas_in([grandchild, child, letta.pid])) == [letta.pid]
    # Above it there, not anywhere.
    assert pids_of(process.lettas_in([grandchild, os.getpid()])) == [grandchild]


def test_two_lettas(place) -> None:
    first, second = place.run(), place.run()
    pids = [second.pid, os.getpid(), first.pid, second.pid]
    started = time.monotonic()
    assert pids_of(process.lettas_in(pids)) == [second.pid, first.pid]
    assert time.monotonic() - started >= 0.25
    assert process.lettas_in([os.getpid()]) == ()


def test_a_forked_child_before_it_executes(place) -> None:
    letta = place.run()
    os.mkfifo(place.project / "pipe")
    child = int(letta.tell("(read x <pipe; exec sleep 60) & echo $!"))
    assert look(child).argv == look(letta.pid).argv
    assert pids_of(process.lettas_in([child, letta.pid])) == [letta.pid]


def test_a_letta_that_forks_all_the_time(place) -> None:
    letta = place.run()
    letta.send("while :; do /bin/true; /bin/true | /bin/true; done")
    children = pathlib.Path(f"/proc/{letta.pid}/task/{letta.pid}/children")
    lookalikes = 0
    for _ in range(300):
        there = [int(pid) for pid in children.read_text().split()]
        lookalikes += any(process.look_at(pid) is not None for pid in there)
        assert pids_of(process.lettas_in([*there, letta.pid])) == [letta.pid]
    assert lookalikes


def test_several_are_asked_again(place) -> None:
    """One that is no letta 0.1 s later was forked by something else that looked like one."""
    letta, other = place.run(), place.run()
    other.send("sleep 0.1; exec sleep 60")
    assert process.look_at(other.pid) is not None
    assert pids_of(process.lettas_in([letta.pid, other.pid])) == [letta.pid]


def lettas_of(home: pathlib.Path) -> list[process.RunningLetta]:
    real = os.path.realpath(home)
    return [letta for letta in process.running_lettas() if letta.home == real]


def test_lettas_of_a_home(place, tmp_path) -> None:
    (tmp_path / "home-link").symlink_to(place.home)
    first = place.run()
    linked = place.run(environ=place.environ(HOME=f"{tmp_path}/home-link/"))
    place.run(environ=place.environ(HOME=str(tmp_path)))
    place.run(environ={"PATH": os.environ["PATH"]})
    found = lettas_of(place.home)
    assert {letta.identity.pid for letta in found} == {first.pid, linked.pid}
    facts = look(first.pid)
    letta = next(letta for letta in found if letta.identity == facts.identity)
    assert letta.folder == facts.folder
    assert letta.home == os.path.realpath(place.home)
    assert abs(letta.started.earliest - facts.started.earliest) < 0.01


@as_root
def test_lettas_elsewhere_are_not_of_this_home(open_place) -> None:
    place = open_place
    place.run(user=NOBODY)
    unshared(place, "--mount")
    assert lettas_of(place.home) == []


@as_root
def test_nothing_that_another_user_names_is_opened(open_place, monkeypatch) -> None:
    place = open_place
    other, own = place.run(user=NOBODY), place.run()
    looked = []
    monkeypatch.setattr(process, "look_at", looked.append)
    process.running_lettas()
    assert own.pid in looked
    assert other.pid not in looked
    # Nor is more than one link read of what cannot be a letta.
    assert os.getpid() not in looked


def test_no_descriptor_is_left(place) -> None:
    letta = place.run()
    look(letta.pid)
    before = descriptors()
    for _ in range(200):
        look(letta.pid)
        folder_at("/nowhere")
        process.lettas_in([letta.pid])
    assert descriptors() == before
