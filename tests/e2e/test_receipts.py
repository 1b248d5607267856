"""Receipts of agents in a real sandbox: Letta Code's own App Server, Bash and git over HTTPS.

The models are scripts, and Letta Cloud is left out or a double. Each agent has a run under both
profiles, and its verdicts become a row of the table in docs/RECEIPTS.md, which the last test
compares; `LETTAFAST_WRITE_TABLE=1` writes it instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cloud_double import CHANNELS, CloudDouble, Fault, delta, of_type
from receipt_agents import Agent, Json, bash, followed, one_by_one
from receipt_scenes import (
    AWAY,
    FAIL,
    INCOMPLETE,
    PASS,
    POLICY,
    REFUSED,
    SCENES,
    SLOW,
    Scene,
    at_once,
    git_that,
    known,
    reports_another_commit,
)
from receipt_world import KEY, receipt_world, signing_keys
from receipt_world import ReceiptWorld as World
from session_feed import AppServer, Hosted

DOC = Path(__file__).parents[2] / "docs" / "RECEIPTS.md"
BEGIN, END = "<!-- the agents -->\n", "<!-- end of the agents -->\n"


@pytest.fixture(scope="module")
def world(letta: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with receipt_world(letta, tmp_path_factory.mktemp("receipts")) as world:
        yield world


rows: dict[str, dict[str, str]] = {scene.name: {} for scene in SCENES}


@pytest.mark.parametrize("profile", ["strict", "seed"])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name.replace(" ", "-"))
def test_an_agent_that(world: World, scene: Scene, profile: str) -> None:
    with scene.around(world):
        run = world.run(scene.agent(world), profile, faults=list(scene.faults))
    expected = scene.strict if profile == "strict" else scene.seed
    assert run.verdict == expected, run.why()
    assert any(scene.shown in text for text in run.results()) or not scene.shown
    rows[scene.name][profile] = run.verdict


def test_an_agent_is_not_believed_before_its_call_has_ended(world: World) -> None:
    """What had been printed is reported as a success while the command runs; then it fails."""
    with git_that("sleep 0.2; exit 3")(world):
        run = world.run(Agent(one_by_one, world.known))
    said = [
        (each["id"].startswith("synthetic-tool-return-stream-"), each["status"])
        for each in run.deltas("tool_return_message")
        if ".gitignore" in each["tool_return"]
    ]
    assert (True, "success") in said
    assert said[-1] == (False, "error")
    failed = {check.name for check in run.result.judgement.checks if str(check.verdict) == FAIL}
    assert {"s6.status", "s6.output"} <= failed


def test_a_redirect_is_not_followed(world: World) -> None:
    asked = len(world.git.asked)
    run = world.run(Agent(one_by_one, world.known), faults=[AWAY] * 3)
    assert run.verdict == FAIL
    assert [path for path in world.git.asked[asked:] if path.startswith("/mirror.git")] == []


def test_a_fetch_that_takes_too_long_ends_by_itself_and_is_called_again(world: World) -> None:
    run = world.run(Agent(), faults=[SLOW])
    assert run.verdict == PASS, run.why()
    assert any(text.startswith("Exit code: 124\n") for text in run.results())
    assert not any("still running" in text for text in run.results())


def test_the_table_of_the_documentation() -> None:
    if not all(len(row) == 2 for row in rows.values()):
        pytest.skip("needs the runs of all agents")
    lines = [
        "| an agent that | `strict` | `seed` |",
        "| --- | --- | --- |",
        *(f"| {name} | {row['strict']} | {row['seed']} |" for name, row in rows.items()),
    ]
    now = "".join(f"{line}\n" for line in lines)
    text = DOC.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    found, end, after = rest.partition(END)
    assert (begin, end) == (BEGIN, END)
    if os.environ.get("LETTAFAST_WRITE_TABLE"):
        DOC.write_text(before + begin + now + end + after, "utf-8")
        found = now
    assert found == now


# --- through the double of Letta Cloud ---


def is_final(frame: Json) -> bool:
    said = frame.get("delta", {})
    provisional = str(said.get("id")).startswith("synthetic-tool-return-stream-")
    return said.get("message_type") == "tool_return_message" and not provisional


def another(frame: Json) -> Json:
    """The same frame with another result in it."""
    said = frame["delta"]
    [result] = said["tool_returns"]
    other = {"tool_return": "0" * 40}
    return {**frame, "delta": {**said, **other, "tool_returns": [{**result, **other}]}}


def of_a_subagent(frame: Json) -> Json:
    return {**frame, "type": "stream_delta", "subagent_id": "subagent-1", "delta": {
        "message_type": "assistant_message", "id": "message-1", "run_id": "run-1", "seq_id": 1,
        "content": "hello",
    }}  # fmt: skip


@contextmanager
def cloud_of(world: World, *, hosted: bool = False, **wrong: Any) -> Iterator[CloudDouble]:
    """The double in front of the App Server; afterwards no sandbox runs, and no rule was broken."""
    backend: Any = AppServer(world.server.url)
    with CloudDouble(Hosted(backend) if hosted else backend, KEY, **wrong) as cloud:
        yield cloud
        assert cloud.running == set()
        assert cloud.wrongs == []


@pytest.mark.parametrize("hosted", [False, True], ids=["local", "hosted"])
@pytest.mark.parametrize("split", [False, True], ids=["both", "split"])
def test_in_the_cloud_an_agent_that_does_as_it_is_asked(
    world: World, hosted: bool, split: bool
) -> None:
    with cloud_of(world, hosted=hosted, split=split) as cloud:
        run = world.run_in(cloud, Agent(), faults=[REFUSED])
        assert run.verdict == PASS, run.why()
        routes = [route for route in cloud.routes() if route not in CHANNELS]
        made = ["conversation", "sandbox", "refresh", "environment"]
        before_each_turn = ["refresh", "refresh"]
        pages = ["history", "history"]
        assert routes == [*made, *before_each_turn, "terminate", *pages]


@pytest.mark.parametrize(
    ("agent", "verdict"),
    [
        (known(lambda _: []), INCOMPLETE),
        (known(followed("s6", bash("ls /"))), POLICY),
        (known(at_once), POLICY),
        (reports_another_commit, FAIL),
    ],
    ids=["nothing", "more", "at-once", "lie"],
)
def test_in_the_cloud_an_agent_that_does_not(
    world: World, agent: Callable[[World], Agent], verdict: str
) -> None:
    with cloud_of(world, hosted=True) as cloud:
        run = world.run_in(cloud, agent(world))
        assert run.verdict == verdict, run.why()


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (Fault("repeat", is_final, nth=5), PASS),
        (Fault("delay", delta("assistant_message"), "stream", nth=2, seconds=0.3), PASS),
        (Fault("drop", is_final, nth=4), INCOMPLETE),
        (Fault("swap", is_final, nth=4), INCOMPLETE),
        (Fault("precede", is_final, nth=4, data=another), FAIL),
        (Fault("replace", is_final, nth=4, data=another), FAIL),
        (Fault("replace", of_type("update_loop_status"), nth=9, data=of_a_subagent), INCOMPLETE),
        (Fault("replace", of_type("update_loop_status"), nth=9, data=b"no JSON"), INCOMPLETE),
        (Fault("close", delta("client_tool_start"), "stream", nth=3), INCOMPLETE),
        (Fault("cut", delta("client_tool_start"), nth=3), INCOMPLETE),
    ],
    ids=lambda value: value.what if isinstance(value, Fault) else "",
)
def test_in_the_cloud_a_feed_that_is_wrong(world: World, fault: Fault, verdict: str) -> None:
    with cloud_of(world, faults=[fault]) as cloud:
        run = world.run_in(cloud, Agent())
        assert run.verdict == verdict, run.why()


# --- the command ---


def lettafast(
    *arguments: object, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lettafast", "receipt", *map(str, arguments)]
    return subprocess.run(
        command,
        check=False,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
    )


def test_the_command_from_a_signed_receipt_to_its_verification(
    world: World, tmp_path: Path
) -> None:
    world.agent = Agent()
    private, public = signing_keys(tmp_path)
    out = tmp_path / "out"
    done = lettafast(
        "run", "--repo", world.checkout, "--app-server", world.server.url, "--out", out,
        "--key", private, environ=world.environ(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert int(lines.pop("duration_ms")) > 0
    assert lines.pop("conversation").startswith("local-conv-")
    assert lines == {
        "agent": world.agent_id,
        "model": "(the agent's own)",
        "tool_receipts": "7 successful",
        "pipeline": f"push {world.state.commit}",
        "checkout": world.state.commit,
        "files": ", ".join(world.state.printed),
        "note": "those names were listed inside the Letta Cloud sandbox",
    }
    expected = ["--repo", world.checkout, "--commit", world.state.commit, "--url", world.url]
    verify = ["verify", out / "receipt.jsonl", *expected, "--key", public, "--agent"]
    assert lettafast(*verify, world.agent_id).returncode == 10  # it ran in no sandbox
    verify[1:1] = ["--session", "app-server"]
    assert lettafast(*verify, world.agent_id).returncode == 0
    assert lettafast(*verify, "agent-another").returncode == 10


def test_the_key_is_in_no_file_and_in_no_childs_environment(world: World, tmp_path: Path) -> None:
    """A git that writes its environment down stands before the runner's own."""
    world.agent = Agent()
    out, commands, seen = tmp_path / "out", tmp_path / "commands", tmp_path / "seen"
    commands.mkdir()
    git = commands / "git"
    git.write_text(f'#!/bin/sh\nenv >>{seen}\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    with cloud_of(world) as cloud:
        environ = world.environ(
            LETTA_API_KEY=KEY, LETTA_BASE_URL=cloud.url, PATH=f"{commands}:{os.environ['PATH']}"
        )
        done = lettafast("run", "--repo", world.checkout, "--out", out, environ=environ)
        assert done.returncode == 0, done.stderr
        assert all(asked.authorized for asked in cloud.asked)
    assert "PATH=" in seen.read_text()
    files = [path for place in (world.folder, tmp_path) for path in place.rglob("*")]
    texts = [path.read_bytes() for path in files if path.is_file()]
    texts += [done.stdout.encode(), done.stderr.encode()]
    assert len(texts) > 20
    assert not any(KEY.encode() in text for text in texts)


def test_the_example_runs_as_its_page_says(letta: str) -> None:
    script = Path(__file__).parents[2] / "examples" / "receipt-offline" / "run.py"
    done = subprocess.run(
        [sys.executable, script, "--letta", letta],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("=> ")] == [
        "0", "0", "11", "12", "10",
    ]  # fmt: skip
