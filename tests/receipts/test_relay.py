"""The relay's two sockets, against the double of the cloud: real sockets, a script behind them."""

from __future__ import annotations

import asyncio
import http
import json

import pytest
from websockets.asyncio.server import serve

from cloud_double import CloudDouble, Fault, of_type
from keys import KEY, assert_without_key
from lettafast.errors import SessionError, SessionReason
from lettafast.receipts import relay, urls
from lettafast.receipts.deadlines import Deadlines
from lettafast.receipts.secret import Secret
from lettafast.receipts.transport import Arrived, Closed
from little_agent import RUNTIME, LittleAgent

QUICK = Deadlines(connect=5, ping=0.2, pong=0.1)
SLOW_PINGS = Deadlines(connect=5)
SYNC = json.dumps({"type": "sync", "request_id": "r", "runtime": RUNTIME})


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 20))


def connect(cloud, deadlines=SLOW_PINGS):
    addresses = urls.relay(cloud.url, "connection-1", "agent-1", "conv-1")
    return relay.connect(addresses, Secret(KEY), deadlines)


async def all_of(sockets):
    got = []
    while (arrived := await sockets.receive()) is not None:
        got.append(arrived)
    return got


def test_both_sockets_carry_the_feed_and_every_message_is_acknowledged_where_it_came() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            sockets = await connect(cloud)
            await sockets.send(SYNC)
            got = [await sockets.receive() for _ in range(4)]
            await sockets.send(SYNC)
            got += [await sockets.receive() for _ in range(4)]
            await sockets.close()
            return got

        got = run(go())
        for channel in ("control", "stream"):
            mine = [json.loads(each.data) for each in got if each.channel == channel]
            assert [said["seq"] for said in mine] == [1, 2, 3, 4]
            assert [said["type"] for said in mine] == ["update_device_status", "sync_response"] * 2
        assert cloud.unacknowledged == {"control": 0, "stream": 0}
        assert cloud.wrongs == []
        upgrades = [asked for asked in cloud.asked if asked.route in ("control", "stream")]
        assert {asked.path for asked in upgrades} == {"/v1/environments/connection-1/status/ws"}
        assert upgrades[0].query["agentId"] == "agent-1"
        assert upgrades[0].query["conversationId"] == "conv-1"
        assert KEY not in str(upgrades)


def test_the_ack_goes_out_before_the_message_is_handed_on() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            sockets = await connect(cloud)
            sent = []
            send_on = sockets.send_on

            async def watched(channel, text):
                sent.append((channel, json.loads(text)))
                return await send_on(channel, text)

            sockets.send_on = watched
            await send_on("control", SYNC)
            first = await sockets.receive()
            assert (first.channel, {"type": "ack", "seq": 1}) in sent
            await sockets.close()

        run(go())


def test_pings_go_out_on_both_sockets_and_pongs_are_no_frames() -> None:
    with CloudDouble(LittleAgent(), KEY) as cloud:

        async def go():
            sockets = await connect(cloud, QUICK)
            await asyncio.sleep(1.0)  # several pings: a socket that was not heard would be closed
            await sockets.send(SYNC)
            got = [await sockets.receive() for _ in range(4)]
            assert all(isinstance(each, Arrived) for each in got)
            assert {json.loads(each.data)["type"] for each in got} == {
                "update_device_status",
                "sync_response",
            }
            await sockets.close()

        run(go())


def test_a_relay_that_gives_no_pong_is_closed_on_both_sockets() -> None:
    with CloudDouble(LittleAgent(), KEY, deaf=True) as cloud:

        async def go():
            sockets = await connect(cloud, QUICK)
            ends = await all_of(sockets)
            assert {(end.channel, end.code, end.reason) for end in ends} == {
                ("control", 1000, "no pong"),
                ("stream", 1000, "no pong"),
            }
            await sockets.close()

        run(go())


@pytest.mark.parametrize("channel", ["control", "stream"])
@pytest.mark.parametrize(("what", "code"), [("close", 1011), ("cut", None)])
def test_either_socket_that_closes_closes_the_other(channel, what, code) -> None:
    fault = Fault(what, of_type("sync_response"), channel)
    with CloudDouble(LittleAgent(), KEY, faults=[fault]) as cloud:

        async def go():
            sockets = await connect(cloud)
            await sockets.send(SYNC)
            ends = [each for each in await all_of(sockets) if isinstance(each, Closed)]
            codes = {end.channel: end.code for end in ends}
            assert codes.keys() == {"control", "stream"}
            assert codes[channel] == code
            with pytest.raises(SessionError) as error:
                await sockets.send(SYNC)
            assert error.value.reason is SessionReason.CLOSED
            await sockets.close()

        run(go())


@pytest.mark.parametrize("refused", ["control", "stream"])
def test_one_socket_that_is_refused_leaves_none_open(refused) -> None:
    async def go():
        ended = asyncio.Event()

        def refuse(connection, request):
            if f"channel={refused}" in request.path:
                return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "")
            return None

        async def open_until_it_ends(connection):
            await connection.wait_closed()
            ended.set()

        async with serve(open_until_it_ends, "127.0.0.1", 0, process_request=refuse) as serving:
            base = f"http://127.0.0.1:{serving.sockets[0].getsockname()[1]}"
            addresses = urls.relay(base, "connection-1", "agent-1", "conv-1")
            with pytest.raises(SessionError) as error:
                await relay.connect(addresses, Secret(KEY), SLOW_PINGS)
            assert error.value.reason is SessionReason.UNREACHABLE
            assert refused in error.value.detail
            # The other one may not have been open yet: then there is nothing to end.
            assert {
                task for task in asyncio.all_tasks() if "relay" in repr(task.get_coro())
            } == set()
            if serving.connections:
                await asyncio.wait_for(ended.wait(), 5)

    run(go())


def test_the_wrong_key_is_refused_and_not_shown() -> None:
    with CloudDouble(LittleAgent(), "another key") as cloud:

        async def go():
            with pytest.raises(SessionError) as error:
                await connect(cloud)
            assert error.value.reason is SessionReason.UNAUTHORIZED
            assert_without_key(error.value)

        run(go())


def test_what_is_no_json_has_no_seq_and_is_handed_on() -> None:
    fault = Fault("replace", of_type("sync_response"), data=b"[nonsense")
    with CloudDouble(LittleAgent(), KEY, faults=[fault]) as cloud:

        async def go():
            sockets = await connect(cloud)
            await sockets.send(SYNC)
            got = [(await sockets.receive()).data for _ in range(4)]
            assert got.count(b"[nonsense") == 2
            await sockets.close()

        run(go())
