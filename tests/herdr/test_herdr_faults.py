"""A herdr that answers badly, late or never: a typed error or the right value, in time."""

from __future__ import annotations

import time

import pytest

from double import FAULTS, HerdrDouble
from lettafast import (
    HerdrError,
    HerdrProtocolError,
    HerdrProtocolReason,
    HerdrRefused,
    HerdrUnavailable,
)
from lettafast.herdr import codec
from lettafast.herdr.codec import MAX_LINE_BYTES
from lettafast.herdr.records import ProcessInfo
from support import run_python

CALLS = {
    "ping": (),
    "snapshot": (),
    "pane": ("w1:p1",),
    "process_info": ("w1:p1",),
    "read": ("w1:p1",),
}
SUBSCRIBE = {**CALLS, "subscribe": ()}

FINE = {
    "slow": {"delay": 0.2},
    "dribble": {"size": 11, "delay": 0.0},
    "wrong_id": {},
    "extra_fields": {},
    "null_fields": {},
    "two_lines": {},
    "noise_before": {},
}
"""Faults in spite of which the answer is right."""
BAD = {
    "hang": ({}, HerdrUnavailable, "timeout"),
    "close": ({}, HerdrUnavailable, "closed"),
    "close_on_accept": ({}, HerdrUnavailable, "closed"),
    "garbage": ({}, HerdrProtocolError, "malformed_json"),
    "html": ({}, HerdrProtocolError, "malformed_json"),
    "invalid_utf8": ({}, HerdrProtocolError, "invalid_utf8"),
    "not_object": ({}, HerdrProtocolError, "not_an_object"),
    "half_line": ({}, HerdrUnavailable, "closed"),
    "no_newline": ({}, HerdrUnavailable, "closed"),
    "wrong_type": ({}, HerdrProtocolError, "unexpected_result"),
    "empty_result": ({}, HerdrProtocolError, "unexpected_result"),
    "error": ({"code": "new_code"}, HerdrRefused, "other"),
    "oversized": ({}, HerdrProtocolError, "too_long"),
    "endless_line": ({}, HerdrProtocolError, "too_long"),
    "drop_fields": ({"fields": ["type", "pane_id", "version"]}, HerdrProtocolError, None),
    "set_fields": ({"fields": {"pane_id": 7}}, HerdrProtocolError, "wrong_type"),
}


def test_every_fault_is_played() -> None:
    assert {*FINE, *BAD} == set(FAULTS)


def test_every_protocol_reason_is_met() -> None:
    met = {reason for _, error, reason in BAD.values() if error is HerdrProtocolError}
    assert met - {None} == {str(reason) for reason in HerdrProtocolReason} - {"missing_field"}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", FINE)
def test_right_in_spite_of_it(double, herdr, kind: str, name: str) -> None:
    right = herdr.call(name, *CALLS[name])
    double.fault(kind, **FINE[kind])
    assert herdr.call(name, *CALLS[name]) == right


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in BAD
        for name in SUBSCRIBE
        # Their answers are about no pane.
        if kind != "set_fields" or name not in ("ping", "subscribe")
    ],
)
def test_an_error_in_time(connect, double, kind: str, name: str) -> None:
    options, error, reason = BAD[kind]
    double.fault(kind, **options)
    face = connect(double.path, 0.5 if kind == "hang" else 10)
    start = time.monotonic()
    with pytest.raises(error) as caught:
        face.call(name, *SUBSCRIBE[name])
    assert time.monotonic() - start < (1.5 if kind == "hang" else 8)
    assert type(caught.value) is error
    assert caught.value.socket == double.path
    assert reason in (None, str(caught.value.reason))
    double.clear_faults()
    assert face.call("ping").version == "0.9.3"


@pytest.mark.parametrize(
    "fault", [("slow", {"delay": 3.0}), ("dribble", {"size": 1, "delay": 0.05})]
)
@pytest.mark.parametrize("name", SUBSCRIBE)
def test_the_deadline_is_for_all_of_a_call(connect, double, fault, name: str) -> None:
    double.fault(fault[0], **fault[1])
    start = time.monotonic()
    with pytest.raises(HerdrUnavailable) as caught:
        connect(double.path, 0.4).call(name, *SUBSCRIBE[name])
    assert str(caught.value.reason) == "timeout"
    assert 0.35 < time.monotonic() - start < 1.5


def test_the_deadline_is_for_all_of_the_lists(socket_file, connect) -> None:
    with HerdrDouble(socket_file, lacking=["session.snapshot"]) as double:
        double.fault("slow", delay=0.2)
        start = time.monotonic()
        with pytest.raises(HerdrUnavailable):
            connect(socket_file, 0.5).call("snapshot")
        assert 0.4 < time.monotonic() - start < 1.5
        assert connect(socket_file, 5).call("snapshot").panes


def test_a_herdr_that_shuts_down(double, herdr) -> None:
    double.fault("error", code="server_unavailable", message="shutting down")
    with pytest.raises(HerdrUnavailable) as caught:
        herdr.call("snapshot")
    assert str(caught.value.reason) == "shutting_down"


@pytest.mark.parametrize("name", ["terminal_id", "workspace_id", "tab_id", "pane_id"])
def test_what_a_pane_must_have(double, herdr, name: str) -> None:
    double.fault("drop_fields", fields=[name])
    for call in ("snapshot", "pane"):
        with pytest.raises(HerdrProtocolError) as caught:
            herdr.call(call, *CALLS[call])
        assert caught.value.reason is HerdrProtocolReason.MISSING_FIELD
        assert caught.value.field.endswith(name)


@pytest.mark.parametrize("name", ["version", "protocol", "panes", "tabs", "workspaces"])
def test_what_a_snapshot_must_have(double, herdr, name: str) -> None:
    double.fault("drop_fields", fields=[name])
    with pytest.raises(HerdrProtocolError) as caught:
        herdr.call("snapshot")
    assert caught.value.field == f"result.snapshot.{name}"


def test_what_nobody_needs_may_be_gone(double, herdr) -> None:
    right = herdr.call("snapshot")
    double.fault(
        "drop_fields", fields=["id", "revision", "number", "pane_count", "layouts", "agents"]
    )
    assert herdr.call("snapshot") == right


@pytest.mark.parametrize(
    "fields",
    [
        {"cwd": 5},
        {"agent": ["letta"]},
        {"terminal_id": None},
        {"focused": "yes"},
        {"agent_status": {}},
        {"terminal_title": False},
        {"label": 1.5},
    ],
)
def test_fields_of_another_type(double, herdr, fields) -> None:
    double.fault("set_fields", fields=fields)
    with pytest.raises(HerdrProtocolError) as caught:
        herdr.call("pane", "w1:p1")
    assert caught.value.field == f"result.pane.{next(iter(fields))}"


def test_nulls_are_as_good_as_nothing(double, herdr) -> None:
    names = ["foreground_processes", "shell_pid", "foreground_process_group_id"]
    double.fault("set_fields", fields=dict.fromkeys(names))
    assert herdr.call("process_info", "w1:p1") == ProcessInfo("w1:p1", None, None, ())


@pytest.mark.parametrize(
    "process",
    [
        5,
        {},
        {"pid": "1"},
        {"pid": True},
        {"pid": -1},
        {"pid": 1 << 63},
        {"pid": 1, "argv": [1]},
        {"pid": 1, "cwd": 2},
    ],
)
def test_a_process_of_another_form(double, herdr, process) -> None:
    double.fault("set_fields", fields={"foreground_processes": [process]})
    with pytest.raises(HerdrProtocolError) as caught:
        herdr.call("process_info", "w1:p1")
    assert caught.value.field.startswith("result.process_info.foreground_processes[0]")


def test_a_large_answer(double, herdr) -> None:
    """Much more than herdr was seen to send, and still taken."""
    double.fault("oversized", size=MAX_LINE_BYTES - (1 << 16))
    assert herdr.call("ping").version == "0.9.3"
    double.clear_faults()
    double.set_pane("w1:p3", text="x" * 200 + "\n" + "\x1b[31mrow\n" * 100_000)
    assert herdr.call("read", "w1:p3").text == "row\n" * 1000


def test_a_thousand_panes(double, herdr) -> None:
    for at in range(1000):
        double.create_pane("w1:t2", {"pane_id": f"w1:q{at}", "cwd": "/" + "x" * 900})
    found = herdr.call("snapshot")
    assert [pane.pane_id for pane in found.panes[3:]] == [f"w1:q{at}" for at in range(1000)]


def test_an_endless_answer_takes_bounded_memory(double) -> None:
    code = """
import json, resource, sys
from lettafast import HerdrProtocolError
from lettafast.herdr.client import Herdr
try:
    Herdr(sys.argv[1], 30).ping()
    reason = None
except HerdrProtocolError as error:
    reason = str(error.reason)
print(json.dumps([reason, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10]))
"""
    _, usual = run_python(code, double.path)
    double.fault("endless_line", size=512 << 20)
    reason, most = run_python(code, double.path)
    assert reason == "too_long"
    assert most - usual < 3 * MAX_LINE_BYTES


def test_hostile_words_of_an_error_are_made_harmless(double, herdr) -> None:
    double.fault("error", code="x", message="\x1b]0;owned\x07" + "y" * 10_000)
    with pytest.raises(HerdrRefused) as caught:
        herdr.call("ping")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"NaN"])
def test_json_that_breaks_readers(text) -> None:
    with pytest.raises(HerdrError):
        codec.result("s", text, "pong")
    with pytest.raises(HerdrProtocolError) as caught:
        codec.result("s", b'{"result":' + text, "pong")
    assert str(caught.value.reason) == "malformed_json"


def test_a_number_that_json_lacks() -> None:
    for text in (b"NaN", b"-Infinity", b"Infinity", b"01"):
        line = b'{"result":{"type":"pong"},"x":' + text + b"}"
        with pytest.raises(HerdrProtocolError) as caught:
            codec.result("s", line, "pong")
        assert str(caught.value.reason) == "malformed_json"
