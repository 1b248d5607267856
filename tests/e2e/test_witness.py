"""The witness in the real Letta Code: it follows every switch, and harms nothing.

What a pane shows goes into the table of docs/BINDING.md, as in test_binding.py.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from app_server import AppServer
from letta_code import Home, headless, tui, wait_until
from letta_world import World, pane
from lettafast import witness
from lettafast.binding import Bound, Reason
from lettafast.binding.witness_file import FOLDER
from lettafast.witness.mod import NAME, text
from scenes import BOUND, Scene, rows, table, written
from scripted_model import MODEL, answer, serving
from stage import Screen

MEASURED = ("<!-- measured by the same run -->\n", "<!-- end of what was measured -->\n")
TABLE = ("<!-- the end-to-end run writes this table -->\n", "<!-- end of the table -->\n")
AT_MOST = 1.0
"""Seconds from a switch in Letta to the verdict that knows of it."""
NEWER = Reason.RECORD_NEWER_THAN_PROCESS
MISSING = Reason.TRANSCRIPT_MISSING
delays: list[float] = []

Fresh = Callable[..., Path]


def folder_of(world: World) -> Path:
    return world.home.home / FOLDER


def word_of(world: World, screen: Screen) -> Path:
    return folder_of(world) / f"{screen.letta}.json"


def reload(screen: Screen) -> None:
    """Letta reads its mods again."""
    before = screen.text.count("Reloaded settings")
    screen.type("/reload")
    wait_until("the mods", 20, lambda: screen.text.count("Reloaded settings") > before)
    time.sleep(0.5)


# What it follows


def test_clear_and_fork(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/clear")
        scene.sees("/clear", screen, NEWER, MISSING)
        screen.say("SCN:plain cleared")
        scene.sees("and a turn", screen, NEWER)
        screen.command("/fork")
        scene.sees("/fork", screen, NEWER, MISSING)
        screen.say("SCN:plain forked")
        scene.sees("and a turn in it", screen, NEWER)


def test_every_switch_is_known_at_once(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        for conversation in itertools.islice(itertools.cycle(("local-conv-2", "default")), 6):
            screen.type(f"/resume {conversation}")
            wait_until("the switch", 20, lambda to=conversation: screen.title == to)
            switched = time.monotonic()
            while True:
                verdict = scene.verdict(screen)
                if isinstance(verdict, Bound) and verdict.conversation_id == conversation:
                    break
                assert time.monotonic() - switched < AT_MOST, verdict
            delays.append(time.monotonic() - switched)
            assert delays[-1] <= AT_MOST
        scene.sees("/resume, six times", screen, NEWER)


@pytest.fixture(scope="session")
def other_agent(world: World) -> str:
    """An agent that is no conversation's in `world`; a letta that runs does not learn of it."""
    store = world.home.home / ".letta" / "lc-local-backend" / "agents"
    before = set(store.iterdir())
    headless(world.home, world.home.project, "--new-agent", "-m", f"openai-compatible/{MODEL}")
    (made,) = set(store.iterdir()) - before
    return str(json.loads(made.read_text())["id"])


def test_another_agent(other_agent: str, scene: Scene, fresh: Fresh) -> None:
    tmux = scene.world.stage.tmux
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        screen.type("/agents")
        wait_until("the agents", 20, lambda: "Swap to a different agent" in screen.text)
        for _ in range(10):  # the tab with the agents of this machine
            if "Local agents from this device" in screen.text:
                break
            tmux("send-keys", "-t", "w1-p1", "Tab")
            time.sleep(0.5)
        for _ in range(10):
            if re.search(rf"^>.*{other_agent}", screen.text, re.MULTILINE):
                break
            tmux("send-keys", "-t", "w1-p1", "Down")
            time.sleep(0.5)
        screen.enter()
        wait_until("the other agent", 30, lambda: screen.title == "default")
        time.sleep(1)  # Letta loads its mods again for another agent
        scene.sees("/agents", screen, NEWER, MISSING, agent=other_agent)
        screen.say("SCN:plain to another agent")
        scene.sees("and a turn", screen, NEWER, agent=other_agent)


def test_reloading(scene: Scene, fresh: Fresh) -> None:
    """The mod comes, doubles, goes and comes again under a letta that runs on."""
    home = str(scene.world.home.home)
    mods = Path(witness.mod_path(home)).parent
    older = mods / f"a-{NAME}"
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/new")
        screen.say("SCN:plain before it is loaded again")
        reload(screen)
        scene.sees("/reload", screen, NEWER)
        older.write_bytes(text().replace(b"VERSION = 1", b"VERSION = 0"))
        try:
            reload(screen)
            scene.sees("another version beside it, /reload", screen, NEWER)
            older.rename(mods / f"z-{NAME}")
            reload(screen)
            # The last one that is loaded speaks, and this one's words are not understood.
            scene.sees("and one that is loaded after it", screen, NEWER, NEWER)
        finally:
            for file in mods.glob(f"?-{NAME}"):
                file.unlink()
        witness.uninstall(home, [screen.letta])
        try:
            reload(screen)
            scene.sees("without the mod, /reload", screen, NEWER, NEWER)
        finally:
            witness.install(home)
        reload(screen)
        scene.sees("with it again, /reload", screen, NEWER)


def test_no_mods(scene: Scene, fresh: Fresh) -> None:
    world = scene.world
    with pane(world, "w1:p1", fresh()) as screen:
        screen.start("--no-mods", conversation="local-conv-1")
        scene.sees("letta --no-mods", screen, BOUND)
        (status,) = witness.lettas_of(str(world.home.home))
        assert (status.pid, status.loaded) == (screen.letta, witness.Loaded.MODS_OFF)
        screen.command("/new")
        screen.say("SCN:plain unseen")
        scene.sees("/new and a turn", screen, NEWER, NEWER)
        word = word_of(world, screen)
        assert not word.exists()
        # As a letta with this pid left it, in this boot.
        word.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        said = {"v": 1, "boot_id": boot, "pid": screen.letta, "start_ticks": 1}
        said |= {"agent_id": world.agent, "conversation_id": "local-conv-2"}
        said |= {"seq": 1, "event": "start", "at_ms": int(time.time() * 1000)}
        word.write_text(json.dumps(said))
        word.chmod(0o600)
        scene.sees("and a word of another process with its pid", screen, NEWER, NEWER)
        word.unlink()


def test_a_letta_that_stands_still(
    scene: Scene, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound of 15 s is 7 s here, which is still more than the five of the mod.

    A shell takes its terminal back from what stands still; one that does not look after jobs
    lets it be.
    """
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\n"{scene.world.home.letta}" "$@"\n:\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr("lettafast.binding.witnessed.FRESH_SECONDS", 7.0)
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1", program=wrapper)
        screen.command("/resume local-conv-2", "local-conv-2")
        (pid,) = lettas(scene.world)
        os.kill(pid, signal.SIGSTOP)
        try:
            scene.sees("stopped just now", screen, NEWER)
            time.sleep(7.5)
            scene.sees("stopped for long", screen, NEWER, NEWER)
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_until("the witness", 6, lambda: isinstance(scene.verdict(screen), Bound))
        scene.sees("it goes on", screen, NEWER)


def test_a_letta_is_killed(scene: Scene, fresh: Fresh) -> None:
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        word = word_of(scene.world, screen)
        os.kill(screen.letta, signal.SIGKILL)
        wait_until("the shell", 10, lambda: screen.letta == screen.shell)
        scene.sees("killed", screen, Reason.NOT_LETTA, Reason.NOT_LETTA)
        assert word.exists()
        screen.start(conversation="local-conv-1")
        scene.sees("started again", screen, BOUND)
        assert not word.exists(), "the next letta sweeps"


def test_a_question_that_is_open(scene: Scene, fresh: Fresh) -> None:
    """Letta draws no panel while it asks, also when it has just come to another conversation."""
    tmux = scene.world.stage.tmux
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start("--permission-mode", "standard", conversation="local-conv-1")
        screen.command("/new")
        screen.say("SCN:plain before the question")
        asking = screen.title
        screen.type("SCN:write now")
        wait_until("the question", 30, lambda: "Run this command?" in screen.text)
        scene.sees("Letta asks", screen, NEWER)
        time.sleep(6)
        scene.sees("and waits", screen, NEWER)
        os.kill(screen.letta, signal.SIGKILL)
        wait_until("the shell", 10, lambda: screen.letta == screen.shell)
        screen.start("--permission-mode", "standard", "--conversation", "local-conv-2")
        screen.type(f"/resume {asking}")
        wait_until("the question", 30, lambda: "Run this command?" in screen.text)
        assert screen.title == asking
        scene.sees("/resume of a conversation with a question", screen, NEWER)
        tmux("send-keys", "-t", "w1-p1", "Escape")
        wait_until("the prompt", 20, lambda: "Run this command?" not in screen.text)
        screen.command("/resume local-conv-2", "local-conv-2")
        scene.sees("denied, and /resume", screen, NEWER)


def test_a_switch_behind_a_dialog(scene: Scene, fresh: Fresh) -> None:
    """Letta carries out what was queued also while a dialog is open, and draws no panel then."""
    tmux = scene.world.stage.tmux
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        screen.type("SCN:slow now")
        wait_until("the turn", 20, lambda: "esc to interrupt" in screen.text)
        time.sleep(0.5)
        screen.type("/resume")
        wait_until("a choice", 20, lambda: "Resume a previous conversation" in screen.text)
        for _ in range(20):
            if re.search(r"^> default ", screen.text, re.MULTILINE):
                break
            tmux("send-keys", "-t", "w1-p1", "Up")
            time.sleep(0.3)
        time.sleep(1)  # it is drawn before it takes an Enter
        screen.enter()
        wait_until("the queue", 20, lambda: "Conversation switch queued" in screen.text)
        screen.type("/model")
        wait_until("the dialog", 20, lambda: "Swap your agent's model" in screen.text)
        assert screen.title == "local-conv-1"
        wait_until("the switch", 30, lambda: screen.title == "default")
        time.sleep(AT_MOST)
        scene.sees("a queued /resume, behind a dialog", screen, NEWER, NEWER)
        tmux("send-keys", "-t", "w1-p1", "Escape")
        wait_until("the prompt", 20, lambda: "Swap your agent's model" not in screen.text)
        scene.sees("the dialog is closed", screen, NEWER)


def test_others_of_its_home(scene: Scene, fresh: Fresh) -> None:
    """A subagent and a headless letta run beside it, of the same home."""
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/new")
        screen.say("SCN:plain alone")
        screen.type("SCN:subagent now")
        wait_until("the subagent", 30, lambda: len(lettas(scene.world)) > 1)
        assert lettas(scene.world)[screen.letta] is witness.Loaded.LOADED
        assert witness.Loaded.HEADLESS in lettas(scene.world).values()
        scene.sees("with a subagent", screen, NEWER)
        headless(scene.world.home, folder)
        assert os.listdir(folder_of(scene.world)) == [word_of(scene.world, screen).name]
        scene.sees("and letta -p", screen, NEWER)


def lettas(world: World) -> dict[int, witness.Loaded]:
    return {one.pid: one.loaded for one in witness.lettas_of(str(world.home.home))}


def test_an_app_server_says_nothing(letta: str, folder: Path) -> None:
    with serving() as url, AppServer(letta, folder / "server", url, {}) as server:
        witness.install(str(server.home))
        server.agent()
        time.sleep(1)
        assert list((server.home / ".letta" / "mod-cache").glob(".letta-mod-lettafast-*"))
        assert not (server.home / FOLDER).exists()


# What it survives


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        folder.chmod(0o500)
    elif subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode:
        pytest.skip("as root only an attribute stops a write, and this file system has none")
    try:
        yield
    finally:
        if os.geteuid() != 0:
            folder.chmod(0o700)
        else:
            subprocess.run(["chattr", "-i", folder], check=True)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k,mode=0700", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount, where it may")
    try:
        (folder / "filler").write_bytes(b"x" * 4096)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("broken", [read_only, full], ids=["read-only", "full"])
def test_a_state_folder(scene: Scene, fresh: Fresh, broken: Any) -> None:
    """Letta runs on and says nothing about it."""
    world = scene.world
    folder_of(world).mkdir(parents=True, exist_ok=True, mode=0o700)
    with pane(world, "w1:p1", fresh(suffix=broken.__name__)) as screen:
        with broken(folder_of(world)):
            screen.start(conversation="local-conv-1")
            scene.sees("letta", screen, BOUND)
            screen.command("/new")
            screen.say("SCN:plain unseen")
            scene.sees("/new and a turn", screen, NEWER, NEWER)
            assert "witness" not in screen.text
            assert diagnostics(world) == []
        wait_until("the witness", 6, lambda: isinstance(scene.verdict(screen), Bound))
        scene.sees("it is writable again", screen, NEWER)
        if os.geteuid() == 0:
            os.chown(word_of(world, screen), 4711, 4711)
            scene.sees("its file is another user's", screen, NEWER, NEWER)


def diagnostics(world: World) -> list[Any]:
    """What Letta says of its mods."""
    path = world.home.home / ".letta" / "mods" / "diagnostics" / "latest.json"
    found: list[Any] = json.loads(path.read_text())["report"]["diagnostics"]
    return found


# What it changes


@pytest.fixture
def recorded(letta: str, folder: Path) -> Callable[[bool], tuple[Any, Any, list[float]]]:
    """Plays the same turns in the same place, with the mod or without."""

    def play(with_mod: bool) -> tuple[Any, Any, list[float]]:
        requests: list[Any] = []

        def remembered(body: dict[str, Any]) -> dict[str, Any]:
            requests.append(body)
            return answer(body)

        place = folder / "same"
        place.mkdir()
        took = []
        try:
            with serving(remembered) as url:
                home = Home(letta, place, url)
                if with_mod:
                    witness.install(str(home.home))
                with tui(home) as screen:
                    for prompt in ("SCN:plain one", "SCN:bash two", "SCN:parallel three"):
                        before = size(home)
                        screen.say(prompt)
                        began = time.monotonic()
                        wait_until(prompt, 60, lambda less=before: size(home) > less)
                        took.append(time.monotonic() - began)
                        time.sleep(1)
                    shown = screen.screen()
                (path,) = home.transcripts()
                transcript = [json.loads(line) for line in path.read_text().splitlines()]
                assert (home.home / FOLDER).parent.exists() == with_mod
        finally:
            shutil.rmtree(place, ignore_errors=True)
        assert "witness" not in shown
        below = shown.rpartition("All done.")[2]  # tips and times stand above
        assert len(below.splitlines()) > 3
        return alike([transcript, below], url), alike(requests, url), took

    return play


def size(home: Home) -> int:
    return sum(path.stat().st_size for path in home.transcripts())


CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|[0-9a-f]{40}|call_[0-9a-f]+_[0-9]+|user-[0-9a-z]+-[0-9a-z]+"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|[0-9]+:[0-9]{2}(:[0-9]{2})?( [AP]M)?"
    r"|[0-9.]+ ?m?s\b"
)


def alike(said: Any, url: str) -> Any:
    """What was said, without ids, times and the model's port."""
    if isinstance(said, str):
        return CHANGING.sub("", said.replace(url, "URL"))
    if isinstance(said, list):
        return [alike(one, url) for one in said]
    if isinstance(said, dict):
        return {name: alike(one, url) for name, one in said.items()}
    return said


def test_turns_are_the_same_with_it_and_without(
    recorded: Callable[[bool], tuple[Any, Any, list[float]]],
) -> None:
    without, asked_without, took_without = recorded(False)
    witnessed, asked_with, took_with = recorded(True)
    print(f"seconds a turn: without {took_without}, with {took_with}")
    assert len(without[0]) == 13
    assert witnessed == without
    assert len(asked_with) == len(asked_without)
    for one, other in zip(asked_with, asked_without, strict=True):
        differ = "\n".join(unified_diff(lines(other), lines(one), "without", "with", n=0))
        assert not differ, differ


def lines(said: Any) -> list[str]:
    return json.dumps(said, indent=1, sort_keys=True).replace("\\n", "\n").splitlines()


def test_the_table_in_the_documentation() -> None:
    """Comes last. Without all scenes (`-k`, a skip) there is nothing to compare."""
    now = table()
    found = written(*TABLE, now)
    if {row.split("|")[1] for row in found.splitlines()} == {
        row.split("|")[1] for row in now.splitlines()
    }:
        assert now == found
    assert set(now.splitlines()) <= set(found.splitlines())
    if delays:
        said = (
            f"From a switch in Letta to the verdict that knows of it: {sorted(delays)[3]:.2f} s"
            f" (median), {max(delays):.2f} s at most, in {len(delays)} switches.\n"
        )
        assert written(*MEASURED, said).startswith("From a switch in Letta to the verdict")
    assert rows
