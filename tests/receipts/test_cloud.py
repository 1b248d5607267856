"""The REST calls, through `letta-client`: against the double of the cloud, and raw sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json

import httpx
import pytest

from cloud_double import Answer, CloudDouble
from keys import KEY, assert_without_key
from lettafast.errors import SessionError, SessionReason
from lettafast.receipts.cloud import Cloud, Sandbox, _Wire
from lettafast.receipts.deadlines import Deadlines
from lettafast.receipts.frames import FrameLog
from lettafast.receipts.recorder import Recorder
from lettafast.receipts.secret import Secret
from little_agent import LittleAgent

QUICK = Deadlines(request=8, online=5, poll=0.05)
SANDBOX = Sandbox("sandbox-1", "device-1", resumed=False, ours=True)


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


class Asking:
    """A `Cloud` with its log."""

    def __init__(self, base, deadlines=QUICK):
        self.log = FrameLog(None)
        self.cloud = Cloud(base, Secret(KEY), Recorder(self.log, Secret(KEY)), deadlines)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.cloud.close()

    def said(self, direction="in"):
        return [json.loads(frame.raw) for frame in self.log.frames if frame.direction == direction]


async def fails(call):
    with pytest.raises(SessionError) as error:
        await call
    assert_without_key(error.value)
    return error.value


@contextlib.asynccontextmanager
async def raw_server(answer, heads=None):
    """The base URL of a server that answers every request with these bytes, or never where None."""

    async def talk(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if heads is not None:
                heads.append(head)
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


def http_answer(status, body, *headers):
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_a_conversation_is_made_for_the_agent_with_the_model_of_its_own() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                assert await asking.cloud.create_conversation("agent-1", "letta/auto") == "conv-1"
                assert await asking.cloud.create_conversation("agent-1", None) == "conv-1"
                return asking.said("out"), asking.said()

        asked, answered = run(go())
        assert [(one.query, one.body) for one in cloud.asked] == [
            ({"agent_id": "agent-1"}, {"model": "letta/auto"}),
            ({"agent_id": "agent-1"}, {}),
        ]
        assert asked[0] == {
            "request": "POST /v1/conversations/?agent_id=agent-1",
            "body": {"model": "letta/auto"},
        }
        assert answered[0] == {
            "request": "POST /v1/conversations/?agent_id=agent-1",
            "status": 200,
            "body": {"id": "conv-1", "agent_id": "agent-1"},
        }


def test_a_sandbox_is_made_for_the_conversation() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                return await asking.cloud.create_sandbox("agent-1", "conv-1")

        assert run(go()) == Sandbox("sandbox-1", "device-of-sandbox-1", resumed=False, ours=True)
        assert (cloud.asked[0].path, cloud.asked[0].body) == (
            "/v1/agents/agent-1/sandboxes",
            {"conversationId": "conv-1"},
        )


@pytest.mark.parametrize(
    ("change", "resumed", "ours"),
    [
        ({"resumed": True}, True, True),
        ({"resumed": None}, True, True),
        ({"resumed": True, "conversationId": "conv-other"}, True, False),
        ({"resumed": True, "conversationId": None}, True, False),
        ({"conversationId": None}, False, True),
    ],
)
def test_a_sandbox_that_is_not_known_to_be_new_says_so(change, resumed, ours) -> None:
    """Only what was made now, or serves our new conversation alone, may be ended by us."""
    with CloudDouble(LittleAgent(), KEY, answers={"sandbox": [Answer(change=change)]}) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                return await asking.cloud.create_sandbox("agent-1", "conv-1")

        made = run(go())
        assert (made.resumed, made.ours) == (resumed, ours)


@pytest.mark.parametrize("body", [[], "text", {"sandboxId": ""}, {"deviceId": "d"}, 7])
def test_a_sandbox_without_an_id_is_none(body) -> None:
    with CloudDouble(LittleAgent(), KEY, answers={"sandbox": [Answer(body=body)]}) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                error = await fails(asking.cloud.create_sandbox("agent-1", "conv-1"))
                assert error.reason is SessionReason.PROTOCOL

        run(go())


@pytest.mark.parametrize("spelled", [KEY, KEY.replace("s", "\\u0073")])
def test_an_id_that_says_the_key_back_goes_no_further(spelled) -> None:
    async def go():
        answer = http_answer(200, f'{{"id":"conv-{spelled}"}}'.encode(), "Content-Type: x")
        async with raw_server(answer, []) as base, Asking(base) as asking:
            return await asking.cloud.create_conversation("agent-1", None)

    assert run(go()) == "conv-[the API key]"


@pytest.mark.parametrize("body", [[], "text", {"id": ""}, {"id": 7}, {}])
def test_a_conversation_without_an_id_is_none(body) -> None:
    with CloudDouble(LittleAgent(), KEY, answers={"conversation": [Answer(body=body)]}) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                error = await fails(asking.cloud.create_conversation("agent-1", None))
                assert error.reason is SessionReason.PROTOCOL

        run(go())


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_creating_is_never_tried_again(status) -> None:
    """`letta-client` sends no idempotency key: a second POST would make a second one."""
    answers = {"conversation": [Answer(status)], "sandbox": [Answer(status)]}
    with CloudDouble(LittleAgent(), KEY, answers=answers) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                error = await fails(asking.cloud.create_conversation("agent-1", None))
                assert error.status == status
                await fails(asking.cloud.create_sandbox("agent-1", "conv-1"))

        run(go())
        assert cloud.routes() == ["conversation", "sandbox"]


def test_reading_refreshing_and_ending_are_tried_again() -> None:
    answers = {route: [Answer(503)] for route in ("refresh", "environment", "terminate", "history")}
    with CloudDouble(LittleAgent(), KEY, answers=answers) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                sandbox = await asking.cloud.create_sandbox("agent-1", "conv-1")
                assert await asking.cloud.refresh(sandbox) == 600.0
                assert await asking.cloud.online(sandbox) == "connection-of-device-of-sandbox-1"
                await asking.cloud.read_history("conv-1")
                await asking.cloud.terminate(sandbox)

        run(go())
        assert cloud.routes() == [
            "sandbox",
            *(
                route
                for each in ("refresh", "environment", "history", "terminate")
                for route in (each, each)
            ),
        ]
        assert cloud.asked[1].body == {"ttlMinutes": 10}
        assert cloud.running == set()


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, SessionReason.REFUSED),
        (401, SessionReason.UNAUTHORIZED),
        (403, SessionReason.UNAUTHORIZED),
        (404, SessionReason.NOT_FOUND),
        (500, SessionReason.UNREACHABLE),
    ],
)
def test_what_a_status_means(status, reason) -> None:
    """The double's answer repeats the key, as some servers do."""
    answers = {"conversation": [Answer(status, {"error": f"Bearer {KEY} is not allowed"})]}
    with CloudDouble(LittleAgent(), KEY, answers=answers) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                error = await fails(asking.cloud.create_conversation("agent-1", None))
                assert (error.reason, error.status) == (reason, status)
                [said] = asking.said()
                assert said["body"] == {"error": "Bearer [the API key] is not allowed"}

        run(go())


def test_a_sandbox_that_is_gone_has_expired() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                error = await fails(asking.cloud.refresh(SANDBOX))
                assert error.reason is SessionReason.EXPIRED
                await asking.cloud.terminate(SANDBOX)  # it has ended

        run(go())


@pytest.mark.parametrize(
    "change",
    [
        {"success": False},
        {"sandboxId": "sandbox-2"},
        {"ttlMinutes": 0},
        {"ttlMinutes": "10"},
        {"ttlMinutes": 1e9},
    ],
)
def test_a_refresh_that_does_not_say_yes_is_none(change) -> None:
    with CloudDouble(LittleAgent(), KEY, answers={"refresh": [Answer(change=change)]}) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                sandbox = await asking.cloud.create_sandbox("agent-1", "conv-1")
                error = await fails(asking.cloud.refresh(sandbox))
                assert error.reason is SessionReason.PROTOCOL

        run(go())


def test_the_environment_is_asked_until_it_has_a_connection() -> None:
    offline = Answer(change={"connectionId": None})
    answers = {"environment": [offline, Answer(404, {"error": "not found"}), offline]}
    with CloudDouble(LittleAgent(), KEY, answers=answers) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                assert await asking.cloud.online(SANDBOX) == "connection-of-device-1"

        run(go())
        assert cloud.routes() == ["environment"] * 4


def test_a_sandbox_that_never_comes_online_is_waited_for_so_long() -> None:
    answers = {"environment": [Answer(change={"connectionId": None})] * 1000}
    with CloudDouble(LittleAgent(), KEY, answers=answers) as cloud:

        async def go():
            quick = Deadlines(request=8, online=0.3, poll=0.05)
            async with Asking(cloud.url, quick) as asking:
                error = await fails(asking.cloud.online(SANDBOX))
                assert error.reason is SessionReason.NOT_ONLINE

        run(go())
        assert 2 <= len(cloud.asked) <= 8


def test_who_may_not_ask_for_the_environment_does_not_ask_again() -> None:
    with CloudDouble(LittleAgent(), KEY, answers={"environment": [Answer(403)]}) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                error = await fails(asking.cloud.online(SANDBOX))
                assert error.reason is SessionReason.UNAUTHORIZED

        run(go())
        assert cloud.routes() == ["environment"]


def test_the_whole_history_is_read_page_by_page() -> None:
    agent = LittleAgent()
    agent.messages = [
        {
            "id": f"message-{at}",
            "message_type": "assistant_message",
            "content": f"{at}",
            "date": "2026-01-01T00:00:00Z",
        }
        for at in range(250)
    ]
    with CloudDouble(agent, KEY) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                await asking.cloud.read_history("conv-1")
                return asking.said()

        pages = [said["body"] for said in run(go())]
        assert [message for page in pages for message in page] == agent.messages
        assert [len(page) for page in pages] == [100, 100, 50, 0]
        assert {asked.query["order"] for asked in cloud.asked} == {"asc"}


def test_a_history_without_an_end_is_given_up() -> None:
    async def go():
        heads = []
        body = json.dumps([{"id": "m", "message_type": "assistant_message"}]).encode()
        answer = http_answer(200, body, "Content-Type: application/json")
        async with raw_server(answer, heads) as base, Asking(base) as asking:
            error = await fails(asking.cloud.read_history("conv-1"))
            assert error.reason is SessionReason.PROTOCOL
        assert len(heads) == 101

    run(go())


@pytest.mark.parametrize("body", [{"detail": "x"}, "text", 7, [7]])
def test_a_history_of_another_form_is_an_error_or_ends(body) -> None:
    """It is recorded all the same: what it is worth is for the verdict to say."""
    with CloudDouble(LittleAgent(), KEY, answers={"history": [Answer(body=body)] * 9}) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                with contextlib.suppress(SessionError):
                    await asking.cloud.read_history("conv-1")
                assert asking.said()[0]["body"] == body

        run(go())


def test_nothing_of_the_environment_leaks_in(monkeypatch) -> None:
    """`letta-client` would take these: another server, another key, headers, a proxy, a log."""
    monkeypatch.setenv("LETTA_API_KEY", "another-key")
    monkeypatch.setenv("LETTA_BASE_URL", "http://192.0.2.1")
    monkeypatch.setenv("LETTA_CUSTOM_HEADERS", "X-Ambient: yes\nAuthorization: Bearer ambient")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def go():
        heads = []
        answer = http_answer(200, b'{"id":"conv-1"}', "Content-Type: application/json")
        async with raw_server(answer, heads) as base, Asking(base) as asking:
            assert await asking.cloud.create_conversation("agent-1", None) == "conv-1"
        return heads

    [head] = run(go())
    names = {line.partition(":")[0].lower() for line in head.splitlines()[1:] if line}
    expected = "accept accept-encoding authorization content-length content-type host user-agent"
    assert sorted(names) == expected.split()
    assert f"Bearer {KEY}" in head
    assert "ambient" not in head.lower()


def test_a_redirect_is_not_followed() -> None:
    async def go():
        heads = []
        async with raw_server(http_answer(200, b"{}"), heads) as other:
            answer = http_answer(307, b"{}", f"Location: {other}/v1/conversations/")
            async with raw_server(answer) as base, Asking(base) as asking:
                error = await fails(asking.cloud.create_conversation("agent-1", None))
                assert (error.reason, error.status) == (SessionReason.REFUSED, 307)
        assert heads == []

    run(go())


def test_another_server_never_sees_the_key() -> None:
    async def go():
        heads = []
        async with raw_server(http_answer(200, b"{}"), heads) as other:
            log = FrameLog(None)
            wire = _Wire("http://127.0.0.1:9", Secret(KEY), Recorder(log, Secret(KEY)))
            with pytest.raises(httpx.TransportError):
                await wire.handle_async_request(httpx.Request("GET", f"{other}/v1/x"))
            await wire.aclose()
            assert log.frames == []
        assert heads == []

    run(go())


def test_a_server_that_says_nothing_and_one_that_is_not_there() -> None:
    async def go():
        quick = Deadlines(request=0.3)
        async with raw_server(None) as base, Asking(base, quick) as asking:
            error = await fails(asking.cloud.create_conversation("agent-1", None))
            assert error.reason is SessionReason.DEADLINE
        async with Asking(base) as asking:
            error = await fails(asking.cloud.create_conversation("agent-1", None))
            assert error.reason is SessionReason.UNREACHABLE
        async with raw_server(http_answer(200, b"{}")[:-1]) as base, Asking(base) as asking:
            error = await fails(asking.cloud.create_conversation("agent-1", None))
            assert error.reason is SessionReason.UNREACHABLE

    run(go())


def test_an_answer_that_is_too_long_is_not_read() -> None:
    async def go():
        body = b"[" + b" " * (17 << 20) + b"]"
        async with raw_server(http_answer(200, body)) as base, Asking(base) as asking:
            error = await fails(asking.cloud.create_conversation("agent-1", None))
            assert error.reason is SessionReason.UNREACHABLE
            assert asking.said() == []

    run(go())


def test_a_body_that_is_no_strict_json_is_recorded_as_text() -> None:
    async def go():
        body = b'{"id":"conv-1","id":"conv-2"}'
        answer = http_answer(200, body, "Content-Type: application/json")
        async with raw_server(answer) as base, Asking(base) as asking:
            await asking.cloud.create_conversation("agent-1", None)
            assert asking.said()[0]["body"] == body.decode()

    run(go())


def test_debug_logging_shows_no_key(caplog) -> None:
    caplog.set_level("DEBUG")
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                await asking.cloud.create_conversation("agent-1", None)
            async with Asking("http://127.0.0.1:9") as asking:
                await fails(asking.cloud.create_conversation("agent-1", None))

        run(go())
    assert caplog.records
    assert not [
        record for record in caplog.records if KEY in f"{record.getMessage()}{record.exc_text}"
    ]


def test_no_request_holds_the_key_but_in_its_header() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            async with Asking(cloud.url) as asking:
                await asking.cloud.create_conversation("agent-1", "m")
                sandbox = await asking.cloud.create_sandbox("agent-1", "conv-1")
                await asking.cloud.refresh(sandbox)
                await asking.cloud.terminate(sandbox)
                return [frame.raw for frame in asking.log.frames]

        raws = run(go())
        assert raws
        assert not [raw for raw in raws if KEY in raw]
        assert KEY not in str(cloud.asked)
        assert all(asked.authorized for asked in cloud.asked)
