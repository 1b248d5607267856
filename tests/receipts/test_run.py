"""Whole runs against the double of the cloud and against one socket, with a script as the agent.

What is held here is what a run does whatever happens: it ends its sandbox, it writes its log, and
it keeps the key. The verdict on real evidence is held by the end-to-end tests, with the real Letta
Code.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
import threading

import pytest

from cloud_double import GONE, Answer, CloudDouble, Fault, delta
from keys import KEY, assert_without_key
from lettafast.errors import SessionError, SessionReason, SourceError
from lettafast.receipts import run as run_module
from lettafast.receipts.deadlines import Deadlines
from lettafast.receipts.frames import read_frames
from lettafast.receipts.plan import make_plan
from lettafast.receipts.run import RunOptions, run_receipt
from lettafast.receipts.secret import Secret
from lettafast.receipts.verify import Verdict
from little_agent import AGENT, CONVERSATION, Call, LittleAgent, app_server
from states import URL, a_state

QUICK = Deadlines(
    total=20, ending=8, request=6, online=5, connect=5, answer=4, stop_reason=0.2, poll=0.05
)


class Doing(LittleAgent):
    """An agent that does what it is asked to: the plan's commands are read from the messages."""

    def _input(self, said):
        text = said["payload"]["messages"][0]["content"]
        outputs = {step.command: step.output for step in plan_of(text).steps}
        lines = [
            line.partition(": ")[2]
            for line in text.splitlines()
            if line[:1] == "s" and line[1:2].isdigit()
        ]
        self.turns.append([*(Call(line, outputs.get(line, "?")) for line in lines), "ready"])
        yield from super()._input(said)


def plan_of(text):
    """The plan that a message is of: its folder is named by the nonce."""
    nonce = text.partition("/tmp/lettafast-")[2][:32]
    return make_plan(a_state(), URL, nonce, "push")


def options(tmp_path, **members):
    given = {
        "state": a_state(),
        "url": URL,
        "kind": "push",
        "agent_id": AGENT,
        "out": str(tmp_path / "out"),
        "api_key": Secret(KEY),
        "deadlines": QUICK,
    }
    return RunOptions(**{**given, **members})


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 40))


def raws(result):
    """Every frame's members, with its direction and channel, as the file has them."""
    return [
        (frame.direction, frame.channel, json.loads(frame.raw))
        for frame in read_frames(result.frames_path).frames
    ]


def notes(result, name=None):
    found = [said for direction, _, said in raws(result) if direction == "note"]
    return found if name is None else [said for said in found if said["note"] == name]


def names(result):
    return [note["note"] for note in notes(result)]


def assert_ended(cloud, result):
    """The sandbox is gone, and the log says so."""
    assert cloud.running == set()
    assert cloud.routes().count("terminate") >= 1
    assert notes(result, "terminated") == [{"note": "terminated", "acknowledged": True}]
    assert names(result)[-1] == "end"


def test_a_run_in_the_cloud(tmp_path) -> None:
    agent = Doing()
    told = []
    with CloudDouble(agent, KEY) as cloud:
        result = run(
            run_receipt(
                options(tmp_path, base_url=cloud.url, model="letta/auto", pipeline_id="at://p"),
                told.append,
            )
        )
        assert_ended(cloud, result)
        assert cloud.routes() == [
            "conversation",
            "sandbox",
            "refresh",
            "environment",
            *sorted(["control", "stream"], key=cloud.routes().index),
            "refresh",
            "refresh",
            "terminate",
            *["history"] * cloud.routes().count("history"),
        ]
        assert cloud.unacknowledged == {"control": 0, "stream": 0}
        assert cloud.wrongs == []
        assert cloud.asked[0].body == {"model": "letta/auto"}
    # The relay closes both sockets with the sandbox, before or after it says so.
    assert [name for name in names(result) if name != "closed"] == [
        "begin",
        "conversation",
        "sandbox",
        "challenge",
        "terminated",
        "end",
    ]
    assert len(notes(result, "closed")) == 2
    begin = notes(result)[0]
    nonce = begin.pop("nonce")
    assert begin == {
        "note": "begin",
        "version": 1,
        "profile": "strict",
        "agent_id": AGENT,
        "model": "letta/auto",
        "url": URL,
        "commit": "c" * 40,
        "tree": "d" * 40,
        "names": ["README.md", "src"],
        "kind": "push",
        "session": "cloud",
        "pipeline_id": "at://p",
    }
    assert len(nonce) == 32
    assert len(notes(result, "challenge")[0]["challenge"]) == 32
    assert notes(result, "sandbox")[0]["resumed"] is False
    assert notes(result, "conversation")[0]["conversation_id"] == CONVERSATION
    assert notes(result, "end")[0]["duration_ms"] >= 0
    read = read_frames(result.frames_path)
    assert (read.head, read.sha256) == (result.head, result.frames_sha256)
    assert result.stopped_by is None
    assert told


def test_a_run_on_one_app_server_needs_no_key_and_asks_no_cloud(tmp_path) -> None:
    agent = Doing()

    async def go():
        async with app_server(agent) as url:
            chosen = options(tmp_path, app_server=url, api_key=None, model="mock/1")
            return await run_receipt(chosen)

    result = run(go())
    assert names(result) == ["begin", "conversation", "challenge", "closed", "end"]
    assert notes(result, "begin")[0]["session"] == "app-server"
    assert {channel for _, channel, _ in raws(result)} == {"control", "runner"}
    kinds = [said["type"] for direction, _, said in raws(result) if direction == "out"]
    assert kinds[0] == "runtime_start"
    assert kinds.count("conversation_messages_list") == 6  # pages of three: 2 messages, 7 calls
    assert agent.of_type("runtime_start")[0]["create_conversation"] == {"body": {"model": "mock/1"}}
    assert [payload["decision"]["behavior"] for payload in agent.approvals()] == ["allow"] * 7


def test_the_challenge_is_told_after_the_first_turn_and_in_its_message_alone(tmp_path) -> None:
    with CloudDouble(Doing(), KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
    challenge = notes(result, "challenge")[0]["challenge"]
    frames = [frame.raw for frame in read_frames(result.frames_path).frames]
    first = next(at for at, raw in enumerate(frames) if challenge in raw)
    assert json.loads(frames[first])["note"] == "challenge"
    before = [json.loads(raw) for raw in frames[:first]]
    assert [said.get("type") for said in before].count("turn_finished") == 2  # on both sockets
    assert json.loads(frames[first + 1])["payload"]["kind"] == "create_message"


def test_an_agent_that_stops_early_is_never_told_the_challenge(tmp_path) -> None:
    with CloudDouble(LittleAgent([["I looked: all is well"]]), KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert_ended(cloud, result)
        assert "history" in cloud.routes()
    assert notes(result, "challenge") == []


def test_the_seed_profile_tells_the_challenge_whatever_was_called(tmp_path) -> None:
    agent = LittleAgent([[Call("cat x", "x"), "ready"]], mode="unrestricted")
    with CloudDouble(agent, KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url, profile="seed")))
    assert "challenge" in names(result)


def test_the_seed_profile_runs_unrestricted(tmp_path) -> None:
    agent = Doing(mode="unrestricted")
    with CloudDouble(agent, KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url, profile="seed")))
        assert_ended(cloud, result)
    assert notes(result, "begin")[0]["profile"] == "seed"
    assert notes(result, "challenge")
    assert agent.approvals() == []


def test_reading_goes_on_until_the_termination_is_acknowledged(tmp_path) -> None:
    """The double sends one more frame between the request to end the sandbox and its answer."""
    agent = Doing()
    late = {"type": "late", "said": "after all"}
    with CloudDouble(agent, KEY, answers={"terminate": [Answer(seconds=0.4)]}) as cloud:
        rest = cloud.rest

        def with_a_late_frame(method, path, query, body):
            if path.endswith("/terminate"):
                cloud._feed._frames.put(late)
            return rest(method, path, query, body)

        cloud.rest = with_a_late_frame
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
    seen = [said for _, channel, said in raws(result) if channel in ("control", "stream")]
    assert [said for said in seen if said.get("type") == "late"]
    order = [said.get("type") or said.get("note") for _, _, said in raws(result)]
    assert order.index("late") < order.index("terminated")


@pytest.mark.parametrize("change", [{"resumed": True}, {"resumed": None}])
def test_a_resumed_sandbox_is_refused_and_terminated(tmp_path, change) -> None:
    agent = Doing()
    with CloudDouble(agent, KEY, answers={"sandbox": [Answer(change=change)]}) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert_ended(cloud, result)
        assert "control" not in cloud.routes()
    assert notes(result, "sandbox")[0]["resumed"] is True
    assert "not a new one" in notes(result, "error")[0]["message"]
    assert agent.received == []


def test_a_sandbox_of_another_conversation_is_refused_and_left_alone(tmp_path) -> None:
    change = {"resumed": True, "conversationId": "conv-of-somebody"}
    with CloudDouble(Doing(), KEY, answers={"sandbox": [Answer(change=change)]}) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert "terminate" not in cloud.routes()
    assert notes(result, "terminated") == []
    assert notes(result, "error")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"sandbox": [Answer(change={"deviceId": None})]}, "the sandbox: answer not understood"),
        ({"refresh": [Answer(404, GONE)]}, "the sandbox has expired (HTTP 404)"),
        ({"refresh": [Answer(), Answer(404, GONE)]}, "the sandbox has expired (HTTP 404)"),
        ({"refresh": [Answer(403)]}, "the API key was refused (HTTP 403)"),
        ({"environment": [Answer(401)]}, "the API key was refused (HTTP 401)"),
        ({"environment": [Answer(change={"connectionId": None})] * 500}, "online in time"),
        ({"control": [Answer(503)] * 2}, "the relay: not reachable (HTTP 503)"),
    ],
)  # fmt: skip
def test_whatever_fails_the_sandbox_is_ended_and_the_log_says_it(tmp_path, answers, said) -> None:
    quick = Deadlines(total=20, ending=8, request=6, online=0.5, connect=5, answer=4, poll=0.05)
    with CloudDouble(Doing(), KEY, answers=answers) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url, deadlines=quick)))
        assert_ended(cloud, result)
    assert any(said in note["message"] for note in notes(result, "error")), notes(result)
    if "refresh" in answers:
        assert notes(result, "refresh_failed")
    assert result.judgement.verdict is not Verdict.PASS


def test_what_fails_before_there_is_a_sandbox_ends_nothing(tmp_path) -> None:
    with CloudDouble(Doing(), KEY, answers={"conversation": [Answer(404)]}) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert cloud.routes() == ["conversation"]
    assert names(result) == ["begin", "error", "end"]
    assert result.judgement.verdict is not Verdict.PASS


def test_a_relay_that_is_refused_once_is_tried_again_with_a_fresh_connection(tmp_path) -> None:
    with CloudDouble(Doing(), KEY, answers={"stream": [Answer(503)]}) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert_ended(cloud, result)
        assert cloud.routes().count("environment") == 2
        assert cloud.routes()[:4].count("refresh") == 1
    assert notes(result, "challenge")


@pytest.mark.parametrize("what", ["close", "cut"])
@pytest.mark.parametrize("channel", ["control", "stream"])
def test_a_socket_that_closes_in_a_turn_ends_the_run(tmp_path, what, channel) -> None:
    fault = Fault(what, delta("client_tool_end"), channel, nth=3)
    with CloudDouble(Doing(), KEY, faults=[fault]) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert_ended(cloud, result)
        assert "history" in cloud.routes()
    closed = notes(result, "closed")
    assert {note["channel"] for note in closed} == {"control", "stream"}
    order = names(result)
    assert order.index("closed") < order.index("terminated")


def test_a_sandbox_that_expires_in_a_turn_ends_the_run(tmp_path) -> None:
    """The refresh of the background, after 0.8 of what was granted."""
    short = Answer(change={"ttlMinutes": 0.01})
    answers = {"refresh": [short, short, Answer(404, GONE)]}
    with CloudDouble(LittleAgent(faults=["silent"]), KEY, answers=answers) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert_ended(cloud, result)
    assert notes(result, "refresh_failed") == [{"note": "refresh_failed", "status": 404}]
    assert "expired" in notes(result, "error")[0]["message"]


def test_the_sandbox_is_refreshed_while_the_turn_runs(tmp_path, monkeypatch) -> None:
    """A refresh that fails for another reason is noted and tried again."""
    monkeypatch.setattr("lettafast.receipts.hosts._AFTER_A_FAILURE", 0.1)
    short = Answer(change={"ttlMinutes": 0.01})
    answers = {"refresh": [short, short, short, Answer(400), short]}
    quick = Deadlines(total=20, ending=8, request=6, connect=5, answer=4, first_turn=2.0)
    with CloudDouble(LittleAgent(faults=["silent"]), KEY, answers=answers) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url, deadlines=quick)))
        assert_ended(cloud, result)
        assert cloud.routes().count("refresh") >= 5
    assert notes(result, "refresh_failed") == [{"note": "refresh_failed", "status": 400}]
    assert notes(result, "deadline") == [{"note": "deadline", "waiting_for": "the end of a turn"}]


def test_the_whole_run_has_a_deadline(tmp_path) -> None:
    quick = Deadlines(total=9.0, ending=8.0, request=6, connect=5, answer=4)
    with CloudDouble(LittleAgent(faults=["silent"]), KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url, deadlines=quick)))
        assert_ended(cloud, result)
    assert {"note": "deadline", "waiting_for": "the whole run"} in notes(result)
    assert Deadlines().total < 300
    assert Deadlines().ending > 2 * Deadlines().request


def test_a_termination_that_fails_is_in_the_log(tmp_path) -> None:
    with CloudDouble(Doing(), KEY, answers={"terminate": [Answer(500)] * 9}) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert cloud.routes().count("terminate") == 3
    assert notes(result, "terminated") == [{"note": "terminated", "acknowledged": False}]
    assert result.judgement.verdict is not Verdict.PASS


def test_a_termination_that_takes_too_long_is_waited_for_so_long(tmp_path) -> None:
    quick = Deadlines(total=20, ending=8, request=1, connect=5, answer=4)
    with CloudDouble(Doing(), KEY, answers={"terminate": [Answer(seconds=2)]}) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url, deadlines=quick)))
    assert notes(result, "terminated") == [{"note": "terminated", "acknowledged": False}]
    assert "not done in time" in notes(result, "error")[0]["message"]


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_and_its_sandbox(tmp_path, which) -> None:
    before = signal.getsignal(which)

    def told(text):
        if text.startswith("first turn"):
            os.kill(os.getpid(), which)

    with CloudDouble(LittleAgent(faults=["silent"]), KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url), told))
        assert_ended(cloud, result)
        assert "history" not in cloud.routes()  # who sends a signal does not wait for long
    assert result.stopped_by is which
    assert notes(result, "error")[0]["message"] == f"{which.name}: stopped"
    assert signal.getsignal(which) is before
    assert result.judgement.verdict is not Verdict.PASS


def test_outside_the_main_thread_signals_are_left_alone(tmp_path) -> None:
    results = []
    with CloudDouble(LittleAgent([["nothing done"]]), KEY) as cloud:
        chosen = options(tmp_path, base_url=cloud.url)
        thread = threading.Thread(target=lambda: results.append(run(run_receipt(chosen))))
        thread.start()
        thread.join(30)
        assert_ended(cloud, results[0])


def test_a_second_signal_does_not_skip_the_termination(tmp_path) -> None:
    said = []

    def told(text):
        said.append(text)
        if text.startswith("first turn") or (text.startswith("SIG") and len(said) < 9):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)

    answers = {"terminate": [Answer(seconds=0.5)]}
    with CloudDouble(LittleAgent(faults=["silent"]), KEY, answers=answers) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url), told))
        assert_ended(cloud, result)
    assert len([text for text in said if text.startswith("SIG")]) >= 2


def test_being_cancelled_ends_the_sandbox_first_also_when_it_is_cancelled_again(tmp_path) -> None:
    answers = {"terminate": [Answer(seconds=0.5)]}
    with CloudDouble(LittleAgent(faults=["silent"]), KEY, answers=answers) as cloud:

        async def go():
            asked = asyncio.Event()
            task = asyncio.create_task(
                run_receipt(
                    options(tmp_path, base_url=cloud.url),
                    lambda text: asked.set() if text.startswith("first turn") else None,
                )
            )
            await asked.wait()
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0.1)
            with pytest.raises(asyncio.CancelledError) as error:
                await task
            return error.value

        assert_without_key(run(go()))
        assert cloud.running == set()
    frames = read_frames(str(tmp_path / "out" / "frames.jsonl")).frames
    assert json.loads(frames[-1].raw)["note"] == "end"
    assert '{"note":"terminated","acknowledged":true}' in [frame.raw for frame in frames]


def test_who_is_stopped_while_the_sandbox_is_made_still_ends_it(tmp_path) -> None:
    with CloudDouble(Doing(), KEY, answers={"sandbox": [Answer(seconds=0.6)]}) as cloud:

        def told(text):
            if text.startswith("conversation"):
                asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGTERM)

        result = run(run_receipt(options(tmp_path, base_url=cloud.url), told))
        assert cloud.running == set()
        assert cloud.routes() == ["conversation", "sandbox", "terminate"]
    assert notes(result, "terminated") == [{"note": "terminated", "acknowledged": True}]


def test_a_log_that_cannot_be_written_does_not_keep_the_sandbox(tmp_path, monkeypatch) -> None:
    """As on a disk that is full from the first turn on."""
    with CloudDouble(Doing(), KEY) as cloud:
        append = run_module.FrameLog.append

        def full(log, direction, channel, raw):
            if len(log.frames) > 12:
                raise OSError(28, "No space left on device")
            return append(log, direction, channel, raw)

        monkeypatch.setattr(run_module.FrameLog, "append", full)
        with pytest.raises(SourceError) as error:
            run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert error.value.errno == 28
        assert cloud.running == set()


def test_nobody_to_tell_ends_the_sandbox_too(tmp_path) -> None:
    def tell(text):
        raise BrokenPipeError(text)

    with CloudDouble(Doing(), KEY) as cloud:
        result = run(run_receipt(options(tmp_path, base_url=cloud.url), tell))
        assert_ended(cloud, result)
    assert "challenge" in names(result)


def test_a_bug_ends_the_sandbox_too(tmp_path, monkeypatch) -> None:
    def broken(plan):
        raise RuntimeError("a bug")

    monkeypatch.setattr(run_module, "opening_message", broken)
    with CloudDouble(Doing(), KEY) as cloud:
        with pytest.raises(RuntimeError) as error:
            run(run_receipt(options(tmp_path, base_url=cloud.url)))
        assert cloud.running == set()
    assert_without_key(error.value)
    last = read_frames(str(tmp_path / "out" / "frames.jsonl")).frames[-1]
    assert json.loads(last.raw)["note"] == "end"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"api_key": None}, SessionReason.NO_KEY),
        ({"base_url": "http://api.letta.com"}, SessionReason.INSECURE_URL),
        ({"base_url": f"https://{KEY}@api.letta.com"}, SessionReason.INSECURE_URL),
        ({"app_server": "ws://192.0.2.1:4555"}, SessionReason.INSECURE_URL),
    ],
)
def test_what_cannot_begin_writes_nothing(tmp_path, members, reason) -> None:
    with pytest.raises(SessionError) as error:
        run(run_receipt(options(tmp_path, **members)))
    assert error.value.reason is reason
    assert error.value.exit_code == 2
    assert KEY not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_log_that_is_there_is_not_written_over(tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "frames.jsonl").write_text("evidence")
    with pytest.raises(SourceError):
        run(run_receipt(options(tmp_path)))
    assert (tmp_path / "out" / "frames.jsonl").read_text() == "evidence"


@pytest.mark.parametrize("key", ["", "two words", "line\nend", "\u00e9", "nul\0"])
def test_a_key_that_no_header_can_hold(key) -> None:
    with pytest.raises(SessionError) as error:
        Secret(key)
    assert error.value.reason is SessionReason.NO_KEY
    assert not key or key not in str(error.value)


def test_the_key_is_in_nothing_that_is_written_or_shown(tmp_path) -> None:
    told = []
    with CloudDouble(Doing(), KEY) as cloud:
        chosen = options(tmp_path, base_url=cloud.url)
        result = run(run_receipt(chosen, told.append))
        prompts = [said for _, _, said in raws(result) if said.get("type") == "input"]
    assert prompts
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert written
    assert KEY.encode() not in written
    assert KEY not in f"{chosen!r}{result!r}{told}"


def test_no_variable_is_the_key_while_it_runs(tmp_path, monkeypatch) -> None:
    """`letta-client` has Python's `platform` start a program, which inherits all there is."""
    for name in ("LETTA_API_KEY", "ANOTHER_NAME"):
        monkeypatch.setenv(name, KEY)
    seen = []
    with CloudDouble(Doing(), KEY) as cloud:
        chosen = options(tmp_path, base_url=cloud.url)
        run(run_receipt(chosen, lambda _: seen.append(dict(os.environ))))
    assert seen
    assert not [name for environ in seen for name, value in environ.items() if KEY in value]


def test_a_run_that_is_killed_leaves_its_log(tmp_path) -> None:
    code = """
        import asyncio, sys
        from lettafast.receipts.run import RunOptions, run_receipt
        from lettafast.receipts.secret import Secret
        from states import URL, a_state

        base, out, key = sys.argv[1:]
        where = {"api_key": Secret(key), "base_url": base}
        options = RunOptions(a_state(), URL, "push", "agent-1", out, **where)
        asyncio.run(run_receipt(options, lambda text: print(text, flush=True)))
    """
    with CloudDouble(LittleAgent(faults=["silent"]), KEY) as cloud:

        async def go():
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", textwrap.dedent(code), cloud.url, str(tmp_path / "out"), KEY,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
            try:
                while not (line := await child.stdout.readline()).startswith(b"first turn"):
                    assert line, "the run has ended"
                await asyncio.sleep(0.5)
            finally:
                child.kill()
                await child.wait()

        run(go())
    frames = read_frames(str(tmp_path / "out" / "frames.jsonl")).frames
    said = [json.loads(frame.raw) for frame in frames]
    assert said[0]["note"] == "begin"
    assert "input_accepted" in [each.get("type") for each in said]
    assert "end" not in [each.get("note") for each in said]
