"""Letta's local store of conversations: files as Letta Code 0.34.12 writes them."""

from __future__ import annotations

import json
import os
import pathlib
import threading
import time

import pytest

from lettafast.binding.facts import Problem, StoredConversation
from lettafast.binding.local_store import read_stored
from lettafast.binding.verdict import Reason
from support import descriptors

AGENT = "agent-local-1c476545-d691-45b8-9c87-36c166265eda"
# As recorded: the unpadded base64url of `conversation:local-conv-7` and of `default:<agent>`.
FOLDER = "Y29udmVyc2F0aW9uOmxvY2FsLWNvbnYtNw"
DEFAULT_FOLDER = "ZGVmYXVsdDphZ2VudC1sb2NhbC0xYzQ3NjU0NS1kNjkxLTQ1YjgtOWM4Ny0zNmMxNjYyNjVlZGE"
GOOD = {
    "id": "local-conv-7",
    "agent_id": AGENT,
    "archived": False,
    "archived_at": None,
    "created_at": "2026-11-30T13:38:29.191Z",
    "in_context_message_ids": ["ui-msg-120"],
}


def write(store: pathlib.Path, said: object, folder: str = FOLDER) -> pathlib.Path:
    path = store / "conversations" / folder / "conversation.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(said if isinstance(said, str) else json.dumps(said, indent=2) + "\n")
    return path


def reason(store: pathlib.Path, conversation: str = "local-conv-7") -> Reason:
    found = read_stored(str(store), AGENT, conversation)
    assert isinstance(found, Problem), found
    assert found.saw
    return found.reason


def test_a_conversation(tmp_path) -> None:
    path = write(tmp_path, GOOD)
    for agent in (None, AGENT, "another"):
        assert read_stored(str(tmp_path), agent, "local-conv-7") == StoredConversation(
            str(path), "local-conv-7", AGENT, 1796045909.191
        )


def test_the_default_conversation_is_of_one_agent(tmp_path) -> None:
    path = write(tmp_path, {**GOOD, "id": "default"}, DEFAULT_FOLDER)
    found = read_stored(str(tmp_path), AGENT, "default")
    assert isinstance(found, StoredConversation)
    assert (found.path, found.conversation_id, found.agent_id) == (str(path), "default", AGENT)
    other = read_stored(str(tmp_path), "agent-local-other", "default")
    assert isinstance(other, Problem)
    assert other.reason is Reason.STORE_MISSING
    with pytest.raises(ValueError, match="which agent"):
        read_stored(str(tmp_path), None, "default")


def test_names_that_encode_to_the_url_alphabet(tmp_path) -> None:
    write(tmp_path, GOOD, "Y29udmVyc2F0aW9uOj4-Pj8_")
    assert isinstance(read_stored(str(tmp_path), None, ">>>??"), StoredConversation)


def test_what_it_says_is_told_as_it_is(tmp_path) -> None:
    write(tmp_path, {**GOOD, "id": "local-conv-8", "agent_id": "agent-local-other"})
    found = read_stored(str(tmp_path), AGENT, "local-conv-7")
    assert isinstance(found, StoredConversation)
    assert (found.conversation_id, found.agent_id) == ("local-conv-8", "agent-local-other")


def test_missing(tmp_path) -> None:
    assert reason(tmp_path / "nowhere") is Reason.STORE_MISSING
    assert reason(tmp_path) is Reason.STORE_MISSING
    write(tmp_path, GOOD)
    assert reason(tmp_path, "local-conv-8") is Reason.STORE_MISSING
    assert reason(tmp_path, "x" * 1000) is Reason.STORE_MISSING
    assert reason(tmp_path, "\0") is Reason.STORE_MISSING
    assert reason(tmp_path, "\ud800") is Reason.STORE_MISSING


@pytest.mark.parametrize("at", ["conversations", FOLDER, "conversation.json"])
def test_no_link_beneath_the_store(tmp_path, at) -> None:
    path = write(tmp_path / "store", GOOD)
    linked = next(part for part in (path, *path.parents) if part.name == at)
    os.rename(linked, tmp_path / "outside")
    linked.symlink_to(tmp_path / "outside")
    assert reason(tmp_path / "store") is Reason.STORE_MISSING


def test_a_link_to_the_store(tmp_path) -> None:
    write(tmp_path / "store", GOOD)
    (tmp_path / "link").symlink_to("store")
    assert isinstance(
        read_stored(str(tmp_path / "link"), AGENT, "local-conv-7"), StoredConversation
    )


@pytest.mark.parametrize(
    "said",
    [
        [],
        {},
        {**GOOD, "id": None},
        {**GOOD, "agent_id": 1},
        {**GOOD, "created_at": None},
        {**GOOD, "created_at": "2026-11-30T13:38:29Z"},
        {**GOOD, "created_at": "2026-11-30T13:38:29.191+00:00"},
        {**GOOD, "created_at": "2026-13-30T13:38:29.191Z"},
        {**GOOD, "created_at": "２０２６-11-30T13:38:29.191Z"},
        '{"id": "local-conv-7", "id": "local-conv-8"}',
        '{"id": NaN}',
        "{} 1",
    ],
)
def test_what_names_nothing(tmp_path, said) -> None:
    write(tmp_path, said)
    assert reason(tmp_path) is Reason.STORE_MISSING


def test_empty(tmp_path) -> None:
    write(tmp_path, "")
    started = time.monotonic()
    assert reason(tmp_path) is Reason.STORE_CHANGED
    assert 0.08 <= time.monotonic() - started < 1


@pytest.mark.parametrize("length", [1, 50])
def test_half_and_nobody_writes(tmp_path, length) -> None:
    write(tmp_path, json.dumps(GOOD)[:length])
    started = time.monotonic()
    assert reason(tmp_path) is Reason.STORE_CHANGED
    assert 0.08 <= time.monotonic() - started < 1


def saw(store: pathlib.Path) -> str:
    found = read_stored(str(store), AGENT, "local-conv-7")
    assert isinstance(found, Problem)
    assert found.reason is Reason.STORE_MISSING
    return found.saw


def test_what_is_there_instead_is_told(tmp_path) -> None:
    path = write(tmp_path, "{} 1")
    assert saw(tmp_path).startswith(f"{path} is not what Letta writes: ")
    path.write_text('{"id": "\\ud800"}')
    assert "surrogate" in saw(tmp_path)
    path.write_text("[" * 1_000_000)
    started = time.monotonic()
    assert "too deep" in saw(tmp_path)
    assert time.monotonic() - started < 1
    path.unlink()
    assert saw(tmp_path) == f"{path}: missing"
    for make, words in (
        (os.mkdir, "a folder, no regular file"),
        (os.mkfifo, "a FIFO, no regular file"),
        (lambda name: os.symlink("elsewhere", name), "it, or a folder on the way, is a link"),
    ):
        make(path)
        assert saw(tmp_path) == f"{path}: {words}"
        os.rename(path, tmp_path / words)


def test_a_writer_that_is_slow(tmp_path) -> None:
    path = write(tmp_path, "")

    def finish() -> None:
        time.sleep(0.03)
        path.write_text(json.dumps(GOOD))

    writer = threading.Thread(target=finish)
    writer.start()
    assert isinstance(read_stored(str(tmp_path), AGENT, "local-conv-7"), StoredConversation)
    writer.join()


def test_no_descriptor_is_left(tmp_path) -> None:
    write(tmp_path, GOOD)
    before = descriptors()
    for conversation in ("local-conv-7", "local-conv-8", "\0"):
        for _ in range(50):
            read_stored(str(tmp_path), AGENT, conversation)
            read_stored(str(tmp_path / "nowhere"), AGENT, conversation)
    assert descriptors() == before
