"""What the mod writes, and what it survives. Letta Code's side is a double (`driver.mjs`); Node,
the file system and the reader are real. The end-to-end tests have the real Letta Code."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from lettafast.binding.facts import Problem, Witness
from lettafast.binding.witness_file import FOLDER, read_witness
from witness_host import AGENT, TOUCH, wait

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


def read(host) -> Witness | Problem:
    return read_witness(str(host.home), host.identity, time.time())


def shown(host) -> str | None:
    found = read(host)
    return found.conversation_id if isinstance(found, Witness) else None


def test_what_is_drawn_is_told(host):
    assert host.activate() == {"panels": 1, "events": ["turn_start", "turn_end"]}
    assert not host.folder.exists()
    before = time.time()
    assert host.draw("default") == [""], "an empty panel is not shown"
    found = read(host)
    assert found == Witness(
        agent_id=AGENT,
        conversation_id="default",
        seq=1,
        event="start",
        at_ms=found.at_ms,
        closed=False,
        touched_at=found.touched_at,
        path=str(host.file),
    )
    assert before - 0.1 <= found.at_ms / 1000 <= time.time()
    host.draw("local-conv-1")
    host.draw("local-conv-1")
    found = read(host)
    assert (found.conversation_id, found.event, found.seq) == ("local-conv-1", "switch", 2)
    host.do("draw", context={"agent": {"id": "agent-2"}, "sessionId": "local-conv-1"})
    found = read(host)
    assert (found.agent_id, found.event, found.seq) == ("agent-2", "switch", 3)


def test_the_form_is_that_of_the_design(host):
    host.activate()
    host.draw("local-conv-3")
    text = host.file.read_bytes()
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1
    identity = host.identity
    assert list(host.said().items())[:7] == [
        ("v", 1),
        ("boot_id", identity.boot_id),
        ("pid", host.pid),
        ("start_ticks", identity.start_ticks),
        ("agent_id", AGENT),
        ("conversation_id", "local-conv-3"),
        ("seq", 1),
    ]
    assert list(host.said())[7:] == ["event", "at_ms"]


def test_only_its_owner_may_look(host):
    os.umask(mask := os.umask(0))
    host.activate()
    host.draw("default")
    assert stat.S_IMODE(host.file.stat().st_mode) == 0o600
    for folder in (host.folder, host.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700 & ~mask
    assert os.listdir(host.folder) == [host.file.name]


def test_turns_are_told(host):
    host.activate()
    host.draw("default")
    same = {"agentId": AGENT, "conversationId": "default"}
    assert host.do("turn", name="turn_start", event=same) == [None], "nothing changes the turn"
    assert (read(host).event, read(host).seq) == ("turn_start", 2)
    assert host.do("turn", name="turn_end", event=same) == [None]
    assert (read(host).event, read(host).seq) == ("turn_end", 3)


def test_a_turn_elsewhere_is_not(host):
    """Else what it streamed, which names another conversation, would look older than the word."""
    host.activate()
    host.draw("default")
    host.do("turn", name="turn_end", event={"agentId": AGENT, "conversationId": "local-conv-9"})
    host.do("turn", name="turn_end", event={})
    assert (read(host).event, read(host).seq) == ("start", 1)


def test_it_is_touched_without_another_word(host):
    host.activate()
    host.draw("default")
    first = read(host)
    later = wait("a touch", lambda: (now := read(host)).touched_at > first.touched_at and now)
    assert (later.seq, later.at_ms) == (first.seq, first.at_ms)


def test_a_file_that_was_removed_comes_again(host):
    host.activate()
    host.draw("default")
    shutil.rmtree(host.home / ".local")
    wait("the file", lambda: shown(host) == "default")


def test_a_disposed_mod_is_closed_and_stays_so(host):
    host.activate()
    host.draw("default")
    host.do("dispose")
    assert read(host).closed
    assert read(host).event == "closed"
    touched = read(host).touched_at
    host.draw("local-conv-1")
    host.do("turn", name="turn_end", event={"agentId": AGENT, "conversationId": "default"})
    time.sleep(3 * TOUCH)
    host.do("dispose")
    assert (read(host).closed, read(host).touched_at) == (True, touched)


def test_nothing_drawn_nothing_told(host):
    host.activate()
    host.do("turn", name="turn_start", event={})
    host.do("dispose")
    time.sleep(2 * TOUCH)
    assert not host.folder.exists()


def test_after_a_reload_it_speaks_again(host):
    host.activate()
    host.draw("default")
    host.do("dispose")
    host.activate()
    host.draw("local-conv-1")
    found = read(host)
    assert (found.conversation_id, found.closed, found.event) == ("local-conv-1", False, "start")
    assert found.seq == 3


def test_the_last_of_two_activations_speaks(host):
    """Two versions of the mod, or a copy of its file: Letta loads each."""
    host.activate()
    host.draw("default")
    host.activate()
    host.draw("local-conv-1")
    host.draw("local-conv-9", at=0)
    host.do("dispose", at=0)
    time.sleep(2 * TOUCH)
    assert (shown(host), read(host).closed) == ("local-conv-1", False)


def test_one_that_is_not_drawn_takes_nothing_over(host):
    """Letta may finish loading mods for what it has disposed of meanwhile."""
    host.activate()
    host.draw("default")
    host.activate()
    host.do("dispose")
    host.draw("local-conv-1", at=0)
    found = read(host)
    assert (found.conversation_id, found.closed, found.event) == ("local-conv-1", False, "switch")
    wait("a touch", lambda: read(host).touched_at > found.touched_at)


def test_many_activations_leave_no_listeners(host):
    """Node warns on the screen about more than ten."""
    before = host.do("listeners")
    for _ in range(20):
        host.activate()
        host.draw("default")
        host.do("dispose")
    assert host.do("listeners") == before + 1


def test_a_letta_without_panels_says_nothing(host):
    """A headless letta, a subagent and the App Server have none."""
    turns = {"turns": True}
    assert host.activate(capabilities={"ui": {"panels": False}, "events": turns})["panels"] == 0
    time.sleep(2 * TOUCH)
    assert not host.folder.exists()


@pytest.mark.parametrize("capabilities", [{}, {"ui": None}, {"ui": {"panels": True}}])
def test_an_older_or_newer_letta(host, capabilities):
    found = host.activate(capabilities=capabilities)
    assert found["events"] == []
    assert found["panels"] == ("panels" in (capabilities.get("ui") or {}))


def test_a_switch_behind_a_dialog(host):
    """A dialog hides the panel. Letta switches all the same, if that was queued, and records it."""
    host.activate()
    host.draw("default")
    host.record("default")
    host.do("hide", hidden=True)
    time.sleep(3 * TOUCH)
    assert shown(host) == "default", "a dialog alone changes nothing"
    host.record("local-conv-1")
    wait("the doubt", lambda: isinstance(read(host), Problem))
    host.do("turn", name="turn_end", event={"agentId": AGENT, "conversationId": "default"})
    time.sleep(3 * TOUCH)
    assert isinstance(read(host), Problem), "and it lasts"
    host.do("hide", hidden=False)
    host.draw("local-conv-1")
    assert (shown(host), read(host).event) == ("local-conv-1", "switch")
    time.sleep(3 * TOUCH)
    assert shown(host) == "local-conv-1"


def test_another_letta_recorded_behind_a_dialog(host):
    """Nothing tells whose record it is, until the panel is drawn again."""
    host.activate()
    host.draw("default")
    host.do("hide", hidden=True)
    host.record("default", agent="agent-2")
    wait("the doubt", lambda: isinstance(read(host), Problem))
    host.do("hide", hidden=False)
    host.draw("default")
    assert shown(host) == "default"
    time.sleep(3 * TOUCH)
    assert shown(host) == "default"


def test_another_letta_records(host):
    """Letta is asked to draw once, and what it draws counts."""
    host.activate()
    host.draw("default")
    host.record("local-conv-1")
    wait("the doubt", lambda: host.do("updates"))
    time.sleep(3 * TOUCH)
    assert (shown(host), host.do("updates")) == ("default", 1)
    assert read(host).seq == 1


def test_a_record_that_tells_nothing(host):
    host.activate()
    host.draw("default")
    host.do("hide", hidden=True)
    place = host.home / ".letta" / "settings.local.json"
    place.write_text('{"lastSession": {"agentId"')
    time.sleep(2 * TOUCH)
    place.unlink()
    os.mkfifo(place)
    time.sleep(2 * TOUCH)
    assert (shown(host), host.do("updates")) == ("default", 0)
    place.unlink()
    host.record("local-conv-1")
    wait("the doubt", lambda: isinstance(read(host), Problem))


def test_a_half_written_record_is_read_again(host):
    host.activate()
    host.draw("default")
    host.record("local-conv-1")
    wait("the doubt", lambda: host.do("updates"))
    host.do("hide", hidden=True)
    place = host.home / ".letta" / "settings.local.json"
    whole = place.read_text()
    place.write_text(whole[:30])
    before = place.stat()
    time.sleep(2 * TOUCH)
    assert shown(host) == "default"
    place.write_text(whole)
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    wait("the doubt", lambda: isinstance(read(host), Problem))


def test_what_is_no_conversation_is_told_as_none(host):
    """A letta that is about to open one shows none; no rule takes an empty id."""
    host.activate()
    host.draw("default")
    host.draw(None)
    assert shown(host) == ""
    host.do("draw", context={})
    assert (shown(host), read(host).agent_id) == ("", "")
    assert host.do("draw", context=None) == [""]


def test_it_takes_its_file_away_when_it_exits(host):
    host.activate()
    host.draw("default")
    assert host.folder.exists()
    host.end()
    assert not host.folder.exists()


def test_other_files_keep_the_folder(start):
    one, other = start(), start()
    for host in (one, other):
        host.activate()
        host.draw("default")
    one.end()
    assert not one.file.exists()
    assert shown(other) == "default"


def test_what_the_dead_left_is_swept(start, home):
    killed = start()
    killed.activate()
    killed.draw("default")
    os.kill(killed.pid, signal.SIGKILL)
    killed._process.wait(10)
    assert killed.file.exists()
    kept = home / FOLDER / "notes.txt"
    kept.write_text("")
    half = home / FOLDER / f"{killed.pid}.new"
    half.write_text("")
    host = start()
    host.activate()
    host.draw("default")
    assert not killed.file.exists()
    assert not half.exists()
    assert kept.exists()
    kept.unlink()


def test_a_stopped_process_becomes_stale_and_comes_back(host):
    host.activate()
    host.draw("default")
    os.kill(host.pid, signal.SIGSTOP)
    try:
        touched = read(host).touched_at
        time.sleep(4 * TOUCH)
        assert read(host).touched_at == touched
    finally:
        os.kill(host.pid, signal.SIGCONT)
    wait("a touch", lambda: read(host).touched_at > touched)


@pytest.mark.parametrize("name", ["", ".local", ".local/state", ".local/state/lettafast"])
def test_no_link_is_followed(host, home, tmp_path, name):
    """What lies behind a link may be anybody's; the reader follows none, too."""
    aside = tmp_path / "aside"
    aside.mkdir(0o700)
    link = home / (name or FOLDER)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(aside)
    host.activate()
    host.draw("default")
    time.sleep(2 * TOUCH)
    assert os.listdir(aside) == []
    assert isinstance(read(host), Problem)


def test_a_link_in_the_place_of_the_file_is_replaced(host, tmp_path):
    host.folder.mkdir(parents=True, mode=0o700)
    for name in (host.file.name, f"{host.pid}.new"):
        (host.folder / name).symlink_to(tmp_path / "victim")
    host.activate()
    host.draw("default")
    assert shown(host) == "default"
    assert not (tmp_path / "victim").exists()


def test_a_folder_that_others_may_write_to_is_not_used(host):
    host.folder.mkdir(parents=True)
    host.folder.chmod(0o777)
    host.activate()
    host.draw("default")
    assert os.listdir(host.folder) == []
    host.folder.chmod(0o700)
    wait("the file", lambda: shown(host) == "default")


@root
def test_root_makes_nothing_in_another_users_home(host, home):
    """As `sudo letta` would, where that keeps HOME: a `~/.local` of root's is nobody else's."""
    os.chown(home, 65534, 65534)
    host.activate()
    host.draw("default")
    time.sleep(2 * TOUCH)
    assert not (home / ".local").exists()
    os.chown(home, 0, 0)
    wait("the file", lambda: shown(host) == "default")


def test_a_file_in_the_place_of_the_folder(host, home):
    (home / ".local").write_text("")
    host.activate()
    assert host.draw("default") == [""]
    time.sleep(2 * TOUCH)
    assert (home / ".local").read_text() == ""
    (home / ".local").unlink()


def test_what_cannot_be_replaced_is_taken_back(host):
    """An old conversation in a file that can no longer be written must not look fresh."""
    host.activate()
    host.draw("default")
    attribute = subprocess.run(
        ["chattr", "+i", host.folder], capture_output=True, check=False
    ).returncode
    if os.geteuid() == 0 and attribute:
        pytest.skip("as root only an attribute stops a write, and this file system has none")
    if attribute:
        host.folder.chmod(0o500)
    try:
        host.draw("local-conv-1")
        assert isinstance(read(host), Problem)
        assert host.file.read_bytes() == b""
    finally:
        subprocess.run(["chattr", "-i", host.folder], capture_output=True, check=False)
        host.folder.chmod(0o700)
    wait("the file", lambda: shown(host) == "local-conv-1")


@root
def test_a_full_disk(host):
    host.folder.mkdir(parents=True, mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k,mode=0700", "tmpfs", host.folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this root may not mount")
    try:
        host.activate()
        host.draw("default")
        assert shown(host) == "default"
        filler = host.folder / "filler"
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(b"x" * (1 << 20))
        host.draw("local-conv-1")
        assert isinstance(read(host), Problem), "the old word is gone, and there is no new one"
        filler.unlink()
        wait("the file", lambda: shown(host) == "local-conv-1")
    finally:
        host.end()
        subprocess.run(["umount", host.folder], check=True)


def test_no_more_descriptors(host):
    """Letta may have none left just when it switches."""
    host.activate()
    host.draw("default")
    free = resource.prlimit(host.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (0, free[1]))
    try:
        host.draw("local-conv-1")
        assert shown(host) is None
    finally:
        resource.prlimit(host.pid, resource.RLIMIT_NOFILE, free)
    wait("the file", lambda: shown(host) == "local-conv-1")


def test_descriptors_are_given_back(host):
    host.activate()
    host.draw("default")
    names = Path(f"/proc/{host.pid}/fd")
    before = len(os.listdir(names))
    for number in range(20):
        host.draw(f"local-conv-{number}")
    time.sleep(2 * TOUCH)
    assert len(os.listdir(names)) == before


def test_a_relative_home(start, tmp_path):
    """It would lead to wherever Letta works just then."""
    host = start(spelled="home", cwd=tmp_path)
    host.activate()
    host.draw("default")
    time.sleep(2 * TOUCH)
    assert not host.folder.exists()
