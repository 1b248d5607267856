"""What the reader takes for a word of the mod, and what it does not."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from lettafast.binding import process, witness_file
from lettafast.binding.facts import Identity, Problem, Witness
from lettafast.binding.verdict import Reason
from lettafast.binding.witness_file import FOLDER, read_witness
from witness_host import AGENT

SAID = {
    "v": 1,
    "boot_id": "b1",
    "pid": 4188,
    "start_ticks": 123456,
    "agent_id": AGENT,
    "conversation_id": "local-conv-3",
    "seq": 7,
    "event": "switch",
    "at_ms": 1796046092647,
}
IDENTITY = Identity("b1", 4188, 123456)
NOW = 1796046095.0

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def place(home: Path) -> Path:
    """Where the word of the letta `IDENTITY` lies; its folder is there."""
    (home / FOLDER).mkdir(parents=True, mode=0o700)
    return home / FOLDER / "4188.json"


def write(place: Path, said: Any, *, touched: float = NOW - 1) -> None:
    place.write_bytes(said if isinstance(said, bytes) else json.dumps(said).encode() + b"\n")
    place.chmod(0o600)
    os.utime(place, (touched, touched))


def refused(home: Path, reason: Reason = Reason.WITNESS_INVALID) -> str:
    """What was seen where nothing is believed."""
    found = read_witness(str(home), IDENTITY, NOW)
    assert isinstance(found, Problem), found
    assert found.reason is reason
    return found.saw


def test_a_word(home, place):
    write(place, SAID)
    assert read_witness(str(home), IDENTITY, NOW) == Witness(
        agent_id=AGENT,
        conversation_id="local-conv-3",
        seq=7,
        event="switch",
        at_ms=1796046092647,
        closed=False,
        touched_at=NOW - 1,
        path=str(place),
    )


def test_a_closed_word_and_an_old_one_are_told_as_they_are(home, place):
    write(place, SAID | {"event": "closed"}, touched=NOW - 1e6)
    found = read_witness(str(home), IDENTITY, NOW)
    assert (found.closed, found.event, found.touched_at) == (True, "closed", NOW - 1e6)


@pytest.mark.parametrize("event", ["start", "switch", "turn_start", "turn_end", "closed"])
def test_every_event_of_the_mod(home, place, event):
    write(place, SAID | {"event": event})
    found = read_witness(str(home), IDENTITY, NOW)
    assert (found.event, found.closed) == (event, event == "closed")


def test_a_home_that_is_a_link(home, place, tmp_path):
    """The home is where the letta's environment says it is, as it is spelled there."""
    write(place, SAID)
    (tmp_path / "link").symlink_to(home)
    assert isinstance(read_witness(str(tmp_path / "link"), IDENTITY, NOW), Witness)


def test_nothing_there(home, tmp_path):
    missing = Reason.WITNESS_MISSING
    assert refused(tmp_path / "nobody", missing).startswith("there is no ")
    assert refused(home, missing) == f"there is no {home}/{FOLDER}/4188.json"
    (home / FOLDER).mkdir(parents=True, mode=0o700)
    refused(home, missing)
    (home / FOLDER / "4189.json").write_text(json.dumps(SAID))
    refused(home, missing)


def test_a_file_where_a_folder_should_be(home):
    (home / ".local").write_text("")
    refused(home)


@pytest.mark.parametrize(
    "change",
    [
        {"boot_id": "b2"},
        {"pid": 4189},
        {"start_ticks": 123457},
    ],
    ids=["boot", "pid", "start"],
)
def test_the_word_of_another_process(home, place, change):
    """A pid is given again, and files are left over."""
    write(place, SAID | change)
    assert "another process" in refused(home)


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": True},
        {"v": 1.0},
        {"v": "1"},
        {"pid": "4188"},
        {"pid": 4188.0},
        {"pid": True},
        {"start_ticks": -1},
        {"boot_id": None},
        {"agent_id": None},
        {"agent_id": 7},
        {"conversation_id": ["local-conv-3"]},
        {"seq": -1},
        {"seq": None},
        {"event": "opened"},
        {"event": ""},
        {"event": None},
        {"at_ms": 1796046092647.5},
        {"at_ms": "1796046092647"},
        {"at_ms": int("9" * 399)},
        {"seq": 1 << 53},
        {"closed": False},
    ],
    ids=str,
)
def test_a_member_of_another_kind(home, place, change):
    write(place, SAID | change)
    refused(home)


@pytest.mark.parametrize("name", SAID)
def test_a_member_is_missing(home, place, name):
    write(place, {key: value for key, value in SAID.items() if key != name})
    refused(home)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b'"' + b"x" * 100 + b'"',
        json.dumps(SAID).encode()[:-1],
        json.dumps(SAID).encode() + b"x",
        json.dumps(SAID).encode() * 2,
        json.dumps(SAID).encode().replace(b'"v": 1', b'"v": 1, "v": 1'),
        json.dumps(SAID).encode().replace(b"local", b"loc\xff"),
        json.dumps(SAID).encode().replace(b"local", b"\\ud800"),
        json.dumps(SAID).encode().replace(b"7", b"NaN"),
        b"\xef\xbb\xbf" + json.dumps(SAID).encode(),
        b"[" * 3000,
        json.dumps(SAID).encode() + b" " * 4096,
    ],
    ids=range(15),
)
def test_no_strict_json_of_the_form(home, place, text):
    write(place, text)
    refused(home)


@pytest.mark.parametrize("ahead", [6.0, 3600.0, 1e9])
def test_the_future(home, place, ahead):
    """After the clock was set back, what is old looks new for as long."""
    write(place, SAID, touched=NOW + ahead)
    assert "future" in refused(home)
    write(place, SAID | {"at_ms": int((NOW + ahead) * 1000)})
    assert "future" in refused(home)


def test_a_little_ahead(home, place):
    """The time of a look is taken before the file is read, and file systems round."""
    write(place, SAID, touched=NOW + 2)
    assert isinstance(read_witness(str(home), IDENTITY, NOW), Witness)


@pytest.mark.parametrize("name", [".local", ".local/state", ".local/state/lettafast", FOLDER])
def test_no_link_leads_to_it(home, place, tmp_path, name):
    write(place, SAID)
    (home / name).rename(tmp_path / "aside")
    (home / name).symlink_to(tmp_path / "aside")
    refused(home)


def test_it_is_no_link(home, place, tmp_path):
    write(place, SAID)
    place.rename(tmp_path / "aside")
    place.symlink_to(tmp_path / "aside")
    assert "symlink" in refused(home)
    (tmp_path / "aside").unlink()
    refused(home)


def test_it_is_no_regular_file(home, place):
    os.mkfifo(place, 0o600)
    refused(home)
    place.unlink()
    place.mkdir(0o700)
    refused(home)
    place.rmdir()
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(place.parent)  # the path of a socket must be short
        try:
            server.bind(place.name)
        finally:
            os.chdir(here)
        refused(home)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o602, 0o610])
def test_others_may_do_something_with_it(home, place, mode):
    write(place, SAID)
    place.chmod(mode)
    assert f"mode {mode:04o}" in refused(home)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702, 0o1777])
def test_others_may_do_something_with_the_folder(home, place, mode):
    write(place, SAID)
    place.parent.chmod(mode)
    assert f"mode {mode:04o}" in refused(home)


@root
def test_another_users_file(home, place):
    write(place, SAID)
    os.chown(place, 4711, 4711)
    assert "belongs to user 4711" in refused(home)


@root
def test_another_users_folder(home, place):
    write(place, SAID)
    os.chown(place.parent, 4711, 4711)
    assert "belongs to user 4711" in refused(home)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_it_may_not_be_read(home, place):
    write(place, SAID)
    place.chmod(0)
    assert "permission denied" in refused(home)


def test_it_changes_whenever_it_is_read(home, place, monkeypatch):
    write(place, SAID)
    real = os.read

    def read(fd: int, length: int) -> bytes:
        text = real(fd, length)
        os.truncate(place, len(text) + 1)
        return text

    monkeypatch.setattr(witness_file.os, "read", read)
    assert "changed whenever" in refused(home)


def test_it_is_replaced_while_it_is_read(home, place, monkeypatch):
    """The mod does that every five seconds; the next try has the new one."""
    write(place, SAID)
    real = os.read

    def read(fd: int, length: int) -> bytes:
        monkeypatch.setattr(witness_file.os, "read", real)
        text = real(fd, length)
        new = place.with_suffix(".new")
        write(new, SAID | {"conversation_id": "local-conv-4", "seq": 8})
        new.rename(place)
        return text

    monkeypatch.setattr(witness_file.os, "read", read)
    found = read_witness(str(home), IDENTITY, NOW)
    assert (found.conversation_id, found.seq) == ("local-conv-4", 8)


def test_no_descriptor_is_kept(home, place):
    for said in (SAID, SAID | {"v": 2}, b""):
        write(place, said)
        before = len(os.listdir("/proc/self/fd"))
        read_witness(str(home), IDENTITY, NOW)
        assert len(os.listdir("/proc/self/fd")) == before


def test_readers_and_the_mod_at_once(host):
    """Whatever is read is whole; the mod writes as fast as it can."""
    host.activate()
    host.draw("local-conv-0")
    identity = process.identity_of(host.pid)
    seen = []
    for number in range(1, 200):
        host.draw(f"local-conv-{number}")
        found = read_witness(str(host.home), identity, time.time())
        assert isinstance(found, Witness)
        seen.append((found.conversation_id, found.seq))
    assert seen == [(f"local-conv-{number}", number + 1) for number in range(1, 200)]
