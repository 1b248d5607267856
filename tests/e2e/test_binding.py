"""What lettafast says a pane shows, beside what the real Letta Code shows in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from letta_code import headless, wait_until
from letta_world import World, pane
from lettafast.binding import Binder, Bound, HerdrPanes, Memory, Reason
from lettafast.herdr.client import Herdr
from scenes import BOUND, Scene, judged
from stage import OLDER, Screen, Stage

Fresh = Callable[..., Path]


def test_the_recorded_conversation_is_resumed(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        verdict = scene.sees("letta", screen, BOUND)
        assert isinstance(verdict, Bound)
        with verdict.open() as transcript:
            assert "SCN:plain in 1" in str(transcript.page().turns[0].parts)
        screen.say("SCN:plain again")
        scene.sees("after a turn", screen, BOUND)


def test_the_recorded_conversation_is_named(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start("--conversation", "local-conv-1", "--yolo")
        scene.sees("letta --conversation", screen, BOUND)


def test_the_default_conversation_is_resumed(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh("default")) as screen:
        screen.start(conversation="default")
        scene.sees("letta", screen, BOUND)


def test_lettafasts_own_environment_points_elsewhere(
    scene: Scene, fresh: Fresh, tmp_path: Path
) -> None:
    (tmp_path / ".letta").mkdir()
    decoy = {
        "HOME": str(tmp_path),
        "PWD": str(tmp_path),
        "LETTA_TRANSCRIPT_ROOT": str(tmp_path),
        "LETTA_LOCAL_BACKEND_DIR": str(tmp_path),
        "LETTAFAST_STATE_DIR": str(tmp_path / "state"),
        "HERDR_SOCKET_PATH": scene.world.stage.path,
        "TMUX_TMPDIR": str(tmp_path),
    }
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        done = subprocess.run(
            [sys.executable, "-m", "lettafast", "explain", "w1:p1", "--json"],
            cwd=tmp_path,
            check=False,
            env=os.environ | decoy,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said = json.loads(done.stdout)
        assert (said["agent_id"], said["conversation_id"]) == (scene.world.agent, screen.title)
        scene.sees("`lettafast explain`", screen, BOUND)


def test_herdr_restarts_and_resumes(scene: Scene, fresh: Fresh) -> None:
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        again = scene.world.stage.restart(screen, folder)
        scene.sees("its shell, before letta", again, Reason.NOT_LETTA, Reason.NOT_LETTA)
        again.start("--conversation", "local-conv-1")
        scene.sees("letta --conversation, as herdr runs it", again, BOUND)


def test_new(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/new")
        scene.sees("/new", screen, Reason.RECORD_NEWER_THAN_PROCESS, Reason.TRANSCRIPT_MISSING)
        screen.say("SCN:plain new")
        scene.sees("and a turn", screen, Reason.RECORD_NEWER_THAN_PROCESS)


def test_resume_another(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh()) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/resume local-conv-2", "local-conv-2")
        scene.sees("/resume", screen, Reason.RECORD_NEWER_THAN_PROCESS)


def test_a_second_letta_in_the_folder(scene: Scene, fresh: Fresh) -> None:
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as one, pane(scene.world, "w1:p2", folder) as other:
        one.start(conversation="local-conv-1")
        other.start("--conversation", "local-conv-2")
        scene.sees("the first", one, Reason.PEER_IN_FOLDER)
        scene.sees("the second", other, Reason.PEER_IN_FOLDER)


def test_a_headless_letta_in_the_folder(scene: Scene, fresh: Fresh) -> None:
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        headless(scene.world.home, folder)
        scene.sees("letta -p", screen, Reason.RECORD_NEWER_THAN_PROCESS)


def test_the_start_folder_is_left(scene: Scene, fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        change_folder(screen, tmp_path)
        scene.sees("/cd", screen, Reason.LEFT_START_FOLDER)
        change_folder(screen, folder)
        scene.sees("and back", screen, Reason.LEFT_START_FOLDER)


def change_folder(screen: Screen, folder: Path) -> None:
    screen.type(f"/cd {folder}")
    there = os.path.realpath(folder)
    wait_until("the other folder", 20, lambda: os.readlink(f"/proc/{screen.letta}/cwd") == there)
    time.sleep(0.5)


def test_leak_an_excursion(scene: Scene, fresh: Fresh, tmp_path: Path) -> None:
    """Away, another conversation there with a turn, and back, while nobody looked."""
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        change_folder(screen, tmp_path)
        screen.command("/new")
        screen.say("SCN:plain away")
        change_folder(screen, folder)
        scene.sees("/cd, /new, a turn, and back, unseen", screen, Reason.CONFLICT)


def test_leak_a_stale_report_confirmed_by_another_process(scene: Scene, fresh: Fresh) -> None:
    """A letta goes on to another conversation; then another process records the reported one."""
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/new")
        headless(scene.world.home, folder, "--conversation", "local-conv-1")
        assert (
            '"conversationId": "local-conv-1"'
            in (folder / ".letta" / "settings.local.json").read_text()
        )
        assert scene.world.stage.report_of("w1:p1") == "local-conv-1"
        scene.sees(
            "report and record agree",
            screen,
            Reason.RECORD_NEWER_THAN_PROCESS,
            Reason.TRANSCRIPT_MISSING,
        )


def test_leak_a_closed_peer(scene: Scene, fresh: Fresh) -> None:
    """As before, and the other process is a letta in a pane that has gone."""
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        screen.command("/new")
        with pane(scene.world, "w1:p2", folder) as peer:
            peer.start("--conversation", "local-conv-1")
            scene.sees("with the peer", screen, Reason.DUPLICATE_REPORT, Reason.TRANSCRIPT_MISSING)
        scene.sees(
            "without it", screen, Reason.RECORD_NEWER_THAN_PROCESS, Reason.TRANSCRIPT_MISSING
        )


def test_two_panes_report_one_conversation(scene: Scene, fresh: Fresh) -> None:
    one_folder, other_folder = fresh(), fresh(suffix="-2")
    with (
        pane(scene.world, "w1:p1", one_folder) as one,
        pane(scene.world, "w1:p2", other_folder) as other,
    ):
        one.start(conversation="local-conv-1")
        other.start(conversation="local-conv-1")
        scene.sees("the first", one, Reason.DUPLICATE_REPORT)
        scene.sees("the second", other, Reason.DUPLICATE_REPORT)


def test_two_sessions_have_the_same_pane_ids(scene: Scene, fresh: Fresh, folder: Path) -> None:
    here, there = fresh(), fresh("local-conv-2", suffix="-2")
    (folder / "b2").mkdir()
    with Stage(scene.world.home, folder / "b2") as second:
        second_world = World(scene.world.home, folder, second, scene.world.agent)
        with (
            pane(scene.world, "w1:p1", here) as one,
            pane(second_world, "w1:p1", there) as other,
            Binder(
                [HerdrPanes(Herdr(path)) for path in (scene.world.stage.path, second.path)],
                {"HOME": str(scene.world.home.home), "TMUX_TMPDIR": str(folder)},
                scene.binder.memory,
            ) as both,
        ):
            one.start(conversation="local-conv-1")
            other.start(conversation="local-conv-2")
            Scene(scene.name, scene.world, both).sees("the first session", one, BOUND)
            Scene(scene.name, second_world, both).sees("the second session", other, BOUND)
        second.close_all()


def test_the_home_folder(scene: Scene) -> None:
    world = scene.world
    record = world.home.home / ".letta" / "settings.local.json"
    record.write_text(world.record_text.replace("local-conv-3", "local-conv-1"))
    time.sleep(OLDER)
    try:
        with pane(world, "w1:p1", world.home.home) as screen:
            screen.start(conversation="local-conv-1")
            scene.sees("letta", screen, Reason.HOME_FOLDER)
    finally:
        record.unlink()


@pytest.mark.parametrize("attribute", ["+i", "+a"], ids=["immutable", "append-only"])
def test_a_read_only_record(scene: Scene, fresh: Fresh, attribute: str) -> None:
    """Letta cannot write what it opens next, and goes on. As root only attributes stop a write."""
    folder = fresh(suffix=attribute)
    record = folder / ".letta" / "settings.local.json"
    changed = subprocess.run(["chattr", attribute, record], capture_output=True, check=False)
    if changed.returncode != 0:
        pytest.skip("this file system has no such attribute, or this user may not set it")
    time.sleep(OLDER)
    try:
        with pane(scene.world, "w1:p1", folder) as screen:
            screen.start(conversation="local-conv-1")
            scene.sees("letta", screen, Reason.RECORD_UNWRITABLE)
            screen.command("/new")
            scene.sees("/new", screen, Reason.RECORD_UNWRITABLE, Reason.TRANSCRIPT_MISSING)
    finally:
        subprocess.run(["chattr", attribute.replace("+", "-"), record], check=True)


def test_the_records_last_session_differs(scene: Scene, fresh: Fresh) -> None:
    """Letta writes the record when it is ready, since not all of it names what it opens."""
    other = {"agentId": scene.world.agent, "conversationId": "local-conv-2"}
    with pane(scene.world, "w1:p1", fresh(lastSession=other)) as screen:
        screen.start("--conversation", "local-conv-1")
        scene.sees("letta", screen, Reason.RECORD_NEWER_THAN_PROCESS)


def test_a_new_conversation_under_a_stale_report(scene: Scene, fresh: Fresh) -> None:
    """herdr did not see that the first letta ended."""
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        scene.world.stage.blind = True
        screen.quit()
        time.sleep(OLDER)
        scene.sees("the shell", screen, Reason.NOT_LETTA, Reason.NOT_LETTA)
        screen.start("--new")
        assert scene.world.stage.report_of("w1:p1") == "local-conv-1"
        scene.sees(
            "letta --new", screen, Reason.RECORD_NEWER_THAN_PROCESS, Reason.TRANSCRIPT_MISSING
        )


@pytest.mark.parametrize(
    "arguments", [["--resume"], ["--backend", "cloud"]], ids=["picker", "sign-in"]
)
def test_a_letta_that_waits_under_a_stale_report(
    scene: Scene, fresh: Fresh, arguments: list[str]
) -> None:
    folder = fresh(suffix=arguments[-1].strip("-"))
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        scene.world.stage.blind = True
        screen.quit()
        time.sleep(OLDER)
        screen.type(" ".join([scene.world.home.letta, *arguments]))
        wait_until("letta", 60, lambda: screen.letta != screen.shell)
        time.sleep(6)
        scene.sees(" ".join(["letta", *arguments]), screen, Reason.CONFLICT, Reason.CONFLICT)


def test_a_conversation_without_a_turn(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh("local-conv-3")) as screen:
        screen.start(conversation="local-conv-3")
        scene.sees("letta", screen, Reason.TRANSCRIPT_MISSING, Reason.TRANSCRIPT_MISSING)


def test_a_subagents_environment(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh(), LETTA_CODE_AGENT_ROLE="subagent") as screen:
        screen.start("--conversation", "local-conv-1")
        scene.sees("letta", screen, Reason.PERSISTENCE_OFF)


def test_the_letta_folder_is_moved_away_and_back(scene: Scene, fresh: Fresh) -> None:
    folder = fresh()
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        (folder / ".letta").rename(folder / "aside")
        screen.command("/new")
        for written in (folder / ".letta").iterdir():
            written.unlink()
        (folder / ".letta").rmdir()
        (folder / "aside").rename(folder / ".letta")
        scene.sees(
            "/new in between", screen, Reason.RECORD_NEWER_THAN_PROCESS, Reason.TRANSCRIPT_MISSING
        )


def test_the_folder_is_moved_away_and_back(scene: Scene, fresh: Fresh) -> None:
    folder = fresh()
    aside = folder.with_name("aside")
    with pane(scene.world, "w1:p1", folder) as screen:
        screen.start(conversation="local-conv-1")
        folder.rename(aside)
        screen.command("/new")
        subprocess.run(["rm", "-r", folder], check=False, capture_output=True)
        aside.rename(folder)
        scene.sees("/new in between", screen, Reason.FOLDER_CHANGED, Reason.TRANSCRIPT_MISSING)


def test_no_report(scene: Scene, fresh: Fresh) -> None:
    with pane(scene.world, "w1:p1", fresh(), HERDR_PANE_ID="") as screen:
        screen.start(conversation="local-conv-1")
        scene.sees("the hook does not report", screen, Reason.NO_REPORT)


def test_no_herdr(world: World, tmp_path: Path) -> None:
    with Binder(
        [], {"HOME": str(tmp_path), "TMUX_TMPDIR": str(tmp_path)}, Memory(str(tmp_path / "state"))
    ) as binder:
        verdict = binder.bind("w1:p1", HerdrPanes(Herdr(str(tmp_path / "herdr.sock"))))
    unavailable = Reason.HERDR_UNAVAILABLE
    judged("no herdr", "-", (verdict, verdict), (unavailable, unavailable), "", world.agent)
