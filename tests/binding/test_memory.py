"""What is remembered between looks, by one lettafast and by several at once: on real files."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
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
    assert all(again.moved(at(ticks, boot="another")) for ticks in range(1, 9))
    # The price: who started no later than one that was let go counts as moved too.
    assert again.moved(at(3, pid=7, boot="another"))
    assert not again.moved(at(8, pid=7, boot="another"))
    assert len(json.loads(kept(folder).read_text())["moved"]) == 5


def test_room_is_made_from_those_that_are_gone(folder, monkeypatch) -> None:
    assert ME is not None
    monkeypatch.setattr(memory_module, "_MOST_MOVED", 3)
    memory = Memory(str(folder))
    for identity in (ME, at(1), at(2), at(3)):
        memory.remember_moved(identity)
    assert memory.moved(ME)
    assert not memory.moved(at(ME.start_ticks, pid=1))
    assert json.loads(kept(folder).read_text())["moved"] == [[ME.pid, ME.start_ticks]]


# Damage


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 2}',
        '{"version": 1}',
        '{"version": 1, "clock_offset": "x", "moved": [], "moved_until": -1, "writable": []}',
        '{"version": 1, "clock_offset": null, "moved": [[1]], "moved_until": -1, "writable": []}',
        '{"version": 1, "clock_offset": null, "moved": [], "moved_until": -1, "writable": 1}',
        "\xff",
    ],
)
def test_damage_forgets_nothing_silently(folder, damage) -> None:
    assert ME is not None
    Memory(str(folder)).remember_moved(at(5))
    kept(folder).write_bytes(damage.encode("latin-1"))
    memory = Memory(str(folder))
    assert memory.moved(at(5))
    assert memory.moved(ME)
    assert not memory.moved(later())
    assert memory.problem is not None
    assert str(kept(folder)) in memory.problem
    # It was made good, with what had to be assumed.
    again = Memory(str(folder))
    assert again.moved(ME)
    assert not again.moved(later())
    assert again.problem is None
    # Once.
    state = os.stat(kept(folder))
    time.sleep(0.02)
    assert memory.moved(ME)
    assert os.stat(kept(folder)) == state


def test_damage_while_it_runs(folder) -> None:
    memory = Memory(str(folder))
    memory.clock_moved(BOOT, 7.0)
    memory.remember_moved(at(5))
    kept(folder).write_text("{")
    assert memory.moved(at(6))
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
    assert Memory(str(folder)).moved(at(2))


# Where


def test_where_it_is_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LETTAFAST_STATE_DIR", str(tmp_path / "chosen"))
    assert Memory().folder == str(tmp_path / "chosen")
    assert Memory("/given").folder == "/given"
    monkeypatch.delenv("LETTAFAST_STATE_DIR")
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
        assert Memory().folder == str(tmp_path / "xdg" / "lettafast")


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
