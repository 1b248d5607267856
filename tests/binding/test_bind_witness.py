"""With a witness: real processes and files, herdr's double, and what the mod would write."""

from __future__ import annotations

import os
import pathlib
import time

import pytest

from lettafast.binding import Bound, Reason, Terminal, Verdict
from lettafast.binding.shape import verdict_shape
from lettafast.binding.witnessed import FRESH_SECONDS
from scene import AGENT, Scene
from test_bind import Moving


def streamed(scene: Scene, conversation: str, seconds: float) -> pathlib.Path:
    """A chunk log that a letta which just started wrote so long after now."""
    name = f"{time.time_ns() // 1_000_000}-x.jsonl"
    path = scene.letta_home / "logs" / "chunk-logs" / AGENT / name
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"agent_id":"{AGENT}","conversation_id":"{conversation}"}}\n')
    at = time.time() + seconds
    os.utime(path, (at, at))
    return path


def look(scene: Scene) -> Verdict:
    with scene.binder() as binder:
        return binder.bind("w1:p1", scene.herdr)


def shown(verdict: Verdict) -> str:
    """The conversation that is bound, or the reason."""
    if isinstance(verdict, Bound):
        assert verdict.proof == "witnessed"
        assert verdict.agent_id == AGENT
        return verdict.conversation_id
    return str(verdict.reason)


def test_what_the_letta_says_is_bound(scene: Scene) -> None:
    """After /new and /resume, under a report that is stale and a record that is new."""
    scene.conversation("local-conv-1")
    scene.conversation("local-conv-2")
    letta = scene.start(report="local-conv-1")
    scene.record("local-conv-2")
    assert shown(look(scene)) == "record_newer_than_process"
    path = scene.says(letta.pid, "local-conv-2")
    verdict = look(scene)
    assert shown(verdict) == "local-conv-2"
    assert isinstance(verdict, Bound)
    with verdict.open() as transcript:
        assert transcript.page().turns[0].parts[0].text == "prompt 0 of local-conv-2"
    rules = [(found.proof, found.rule, found.held) for found in verdict.evidence]
    assert rules == [
        ("recorded", "report", True),
        ("recorded", "process", True),
        ("recorded", "record", False),
        *(
            ("witnessed", rule, True)
            for rule in ("process", "witness", "store", "contradiction", "transcript")
        ),
    ]
    scene.says(letta.pid, "local-conv-1")
    assert shown(look(scene)) == "local-conv-1"
    path.unlink()
    assert shown(look(scene)) == "record_newer_than_process"


def test_neither_report_nor_label_nor_record_is_needed(scene: Scene) -> None:
    """Nor need it be where it was started, or in a folder of its own."""
    scene.conversation("local-conv-1")
    letta = scene.start(cwd=scene.desk.home)
    scene.double.set_pane("w1:p1", agent=None)
    scene.start("w1:p2", cwd=scene.desk.home)
    assert shown(look(scene)) == "not_letta"
    scene.says(letta.pid, "local-conv-1")
    assert shown(look(scene)) == "local-conv-1"


def test_a_conversation_without_a_turn_is_named(scene: Scene) -> None:
    scene.conversation("local-conv-1").unlink()
    scene.says(scene.start().pid, "local-conv-1")
    verdict = look(scene)
    assert isinstance(verdict, Terminal)
    assert verdict.reason is Reason.TRANSCRIPT_MISSING
    assert (verdict.agent_id, verdict.conversation_id) == (AGENT, "local-conv-1")
    shape = verdict_shape(verdict)
    assert (shape["agent_id"], shape["conversation_id"]) == (AGENT, "local-conv-1")
    assert "agent_id" not in verdict_shape(look_at_nothing(scene))


def look_at_nothing(scene: Scene) -> Verdict:
    with scene.binder() as binder:
        return binder.bind("w1:p3", scene.herdr)


def test_a_witness_that_is_old_or_of_another_process(scene: Scene) -> None:
    scene.conversation("local-conv-1")
    letta = scene.start()
    path = scene.says(letta.pid, "local-conv-1")
    then = time.time() - FRESH_SECONDS - 1
    os.utime(path, (then, then))
    verdict = look(scene)
    assert shown(verdict) == "no_report"
    assert [found.reason for found in verdict.evidence if found.rule == "witness"] == [
        Reason.WITNESS_STALE
    ]
    scene.says(letta.pid, "local-conv-1", start_ticks=1)
    assert [found.reason for found in look(scene).evidence if found.rule == "witness"] == [
        Reason.WITNESS_INVALID
    ]
    scene.says(letta.pid, "local-conv-1", event="closed")
    assert shown(look(scene)) == "no_report"


def test_what_was_streamed_since(scene: Scene) -> None:
    scene.conversation("local-conv-1")
    letta = scene.start()
    log = streamed(scene, "local-conv-2", -60)
    scene.says(letta.pid, "local-conv-1")
    assert shown(look(scene)) == "local-conv-1"
    log.unlink()
    log.parent.rmdir()
    streamed(scene, "local-conv-2", 1)
    assert shown(look(scene)) == "conflict"


def test_what_another_letta_streams_is_its_own(scene: Scene) -> None:
    """They started together, so that each could have written the other's log."""
    for name in ("local-conv-1", "local-conv-2"):
        scene.conversation(name)
    first, second = scene.start(), scene.start("w1:p2")
    scene.says(first.pid, "local-conv-1")
    streamed(scene, "local-conv-2", 1)
    assert shown(look(scene)) == "conflict"
    scene.says(second.pid, "local-conv-2")
    assert shown(look(scene)) == "local-conv-1"


def test_both_proofs_must_agree(scene: Scene) -> None:
    letta = scene.resumed()
    scene.conversation("local-conv-2")
    scene.says(letta.pid, "local-conv-1")
    assert shown(look(scene)) == "local-conv-1"
    path = scene.says(letta.pid, "local-conv-2")
    assert shown(look(scene)) == "conflict"
    then = time.time() - FRESH_SECONDS - 1
    os.utime(path, (then, then))
    assert shown(look(scene)) == "conflict"
    path.unlink()
    verdict = look(scene)
    assert isinstance(verdict, Bound)
    assert verdict.proof == "recorded"


@pytest.mark.parametrize("what", ["another", "closed", "gone"])
def test_what_it_says_is_read_again(scene: Scene, what: str) -> None:
    scene.conversation("local-conv-1")
    letta = scene.start()
    path = scene.says(letta.pid, "local-conv-1")
    double = scene.double
    double.__class__ = Moving
    assert isinstance(double, Moving)

    def happen() -> None:
        if what == "another":
            scene.says(letta.pid, "local-conv-2")
        elif what == "closed":
            scene.says(letta.pid, "local-conv-1", event="closed")
        else:
            path.unlink()

    double.happening = happen
    assert shown(look(scene)) == "changed_while_reading"
    double.happening = None


def test_that_it_says_the_same_again_moves_nothing(scene: Scene) -> None:
    """A beat, or a turn, between the two looks."""
    scene.conversation("local-conv-1")
    letta = scene.start()
    scene.says(letta.pid, "local-conv-1")
    double = scene.double
    double.__class__ = Moving
    assert isinstance(double, Moving)
    double.happening = lambda: print(scene.says(letta.pid, "local-conv-1", event="turn_start"))
    assert shown(look(scene)) == "local-conv-1"
    assert double.happening is None


def test_it_is_looked_for_in_the_lettas_own_home(scene: Scene, tmp_path: pathlib.Path) -> None:
    home = tmp_path / "another home"
    home.mkdir()
    scene.conversation("local-conv-1")
    letta = scene.start(environ=scene.desk.environ(HOME=str(home)))
    scene.says(letta.pid, "local-conv-1")
    assert shown(look(scene)) == "no_report"
