"""A session as it changes, with events, without, and across restarts."""

from __future__ import annotations

import threading
import time

import pytest

from double import HerdrDouble
from lettafast.herdr import watch
from lettafast.herdr.records import Snapshot, Unavailable
from support import descriptors

LONG = 30.0
"""Seconds between two polls that no test waits for."""


def statuses(snapshot: Snapshot) -> dict[str, str]:
    return {pane.pane_id: pane.agent_status for pane in snapshot.panes}


def asked(double: HerdrDouble, method: str) -> int:
    with double.lock:
        return sum(request["method"] == method for request in double.requests)


def test_it_subscribes_before_it_looks(double, herdr) -> None:
    changes = herdr.changes(LONG)
    assert len(next(changes).panes) == 3
    assert [request["method"] for request in double.requests] == [
        "events.subscribe",
        "session.snapshot",
    ]
    changes.close()


def test_an_event_is_a_reason_to_look(double, herdr) -> None:
    changes = herdr.changes(LONG)
    next(changes)
    start = time.monotonic()
    double.create_pane("w1:t2", {"pane_id": "w1:p4"})
    assert "w1:p4" in statuses(next(changes))
    double.close_pane("w1:p4")
    assert "w1:p4" not in statuses(next(changes))
    assert time.monotonic() - start < 5
    changes.close()


def test_what_makes_no_event_is_polled(double, herdr) -> None:
    changes = herdr.changes(0.1)
    assert next(changes).panes[2].report is None
    double.report("w1:p3", "conv-3")
    assert next(changes).panes[2].report.value == "conv-3"
    changes.close()


def test_only_differences_come(double, herdr) -> None:
    changes = herdr.changes(0.05)
    seen = next(changes)
    double.emit("pane_updated", pane_id="w1:p1")
    until = asked(double, "session.snapshot") + 5

    def change_later() -> None:
        while asked(double, "session.snapshot") < until:
            time.sleep(0.01)
        double.report("w1:p3", "conv-3")

    thread = threading.Thread(target=change_later)
    thread.start()
    found = next(changes)
    thread.join(5)
    assert found != seen
    assert found.panes[2].report.value == "conv-3"
    changes.close()


def test_a_flood_of_events_is_few_looks(double, herdr) -> None:
    changes = herdr.changes(LONG)
    next(changes)
    for at in range(40):  # one each 0.1 s
        double.emit("pane_updated", pane_id=str(at))
    start = time.monotonic()
    double.set_pane("w1:p1", agent_status="working")
    assert statuses(next(changes))["w1:p1"] == "working"
    for at in range(8):
        double.set_pane("w1:p1", agent_status=f"s{at}")
        next(changes)
    took = time.monotonic() - start
    assert asked(double, "session.snapshot") <= 2 + took / watch.SHORTEST_GAP
    changes.close()


def test_a_refused_subscription_is_polling(double, herdr) -> None:
    double.fault("error", method="events.subscribe", code="invalid_request", message="unknown")
    changes = herdr.changes(0.05)
    next(changes)
    for at in range(5):
        double.set_pane("w1:p1", agent_status=f"s{at}")
        assert statuses(next(changes))["w1:p1"] == f"s{at}"
    assert asked(double, "events.subscribe") == 1
    changes.close()


def test_an_old_herdr_is_watched_too(socket_file, connect) -> None:
    with HerdrDouble(socket_file, lacking=["session.snapshot", "events.subscribe"]) as double:
        changes = connect(socket_file).changes(0.05)
        next(changes)
        double.set_pane("w1:p1", agent_status="working")
        assert statuses(next(changes))["w1:p1"] == "working"
        changes.close()


def test_herdr_goes_away_and_comes_back(socket_file, connect) -> None:
    double = HerdrDouble(socket_file).start()
    changes = connect(socket_file).changes(0.1)
    try:
        assert isinstance(next(changes), Snapshot)
        double.stop(unlink=False)
        found = next(changes)
        assert isinstance(found, Unavailable)
        assert found.reason == "not_listening"
        assert socket_file in found.message
        double.start()
        start = time.monotonic()
        assert isinstance(next(changes), Snapshot)
        assert time.monotonic() - start < 3
        double.stop()
        assert next(changes).reason == "missing"
        double.start()
        double.requests.clear()
        assert isinstance(next(changes), Snapshot)
        double.set_pane("w1:p1", agent_status="working")
        assert statuses(next(changes))["w1:p1"] == "working"
        assert asked(double, "events.subscribe")
    finally:
        changes.close()
        double.stop()


def test_a_restart_between_two_looks(double, herdr) -> None:
    """Only the subscription notices; it is made again, and the new terminals are seen."""
    changes = herdr.changes(0.1)
    before = next(changes)
    double.cold_restart()
    after = next(changes)
    assert isinstance(after, Snapshot)
    assert after.panes[0].terminal_id != before.panes[0].terminal_id
    double.create_pane("w1:t2", {"pane_id": "w1:p4"})
    assert "w1:p4" in statuses(next(changes))
    changes.close()


@pytest.mark.parametrize(
    ("kind", "reason"), [("garbage", "malformed_json"), ("hang", "timeout"), ("error", "other")]
)
def test_answers_that_are_none(double, connect, kind: str, reason: str) -> None:
    changes = connect(double.path, 0.3).changes(0.05)
    next(changes)
    double.fault(kind, method="session.snapshot")
    assert next(changes).reason == reason
    double.clear_faults()
    assert isinstance(next(changes), Snapshot)
    changes.close()


def test_less_and_less_often_while_it_is_away() -> None:
    pace = watch._Pace(1.0)
    away = Unavailable("missing", "gone")
    assert pace.news(away) == away
    waits = []
    for _ in range(10):
        waits.append(pace.until_next())
        assert pace.news(away) is None
    assert [round(wait, 1) for wait in waits] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, *[10.0] * 4]
    assert pace.news(Unavailable("missing", "in other words")) is None
    other = Unavailable("timeout", "slow")
    assert pace.news(other) == other
    found = Snapshot("1", 1, (), (), ())
    assert pace.news(found) == found
    assert 0.9 < pace.until_next() <= 1.0
    assert pace.news(found) is None
    assert pace.news(away) == away


def test_ending_leaves_nothing_open(double, herdr) -> None:
    before = descriptors()
    for _ in range(5):
        changes = herdr.changes(LONG)
        next(changes)
        changes.close()
    until = time.monotonic() + 5
    while descriptors() != before and time.monotonic() < until:
        time.sleep(0.01)
    assert descriptors() == before
