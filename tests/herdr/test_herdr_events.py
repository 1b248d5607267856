"""Subscriptions: what comes, in order, and how they end."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from double import SCENARIO, SUBSCRIPTIONS, HerdrDouble
from lettafast import HerdrProtocolError, HerdrRefused, HerdrUnavailable
from lettafast.herdr.aio import AsyncHerdr
from lettafast.herdr.calls import EVENTS
from lettafast.herdr.client import Herdr
from lettafast.herdr.records import Event
from support import descriptors


def names(subscription, count: int) -> list[tuple[str, str | None]]:
    found = [subscription.wait(5) for _ in range(count)]
    return [(event.name, event.pane_id) for event in found]


def test_what_is_subscribed_to(double, herdr) -> None:
    assert set(EVENTS) <= SUBSCRIPTIONS
    herdr.subscribe().close()
    herdr.subscribe(["pane.exited"], ["w1:p1", "w1:p2"]).close()
    assert [request["params"]["subscriptions"] for request in double.requests] == [
        [{"type": name} for name in EVENTS],
        [
            {"type": "pane.exited"},
            {"type": "pane.agent_status_changed", "pane_id": "w1:p1"},
            {"type": "pane.agent_status_changed", "pane_id": "w1:p2"},
        ],
    ]


def test_events_of_panes(double, herdr) -> None:
    with herdr.subscribe(EVENTS, ["w1:p2"]) as subscription:
        assert subscription.wait(0) is None
        double.create_pane("w1:t2", {"pane_id": "w1:p4"})
        assert names(subscription, 1) == [("pane_created", "w1:p4")]
        double.start_letta("w1:p2", 99)
        event = subscription.wait(5)
        assert event == Event(
            "pane_agent_detected",
            "w1:p2",
            {
                "type": "pane_agent_detected",
                "pane_id": "w1:p2",
                "workspace_id": "w1",
                "agent": "letta",
            },
        )
        event = subscription.wait(5)
        assert (event.name, event.pane_id) == ("pane_agent_status_changed", "w1:p2")
        assert "type" not in event.data
        assert event.data["agent_status"] == "idle"
        double.exit_process("w1:p2")
        event = subscription.wait(5)
        assert event.data["released"] is True
        assert names(subscription, 1) == [("pane_agent_status_changed", "w1:p2")]
        double.close_pane("w1:p4")
        assert names(subscription, 1) == [("pane_closed", "w1:p4")]
        double.emit("pane_moved", previous_pane_id="w1:p1", pane={"pane_id": "w2:p1"})
        assert names(subscription, 1) == [("pane_moved", "w2:p1")]
        double.emit("tab_closed", tab_id="w1:t1", workspace_id="w1")
        assert names(subscription, 1) == [("tab_closed", None)]


@pytest.mark.parametrize("kind", sorted(SUBSCRIPTIONS))
def test_each_kind_of_event(double, herdr, kind: str) -> None:
    with herdr.subscribe([kind]) as subscription:
        double.emit(kind.replace(".", "_"), pane_id="w1:p1")
        assert names(subscription, 1) == [(kind.replace(".", "_"), "w1:p1")]


def test_a_changed_report_makes_no_event(double, herdr) -> None:
    with herdr.subscribe(sorted(SUBSCRIPTIONS), ["w1:p3"]) as subscription:
        assert double.report("w1:p3", "conv-3")
        assert subscription.wait(0.3) is None


def test_old_events_of_an_older_herdr(socket_file, connect) -> None:
    with HerdrDouble(socket_file, {**SCENARIO, "replay_events": True}) as double:
        double.emit("pane_exited", pane_id="w1:p1")
        with connect(socket_file).subscribe() as subscription:
            assert names(subscription, 1) == [("pane_exited", "w1:p1")]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((["pane.no_such"],), "invalid_request"), (((), ["w1:p9"]), "pane_not_found")],
)
def test_one_unknown_name_refuses_all(double, herdr, arguments, code) -> None:
    with pytest.raises(HerdrRefused) as caught:
        herdr.subscribe(*arguments)
    assert caught.value.code == code


def test_herdr_ends_it(double, herdr) -> None:
    with herdr.subscribe() as subscription:
        double.cold_restart()
        with pytest.raises(HerdrUnavailable) as caught:
            subscription.wait(5)
        assert str(caught.value.reason) == "closed"
    assert herdr.subscribe().close() is None


def test_lines_that_are_no_events(double, herdr) -> None:
    double.fault("two_lines", times=1)
    with herdr.subscribe() as subscription, pytest.raises(HerdrProtocolError):
        subscription.wait(5)


def test_events_that_were_lost(connect, socket_file) -> None:
    """What a newer herdr says before it closes, and a line that came with the first."""
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_file)
        server.listen()

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(
                    b'{"result":{"type":"subscription_started"}}\n'
                    b'{"event":"pane.exited","data":{"pane_id":"w1:p1"}}\n'
                    b'{"error":{"code":"events_lost","message":"too slow"}}\n'
                )

        thread = threading.Thread(target=serve)
        thread.start()
        with connect(socket_file).subscribe() as subscription:
            assert subscription.wait(0) == Event("pane_exited", "w1:p1", {"pane_id": "w1:p1"})
            with pytest.raises(HerdrRefused) as caught:
                subscription.wait(5)
        assert str(caught.value.reason) == "events_lost"
        thread.join(5)


def test_waiting_keeps_to_its_time(double, herdr) -> None:
    with herdr.subscribe() as subscription:
        for seconds in (0, 0.2):
            start = time.monotonic()
            assert subscription.wait(seconds) is None
            assert seconds - 0.05 < time.monotonic() - start < seconds + 1
    assert subscription.wait() is None
    assert subscription.close() is None


def test_another_thread_closes_it(double) -> None:
    subscription = Herdr(double.path).subscribe()
    ended = []
    thread = threading.Thread(target=lambda: ended.append(list(subscription)))
    thread.start()
    time.sleep(0.1)
    subscription.close()
    thread.join(5)
    assert ended == [[]]


def test_iterating(double) -> None:
    with Herdr(double.path).subscribe() as subscription:
        double.emit("pane_exited", pane_id="w1:p1")
        assert next(subscription).name == "pane_exited"


def test_iterating_with_asyncio(double) -> None:
    async def play() -> list[str]:
        found = []
        async with await AsyncHerdr(double.path).subscribe() as subscription:
            double.emit("pane_exited", pane_id="w1:p1")
            double.emit("pane_exited", pane_id="w1:p2")
            async for event in subscription:
                found.append(event.pane_id)
                if len(found) == 2:
                    break
            waiting = asyncio.create_task(subscription.wait())
            await asyncio.sleep(0.05)
            await subscription.close()
            assert await asyncio.wait_for(waiting, 5) is None
            assert [event async for event in subscription] == []
        return found

    assert asyncio.run(play()) == ["w1:p1", "w1:p2"]


def test_a_cancelled_wait_loses_no_event(double) -> None:
    async def play() -> list[str | None]:
        found = []
        async with await AsyncHerdr(double.path).subscribe() as subscription:
            for at in range(10):
                double.emit("pane_exited", pane_id=str(at))
            while len(found) < 10:
                try:
                    event = await asyncio.wait_for(subscription.wait(), 0.003)
                except asyncio.TimeoutError:
                    continue
                found.append(event.pane_id)
        return found

    assert asyncio.run(play()) == [str(at) for at in range(10)]


def test_a_cancelled_call_leaves_nothing_open(double) -> None:
    async def play() -> None:
        double.fault("hang")
        herdr = AsyncHerdr(double.path, 30)
        for call in (herdr.snapshot, herdr.subscribe):
            waiting = asyncio.create_task(call())
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    before = descriptors()
    asyncio.run(play())
    until = time.monotonic() + 5
    while descriptors() != before and time.monotonic() < until:
        time.sleep(0.01)
    assert descriptors() == before
