"""Opening: nothing beneath the root is trusted, and no name makes a reader wait."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import resource
import socket
import stat
import tempfile
import threading
import time

import pytest

from lettafast import SourceError, SourceReason, Store, open_transcript
from support import descriptors, run_python, user

PARTS = ("agent", "conversation", "transcript.jsonl")


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A store with one conversation, and the same beside it, outside the store."""
    for name in ("root", "outside"):
        folder = tmp_path / name / "agent" / "conversation"
        folder.mkdir(parents=True)
        (folder / "transcript.jsonl").write_bytes(user(name))
    return tmp_path / "root"


def refusal(root: os.PathLike[str], agent: str = PARTS[0], conversation: str = PARTS[1]) -> str:
    with pytest.raises(SourceError) as caught:
        Store(root).transcript(agent, conversation)
    assert isinstance(caught.value.reason, SourceReason)
    return str(caught.value.reason)


def refusal_of(path: os.PathLike[str] | str) -> str:
    with pytest.raises(SourceError) as caught:
        open_transcript(path)
    assert caught.value.name == os.fsdecode(path)
    return str(caught.value.reason)


def text(root: os.PathLike[str]) -> str:
    with Store(root).transcript(*PARTS[:2]) as transcript:
        return next(transcript.entries()).text


def test_opens_what_is_there(source_backend, root) -> None:
    assert text(root) == "root"
    with open_transcript(root / "agent" / "conversation" / "transcript.jsonl") as transcript:
        assert transcript.summary.entries == 1
        status = os.stat(root / "agent" / "conversation" / "transcript.jsonl")
        assert (transcript.file_id.dev, transcript.file_id.ino) == (status.st_dev, status.st_ino)


def test_relative_paths(source_backend, root, monkeypatch) -> None:
    monkeypatch.chdir(root / "agent" / "conversation")
    for path in ("transcript.jsonl", "./transcript.jsonl", "../conversation/transcript.jsonl"):
        with open_transcript(path) as transcript:
            assert transcript.name == path
            assert transcript.summary.entries == 1
    monkeypatch.chdir(root.parent)
    assert text("root") == "root"


def test_an_open_transcript_does_not_follow_the_working_folder(
    source_backend, root, monkeypatch
) -> None:
    monkeypatch.chdir(root / "agent" / "conversation")
    with open_transcript("transcript.jsonl") as transcript:
        monkeypatch.chdir("/")
        assert transcript.refresh() == "unchanged"
        transcript.reopen()
        assert transcript.summary.entries == 1


@pytest.mark.parametrize("level", range(3))
def test_missing(source_backend, root, level: int) -> None:
    root.joinpath(*PARTS[: level + 1]).rename(root.parent / "away")
    assert refusal(root) == "missing"


def test_missing_root(source_backend, tmp_path) -> None:
    assert refusal(tmp_path / "nothing") == "missing"
    assert refusal_of(tmp_path / "nothing" / "transcript.jsonl") == "missing"


def test_file_in_the_middle(source_backend, root) -> None:
    (root / "file").write_bytes(user())
    assert refusal(root, "file") == "missing"
    assert refusal(root, "agent", "file") == "missing"


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("where", ["outside", "inside", "absolute", "dangling", "loop", "dot"])
def test_links_beneath_the_root(source_backend, root, level: int, where: str) -> None:
    """A link is refused at each component, wherever it points."""
    place = root.joinpath(*PARTS[: level + 1])
    moved = root / "moved"
    place.rename(moved)
    up = "../" * level
    target = {
        "outside": f"{up}../outside/" + "/".join(PARTS[: level + 1]),
        "inside": f"{up}moved",
        "absolute": str(moved),
        "dangling": "nowhere",
        "loop": PARTS[level],
        "dot": f"./{up}moved",
    }[where]
    place.symlink_to(target)
    assert refusal(root) == "symlink"
    if level == 2:
        assert refusal_of(place) == "symlink"


def test_longer_loop(source_backend, root) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert refusal(root, "a") == "symlink"


def test_magic_links(source_backend, tmp_path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(user())
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert refusal_of(f"/proc/self/fd/{descriptor}") == "symlink"
        assert refusal("/proc/self", "cwd", "x") == "symlink"
        assert refusal("/proc/self", "root", "etc") == "symlink"
    finally:
        os.close(descriptor)


def test_links_in_the_path_of_the_root_are_the_users_business(source_backend, root) -> None:
    link = root.parent / "link"
    link.symlink_to("root")
    assert text(link) == "root"
    (root.parent / "far").symlink_to("link/agent")
    with open_transcript(root.parent / "far" / "conversation" / "transcript.jsonl") as transcript:
        assert transcript.refresh() == "unchanged"


def test_the_root_is_opened_once(source_backend, root) -> None:
    """Another folder in the root's place afterwards is not looked at."""
    link = root.parent / "link"
    link.symlink_to("root")
    with Store(link).transcript(*PARTS[:2]) as transcript:
        link.unlink()
        link.symlink_to("outside")
        assert transcript.refresh() == "unchanged"
        transcript.reopen()
        assert next(transcript.entries()).text == "root"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "/etc", "a\0b", "\0"])
def test_bad_names_in_a_store(source_backend, root, name: str) -> None:
    assert refusal(root, name, "conversation") == "bad_name"
    assert refusal(root, "agent", name) == "bad_name"
    assert refusal(root.parent / "no-root-either", name, "conversation") == "bad_name"


@pytest.mark.parametrize("end", ["", ".", "..", "a\0b", "transcript.jsonl/"])
def test_bad_names_of_a_file(source_backend, root, end: str) -> None:
    assert refusal_of(f"{root}/agent/conversation/{end}") == "bad_name"


def test_the_empty_path(source_backend) -> None:
    assert refusal_of("") == "bad_name"
    assert refusal_of("/") == "bad_name"


def test_a_nul_in_the_path_of_the_root(source_backend) -> None:
    assert refusal_of("a\0b/transcript.jsonl") == "bad_name"
    assert refusal("a\0b") == "bad_name"


def test_strange_but_legal_names(source_backend, tmp_path) -> None:
    names = ["...", "..a", "a..", " ", "-", "a\nb", "é", "日本", "\udcff\udcfe", "~", "*", "\\"]
    for name in names:
        folder = os.path.join(os.fsencode(tmp_path), os.fsencode(name), os.fsencode(name))
        os.makedirs(folder)
        with open(os.path.join(folder, b"transcript.jsonl"), "wb") as file:
            file.write(user())
        with Store(tmp_path).transcript(name, name) as transcript:
            assert transcript.summary.entries == 1
        assert transcript.name.endswith(f"/{name}/{name}/transcript.jsonl")
        path = tmp_path / "plain"
        path.mkdir(exist_ok=True)
        copy = os.path.join(os.fsencode(path), os.fsencode(name))
        with open(copy, "wb") as file:
            file.write(user())
        for given in (copy, os.fsdecode(copy), pathlib.Path(os.fsdecode(copy))):
            with open_transcript(given) as transcript:
                assert transcript.name == os.fsdecode(copy)


def test_names_that_are_too_long(source_backend, tmp_path) -> None:
    with pytest.raises(SourceError) as caught:
        open_transcript(tmp_path / ("x" * 300))
    assert (caught.value.reason, caught.value.errno) == ("io", errno.ENAMETOOLONG)
    assert os.strerror(errno.ENAMETOOLONG) in str(caught.value)


def test_errno_is_only_of_io(source_backend, tmp_path) -> None:
    with pytest.raises(SourceError) as caught:
        open_transcript(tmp_path / "x")
    assert (caught.value.reason, caught.value.errno) == ("missing", 0)


def test_no_descriptors_left(source_backend, root) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(descriptors()) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, hard))
    held: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(0))
        with pytest.raises(SourceError) as caught:
            Store(root).transcript(*PARTS[:2])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)
    assert (caught.value.reason, caught.value.errno) == ("io", errno.EMFILE)
    assert text(root) == "root"


class Hurry:
    """Fails where a call waits: after two seconds the FIFO gets a writer, which ends the wait."""

    def __init__(self, fifo: pathlib.Path | None = None) -> None:
        self.fifo = fifo

    def __enter__(self) -> None:
        self.start = time.monotonic()
        self.timer = threading.Timer(2, self._end_the_wait)
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.timer.join()
        assert time.monotonic() - self.start < 1

    def _end_the_wait(self) -> None:
        if self.fifo is not None:
            os.close(os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK))


@pytest.mark.parametrize("level", range(3))
def test_fifo(source_backend, root, level: int) -> None:
    place = root.joinpath(*PARTS[: level + 1])
    place.rename(root.parent / "away")
    os.mkfifo(place)
    with Hurry(place):
        assert refusal(root) == ("not_regular" if level == 2 else "missing")


def test_fifo_with_a_writer(source_backend, tmp_path) -> None:
    path = tmp_path / "transcript.jsonl"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(writer, user())
        with Hurry():
            assert refusal_of(path) == "not_regular"
        assert os.read(writer, 1000) == user()  # nothing was taken out of it
    finally:
        os.close(writer)


def test_directory(source_backend, root) -> None:
    path = root.joinpath(*PARTS)
    path.unlink()
    path.mkdir()
    assert refusal(root) == "not_regular"
    assert refusal_of(path) == "not_regular"


def test_socket(source_backend) -> None:
    # The name of a socket is at most 108 bytes, so not pytest's long folder.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/transcript.jsonl")
        server.listen()
        with Hurry():
            assert refusal_of(f"{folder}/transcript.jsonl") == "not_regular"


@pytest.mark.parametrize("name", ["null", "zero", "full", "random", "urandom", "tty"])
def test_device(source_backend, name: str) -> None:
    if not os.path.exists(f"/dev/{name}"):
        pytest.skip(f"no /dev/{name} here")
    with Hurry():
        assert refusal_of(f"/dev/{name}") == "not_regular"


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK])
def test_device_in_a_store(source_backend, root, kind: int) -> None:
    path = root.joinpath(*PARTS)
    path.unlink()
    try:
        os.mknod(path, 0o600 | kind, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("may not make devices here")
    with Hurry():
        assert refusal(root) in ("not_regular", "permission_denied")  # as the mount allows


def test_root_that_is_no_folder(source_backend, tmp_path) -> None:
    (tmp_path / "file").write_bytes(user())
    assert refusal(tmp_path / "file") == "not_regular"
    assert refusal_of(tmp_path / "file" / "transcript.jsonl") == "not_regular"
    os.mkfifo(tmp_path / "fifo")
    with Hurry(tmp_path / "fifo"):
        assert refusal(tmp_path / "fifo") == "not_regular"


def test_hard_links_are_files(source_backend, root) -> None:
    path = root.joinpath(*PARTS)
    os.link(path, root.parent / "other-name")
    assert text(root) == "root"


def test_a_file_that_ends_before_its_size(source_backend) -> None:
    """Files of sysfs say 4,096 bytes and hold fewer: what a shrinking file looks like."""
    for path in ("/sys/kernel/fscaps", "/sys/kernel/uevent_seqnum", "/sys/kernel/rcu_expedited"):
        if os.path.isfile(path) and os.stat(path).st_size > len(pathlib.Path(path).read_bytes()):
            assert refusal_of(path) == "changed"
            return
    pytest.skip("no sysfs here")


def test_descriptors_are_not_inherited(source_backend, root) -> None:
    before = descriptors()
    with Store(root).transcript(*PARTS[:2]):
        ours = {at: name for at, name in descriptors().items() if at not in before}
        # The root and the file, and nothing that was needed only on the way.
        assert sorted(ours.values()) == [str(root), str(root.joinpath(*PARTS))]
        assert not any(map(os.get_inheritable, ours))
    assert descriptors() == before


NOBODY = """
import errno, json, os, sys
import lettafast, lettafast.transcript
from lettafast import SourceError, Store, _backend, open_transcript
chosen = _backend.load(sys.argv[2])
_backend.current = lambda: chosen
root = sys.argv[1]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
def reason(call, *arguments):
    try:
        with call(*arguments) as transcript:
            return transcript.summary.entries
    except SourceError as error:
        return str(error.reason)
store = Store(root)
print(json.dumps({
    "plain": reason(store.transcript, "agent", "plain"),
    "file": reason(store.transcript, "agent", "file"),
    "file by path": reason(open_transcript, root + "/agent/file/transcript.jsonl"),
    "conversation": reason(store.transcript, "agent", "folder"),
    "agent": reason(store.transcript, "closed", "plain"),
    "not listed": reason(store.transcript, "agent", "entered"),
    "root": reason(Store(root + "/closed").transcript, "plain", "plain"),
    "listing": [[one.agent, one.conversation, one.state, one.reason]
                for one in store.conversations()],
}))
"""


@pytest.fixture
def shared() -> pathlib.Path:
    """A store that another user may reach, unlike pytest's own folders, and its closed parts."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        root.chmod(0o755)
        for agent, conversation in (
            ("agent", "plain"),
            ("agent", "file"),
            ("agent", "folder"),
            ("agent", "entered"),
            ("closed", "plain"),
        ):
            folder = root / agent / conversation
            folder.mkdir(parents=True)
            (folder / "transcript.jsonl").write_bytes(user())
        (root / "agent/file/transcript.jsonl").chmod(0)
        (root / "agent/folder").chmod(0)
        (root / "agent/entered").chmod(0o111)
        (root / "closed").chmod(0)
        try:
            yield root
        finally:
            for folder in ("agent/folder", "agent/entered", "closed"):
                (root / folder).chmod(0o755)


def test_permissions(source_backend, shared) -> None:
    """Seen by a user who is not root: a file, a folder above it and the root are closed."""
    assert run_python(NOBODY, str(shared), source_backend.name) == {
        "plain": 1,
        "file": "permission_denied",
        "file by path": "permission_denied",
        "conversation": "permission_denied",
        "agent": "permission_denied",
        "not listed": 1,  # a folder that may be entered needs not be listed
        "root": "permission_denied",
        "listing": [
            ["agent", "entered", "present", None],
            ["agent", "file", "unreadable", "permission_denied"],
            ["agent", "folder", "unreadable", "permission_denied"],
            ["agent", "plain", "present", None],
            ["closed", "", "unreadable", "permission_denied"],
        ],
    }
