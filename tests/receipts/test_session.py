"""The App Server's protocol, over a real socket, against a script in the place of Letta Code."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from keys import KEY
from lettafast.errors import SessionError, SessionReason
from lettafast.receipts import direct
from lettafast.receipts.deadlines import Deadlines
from lettafast.receipts.frames import FrameLog
from lettafast.receipts.gate import Gate
from lettafast.receipts.plan import make_plan
from lettafast.receipts.recorder import Recorder
from lettafast.receipts.secret import Secret
from lettafast.receipts.session import Session
from little_agent import AGENT, CONVERSATION, RUNTIME, Call, LittleAgent, app_server
from states import URL, a_state

QUICK = Deadlines(connect=5, answer=4, stop_reason=0.5)
NONCE = "0" * 32


def plan():
    return make_plan(a_state(), URL, NONCE, "push")


def planned():
    """A turn that does what the plan asks for."""
    return [*(Call(step.command, step.output) for step in plan().steps), "ready"]


class Talk:
    """A session with its log, and what it shows of it."""

    def __init__(self, session, log):
        self.session, self.log = session, log

    def raws(self, direction):
        return [json.loads(each.raw) for each in self.log.frames if each.direction == direction]

    def notes(self, name):
        return [note for note in self.raws("note") if note["note"] == name]

    async def start(self, profile="strict", conversation_id=None, model=None):
        return await self.session.start(AGENT, conversation_id, model, profile)


@contextlib.asynccontextmanager
async def talk(agent, deadlines=QUICK, key=None):
    async with app_server(agent) as url:
        log = FrameLog(None)
        session = Session(await direct.connect(url, deadlines), Recorder(log, key), deadlines)
        try:
            yield Talk(session, log)
        finally:
            await session.close()


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


async def fails(call):
    with pytest.raises(SessionError) as error:
        await call
    return error.value


def test_a_new_conversation_is_started_for_the_agent() -> None:
    agent = LittleAgent()

    async def go():
        async with talk(agent) as talking:
            assert await talking.start(model="letta/auto") == CONVERSATION

    run(go())
    [started] = agent.of_type("runtime_start")
    assert started.pop("request_id")
    assert started == {
        "type": "runtime_start",
        "client_info": {"name": "lettafast"},
        "agent_id": AGENT,
        "create_conversation": {"body": {"model": "letta/auto"}},
        "recover_approvals": False,
        "force_device_status": True,
        "mode": "strict",
        "skill_sources": [],
    }


def test_a_conversation_that_is_there_is_named_and_its_model_is_not_touched() -> None:
    agent = LittleAgent(mode="unrestricted")

    async def go():
        async with talk(agent) as talking:
            assert await talking.start("seed", CONVERSATION) == CONVERSATION

    run(go())
    [started] = agent.of_type("runtime_start")
    assert (started["conversation_id"], started["mode"]) == (CONVERSATION, "unrestricted")
    assert "create_conversation" not in started


def test_another_conversation_than_ours_is_refused() -> None:
    async def go():
        async with talk(LittleAgent()) as talking:
            error = await fails(talking.start(conversation_id="conv-2"))
            assert error.reason is SessionReason.PROTOCOL

    run(go())


def test_a_refused_start_says_what_the_server_said() -> None:
    async def go():
        async with talk(LittleAgent(faults=["refuse_start"])) as talking:
            error = await fails(talking.start())
            assert error.reason is SessionReason.REFUSED
            assert "Agent agent-1 not found" in str(error)

    run(go())


@pytest.mark.parametrize("mode", ["unrestricted", "standard", None])
def test_nothing_is_asked_of_an_agent_whose_device_is_not_strict(mode) -> None:
    agent = LittleAgent(mode=mode)

    async def go():
        async with talk(agent, Deadlines(answer=0.4)) as talking:
            error = await fails(talking.start())
            assert error.reason is SessionReason.OTHER_MODE

    run(go())
    assert agent.of_type("input") == []


def test_a_device_that_has_not_told_its_mode_is_asked_for_it() -> None:
    agent = LittleAgent(faults=["no_device"])

    async def go():
        async with talk(agent, Deadlines(answer=1)) as talking:
            await talking.start()

    run(go())
    [asked] = agent.of_type("sync")
    assert asked["force_device_status"] is True
    assert asked["recover_approvals"] is False


def test_a_turn_is_one_message_with_bash_alone_and_ends_when_it_has_finished() -> None:
    agent = LittleAgent([planned()])

    async def go():
        async with talk(agent) as talking:
            await talking.start()
            await talking.session.turn("the message", Gate(plan()), 10)
            assert all(talking.session.has_final(step.command) for step in plan().steps)
            assert not talking.session.has_final("echo")
            return talking.raws("out"), talking.raws("in")

    sent, came = run(go())
    assert sent == agent.received
    [message] = [said for said in sent if said["type"] == "input" and "messages" in said["payload"]]
    assert message["runtime"] == RUNTIME
    assert message["request_id"]
    assert message["payload"]["client_tool_allowlist"] == ["Bash"]
    assert message["payload"]["exclude_interactive_tools"] is True
    [content] = message["payload"]["messages"]
    assert content.pop("client_message_id")
    assert content == {"role": "user", "content": "the message"}
    assert came[-1]["type"] == "turn_finished"


def test_approvals_are_answered_by_the_gate_in_order() -> None:
    steps = plan().steps
    agent = LittleAgent([[Call(steps[0].command, steps[0].output), Call("touch evil", ""), "no"]])

    async def go():
        async with talk(agent) as talking:
            await talking.start()
            await talking.session.turn("x", Gate(plan()), 10)

    run(go())
    assert [payload["decision"]["behavior"] for payload in agent.approvals()] == ["allow", "deny"]
    assert all(set(payload["decision"]) <= {"behavior", "message"} for payload in agent.approvals())
    assert agent.of_type("abort_message") == []


def test_the_end_may_overtake_the_stop_reason_which_is_waited_for() -> None:
    async def go(fault):
        async with talk(LittleAgent([["x"]], faults=[fault])) as talking:
            await talking.start()
            began = asyncio.get_running_loop().time()
            await talking.session.turn("x", Gate(plan()), 10)
            took = asyncio.get_running_loop().time() - began
            return took, talking.raws("in")[-1], talking.notes("deadline")

    took, last, deadlines = run(go("overtake"))
    assert last["delta"]["stop_reason"] == "end_turn"
    assert (took < 0.5, deadlines) == (True, [])
    # One that never comes is not waited for any longer, and is for the verdict to judge.
    took, last, deadlines = run(go("no_stop_reason"))
    assert last["type"] == "turn_finished"
    assert (took >= 0.5, deadlines) == (True, [])


def test_a_copy_of_the_first_turns_end_does_not_end_the_second() -> None:
    agent = LittleAgent([["one"], ["two"]])

    async def go():
        async with talk(agent) as talking:
            await talking.start()
            await talking.session.turn("x", Gate(plan()), 10)
            done = next(said for said in talking.raws("in") if said["type"] == "turn_finished")
            play = agent.answer

            def with_a_copy(said):
                if said["type"] == "input":
                    yield done
                yield from play(said)

            agent.answer = with_a_copy
            await talking.session.turn("x", Gate(plan()), 10)
            texts = [
                said["delta"]["content"][0]["text"]
                for said in talking.raws("in")
                if said.get("delta", {}).get("message_type") == "assistant_message"
            ]
            assert texts == ["one", "two"]

    run(go())


@pytest.mark.parametrize(
    ("fault", "waiting_for"),
    [("no_accept", "the answer to input"), ("silent", "the end of a turn")],
)
def test_every_wait_has_a_deadline_that_is_noted(fault, waiting_for) -> None:
    async def go():
        async with talk(LittleAgent([["x"]], faults=[fault]), Deadlines(answer=0.4)) as talking:
            await talking.start()
            error = await fails(talking.session.turn("x", Gate(plan()), 0.4))
            assert error.reason is SessionReason.DEADLINE
            assert talking.notes("deadline") == [{"note": "deadline", "waiting_for": waiting_for}]

    run(go())


def test_an_input_that_is_not_accepted() -> None:
    async def go():
        async with talk(LittleAgent(faults=["refuse_input"])) as talking:
            await talking.start()
            error = await fails(talking.session.turn("x", Gate(plan()), 5))
            assert error.reason is SessionReason.REFUSED

    run(go())


def test_a_close_within_a_turn_is_noted_and_ends_it() -> None:
    async def go():
        async with talk(LittleAgent([["x"]], faults=["close"])) as talking:
            await talking.start()
            error = await fails(talking.session.turn("x", Gate(plan()), 5))
            assert error.reason is SessionReason.CLOSED
            closed = {"note": "closed", "channel": "control", "code": 1011, "reason": "gone"}
            assert talking.notes("closed") == [closed]

    run(go())


def test_the_end_that_we_make_is_noted_too() -> None:
    async def go():
        async with talk(LittleAgent()) as talking:
            await talking.start()
        assert [note["code"] for note in talking.notes("closed")] == [1000]

    run(go())


def test_the_history_is_read_to_its_first_message() -> None:
    agent = LittleAgent([planned()])

    async def go():
        async with talk(agent) as talking:
            await talking.start()
            await talking.session.turn("x", Gate(plan()), 10)
            await talking.session.read_history()
            kind = "conversation_messages_list_response"
            return [said for said in talking.raws("in") if said["type"] == kind]

    pages = run(go())
    assert [message for page in pages for message in page["messages"]] == agent.messages[::-1]
    assert len(pages) > 2
    asked = agent.of_type("conversation_messages_list")
    assert {said["query"]["order"] for said in asked} == {"desc"}


def test_a_sync_that_is_not_answered_is_no_error() -> None:
    async def go():
        async with talk(LittleAgent(faults=["no_sync"]), Deadlines(answer=0.4)) as talking:
            await talking.start()
            await talking.session.sync()
            assert talking.notes("deadline") == []

    run(go())


def test_messages_that_are_no_evidence_are_noted_and_reading_goes_on() -> None:
    agent = LittleAgent()
    bad = {"type": "sync_response", "request_id": "x", "said": KEY}

    async def go():
        async with talk(agent, key=Secret(KEY)) as talking:
            play = agent.answer

            def with_bad_ones(said):
                if said["type"] == "sync":
                    yield bad
                    yield [1]
                yield from play(said)

            agent.answer = with_bad_ones
            await talking.start()
            await talking.session.sync()
            return talking.notes("bad_frame"), [frame.raw for frame in talking.log.frames]

    notes, raws = run(go())
    assert [(note["channel"], note["reason"]) for note in notes] == [
        ("control", "it holds the API key"),
        ("control", "no JSON object"),
    ]
    assert not [raw for raw in raws if KEY in raw]


def test_a_session_that_says_too_much_is_ended(monkeypatch) -> None:
    monkeypatch.setattr("lettafast.receipts.recorder.MAX_RECORDED", 2000)
    agent = LittleAgent([["x" * 5000]])

    async def go():
        async with talk(agent) as talking:
            await talking.start()
            error = await fails(talking.session.turn("x", Gate(plan()), 5))
            assert error.reason is SessionReason.PROTOCOL
            assert "too much" in str(error)

    run(go())


def test_what_fails_elsewhere_ends_what_is_awaited() -> None:
    async def go():
        async with talk(LittleAgent([["x"]], faults=["silent"])) as talking:
            await talking.start()
            expired = SessionError(SessionReason.EXPIRED, "the sandbox")
            asyncio.get_running_loop().call_later(0.2, talking.session.fail, expired)
            assert await fails(talking.session.turn("x", Gate(plan()), 10)) is expired

    run(go())


def test_frames_of_another_conversation_and_of_subagents_end_no_turn() -> None:
    agent = LittleAgent([["x"]], faults=["silent"])
    done = {"type": "turn_finished", "turn_id": "t", "run_id": "r", "runtime": RUNTIME}
    foreign = [
        {**done, "runtime": {**RUNTIME, "conversation_id": "conv-2"}},
        {**done, "subagent_id": "s"},
    ]

    async def go():
        async with talk(agent) as talking:
            play = agent.answer

            def with_foreign_ones(said):
                yield from play(said)
                if said["type"] == "input":
                    yield from foreign

            agent.answer = with_foreign_ones
            await talking.start()
            error = await fails(talking.session.turn("x", Gate(plan()), 0.5))
            assert error.reason is SessionReason.DEADLINE
            assert [each for each in talking.raws("in") if each in foreign] == foreign

    run(go())
