"""Letta's record of a folder: real files, written as Letta writes them, and what may be wrong."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from lettafast.binding import process, settings
from lettafast.binding.facts import Problem, Record, Session
from lettafast.binding.filesystems import UNKNOWN, filesystem_of
from lettafast.binding.memory import Memory
from lettafast.binding.settings import read_record, record_times, settings_env
from lettafast.binding.verdict import Reason
from lettafast.strict_json import is_cut_off, parse
from lettas import desk
from support import descriptors

AGENT = "agent-local-1c476545-d691-45b8-9c87-36c166265eda"
KEY = "local:/home/user/.letta/lc-local-backend"
SESSION = {"agentId": AGENT, "conversationId": "local-conv-1"}
GOOD = {"lastAgent": AGENT, "sessionsByServer": {KEY: SESSION}, "lastSession": SESSION}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")


@pytest.fixture
def memory(tmp_path) -> Memory:
    return Memory(str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path) -> pathlib.Path:
    project = tmp_path / "project"
    (project / ".letta").mkdir(parents=True)
    return project


def write(project: pathlib.Path, said: object) -> pathlib.Path:
    path = project / ".letta" / "settings.local.json"
    path.write_text(said if isinstance(said, str) else json.dumps(said, indent=2))
    return path


def record(project: pathlib.Path, memory: Memory) -> Record:
    found = read_record(str(project), memory)
    assert isinstance(found, Record), found
    return found


def reason(project: pathlib.Path, memory: Memory) -> Reason:
    found = read_record(str(project), memory)
    assert isinstance(found, Problem), found
    assert found.saw
    return found.reason


def test_what_letta_writes(project, memory) -> None:
    path = write(project, GOOD)
    found = record(project, memory)
    session = Session(AGENT, "local-conv-1")
    assert found.path == str(path)
    assert found.sessions == {KEY: session}
    assert found.last_session == session
    assert found.last_agent == AGENT
    assert found.writable
    file, folder = os.stat(path), os.stat(path.parent)
    assert (found.file.device, found.file.inode) == (file.st_dev, file.st_ino)
    assert (found.file.size, found.file.mtime_ns) == (file.st_size, file.st_mtime_ns)
    assert found.file.ctime_ns == file.st_ctime_ns
    assert found.letta_folder.inode == folder.st_ino
    assert found.letta_folder.ctime_ns == folder.st_ctime_ns
    assert record_times(str(project)) == found.file
    # Looking moved nothing.
    assert os.stat(path).st_ctime_ns == file.st_ctime_ns


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_beneath_the_folder_of_a_process(project, memory, tmp_path) -> None:
    (tmp_path / "desk").mkdir()
    with desk(tmp_path / "desk") as place:
        letta = place.run(cwd=project)
        write(project, GOOD)
        os.rename(project, tmp_path / "renamed")
        project.mkdir()
        found = read_record(process.folder_path(letta.pid), memory)
        assert isinstance(found, Record)
        assert found.path == str(tmp_path / "renamed" / ".letta" / "settings.local.json")
        path = process.folder_path(letta.pid)
    gone = read_record(path, memory)
    assert isinstance(gone, Problem)
    assert gone.reason is Reason.CHANGED_WHILE_READING
    assert record_times(path) is None


def test_other_keys_and_absent_ones(project, memory) -> None:
    more = {"permissions": {"allow": ["Bash(ls)"]}, "hooks": {}, "lastAgent": None}
    write(project, more)
    found = record(project, memory)
    assert (found.sessions, found.last_session, found.last_agent) == ({}, None, None)
    cloud = {"agentId": "agent-1", "conversationId": "default"}
    write(project, {"sessionsByServer": {"api.letta.com": {**cloud, "more": 1}, KEY: SESSION}})
    assert record(project, memory).sessions["api.letta.com"] == Session("agent-1", "default")


INVALID = [
    "[]",
    '"text"',
    "nulx",
    '{"a": NaN}',
    '{"a": -Infinity}',
    '{"a": 1, "a": 1}',
    '{"lastSession": {"agentId": "a", "agentId": "a", "conversationId": "c"}}',
    "{} {}",
    "{'a': 1}",
    '{"a": 1,}',
    "\ufeff{}",
    '{"a": "\n"}',
    {"sessionsByServer": []},
    {"sessionsByServer": {KEY: None}},
    {"sessionsByServer": {KEY: SESSION, "other": {"agentId": AGENT}}},
    {"sessionsByServer": {KEY: SESSION, "other": {**SESSION, "conversationId": 1}}},
    {"sessionsByServer": {KEY: {**SESSION, "agentId": ""}}},
    {"sessionsByServer": {KEY: {**SESSION, "agentId": ".."}}},
    {"sessionsByServer": {KEY: {**SESSION, "conversationId": "a/b"}}},
    {"sessionsByServer": {KEY: {**SESSION, "conversationId": "a\n"}}},
    {"lastSession": "local-conv-1"},
    {"lastSession": {}},
    {"lastAgent": 1},
    {"lastAgent": ""},
]


@pytest.mark.parametrize("said", INVALID, ids=range(len(INVALID)))
def test_invalid(project, memory, said) -> None:
    write(project, said)
    started = time.monotonic()
    assert reason(project, memory) is Reason.RECORD_INVALID
    assert time.monotonic() - started < 0.05


def test_invalid_bytes(project, memory) -> None:
    path = write(project, "")
    for said in (b'{"a": "\xff"}', b'{"a": "\xed\xa0\x80"}', b'{"a": 1}\0', b"[" * 50 + b"]" * 51):
        path.write_bytes(said)
        assert reason(project, memory) is Reason.RECORD_INVALID
    path.write_bytes(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}")
    assert reason(project, memory) is Reason.RECORD_INVALID
    path.write_bytes(b"{}" + b" " * (1 << 20))
    found = read_record(str(project), memory)
    assert isinstance(found, Problem)
    assert found.reason is Reason.RECORD_INVALID
    assert "1,048,578 bytes" in found.saw


@pytest.mark.parametrize(
    "said", ["[" * (15 << 20), "[" * 1_000_000, '{"a":' * 200_000, "[1," * 300_000, "9" * 1_000_000]
)
def test_what_would_be_dear_to_read(project, memory, said) -> None:
    write(project, said)
    started = time.monotonic()
    assert reason(project, memory) is Reason.RECORD_INVALID
    assert time.monotonic() - started < 1


def test_half_a_surrogate_pair(project, memory) -> None:
    for said in ('{"a": "\\ud83d"}', '{"\\uDE00": 1}', '{"a": ["\\ude00\\ud83d"]}'):
        write(project, said)
        assert reason(project, memory) is Reason.RECORD_INVALID, said
    write(project, '{"a": "\\ud83d\\ude00 \\\\ud83d"}')
    record(project, memory)


def test_empty(project, memory) -> None:
    write(project, "")
    started = time.monotonic()
    assert reason(project, memory) is Reason.RECORD_CHANGED
    assert 0.08 <= time.monotonic() - started < 1


@pytest.mark.parametrize("length", [1, 10, 60, 200])
def test_half_and_nobody_writes(project, memory, length) -> None:
    write(project, json.dumps(GOOD)[:length])
    started = time.monotonic()
    found = read_record(str(project), memory)
    assert 0.08 <= time.monotonic() - started < 1
    assert isinstance(found, Problem)
    assert found.reason is Reason.RECORD_CHANGED


def test_half_and_somebody_writes(project, memory) -> None:
    path = write(project, json.dumps(GOOD)[:10])

    def go_on() -> None:
        time.sleep(0.03)
        path.write_text(json.dumps(GOOD)[:60])

    writer = threading.Thread(target=go_on)
    writer.start()
    assert reason(project, memory) is Reason.RECORD_CHANGED
    writer.join()


@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"ensure_ascii": False}])
def test_every_half_of_a_record_is_half(style) -> None:
    odd = {"odd": 'a "quoted\\" {[ \\\\ \a é😀', "list": [1, {}, -1.5e30, True, None, False, -3]}
    text = json.dumps({**GOOD, **odd}, **style).encode()
    for at in range(len(text)):
        with pytest.raises(ValueError, match=r".") as refused:
            parse(text[:at])
        assert is_cut_off(refused.value), text[:at]
    assert parse(text)["odd"] == odd["odd"]
    for whole in (b"{} {}", b"{}1", b'{"a": 1,}', b'{"a": NaN', b"nulx", b"\xff", b"[" * 9999):
        with pytest.raises(ValueError, match=r".") as refused:
            parse(whole)
        assert not is_cut_off(refused.value), whole


def test_a_writer_that_is_slow(project, memory) -> None:
    path = write(project, "")

    def finish() -> None:
        time.sleep(0.03)
        path.write_text(json.dumps(GOOD))

    writer = threading.Thread(target=finish)
    writer.start()
    assert record(project, memory).last_agent == AGENT
    writer.join()


def test_a_writer_that_never_rests(project, memory) -> None:
    path = write(project, GOOD)
    done = threading.Event()

    def rewrite() -> None:
        while not done.is_set():
            path.write_text(json.dumps(GOOD))

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(10):
            found = read_record(str(project), memory)
            if isinstance(found, Problem):
                assert found.reason is Reason.RECORD_CHANGED
            else:
                assert found.last_agent == AGENT
    finally:
        done.set()
        writer.join()


def test_what_is_put_in_its_place_meanwhile(project, memory, tmp_path, monkeypatch) -> None:
    """A record, or a `.letta`, that is another's at the end of the look."""
    path = write(project, GOOD)
    real = settings.read_json

    def replace_file() -> None:
        (tmp_path / "new").write_text(json.dumps(GOOD))
        os.replace(tmp_path / "new", path)

    def touch_file() -> None:
        path.write_text(json.dumps(GOOD))

    def replace_folder() -> None:
        os.rename(project / ".letta", tmp_path / "away")
        shutil.copytree(tmp_path / "away", project / ".letta")

    def move_folder_away_and_back() -> None:
        shutil.rmtree(project / ".letta")
        os.rename(tmp_path / "away", tmp_path / "farther")
        os.rename(tmp_path / "farther", project / ".letta")

    for meddle in (replace_file, touch_file, replace_folder, move_folder_away_and_back):

        def meddling(*arguments, meddle=meddle):
            found = real(*arguments)
            time.sleep(0.02)
            meddle()
            return found

        monkeypatch.setattr(settings, "read_json", meddling)
        assert reason(project, memory) is Reason.RECORD_CHANGED, meddle
        monkeypatch.setattr(settings, "read_json", real)
        record(project, memory)


def test_missing(tmp_path, memory) -> None:
    assert reason(tmp_path / "nowhere", memory) is Reason.CHANGED_WHILE_READING
    assert reason(tmp_path, memory) is Reason.RECORD_MISSING
    (tmp_path / ".letta").mkdir()
    assert reason(tmp_path, memory) is Reason.RECORD_MISSING
    assert record_times(str(tmp_path)) is None


def test_through_a_link(project, memory, tmp_path) -> None:
    path = write(project, GOOD)
    elsewhere = tmp_path / "elsewhere.json"
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)
    assert reason(project, memory) is Reason.RECORD_INVALID
    path.unlink()
    os.rename(elsewhere, path)
    os.rename(path.parent, tmp_path / "letta")
    (project / ".letta").symlink_to(tmp_path / "letta")
    assert reason(project, memory) is Reason.RECORD_INVALID
    # A link to the folder itself is the user's way there.
    (tmp_path / "link").symlink_to(project)
    (project / ".letta").unlink()
    os.rename(tmp_path / "letta", project / ".letta")
    assert record(tmp_path / "link", memory).path == str(path)


def test_what_is_no_file(project, memory, monkeypatch) -> None:
    path = project / ".letta" / "settings.local.json"
    os.mkfifo(path)
    assert reason(project, memory) is Reason.RECORD_INVALID
    path.unlink()
    path.mkdir()
    assert reason(project, memory) is Reason.RECORD_INVALID
    path.rmdir()
    with socket.socket(socket.AF_UNIX) as listener:
        # The whole path may be too long for the name of a socket.
        monkeypatch.chdir(path.parent)
        listener.bind("settings.local.json")
    assert reason(project, memory) is Reason.RECORD_INVALID
    shutil.rmtree(path.parent)
    path.parent.touch()
    assert reason(project, memory) is Reason.RECORD_INVALID


CHILD = """
import errno, json, os, resource, sys
from lettafast.binding.chunks import read_chunk_logs
from lettafast.binding.facts import Problem
from lettafast.binding.filesystems import filesystem_of
from lettafast.binding.local_store import read_stored
from lettafast.binding.memory import Memory
from lettafast.binding.settings import read_record, record_times, settings_env
folder, agent = sys.argv[1:]
memory = Memory(os.path.join(folder, "state"))
looks = {
    "record": lambda: read_record(folder, memory),
    "env": lambda: settings_env(folder),
    "stored": lambda: read_stored(folder, agent, "default"),
    "filesystem": lambda: filesystem_of(0),
    "times": lambda: record_times(folder),
    "logs": lambda: read_chunk_logs(folder, 0, 1),
}
whole = {name: look() for name, look in looks.items()}
assert not any(isinstance(found, Problem) for found in whole.values()), whole
first = os.open("/dev/null", os.O_RDONLY)
os.close(first)
said = {}
for free in range(12):
    resource.setrlimit(resource.RLIMIT_NOFILE, (first + free, 4096))
    memory = Memory(os.path.join(folder, "state"))
    said[free] = {}
    for name, look in looks.items():
        found = look()
        if isinstance(found, Problem):
            said[free][name] = [found.reason.value, found.saw]
        else:
            said[free][name] = found == whole[name]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
print(json.dumps(said))
"""


def test_too_few_descriptors(project) -> None:
    """In a child of its own: with none free, then with one more at each look."""
    write(project, GOOD)
    (project / "settings.json").write_text("{}")
    name = base64.urlsafe_b64encode(f"default:{AGENT}".encode()).decode().rstrip("=")
    stored = project / "conversations" / name
    stored.mkdir(parents=True)
    said = {"id": "default", "agent_id": AGENT, "created_at": "2026-11-30T13:38:29.191Z"}
    (stored / "conversation.json").write_text(json.dumps(said))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(project), AGENT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for look in ("record", "env", "stored", "filesystem"):
        found = [answers[str(free)][look] for free in range(12)]
        assert found[-1] is True, (look, found)
        assert found[0] is not True
        for answer in found:
            if answer is not True:
                assert answer[0] == "changed_while_reading", (look, found)
                assert "Too many open files" in answer[1]


@as_root
@pytest.mark.parametrize("part", [".letta", ".letta/settings.local.json"])
def test_a_record_that_may_not_be_read(tmp_path_factory, part) -> None:
    with tempfile.TemporaryDirectory() as name:
        project = pathlib.Path(name)
        os.chmod(project, 0o755)
        (project / ".letta").mkdir()
        write(project, GOOD)
        os.chmod(project / part, 0)
        readable, writable = os.pipe()
        memory = Memory(str(project / "state"))
        pid = os.fork()
        if pid == 0:
            try:
                os.setresuid(65534, 65534, 65534)
                found = read_record(name, memory)
                os.write(writable, f"{found.reason} {found.saw}".encode())
            finally:
                os._exit(0)
        os.close(writable)
        with open(readable) as file:
            said = file.read()
        os.waitpid(pid, 0)
    assert said.startswith("record_unwritable ")
    assert "Permission denied" in said


# Writing


def changed_attributes(path: pathlib.Path, change: str) -> None:
    """`chattr`, or a skip where the file system or the user has no such right."""
    done = subprocess.run(["chattr", change, str(path)], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"chattr {change} is not allowed here: {done.stderr.decode().strip()}")


@as_root
@pytest.mark.parametrize("attribute", ["i", "a"])
def test_a_record_that_the_kernel_protects(project, memory, attribute) -> None:
    path = write(project, GOOD)
    assert record(project, memory).writable
    changed_attributes(path, f"+{attribute}")
    try:
        assert not record(project, memory).writable
        # Why `access` is not asked.
        assert os.access(path, os.W_OK) == (attribute == "a")
    finally:
        changed_attributes(path, f"-{attribute}")
    assert record(project, memory).writable


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_record(project, memory) -> None:
    path = write(project, GOOD)
    path.chmod(0o444)
    assert not record(project, memory).writable
    path.chmod(0o644)
    assert record(project, memory).writable


@pytest.mark.skipif(sys.platform != "linux", reason="the count is of Linux's opens")
def test_writing_is_tried_once_for_each_state(project, memory, monkeypatch) -> None:
    opened = []
    real = os.open

    def counting(path, flags, *rest, **more):
        if flags & os.O_ACCMODE == os.O_WRONLY:
            opened.append(path)
        return real(path, flags, *rest, **more)

    path = write(project, GOOD)
    monkeypatch.setattr(os, "open", counting)
    for _ in range(3):
        assert record(project, memory).writable
    assert opened == ["settings.local.json"]
    os.utime(path)
    assert record(project, memory).writable
    assert opened == ["settings.local.json"] * 2
    assert json.loads(path.read_text()) == GOOD


@as_root
@pytest.mark.skipif(sys.platform != "linux", reason="mounts")
def test_a_file_system_that_became_read_only(tmp_path, memory) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "lettafast-test", str(disk)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        (disk / ".letta").mkdir()
        write(disk, GOOD)
        first = record(disk, memory)
        assert (first.filesystem, first.writable) == ("tmpfs", True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        again = record(disk, memory)
        assert again.file == first.file
        assert not again.writable
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# File systems


@as_root
@pytest.mark.skipif(sys.platform != "linux", reason="mounts")
def test_a_record_that_is_a_mount_of_its_own(project, memory) -> None:
    path = write(project, GOOD)
    done = subprocess.run(
        ["mount", "--bind", "/proc/version", str(path)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        assert reason(project, memory) is Reason.RECORD_CHANGED
    finally:
        subprocess.run(["umount", str(path)], check=True)
    other = project / "other"
    other.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "lettafast-test", str(other)], check=True)
    try:
        (other / "record").write_text(json.dumps(GOOD))
        subprocess.run(["mount", "--bind", str(other / "record"), str(path)], check=True)
        try:
            found = record(project, memory)
            assert (found.filesystem, found.writable) == ("tmpfs", True)
            subprocess.run(["mount", "-o", "remount,bind,ro", str(path)], check=True)
            assert not record(project, memory).writable
        finally:
            subprocess.run(["umount", str(path)], check=True)
    finally:
        subprocess.run(["umount", str(other)], check=True)


def test_the_file_system(project, memory) -> None:
    write(project, GOOD)
    found = record(project, memory).filesystem
    assert found != UNKNOWN
    if sys.platform == "linux":
        said = subprocess.run(
            ["findmnt", "-n", "-o", "FSTYPE", "-T", str(project)],
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode == 0:
            assert found == said.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_file_systems_of_the_kernel() -> None:
    for path, name in (("/proc", "proc"), ("/sys", "sysfs")):
        fd = os.open(path, os.O_PATH)
        try:
            assert filesystem_of(fd) == name
        finally:
            os.close(fd)
    readable, writable = os.pipe()
    assert filesystem_of(readable) == UNKNOWN
    os.close(readable)
    os.close(writable)
    assert filesystem_of(readable) == UNKNOWN


# The user's own settings


def test_the_env_of_the_settings(tmp_path) -> None:
    path = tmp_path / "settings.json"
    assert settings_env(str(tmp_path)) == {}
    assert settings_env(str(tmp_path / "nowhere")) == {}
    for said, expected in (
        ({"env": {"LETTA_BASE_URL": "https://x", "N": 1}}, {"LETTA_BASE_URL": "https://x"}),
        ({"env": []}, {}),
        ({}, {}),
        ([], {}),
    ):
        path.write_text(json.dumps(said))
        assert settings_env(str(tmp_path)) == expected
    os.rename(path, tmp_path / "dotfiles.json")
    path.symlink_to("dotfiles.json")
    assert settings_env(str(tmp_path)) == {}


def test_settings_that_cannot_be_read(tmp_path) -> None:
    path = tmp_path / "settings.json"

    def expect() -> None:
        found = settings_env(str(tmp_path))
        assert isinstance(found, Problem)
        assert found.reason is Reason.STORE_UNKNOWN
        assert str(path) in found.saw

    for said in ("", "{", '{"env": {}, "env": {}}'):
        path.write_text(said)
        expect()
    path.unlink()
    os.mkfifo(path)
    expect()
    path.unlink()
    path.symlink_to("settings.json")
    expect()
    path.unlink()
    path.mkdir()
    expect()


def test_no_descriptor_is_left(project, memory, tmp_path) -> None:
    write(project, GOOD)
    record(project, memory)
    before = descriptors()
    for said in (GOOD, [], {"lastAgent": 1}):
        write(project, said)
        for _ in range(10):
            read_record(str(project), memory)
            record_times(str(project))
            read_record(str(tmp_path), memory)
            settings_env(str(project / ".letta"))
    assert descriptors() == before
