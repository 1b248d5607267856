"""What is remembered between looks, by one lettafast and by several at once: on real files."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from lettafast.binding import memory as memory_module
from lettafast.binding import process
from lettafast.binding.facts import Identity
from lettafast.binding.memory import Memory
from support import descriptors

BOOT = process.boot_id()
ME = process.identity_of(os.getpid())


def at(ticks: int, pid: int = 1000, boot: str = BOOT) -> Identity:
    return Identity(boot, pid, ticks)


def later() -> Identity:
    """A process that starts only after now."""
    return at(process.ticks_now() + 10_000)


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    return tmp_path / "state" / "lettafast"


def kept(folder: pathlib.Path) -> pathlib.Path:
    (path,) = folder.glob("boot-*.json")
    return path


def never() -> bool:
    raise AssertionError("it was tried again")


def test_a_process_that_moved_is_remembered(folder) -> None:
    memory = Memory(str(folder))
    assert not memory.moved(at(5))
    memory.remember_moved(at(5))
    for known in (memory, Memory(str(folder))):
        assert known.moved(at(5))
        # Exactly that one.
        assert not known.moved(at(4))
        assert not known.moved(at(6))
        assert not known.moved(at(5, pid=1001))
        assert not known.moved(at(5, boot="another"))
        assert known.problem is None


def test_boots_are_kept_apart(folder) -> None:
    memory = Memory(str(folder))
    memory.remember_moved(at(5, boot="one"))
    memory.remember_moved(at(6, boot="../two"))
    again = Memory(str(folder))
    assert again.moved(at(5, boot="one"))
    assert again.moved(at(6, boot="../two"))
    assert not again.moved(at(5, boot="../two"))
    assert len(list(folder.glob("boot-*.json"))) == 2


def test_what_another_lettafast_writes_is_seen(folder) -> None:
    first, second = Memory(str(folder)), Memory(str(folder))
    first.remember_moved(at(1))
    assert second.moved(at(1))
    second.remember_moved(at(2))
    first.remember_moved(at(3))
    for ticks in (1, 2, 3):
        assert first.moved(at(ticks))
        assert second.moved(at(ticks))
        assert Memory(str(folder)).moved(at(ticks))


def test_several_processes_at_once(folder) -> None:
    program = """
import sys
from lettafast.binding.facts import Identity
from lettafast.binding.memory import Memory
folder, boot, pid = sys.argv[1:]
memory = Memory(folder)
for ticks in range(40):
    memory.remember_moved(Identity(boot, int(pid), ticks))
assert memory.problem is None, memory.problem
"""
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), BOOT, str(pid)])
        for pid in range(1, 5)
    ]
    for process_ in running:
        assert process_.wait(timeout=60) == 0
    memory = Memory(str(folder))
    assert all(memory.moved(at(ticks, pid)) for pid in range(1, 5) for ticks in range(40))
    assert sorted(os.listdir(folder)) == [kept(folder).name, "lock"]


def test_several_threads_at_once(folder) -> None:
    memory = Memory(str(folder))
    threads = [
        threading.Thread(
            target=lambda pid=pid: [memory.remember_moved(at(ticks, pid)) for ticks in range(20)]
        )
        for pid in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = Memory(str(folder))
    assert all(again.moved(at(ticks, pid)) for pid in range(1, 5) for ticks in range(20))


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can do this")
def test_namespaces_are_kept_apart(folder) -> None:
    """A pid of a container is another process here, though the boot is the same."""
    memory = Memory(str(folder))
    memory.remember_moved(at(5))
    program = f"""
from lettafast.binding.facts import Identity
from lettafast.binding.memory import Memory
memory = Memory({str(folder)!r})
assert not memory.moved(Identity({BOOT!r}, 1000, 5))
memory.remember_moved(Identity({BOOT!r}, 1000, 6))
memory.prune()
"""
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("unshare is not allowed here")
    subprocess.run([*command, sys.executable, "-c", program], check=True, timeout=60)
    assert memory.moved(at(5))
    assert not memory.moved(at(6))


# The clock


def test_the_clock(folder) -> None:
    memory = Memory(str(folder))
    assert memory.clock_moved(BOOT, 1000.0) == 0
    assert memory.clock_moved(BOOT, 1001.5) == 1.5
    assert Memory(str(folder)).clock_moved(BOOT, 998.0) == -2.0
    assert memory.clock_moved("another", 5.0) == 0
    assert memory.clock_moved(BOOT, 1000.0) == 0


def test_the_first_look_of_two_counts(folder) -> None:
    first, second = Memory(str(folder)), Memory(str(folder))
    assert first.clock_moved(BOOT, 1000.0) == 0
    assert second.clock_moved(BOOT, 1002.0) == 2
    # Known here already, though the file is gone.
    kept(folder).unlink()
    assert second.clock_moved(BOOT, 1002.0) == 2


# Writing


def test_what_could_be_written_once(folder) -> None:
    memory = Memory(str(folder))
    answers = iter([False, True])
    assert not memory.writable(1, 2, 3, lambda: next(answers))
    assert memory.writable(1, 2, 3, lambda: next(answers))
    assert memory.writable(1, 2, 3, never)
    assert Memory(str(folder)).writable(1, 2, 3, never)
    for other in ((0, 2, 3), (1, 0, 3), (1, 2, 4)):
        assert not memory.writable(*other, lambda: False)


def test_the_oldest_of_many_files_is_forgotten(folder, monkeypatch) -> None:
    monkeypatch.setattr(memory_module, "_MOST_WRITABLE", 3)
    memory = Memory(str(folder))
    for inode in range(5):
        assert memory.writable(1, inode, 1, lambda: True)
    assert not Memory(str(folder)).writable(1, 1, 1, lambda: False)
    assert Memory(str(folder)).writable(1, 2, 1, never)


# Pruning and bounds


def test_only_a_process_that_is_gone_is_pruned(folder) -> None:
    assert ME is not None
    memory = Memory(str(folder))
    gone = at(ME.start_ticks - 1, ME.pid)
    for identity in (ME, gone, at(5, boot="another")):
        memory.remember_moved(identity)
    memory.prune()
    for known in (memory, Memory(str(folder))):
        assert known.moved(ME)
        assert not known.moved(gone)
        # Nobody here can say whether a process of another boot runs: another machine may.
        assert known.moved(at(5, boot="another"))


def test_pruning_writes_only_what_changed(folder) -> None:
    assert ME is not None
    memory = Memory(str(folder))
    memory.remember_moved(ME)
    before = os.stat(kept(folder))
    time.sleep(0.02)
    memory.prune()
    assert os.stat(kept(folder)) == before
    # But the file of a boot that is still used stays young.
    os.utime(kept(folder), (1, 1))
    memory.prune()
    assert os.stat(kept(folder)).st_mtime > before.st_mtime


def test_boots_long_past_are_pruned(folder) -> None:
    memory = Memory(str(folder))
    memory.remember_moved(at(1, boot="past"))
    past = kept(folder)
    memory.remember_moved(at(1))
    (folder / "mine.json").touch()
    old = time.time() - 101 * 86_400
    for path in folder.iterdir():
        os.utime(path, (old, old))
    memory.prune()
    assert not past.exists()
    assert (folder / "mine.json").exists()
    assert Memory(str(folder)).moved(at(1)) is False
    assert len(list(folder.glob("boot-*.json"))) == 1


def test_more_than_can_be_kept_is_answered_safely(folder, monkeypatch) -> None:
    monkeypatch.setattr(memory_module, "_MOST_MOVED", 5)
    memory = Memory(str(folder))
    for ticks in range(1, 9):
        memory.remember_moved(at(ticks, boot="another"))
    again = Memory(str(folder))
    assert all(again.moved(at(ticks, boot="another")) for ticks in range(4, 9))
    assert all(again.distrusts(at(ticks, boot="another")) for ticks in range(1, 4))
    # The price: who started no later than one that was let go is distrusted too.
    assert again.distrusts(at(3, pid=7, boot="another"))
    assert not again.distrusts(at(4, pid=7, boot="another"))
    assert len(json.loads(kept(folder).read_text())["moved"]) == 5


def test_room_is_made_from_those_that_are_gone(folder, monkeypatch) -> None:
    assert ME is not None
    monkeypatch.setattr(memory_module, "_MOST_MOVED", 3)
    memory = Memory(str(folder))
    for identity in (ME, at(1), at(2), at(3)):
        memory.remember_moved(identity)
    assert memory.moved(ME)
    assert not memory.distrusts(ME)
    assert json.loads(kept(folder).read_text())["moved"] == [[ME.pid, ME.start_ticks]]


# Damage


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        '{"version": 2}',
        '{"version": 2, "clock_offset": "x", "moved": [], "lost_until": -1, "writable": []}',
        '{"version": 2, "clock_offset": null, "moved": [[1]], "lost_until": -1, "writable": []}',
        '{"version": 2, "clock_offset": null, "moved": [], "lost_until": -1, "writable": 1}',
        "\xff",
    ],
)
def test_damage_forgets_nothing_silently(folder, damage) -> None:
    assert ME is not None
    Memory(str(folder)).remember_moved(at(5))
    kept(folder).write_bytes(damage.encode("latin-1"))
    memory = Memory(str(folder))
    # It was made good, with what had to be assumed.
    for known in (memory, Memory(str(folder))):
        assert known.distrusts(at(5))
        assert known.distrusts(ME)
        assert not known.distrusts(later())
        assert not known.moved(at(5))
        assert known.problem is None
    # Once.
    state = os.stat(kept(folder))
    time.sleep(0.02)
    assert memory.distrusts(ME)
    assert os.stat(kept(folder)) == state
    memory.remember_moved(ME)
    assert Memory(str(folder)).moved(ME)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("x", path)])
def test_what_is_no_file_of_ours_is_damage(folder, make) -> None:
    memory = Memory(str(folder))
    memory.remember_moved(at(5))
    path = kept(folder)
    path.unlink()
    make(path)
    started = time.monotonic()
    new = Memory(str(folder))
    assert new.distrusts(at(5))
    assert time.monotonic() - started < 1
    if path.is_dir():
        # Nothing can take its place.
        assert new.problem is not None
        assert new.distrusts(at(5))
        assert new.problem is not None
        path.rmdir()
        assert new.distrusts(at(5))
    assert new.problem is None
    assert stat.S_ISREG(os.lstat(path).st_mode)


def test_what_cannot_be_read_for_now_is_not_lost(folder) -> None:
    Memory(str(folder)).remember_moved(at(5))
    before = kept(folder).read_bytes()
    memory = Memory(str(folder))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open("/dev/null") as last:
        resource.setrlimit(resource.RLIMIT_NOFILE, (last.fileno(), limits[1]))
        try:
            memory.remember_moved(at(6))
            assert memory.moved(at(6))
            assert not memory.distrusts(at(5))
            assert memory.problem is not None
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert kept(folder).read_bytes() == before
    assert memory.moved(at(5))
    assert memory.problem is None
    assert Memory(str(folder)).moved(at(6))


def test_a_file_that_went_away_is_written_again(folder) -> None:
    memory = Memory(str(folder))
    memory.remember_moved(at(5))
    kept(folder).unlink()
    assert memory.moved(at(5))
    assert Memory(str(folder)).moved(at(5))


@pytest.mark.parametrize("use", ["moved", "distrusts", "clock_moved", "writable"])
def test_reading_alone_shows_that_nothing_can_be_kept(folder, use, monkeypatch) -> None:
    """The file is there and readable; a full disk, or a folder that may not be written."""
    Memory(str(folder)).clock_moved(BOOT, 1.0)
    Memory(str(folder)).writable(1, 2, 3, lambda: True)

    def refused(*_: object, **_more: object) -> tuple[int, str]:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(memory_module.tempfile, "mkstemp", refused)
    memory = Memory(str(folder))
    arguments = {"clock_moved": (BOOT, 1.0), "writable": (1, 2, 3, never)}.get(use, (at(5),))
    getattr(memory, use)(*arguments)
    assert memory.problem == f"{folder}: Read-only file system"
    monkeypatch.undo()
    memory.moved(at(5))
    assert memory.problem is None


def test_a_file_in_the_way(tmp_path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        memory = Memory(str(folder))
        assert not memory.moved(at(5))
        assert memory.problem is not None
        assert memory.problem.startswith(str(folder))


def test_damage_while_it_runs(folder) -> None:
    memory = Memory(str(folder))
    memory.clock_moved(BOOT, 7.0)
    memory.remember_moved(at(5))
    kept(folder).write_text("{")
    assert memory.distrusts(at(6))
    assert memory.moved(at(5))
    assert memory.clock_moved(BOOT, 8.0) == 1
    assert Memory(str(folder)).clock_moved(BOOT, 9.0) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="root can write everywhere but in /proc")
def test_a_folder_that_cannot_be_written() -> None:
    memory = Memory("/proc/lettafast")
    memory.remember_moved(at(5))
    assert memory.moved(at(5))
    assert not memory.moved(at(6))
    assert memory.clock_moved(BOOT, 1.0) == 0
    assert memory.clock_moved(BOOT, 2.0) == 1
    assert memory.writable(1, 2, 3, lambda: True)
    assert memory.writable(1, 2, 3, never)
    memory.prune()
    assert memory.problem is not None
    assert memory.problem.startswith("/proc/lettafast: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_full_disk(folder, monkeypatch) -> None:
    """`/dev/full` stands for the disk: each write to it fails as on a full one."""
    memory = Memory(str(folder))
    memory.remember_moved(at(1))
    before = kept(folder).read_bytes()

    def full(dir: str, prefix: str) -> tuple[int, str]:  # noqa: A002 - the name of the real one
        name = os.path.join(dir, f"{prefix}x")
        open(name, "w").close()
        return os.open("/dev/full", os.O_WRONLY), name

    monkeypatch.setattr(memory_module.tempfile, "mkstemp", full)
    memory.remember_moved(at(2))
    assert memory.moved(at(2))
    assert memory.problem is not None
    assert "No space" in memory.problem
    assert kept(folder).read_bytes() == before
    assert sorted(os.listdir(folder)) == [kept(folder).name, "lock"]


def test_a_lock_that_is_never_given_back(folder, monkeypatch) -> None:
    memory = Memory(str(folder))
    memory.remember_moved(at(1))
    monkeypatch.setattr(memory_module, "_LOCK_WAIT", 0.05)
    with open(folder / "lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        started = time.monotonic()
        memory.remember_moved(at(2))
        assert time.monotonic() - started < 1
        assert memory.moved(at(2))
        assert not Memory(str(folder)).moved(at(2))
        assert memory.problem is not None
    # What could not be kept then goes with the next that can, whatever others wrote.
    Memory(str(folder)).remember_moved(at(4))
    memory.remember_moved(at(3))
    assert memory.problem is None
    assert Memory(str(folder)).moved(at(2))
    assert Memory(str(folder)).moved(at(4))


def test_a_stopped_holder_of_the_lock_is_waited_for_once(folder) -> None:
    program = """
import fcntl, sys, time
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""
    memory = Memory(str(folder))
    memory.remember_moved(at(1))
    command = [sys.executable, "-c", program, str(folder / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            holder.send_signal(signal.SIGSTOP)
            started = time.monotonic()
            for ticks in range(2, 102):
                memory.remember_moved(at(ticks))
                assert memory.moved(at(ticks))
                memory.clock_moved(BOOT, 1.0)
                memory.writable(1, ticks, 3, lambda: True)
            memory.prune()
            assert 0.9 < time.monotonic() - started < 2.5
            assert memory.problem == f"{folder}: another process holds the lock"
        finally:
            holder.kill()
    assert not memory.moved(at(102))
    assert memory.problem is None


# Where


def test_where_it_is_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LETTAFAST_STATE_DIR", str(tmp_path / "chosen"))
    assert Memory().folder == str(tmp_path / "chosen")
    assert Memory("/given").folder == "/given"
    monkeypatch.delenv("LETTAFAST_STATE_DIR")
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
        assert Memory().folder == str(tmp_path / "xdg" / "lettafast")


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can do this")
def test_a_user_without_a_home(tmp_path) -> None:
    """Nobody knows the user 54321, so nothing says where state is kept."""
    program = f"""
import os
import platformdirs.unix
from lettafast.binding import process
from lettafast.binding.facts import Identity
from lettafast.binding.memory import Memory
process.boot_id()
os.setresuid(54321, 54321, 54321)
memory = Memory()
identity = Identity({BOOT!r}, 1000, 5)
memory.remember_moved(identity)
assert memory.moved(identity)
memory.prune()
assert memory.problem.startswith("no state folder"), memory.problem
print(sorted(os.listdir()))
"""
    os.chmod(tmp_path, 0o777)
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_only_the_user_may_look(folder) -> None:
    Memory(str(folder)).remember_moved(at(1))
    assert os.stat(folder).st_mode & 0o077 == 0
    for path in folder.iterdir():
        assert os.stat(path).st_mode & 0o077 == 0


def test_no_descriptor_is_left(folder) -> None:
    memory = Memory(str(folder))
    memory.remember_moved(at(1))
    before = descriptors()
    for ticks in range(50):
        memory.remember_moved(at(ticks))
        memory.clock_moved(BOOT, 1.0)
        memory.prune()
        Memory("/proc/lettafast").remember_moved(at(ticks))
    assert descriptors() == before
