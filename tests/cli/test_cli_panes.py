"""`panes` and `explain`: a real letta stand-in, real files, and the herdr double."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time

import pytest

from double import HerdrDouble
from lettafast.binding.names import session_name
from lettafast.binding.witness_file import FOLDER
from scene import AGENT, OLDER, scene

SECONDS = 20


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """`w1:p1` is bound; `w1:p2` has a letta without a report; `w1:p3` is a shell."""
    with scene(tmp_path_factory.mktemp("stage")) as found:
        found.resumed()
        found.start("w1:p2", cwd=found.folder)
        yield found


@pytest.fixture
def command(cli, stage):
    """Runs a command beside that session and no other."""
    cli.environment |= {
        "HERDR_SOCKET_PATH": stage.double.path,
        "LETTAFAST_STATE_DIR": str(cli.folder / "state"),
        "TMUX_TMPDIR": str(cli.folder),
    }
    return cli


def test_panes_for_people(command) -> None:
    result = command("panes")
    assert result.status == 0, result.err
    heading, *rows = result.text.splitlines()
    assert heading.split() == ["PANE", "AGENT", "STATUS", "SHOWS", "FOLDER", "SESSION"]
    assert rows[0].split()[:4] == ["w1:p1", "letta", "idle", f"{AGENT}/local-conv-1"]
    assert rows[1].split()[:5] == ["w1:p2", "letta", "idle", "terminal:", "no_report"]
    assert rows[2].split()[:5] == ["w1:p3", "-", "unknown", "terminal:", "not_letta"]


def test_panes_as_json(command, stage) -> None:
    result = command("panes", "--json")
    assert result.status == 0
    bound, unreported, shell = result.json
    assert bound["verdict"] == "bound"
    assert (bound["agent_id"], bound["conversation_id"]) == (AGENT, "local-conv-1")
    assert bound["root"] == str(stage.letta_home / "transcripts")
    assert bound["socket"] == stage.double.path
    assert bound["proof"] == "recorded"
    held = [found["held"] for found in bound["evidence"] if found["proof"] == "recorded"]
    assert held == [True] * 6
    assert unreported["reason"] == "no_report"
    assert "integration" in unreported["advice"]
    assert shell["reason"] == "not_letta"
    assert shell["agent"] is None


def test_explain_a_bound_pane(command) -> None:
    result = command("explain", "w1:p1")
    assert result.status == 0
    first, recorded, witnessed = result.text.split("\n\n")
    assert first == f"w1:p1 shows {AGENT}/local-conv-1"
    title, *rest = recorded.splitlines()
    assert title == 'proof "recorded" holds:'
    assert [line.split()[:2] for line in rest[::2]] == [
        ["holds", rule]
        for rule in ("report", "process", "record", "store", "transcript", "contradiction")
    ]
    title, *rest = witnessed.splitlines()
    assert title == 'proof "witnessed" does not hold:'
    assert [line.split()[:2] for line in rest[::2]][:2] == [
        ["holds", "process"],
        ["fails", "witness"],
    ]
    (said,) = command("explain", "w1:p1", "--json").json
    assert said["proof"] == "recorded"


def test_explain_a_terminal(command, stage) -> None:
    result = command("explain", "w1:p2")
    assert result.status == 1
    pid = stage.double.pane("w1:p2")["processes"][0]["pid"]
    assert result.text == (
        "w1:p2 shows its terminal: no_report\n"
        "\n"
        'proof "recorded" does not hold:\n'
        "  fails  report         herdr's Letta integration has not reported a conversation for"
        " this pane.\n"
        "                        no agent_session\n"
        "  -      process        not looked at\n"
        "  -      record         not looked at\n"
        "  -      store          not looked at\n"
        "  -      transcript     not looked at\n"
        "  -      contradiction  not looked at\n"
        "\n"
        'proof "witnessed" does not hold:\n'
        "  holds  process        One letta runs in front.\n"
        f"                        pid {pid}\n"
        "  fails  witness        The letta has no witness that says which conversation it shows.\n"
        f"                        there is no {stage.desk.home / FOLDER / str(pid)}.json\n"
        "  -      store          not looked at\n"
        "  -      contradiction  not looked at\n"
        "  -      transcript     not looked at\n"
        "\n"
        "hint: In herdr, run `herdr integration install letta` once, then restart letta in the"
        " pane; the integration needs python3. Or with a witness: On Linux, run"
        " `lettafast witness install` once, then `/reload` in this letta: from then on it says"
        " itself which conversation it shows.\n"
    )


def test_explain_what_the_letta_says(command, tmp_path) -> None:
    with scene(tmp_path) as found:
        found.conversation("local-conv-1")
        found.says(found.start().pid, "local-conv-1")
        result = command("explain", "w1:p1", env={"HERDR_SOCKET_PATH": found.double.path})
    assert result.status == 0
    first, witnessed, recorded = result.text.split("\n\n")
    assert first == f"w1:p1 shows {AGENT}/local-conv-1"
    title, *rest = witnessed.splitlines()
    assert title == 'proof "witnessed" holds:'
    assert [line.split()[:2] for line in rest[::2]] == [
        ["holds", rule] for rule in ("process", "witness", "store", "contradiction", "transcript")
    ]
    assert recorded.startswith('proof "recorded" does not hold:\n  fails  report')


def test_what_cannot_be_answered(command, complaint) -> None:
    result = command("explain", "w1:p9")
    assert result.status == 2
    complaint(result.err, "no pane is named `w1:p9`", ".*lettafast panes.*")
    result = command("explain", "w1:p1", env={"HERDR_SOCKET_PATH": "/nonexistent/herdr.sock"})
    assert (result.status, result.out) == (3, b"")
    assert result.err == "no herdr session and no tmux server is running here\n"
    result = command("panes", "--json", "--session", "../x")
    assert result.status == 2
    complaint(result.err, ".*not the name of a herdr socket")
    result = command("panes", "--session", "nope")
    assert result.status == 3
    assert result.err.endswith("herdr/sessions/nope/herdr.sock: no herdr listens there\n")


def test_several_sessions_with_one_pane_id(command, complaint, stage, tmp_path) -> None:
    """The one that is named is explained; nobody chooses between two."""
    with HerdrDouble(tmp_path / "other.sock") as other:
        result = command("explain", "w1:p1", "--socket", other.path, "--json")
        assert result.json[0]["socket"] == other.path
        home = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
        place = tmp_path / "config" / "herdr" / "herdr.sock"
        place.parent.mkdir(parents=True)
        place.symlink_to(other.path)
        result = command("explain", "w1:p1", env=home)
        assert result.status == 2
        sockets = (stage.double.path, str(place))
        candidates = [f"{session_name('herdr', path)}/w1:p1" for path in sockets]
        complaint(result.err, f"several sessions have a pane `w1:p1`: {', '.join(candidates)}")
        for candidate, socket in zip(candidates, sockets, strict=True):
            result = command("explain", candidate, "--json", env=home)
            assert result.json[0]["socket"] == socket
            assert candidate == f"{result.json[0]['session']}/{result.json[0]['pane_id']}"
        result = command("panes", "--json", "--session", "default", env=home)
        assert {pane["socket"] for pane in result.json} == {str(place)}


def test_a_session_that_does_not_answer_is_named(command, tmp_path) -> None:
    with HerdrDouble(tmp_path / "other.sock") as other:
        other.fault("garbage")
        result = command("panes", "--json", "--socket", other.path)
        assert result.status == 3
        assert result.err.startswith(f"{other.path}: answer not understood")


def test_a_pane_that_may_be_in_a_session_that_does_not_answer(command, tmp_path) -> None:
    with HerdrDouble(tmp_path / "herdr" / "herdr.sock") as other:
        other.fault("garbage")
        result = command("explain", "w9:p9", env={"XDG_CONFIG_HOME": str(tmp_path)})
        assert result.status == 3
        assert "answer not understood" in result.err


def test_a_session_without_a_pane(command, tmp_path) -> None:
    with HerdrDouble(tmp_path / "other.sock", {"workspaces": []}) as other:
        result = command("panes", "--json", "--socket", other.path)
        assert (result.status, result.out, result.err) == (0, b"", "")


def test_names_that_are_no_utf8(command, stage, tmp_path) -> None:
    folder = os.fsencode(tmp_path) + b"/h\xff"
    os.mkdir(folder)
    with HerdrDouble(
        os.fsdecode(folder + b"/herdr.sock"), {"workspaces": stage.double.workspaces}
    ) as other:
        (pane, *_) = command("panes", "--json", "--socket", other.path).json
        assert pane["socket"].endswith(r"/h\xff/herdr.sock")


def test_panes_of_a_session_that_is_silent_are_not_gone(command, tmp_path) -> None:
    with HerdrDouble(tmp_path / "other.sock") as other:
        command.environment["HERDR_SOCKET_PATH"] = other.path
        with watching(command, "panes") as process:
            first = json.loads(process.stdout.readline())
            other.fault("garbage", times=6)
            assert b"not understood" in process.stderr.readline()
            time.sleep(2)
            other.clear_faults()
            other.set_pane(first["pane_id"], label="again")
            assert json.loads(process.stdout.readline())["verdict"] != "gone"


def test_hostile_names_are_shown_and_hide_nothing(command, stage) -> None:
    stage.double.set_pane("w1:p3", cwd="/tmp/\x1b[2J\u202eevil\n", processes=[])
    result = command("panes")
    assert r"/tmp/\x1b[2J\u202eevil\n" in result.text
    assert "\x1b" not in result.text


def test_the_missing_extra_is_named(command, complaint) -> None:
    code = (
        "import sys; sys.modules['platformdirs'] = None\n"
        "from lettafast.cli import main; sys.exit(main(['panes']))"
    )
    result = command(code=code, env={"LETTAFAST_STATE_DIR": ""})
    assert result.status == 2
    complaint(result.err, "this command needs the package `platformdirs`", ".*binding.*")


@contextlib.contextmanager
def watching(command, *arguments):
    process = command.start(*arguments, "--watch", "--json")
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def test_panes_are_watched(command, stage) -> None:
    with watching(command, "panes") as process:
        first = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert [pane["pane_id"] for pane in first] == ["w1:p1", "w1:p2", "w1:p3"]
        stage.double.set_pane("w1:p3", agent="codex")
        changed = json.loads(process.stdout.readline())
        assert (changed["pane_id"], changed["agent"]) == ("w1:p3", "codex")
        stage.double.create_pane("w1:t1", {"pane_id": "w1:p4"})
        assert json.loads(process.stdout.readline())["pane_id"] == "w1:p4"
        stage.double.close_pane("w1:p4")
        gone = json.loads(process.stdout.readline())
        assert (gone["pane_id"], gone["verdict"]) == ("w1:p4", "gone")
        stage.double.set_pane("w1:p3", agent=None)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130


def test_one_pane_is_watched(command, stage) -> None:
    record = stage.desk.project / ".letta" / "settings.local.json"
    with watching(command, "explain", "w1:p1") as process:
        assert json.loads(process.stdout.readline())["verdict"] == "bound"
        time.sleep(OLDER)
        record.write_text(record.read_text())
        reasons = (json.loads(line)["reason"] for line in process.stdout)
        # A look may fall into the write.
        assert next(one for one in reasons if one != "changed_while_reading") == (
            "record_newer_than_process"
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
