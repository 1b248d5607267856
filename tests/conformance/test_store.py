"""`Store.conversations`: what is there, by `fstat` only, and one bad folder stops nothing."""

from __future__ import annotations

import os
import pathlib

import pytest

from lettafast import ConversationRef, SourceError, Store, TranscriptRefused
from support import user


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "root"
    for name in ("b/two", "b/one", "a/three", "a/none", "c/odd"):
        (root / name).mkdir(parents=True)
    (root / "a/three/transcript.jsonl").write_bytes(user())
    (root / "b/one/transcript.jsonl").write_bytes(b"")
    (root / "b/two/transcript.jsonl").write_bytes(b"not a transcript at all\n")
    (root / "c/odd/transcript.jsonl").symlink_to("../../a/three/transcript.jsonl")
    (root / "c/file").write_bytes(user())
    (root / "c/link").symlink_to("../a/three")
    (root / "file").write_bytes(user())
    (root / "link").symlink_to("a")
    return root


def test_lists_every_conversation_folder_in_order(backend, root) -> None:
    found = list(Store(root).conversations())
    assert [(one.agent, one.conversation, one.state, one.reason) for one in found] == [
        ("a", "none", "missing", "missing"),
        ("a", "three", "present", None),
        ("b", "one", "empty", None),
        ("b", "two", "present", None),
        ("c", "odd", "unreadable", "symlink"),
    ]
    status = os.stat(root / "a/three/transcript.jsonl")
    assert (found[1].size, found[1].mtime) == (status.st_size, status.st_mtime)
    assert (found[2].size, found[3].size) == (0, 24)
    assert (found[0].size, found[0].mtime, found[4].size) == (None, None, None)
    assert isinstance(found[0], ConversationRef)


def test_reads_nothing(backend, root, monkeypatch) -> None:
    status = os.stat(root / "b/two/transcript.jsonl")
    os.utime(root / "b/two/transcript.jsonl", ns=(1, status.st_mtime_ns))
    opened = os.stat(root / "b/two/transcript.jsonl")
    list(Store(root).conversations())
    assert os.stat(root / "b/two/transcript.jsonl").st_atime_ns == opened.st_atime_ns


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_odd_places_do_not_stop_the_listing(backend, root, kind: str) -> None:
    path = root / "a/none/transcript.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    found = list(Store(root).conversations())
    assert len(found) == 5
    assert (found[0].state, found[0].reason) == ("unreadable", "not_regular")


def test_the_root_is_looked_at_when_it_is_needed(backend, tmp_path) -> None:
    store = Store(tmp_path / "later")
    with pytest.raises(SourceError) as caught:
        list(store.conversations())
    assert caught.value.reason == "missing"
    (tmp_path / "later/agent/conversation").mkdir(parents=True)
    assert [one.state for one in store.conversations()] == ["missing"]
    with pytest.raises(SourceError) as caught:
        store.transcript("agent", "conversation")
    assert caught.value.reason == "missing"


def test_missing_empty_and_ok_are_three_answers(backend, root) -> None:
    store = Store(root)
    with pytest.raises(SourceError) as caught:
        store.transcript("a", "none")
    assert caught.value.reason == "missing"
    with store.transcript("b", "one") as transcript:
        assert transcript.page().state == "empty"
    with store.transcript("a", "three") as transcript:
        assert transcript.page().state == "ok"
    with pytest.raises(TranscriptRefused):
        store.transcript("b", "two")
    with store.transcript("b", "two", "lenient") as transcript:
        assert transcript.page().state == "empty"
        assert transcript.diagnostics_total == 1


def test_names_that_are_no_text(backend, tmp_path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"\xff\xfe", b"caf\xe9")
    os.makedirs(folder)
    with open(os.path.join(folder, b"transcript.jsonl"), "wb") as file:
        file.write(user())
    (one,) = Store(tmp_path).conversations()
    with Store(tmp_path).transcript(one.agent, one.conversation) as transcript:
        assert transcript.summary.entries == 1
