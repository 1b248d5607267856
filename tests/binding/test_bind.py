"""From herdr, the kernel and the file system to a verdict: real processes, files and sockets."""

from __future__ import annotations

import gc
import os
import pathlib
import shutil
import time
from collections.abc import Callable

import pytest

from double import HerdrDouble
from lettafast import HistoryChanged
from lettafast.binding import (
    Binder,
    Bound,
    HerdrPanes,
    Memory,
    Reason,
    Terminal,
    Verdict,
    bind,
)
from lettafast.binding.rules import RECORDED
from lettafast.binding.transcripts import seconds
from lettafast.herdr.client import Herdr
from lettas import Letta
from scene import AGENT, OLDER, Scene
from support import append, assistant, descriptors, user


def reason(verdict: Verdict) -> Reason:
    assert isinstance(verdict, Terminal), verdict
    failed = verdict.evidence[-1]
    assert not failed.held
    own = [found for found in verdict.evidence if found.proof == failed.proof]
    assert all(found.held for found in own[:-2])
    return verdict.reason


def test_a_resumed_conversation_is_bound(scene: Scene) -> None:
    scene.resumed()
    before = time.time()
    with scene.binder() as binder:
        verdict = binder.bind("w1:p1", scene.herdr)
        assert isinstance(verdict, Bound)
        assert (verdict.agent_id, verdict.conversation_id) == (AGENT, "local-conv-1")
        assert verdict.proof == "recorded"
        recorded = [found for found in verdict.evidence if found.proof == "recorded"]
        assert [(found.rule, found.held) for found in recorded] == [
            (name, True) for name, _ in RECORDED.rules
        ]
        assert before <= verdict.checked_at <= time.time()
        with verdict.open() as transcript:
            assert transcript.page().turns[0].parts[0].text == "prompt 0 of local-conv-1"
        terminal = scene.double.pane("w1:p1")["terminal_id"]
        assert isinstance(binder.bind(terminal, scene.herdr), Bound)


def test_only_the_file_that_was_judged_is_opened(scene: Scene) -> None:
    scene.resumed()
    with scene.binder() as binder:
        verdict = binder.bind("w1:p1", scene.herdr)
    assert isinstance(verdict, Bound)
    path = scene.letta_home / "transcripts" / AGENT / "local-conv-1" / "transcript.jsonl"
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").rename(path)
    with pytest.raises(HistoryChanged, match="another file"):
        verdict.open()


def test_a_transcript_that_grows_stays_bound_and_is_refused_as_a_whole(scene: Scene) -> None:
    scene.resumed()
    path = scene.letta_home / "transcripts" / AGENT / "local-conv-1" / "transcript.jsonl"
    with scene.binder() as binder:
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
        append(path, user("another") + assistant("answer"))
        verdict = binder.bind("w1:p1", scene.herdr)
        assert isinstance(verdict, Bound)
        assert verdict.evidence[-2].saw == "4 entries"
        append(path, b'{"kind":"odd"}\n')
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.TRANSCRIPT_REFUSED
        path.write_bytes(user("anew") + assistant("answer"))
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
        path.unlink()
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.TRANSCRIPT_MISSING
        os.symlink(scene.folder / "elsewhere", path)
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.TRANSCRIPT_UNSAFE


class Moving(HerdrDouble):
    """Lets something happen when herdr is asked: at its last question, unless told when."""

    moment = "pane.get"
    happening: Callable[[], None] | None = None

    def _answer(self, request_id: str, method: str, params: object) -> dict[str, object]:
        if method == self.moment and self.happening:
            happening, self.happening = self.happening, None
            happening()
        return super()._answer(request_id, method, params)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "what", ["report", "label", "another letta", "the letta's end", "folder", "record", "terminal"]
)
def test_what_moves_while_it_is_looked_at(scene: Scene, what: str) -> None:
    letta = scene.resumed()
    double = scene.double
    double.__class__ = Moving
    assert isinstance(double, Moving)
    record = scene.desk.project / ".letta" / "settings.local.json"

    def another() -> None:
        second = scene.desk.run()
        processes = double.pane("w1:p1")["processes"]
        double.set_pane("w1:p1", processes=[*processes, {**processes[0], "pid": second.pid}])

    happenings: dict[str, Callable[[], None]] = {
        "report": lambda: double.set_pane("w1:p1", agent_session=None),
        "label": lambda: double.set_pane("w1:p1", agent=None),
        "another letta": another,
        "the letta's end": letta.stop,
        "folder": lambda: print(letta.tell(f"cd {scene.folder}")),
        "record": lambda: print(record.write_text(record.read_text())),
        "terminal": lambda: double.set_pane("w1:p1", terminal_id="term_other"),
    }
    double.happening = happenings[what]
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.CHANGED_WHILE_READING


def test_what_herdr_and_the_kernel_say_differently_is_asked_again(scene: Scene) -> None:
    """A letta may change its folder between two answers; a pid of elsewhere stays different."""
    scene.resumed()
    double = scene.double
    double.__class__ = Moving
    assert isinstance(double, Moving)
    say_folder(scene, scene.folder)
    double.moment = "pane.process_info"
    double.happening = lambda: None
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.OTHER_NAMESPACE
        asked = 0

        def tell_the_truth_at_the_second_time() -> None:
            nonlocal asked
            asked += 1
            if asked == 1:
                double.happening = tell_the_truth_at_the_second_time
            else:
                say_folder(scene, scene.desk.project)

        double.happening = tell_the_truth_at_the_second_time
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)


def test_herdr_goes_away_while_it_is_asked(scene: Scene) -> None:
    scene.resumed()
    scene.double.fault("close", method="pane.get")
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.HERDR_UNAVAILABLE


def test_another_session_that_does_not_answer(scene: Scene, tmp_path: pathlib.Path) -> None:
    """It may report the same conversation; a socket that nobody listens at cannot."""
    scene.resumed()
    with HerdrDouble(tmp_path / "other.sock") as other:
        other.fault("garbage", method="session.snapshot")
        with scene.binder(HerdrPanes(Herdr(other.path))) as binder:
            assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.HERDR_PROTOCOL
        other.clear_faults()
        with scene.binder(HerdrPanes(Herdr(other.path))) as binder:
            assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
        other.stop(unlink=False)
        with scene.binder(HerdrPanes(Herdr(other.path))) as binder:
            assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)


def test_a_stale_report_on_a_shell_is_no_duplicate(scene: Scene) -> None:
    scene.resumed()
    scene.double.set_pane("w1:p2", agent_session=scene.double.pane("w1:p1")["agent_session"])
    with scene.binder() as binder:
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
        assert reason(binder.bind("w1:p2", scene.herdr)) is Reason.NOT_LETTA
        scene.start("w1:p2", cwd=scene.folder)
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.DUPLICATE_REPORT


def test_a_peer_in_the_folder(scene: Scene) -> None:
    scene.resumed()
    with scene.binder() as binder:
        scene.start("w1:p2", report="local-conv-2")
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.PEER_IN_FOLDER
        bound, unseen = binder.panes()
        assert [reason(found.verdict) for found in bound] == [
            Reason.PEER_IN_FOLDER,
            Reason.PEER_IN_FOLDER,
            Reason.NOT_LETTA,
        ]
        assert unseen == {}


def go(scene: Scene, letta: Letta, folder: pathlib.Path) -> None:
    """The letta changes its folder, and herdr says so."""
    letta.tell(f"cd {folder}")
    say_folder(scene, folder)


def say_folder(scene: Scene, folder: pathlib.Path) -> None:
    process = scene.double.pane("w1:p1")["processes"][0]
    scene.double.set_pane("w1:p1", processes=[{**process, "cwd": str(folder)}])


def test_a_letta_that_was_elsewhere_is_remembered(scene: Scene) -> None:
    """By whoever keeps the same state folder, and only if somebody looked."""
    letta = scene.resumed()
    go(scene, letta, scene.folder)
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.LEFT_START_FOLDER
    go(scene, letta, scene.desk.project)
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.LEFT_START_FOLDER
    elsewhere = Memory(str(scene.folder / "others"))
    with Binder([scene.herdr], scene.environ, elsewhere) as unaware:
        assert isinstance(unaware.bind("w1:p1", scene.herdr), Bound)


def test_a_start_folder_that_is_gone_is_remembered(scene: Scene) -> None:
    """It was moved away beneath the process, which then works at the old path."""
    scene.resumed()
    aside = scene.folder / "aside"
    scene.desk.project.rename(aside)
    say_folder(scene, aside)
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.START_FOLDER_UNKNOWN
        aside.rename(scene.desk.project)
        say_folder(scene, scene.desk.project)
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.LEFT_START_FOLDER


def test_a_pane_that_was_moved_answers_to_its_old_id(scene: Scene) -> None:
    scene.conversation("local-conv-1")
    scene.record("local-conv-1")
    time.sleep(OLDER)
    environ = scene.desk.environ(HERDR_PANE_ID="w9:p9", HERDR_SOCKET_PATH=scene.double.path)
    scene.start(report="local-conv-1", environ=environ)
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.OTHER_PANE
        scene.double.set_pane("w1:p1", aliases=["w9:p9"])
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
        scene.double.set_pane("w1:p1", aliases=None)
        scene.double.set_pane("w1:p2", aliases=["w9:p9"])
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.OTHER_PANE


def test_another_sessions_socket_in_the_environment(scene: Scene) -> None:
    scene.conversation("local-conv-1")
    scene.record("local-conv-1")
    time.sleep(OLDER)
    environ = scene.desk.environ(HERDR_PANE_ID="w1:p1", HERDR_SOCKET_PATH="/nonexistent/h.sock")
    scene.start(report="local-conv-1", environ=environ)
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.OTHER_PANE


def test_no_such_pane_and_no_herdr(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LETTAFAST_STATE_DIR", str(scene.folder / "state"))
    for name, value in scene.environ.items():
        monkeypatch.setenv(name, value)
    for name in ("HERDR_SOCKET_PATH", "HERDR_SESSION", "XDG_CONFIG_HOME", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    assert reason(bind("w1:p9", scene.herdr)) is Reason.NOT_LETTA
    scene.double.stop()
    assert reason(bind("w1:p1", scene.herdr)) is Reason.HERDR_UNAVAILABLE


def test_what_cannot_be_remembered_is_not_bound(scene: Scene) -> None:
    """An excursion that was seen would be forgotten by the next look."""
    scene.resumed()
    (scene.folder / "file").write_text("in the way")
    with Binder(
        [scene.herdr], scene.environ, Memory(str(scene.folder / "file" / "state"))
    ) as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.MEMORY_UNAVAILABLE
    with scene.binder() as binder:
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)


def test_a_pane_whose_processes_are_not_known_may_run_a_letta(scene: Scene) -> None:
    """An empty list means that herdr does not know; an error is no list."""
    scene.resumed()
    scene.start("w1:p2", report="local-conv-1", cwd=scene.folder)
    with scene.binder() as binder:
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.DUPLICATE_REPORT
        scene.double.set_pane("w1:p2", processes=[])
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.DUPLICATE_REPORT
        assert reason(binder.bind("w1:p2", scene.herdr)) is Reason.DUPLICATE_REPORT
        scene.double.fault(
            "error", method="pane.process_info", pane_id="w1:p2", code="internal_error"
        )
        assert reason(binder.bind("w1:p1", scene.herdr)) is Reason.HERDR_PROTOCOL


def test_a_herdr_that_is_slow_with_each_pane(scene: Scene) -> None:
    """Several are asked at a time, and all within a bound."""
    scene.resumed()
    for number in range(10, 34):
        scene.double.create_pane("w1:t1", {"pane_id": f"w1:p{number}"})
    scene.double.fault("slow", method="pane.process_info", delay_ms=200)
    with scene.binder() as binder:
        start = time.monotonic()
        assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
        assert time.monotonic() - start < 27 * 0.2  # one after another


def test_the_year_0_is_a_time() -> None:
    assert seconds("0000-01-01T00:00:00.000Z") < seconds("0001-01-01T00:00:00.000Z")


def test_nothing_stays_open(scene: Scene) -> None:
    scene.resumed()
    gc.collect()
    before = descriptors()
    for _ in range(30):
        with scene.binder() as binder:
            assert isinstance(binder.bind("w1:p1", scene.herdr), Bound)
    assert len(descriptors()) <= len(before) + 1  # the double may still close a connection
