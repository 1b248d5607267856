"""Letta's chunk logs: the window of their times, and the last that each one names."""

from __future__ import annotations

import json
import os
import pathlib
import threading
import time

import pytest

from lettafast.binding.chunks import read_chunk_logs
from support import descriptors

AGENT = "agent-local-1c476545-d691-45b8-9c87-36c166265eda"
START = 1796046144.813


def chunk(conversation: str | None, agent: str | None = AGENT, **more: object) -> str:
    said: dict[str, object] = {"message_type": "reasoning_message", **more}
    if conversation is not None:
        said["conversation_id"] = conversation
    if agent is not None:
        said["agent_id"] = agent
    return json.dumps(said)


STOP = json.dumps({"message_type": "stop_reason", "stop_reason": "end_turn", "seq_id": 3})


def write(
    folder: pathlib.Path,
    *lines: str,
    agent: str = AGENT,
    name: str = "1796046144813-cdtd1qsdrat.jsonl",
    end: str = "\n",
) -> pathlib.Path:
    path = folder / agent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + end)
    return path


def found(folder: pathlib.Path, earliest: float = START, latest: float = START) -> list[str]:
    return [log.conversation_id for log in read_chunk_logs(str(folder), earliest, latest)]


def test_the_last_chunk_that_names_a_conversation(tmp_path) -> None:
    path = write(
        tmp_path, chunk("first"), chunk("last"), chunk(None), chunk("no agent", None), STOP
    )
    os.utime(path, (1.0, 1_796_046_150.25))
    (log,) = read_chunk_logs(str(tmp_path), START, START)
    assert log.path == str(path)
    assert (log.started, log.written) == (START, 1_796_046_150.25)
    assert (log.agent_id, log.conversation_id) == (AGENT, "last")


def test_a_text_that_was_cut_within_a_pair_counts(tmp_path) -> None:
    """Letta cuts texts by UTF-16 units, and JSON.stringify writes half a pair as an escape."""
    write(tmp_path, chunk("first"), chunk("last", content="cut \ud83d"))
    assert found(tmp_path) == ["last"]
    write(tmp_path, chunk("first"), chunk("odd \ud83d"))
    assert found(tmp_path) == ["odd \\ud83d"]


def test_the_window_is_inclusive(tmp_path) -> None:
    write(tmp_path, chunk("x"))
    assert found(tmp_path, START - 60, START) == ["x"]
    assert found(tmp_path, START, START + 60) == ["x"]
    assert found(tmp_path, START + 0.001, START + 60) == []
    assert found(tmp_path, START - 60, START - 0.001) == []
    assert found(tmp_path, START + 1, START - 1) == []


def test_logs_of_every_agent_in_the_order_of_their_times(tmp_path) -> None:
    write(tmp_path, chunk("b", "agent-2"), agent="agent-2", name="1796046144900-b.jsonl")
    write(tmp_path, chunk("a"))
    write(tmp_path, chunk("c"), name="1796046145000-c.jsonl")
    assert found(tmp_path, START, START + 1) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "name",
    [
        "1796046144813.jsonl",
        "1796046144813-x.json",
        "1796046144813-x.jsonl.tmp",
        "x1796046144813-x.jsonl",
        "-1796046144813-x.jsonl",
        "1796046144813-x.jsonl\n",
        "１796046144813-x.jsonl",
        f"{'9' * 400}-x.jsonl",
    ]
    if os.pathconf("/", "PC_NAME_MAX") > 400
    else ["1796046144813.jsonl", "1796046144813-x.json", "1796046144813-x.jsonl\n"],
)
def test_other_names(tmp_path, name) -> None:
    write(tmp_path, chunk("x"), name=name)
    assert found(tmp_path, 0, 1e12) == []


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line(tmp_path, cut) -> None:
    write(tmp_path, chunk("before"), chunk("torn")[:-cut], end="")
    assert found(tmp_path) == ["before"]


def test_a_last_line_without_its_end_is_whole_after_a_while(tmp_path) -> None:
    write(tmp_path, chunk("before"), chunk("last"), end="")
    assert found(tmp_path) == ["last"]


@pytest.mark.parametrize(
    "text", ["", "\n", "{}\n", "[]\n", "nonsense\n", '{"agent_id": 1, "conversation_id": "x"}\n']
)
def test_logs_that_name_nothing(tmp_path, text) -> None:
    write(tmp_path, text, end="")
    assert found(tmp_path) == []


def test_a_log_that_is_just_being_written(tmp_path) -> None:
    path = write(tmp_path, "", end="")

    def finish() -> None:
        time.sleep(0.03)
        path.write_text(chunk("late") + "\n")

    writer = threading.Thread(target=finish)
    writer.start()
    assert found(tmp_path) == ["late"]
    writer.join()


def test_only_the_end_of_a_large_log_is_read(tmp_path) -> None:
    filler = chunk("filler", content="x" * 200_000)
    write(tmp_path, *[filler] * 60, chunk("last"), STOP)
    assert found(tmp_path) == ["last"]
    write(tmp_path, chunk("lost"), chunk(None, content="x" * (5 << 20)))
    assert found(tmp_path) == []


def test_nothing_is_reached_through_a_link(tmp_path) -> None:
    path = write(tmp_path / "logs", chunk("x"))
    logs = tmp_path / "logs"
    os.rename(path, tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    assert found(logs) == []
    path.unlink()
    os.rename(tmp_path / "outside", path)
    assert found(logs) == ["x"]
    os.rename(path.parent, tmp_path / "agent")
    path.parent.symlink_to(tmp_path / "agent")
    assert found(logs) == []


def test_what_cannot_be_read_gives_nothing(tmp_path) -> None:
    assert found(tmp_path / "nowhere") == []
    (tmp_path / "file").touch()
    assert found(tmp_path / "file") == []
    (tmp_path / AGENT).mkdir()
    os.mkfifo(tmp_path / AGENT / "1796046144813-pipe.jsonl")
    (tmp_path / AGENT / "1796046144813-folder.jsonl").mkdir()
    write(tmp_path, chunk("x"))
    assert found(tmp_path) == ["x"]


def test_no_descriptor_is_left(tmp_path) -> None:
    write(tmp_path, chunk("x"))
    (tmp_path / AGENT / "1796046144813-folder.jsonl").mkdir()
    before = descriptors()
    for _ in range(50):
        assert found(tmp_path) == ["x"]
        found(tmp_path / "nowhere")
    assert descriptors() == before
