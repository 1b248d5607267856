"""Whole calls and texts out of frames: recordings, hosted forms, and the rules P1 to P16."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lettafast.receipts.accumulator import Accumulator
from wire import AGENT, CONVERSATION, RUNTIME

RECORDED = pathlib.Path(__file__).parents[2] / "fixtures" / "letta-0.34.12"
COMMAND = '{"command":"echo LETTA","description":"x"}'


def recorded(name: str) -> Accumulator:
    """A real session of one turn."""
    lines = (RECORDED / f"appserver-{name}.jsonl").read_text("utf-8").splitlines()
    said = [json.loads(line) for line in lines]
    runtime = next(
        one["frame"]["runtime"] for one in said if one["frame"]["type"] == "runtime_start_response"
    )
    found = Accumulator(runtime["agent_id"], runtime["conversation_id"], first_seq=1)
    for index, one in enumerate(said):
        if one["dir"] == "in":
            found.feed(one["frame"], "control", index)
        elif one["frame"].get("payload", {}).get("kind") == "create_message":
            found.begin_turn()
    found.finish()
    return found


class Feed:
    """Events for one turn, fed as they are made."""

    def __init__(self, first_seq: int | None = 1) -> None:
        self.found = Accumulator(AGENT, CONVERSATION, first_seq=first_seq)
        self.found.begin_turn()
        self.seq = 0
        self.numbers: dict[str, int] = {}
        self.index = 0

    def event(self, kind: str, channel: str = "control", **members: Any) -> dict[str, Any]:
        self.seq += 1
        frame = {
            "type": kind,
            "runtime": RUNTIME,
            "event_seq": self.seq,
            "idempotency_key": f"k{self.seq}",
            **members,
        }
        self.again(frame, channel)
        return frame

    def again(self, frame: dict[str, Any], channel: str = "control") -> bool:
        self.index += 1
        return self.found.feed(frame, channel, self.index)

    def delta(self, kind: str, run_id: str | None = "r1", **members: Any) -> dict[str, Any]:
        said = {"message_type": kind, "id": "m1", "run_id": run_id, **members}
        return self.event("stream_delta", delta=said)

    def fragment(self, arguments: str | None, call_id: str | None = "c1", **members: Any):
        part = {"name": "Bash", "arguments": arguments}
        if call_id is not None:
            part["tool_call_id"] = call_id
        return self.numbered("approval_request_message", tool_call=part, **members)

    def numbered(self, kind: str, run_id: str = "r1", **members: Any):
        self.numbers[run_id] = self.numbers.get(run_id, 0) + 1
        return self.delta(kind, run_id, **{"seq_id": self.numbers[run_id], **members})

    def asked(self, arguments: str = COMMAND) -> None:
        self.fragment(arguments)
        self.numbered("stop_reason", stop_reason="requires_approval")

    def start(self, arguments: str = COMMAND, **members: Any) -> None:
        said = {"tool_call_id": "c1", "tool_name": "Bash", "tool_args": arguments}
        self.delta("client_tool_start", **{**said, **members})

    def end(self, status: str = "success", **members: Any) -> None:
        self.delta("client_tool_end", **{"tool_call_id": "c1", "status": status, **members})

    def final(self, text: str = "LETTA\n", status: str = "success", **members: Any) -> None:
        one = {"tool_call_id": "c1", "status": status, "tool_return": text}
        said = {"id": "synthetic-tool-return-x", "tool_returns": [one], **one}
        self.delta("tool_return_message", **{**said, **members})

    def provisional(self, text: str) -> None:
        self.final(text, id="synthetic-tool-return-stream-c1")

    def finished(self, run_id: str = "r2") -> None:
        self.numbered("stop_reason", run_id, stop_reason="end_turn")
        self.event("turn_finished", turn_id="t1", run_id=run_id, stop_reason="end_turn")

    def rules(self) -> list[str]:
        self.found.finish()
        return [problem.rule for problem in self.found.problems]


def whole() -> Feed:
    """One call and the end of the turn."""
    feed = Feed()
    feed.asked()
    feed.start()
    feed.provisional("LETTA")
    feed.end()
    feed.final()
    feed.numbered("assistant_message", "r2", id="m2", content="done")
    feed.finished()
    return feed


# Recordings of the real App Server.


def test_parallel_calls_are_all_kept() -> None:
    found = recorded("parallel")
    assert found.problems == []
    assert [
        (call.name, call.end_status, call.final.text[:20]) for call in found.calls.values()
    ] == [
        ("Bash", "error", "Foreground `sleep` i"),
        ("Bash", "success", "A-/home/user/exp\n"),
    ]
    assert [text.text for text in found.texts] == ["Working. ", "line1\nline2\nline3\nline4"]
    assert len(found.auto_decided) == 2


def test_provisional_results_are_none() -> None:
    found = recorded("failing-unrestricted")
    assert found.problems == []
    (call,) = found.calls.values()
    assert call.provisional == 2
    assert (call.end_status, call.final.status) == ("error", "error")
    assert call.final.text == "Exit code: 3\none\ntwo\n"


def test_a_strict_session_asks() -> None:
    found = recorded("strict-strict")
    assert found.problems == []
    allowed, denied = found.calls.values()
    assert found.auto_decided == set()
    assert found.user_input == {allowed.call_id, denied.call_id}
    assert [one.tool_call_id for one in found.requests] == [allowed.call_id, denied.call_id]
    assert [one.arguments for one in found.requests] == [allowed.arguments, denied.arguments]
    assert allowed.final.text == "git version 2.39.5\n"
    assert denied.started is None
    assert (denied.end_status, denied.final.text) == ("error", "not in plan")
    assert {one.mode for one in found.devices} == {"strict"}
    assert len(found.finished) == 1


def test_a_command_in_the_background_is_seen() -> None:
    found = recorded("slow-unrestricted")
    (call,) = found.calls.values()
    assert call.final.status == "success"
    assert call.final.text.startswith("Command is still running with task ID")
    assert found.devices[-1].background != []


def test_another_tool_is_seen() -> None:
    (call,) = recorded("readtool-unrestricted").calls.values()
    assert (call.name, call.end_status) == ("Read", "error")


def test_a_tool_of_the_client_is_seen() -> None:
    found = recorded("ext")
    assert found.external_calls == 1
    assert [call.name for call in found.calls.values()] == ["submit_receipt"]


@pytest.mark.parametrize("name", ["parallel", "strict-strict", "failing-unrestricted"])
def test_every_lost_event_is_missed(name) -> None:
    lines = (RECORDED / f"appserver-{name}.jsonl").read_text("utf-8").splitlines()
    said = [json.loads(line) for line in lines]
    frames = [one["frame"] for one in said if one["dir"] == "in"]
    runtime = frames[0]["runtime"]
    last = max(frame.get("event_seq", 0) for frame in frames)
    for lost in frames:
        if lost.get("event_seq", last) == last:
            continue
        found = Accumulator(runtime["agent_id"], runtime["conversation_id"], first_seq=1)
        found.begin_turn()
        for index, frame in enumerate(frames):
            if frame is not lost:
                found.feed(frame, "control", index)
        found.finish()
        assert "P8" in {problem.rule for problem in found.problems}


# Forms of Letta Cloud.


def test_hosted_fragments_become_one_call() -> None:
    """As in letta-ai/letta-agent-sdk's `tool_lifecycle.json`: `tool_calls` is an object there."""
    feed = Feed()
    parts = [None, '{"command": "echo LETTA', "_SDK", '", "description": "Echo', ' test"}']
    for number, arguments in enumerate(parts, 20):
        part = {"tool_call_id": "c1", "name": "Bash", "arguments": arguments}
        feed.delta("approval_request_message", seq_id=number, tool_call=part, tool_calls=part)
    feed.delta("stop_reason", seq_id=30, stop_reason="requires_approval")
    assert feed.found.calls == {}  # nothing is put together before all is there
    feed.found.finish()
    (call,) = feed.found.calls.values()
    assert call.arguments == {"command": "echo LETTA_SDK", "description": "Echo test"}


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"command":"a","env":', '{"A":"1"}', ',"x":1}'],
        ["{", '"command":"a","env":{"A":"1"},', '"x":1', "}"],
        ['{"command":"a","env":{"A":"1"},"x":1}'],
    ],
)
def test_a_fragment_that_is_json_itself_is_still_a_fragment(pieces) -> None:
    feed = Feed()
    for piece in pieces:
        feed.fragment(piece)
    feed.numbered("stop_reason", stop_reason="requires_approval")
    feed.found.finish()
    assert feed.found.calls["c1"].arguments == {"command": "a", "env": {"A": "1"}, "x": 1}


def test_openai_nesting_and_indexes() -> None:
    feed = Feed()
    whole_part = {"id": "c1", "index": 0, "function": {"name": "Bash", "arguments": '{"a":'}}
    feed.numbered("tool_call_message", tool_calls=[whole_part])
    feed.numbered("tool_call_message", tool_call={"index": 0, "function": {"arguments": "1}"}})
    feed.numbered("stop_reason", stop_reason="requires_approval")
    feed.found.finish()
    assert (feed.found.calls["c1"].name, feed.found.calls["c1"].arguments) == ("Bash", {"a": 1})


def test_a_name_may_come_later() -> None:
    feed = Feed()
    for name in ("?", None, "Bash", ""):
        part = {"tool_call_id": "c1", "name": name, "arguments": ""}
        feed.numbered("approval_request_message", tool_call=part)
    feed.found.finish()
    assert feed.found.calls["c1"].name == "Bash"


def test_several_calls_in_one_message() -> None:
    feed = Feed()
    parts = [{"tool_call_id": f"c{n}", "name": "Bash", "arguments": "{}"} for n in (1, 2)]
    feed.numbered("approval_request_message", tool_call=parts[0], tool_calls=parts)
    feed.numbered("stop_reason", stop_reason="requires_approval")
    feed.found.finish()
    assert [call.arguments for call in feed.found.calls.values()] == [{}, {}]


def test_texts_are_told_apart_by_otid() -> None:
    feed = Feed()
    for otid, text in [("o1", "a"), ("o2", "x"), ("o1", "b"), ("o2", "y")]:
        feed.numbered("assistant_message", otid=otid, content=text)
    feed.found.finish()
    assert [(text.otid, text.text) for text in feed.found.texts] == [("o1", "ab"), ("o2", "xy")]


def test_a_text_may_gain_an_otid() -> None:
    feed = Feed()
    for otid, text in [(None, "a"), ("o1", "b"), (None, "c"), ("o2", "x")]:
        feed.numbered("assistant_message", otid=otid, content=[{"type": "text", "text": text}])
    feed.found.finish()
    assert [text.text for text in feed.found.texts] == ["abc", "x"]


def test_both_sockets_carry_the_feed() -> None:
    feed = Feed()
    frames = [feed.event("stream_delta", delta={"message_type": "ping"}) for _ in range(3)]
    for number, frame in enumerate(frames):
        assert not feed.again({**frame, "seq": number}, "stream")
    assert feed.rules() == ["P12"]


def test_one_socket_may_overtake_the_other() -> None:
    model = whole()
    frames = [event.frame for event in model.found._events.values()]
    late = {"tool_return_message", "client_tool_end", "assistant_message"}
    first = [f for f in frames if f.get("delta", {}).get("message_type") not in late]
    found = Accumulator(AGENT, CONVERSATION, first_seq=1)
    found.begin_turn()
    for channel, some in (("control", first), ("stream", frames)):
        for index, frame in enumerate(some):
            found.feed(frame, channel, index)
    found.finish()
    assert found.problems == []
    assert found.calls["c1"].final.text == "LETTA\n"


def test_what_the_other_socket_lost_is_there() -> None:
    frames = [event.frame for event in whole().found._events.values()]
    found = Accumulator(AGENT, CONVERSATION, first_seq=1)
    found.begin_turn()
    for channel, odd in (("control", 0), ("stream", 1)):
        for index, frame in enumerate(frames):
            if index % 2 == odd:
                found.feed(frame, channel, index)
    found.finish()
    assert found.problems == []


# The rules.


def test_a_whole_turn_breaks_none() -> None:
    feed = whole()
    assert feed.rules() == []
    (call,) = feed.found.calls.values()
    assert (call.final.text, call.provisional) == ("LETTA\n", 1)


def test_p1_a_fragment_names_no_call() -> None:
    feed = Feed()
    feed.fragment("{}", None)
    assert "P1" in feed.rules()


def test_p1_a_continuation_of_nothing() -> None:
    feed = Feed()
    feed.numbered("tool_call_message", tool_call={"index": 3, "arguments": "{}"})
    assert "P1" in feed.rules()


def test_p1_two_calls_in_one_place() -> None:
    feed = Feed()
    for call_id in ("c1", "c2"):
        part = {"index": 0, "tool_call_id": call_id, "name": "Bash", "arguments": ""}
        feed.numbered("tool_call_message", tool_call=part)
    assert "P1" in feed.rules()


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        "[]",
        '"x"',
        "{} {}",
        '{"command":"a","command":"b"}',
        '{"a":NaN}',
        '{"a":1e999}',
        '{"a":"\\ud83d"}',
        '{"a":9007199254740993}',
        "[" * 5000,
    ],
)
def test_p2_arguments_that_are_not_one_object(arguments) -> None:
    feed = Feed()
    feed.asked(arguments)
    assert "P2" in feed.rules()
    assert feed.found.calls["c1"].arguments is None


def test_p2_a_start_before_the_arguments_are_whole() -> None:
    feed = Feed()
    feed.fragment(COMMAND)
    feed.start()
    assert "P2" in feed.rules()


def test_p3_a_fragment_after_the_arguments_are_whole() -> None:
    feed = Feed()
    feed.asked()
    feed.fragment("x")
    assert "P3" in feed.rules()


def test_p3_not_for_a_replay() -> None:
    feed = Feed()
    fragment = feed.fragment(COMMAND)
    feed.numbered("stop_reason", stop_reason="requires_approval")
    feed.delta(**{"kind": fragment["delta"]["message_type"], **_members(fragment)})
    feed.start()
    feed.end()
    feed.final()
    assert feed.rules() == ["P12"]


def _members(frame: dict[str, Any]) -> dict[str, Any]:
    return {name: v for name, v in frame["delta"].items() if name != "message_type"}


@pytest.mark.parametrize(
    "members",
    [
        {"arguments": '{"command":"echo OTHER","description":"x"}'},
        {"arguments": "{"},
        {"tool_name": "Read"},
        {"tool_args": {"command": "echo LETTA", "description": "x"}},
    ],
)
def test_p4_another_call_is_started(members) -> None:
    feed = Feed()
    feed.asked()
    feed.start(**members)
    assert "P4" in feed.rules()


def test_p4_not_for_another_spelling() -> None:
    feed = Feed()
    feed.asked()
    feed.start('{ "description": "x", "command": "echo\\u0020LETTA" }')
    assert "P4" not in feed.rules()


def test_p4_true_is_not_one() -> None:
    feed = Feed()
    feed.asked('{"a":1}')
    feed.start('{"a":true}')
    assert "P4" in feed.rules()


@pytest.mark.parametrize("repeated", ["start", "end", "final"])
@pytest.mark.parametrize("changed", [False, True])
def test_p5_what_happens_once_happens_twice(repeated, changed) -> None:
    feed = whole()
    if repeated == "final":
        feed.final("OTHER" if changed else "LETTA\n")
    else:
        getattr(feed, repeated)(**({"status": "error"} if changed and repeated == "end" else {}))
    assert "P5" in feed.rules()


def test_p5_two_copies_of_an_event_differ() -> None:
    feed = Feed()
    frame = feed.delta("assistant_message", content="a")
    changed = {**frame, "delta": {**frame["delta"], "content": "b"}}
    assert not feed.again(changed, "stream")
    assert "P5" in feed.rules()


def test_p5_two_events_have_one_number() -> None:
    feed = Feed()
    frame = feed.delta("ping")
    feed.again({**frame, "idempotency_key": "other"})
    assert "P5" in feed.rules()


def test_p5_two_deltas_of_a_run_have_one_number() -> None:
    feed = Feed()
    for text in "ab":
        feed.delta("assistant_message", seq_id=1, content=text)
    assert "P5" in feed.rules()


def test_p5_two_answers_differ() -> None:
    feed = Feed()
    answer = {"type": "sync_response", "request_id": "q", "success": True}
    assert feed.again(answer)
    assert not feed.again({**answer, "seq": 7}, "stream")
    assert "P5" not in [problem.rule for problem in feed.found.problems]
    assert not feed.again({**answer, "success": False})
    assert "P5" in feed.rules()


@pytest.mark.parametrize(
    ("end", "final"), [("success", "error"), ("error", "success"), ("success", None), ("ok", "ok")]
)
def test_p6_the_end_and_the_result_disagree(end, final) -> None:
    feed = Feed()
    feed.asked()
    feed.start()
    feed.end(end)
    feed.final(status=final)
    assert "P6" in feed.rules()


def test_p7_a_result_before_the_end() -> None:
    feed = Feed()
    feed.asked()
    feed.start()
    feed.final()
    assert "P7" in feed.rules()
    assert feed.found.calls["c1"].done is None


@pytest.mark.parametrize("what", ["start", "end", "final"])
def test_p7_a_call_that_nobody_asked_for(what) -> None:
    feed = Feed()
    getattr(feed, what)()
    assert "P7" in feed.rules()


def test_p7_success_without_a_start() -> None:
    feed = Feed()
    feed.asked()
    feed.end()
    feed.final()
    assert "P7" in feed.rules()


def test_p7_an_unknown_message_about_a_call() -> None:
    feed = Feed()
    feed.delta("server_tool_message", tool_call_id="c1")
    assert "P7" in feed.rules()


def test_p7_an_unknown_event_about_a_call() -> None:
    feed = Feed()
    feed.event("something_new", tool_call_id="c1")
    feed.found.finish()
    assert {problem.rule for problem in feed.found.problems} >= {"P7"}
    assert feed.found.unknown == {}


def test_p7_a_call_that_is_only_said_to_be_executed() -> None:
    feed = Feed()
    feed.event("update_loop_status", loop_status={"executing_tool_call_ids": ["c1"]})
    feed.found.finish()
    said = [problem.sentence for problem in feed.found.problems if problem.rule == "P7"]
    assert said == ["a call was executed that nobody asked for: 'c1'"]


def test_an_unknown_message_about_none_is_counted() -> None:
    feed = Feed()
    feed.delta("something_new", text="x")
    feed.event("update_something")
    assert feed.rules() == ["P12"]
    assert feed.found.unknown == {"something_new": 1, "update_something": 1}


def test_p8_a_gap() -> None:
    feed = Feed()
    feed.delta("ping")
    feed.seq += 1
    feed.delta("ping")
    assert "P8" in feed.rules()


@pytest.mark.parametrize(("first", "expected"), [(1, True), (None, False)])
def test_p8_a_gap_before_the_first_event(first, expected) -> None:
    feed = Feed(first)
    feed.seq = 4
    feed.delta("ping")
    assert ("P8" in feed.rules()) is expected


def test_p8_out_of_order_on_one_socket() -> None:
    feed = Feed()
    frames = [event.frame for event in whole().found._events.values()]
    for frame in [frames[1], frames[0], *frames[2:]]:
        feed.again(frame)
    assert "P8" in feed.rules()


def test_p8_out_of_order_within_a_run() -> None:
    feed = Feed()
    for number in (5, 4):
        feed.delta("assistant_message", seq_id=number, content="a")
    assert "P8" in feed.rules()


@pytest.mark.parametrize("member", ["event_seq", "idempotency_key"])
def test_p8_an_event_without_its_number_or_key(member) -> None:
    feed = Feed()
    frame = {"type": "stream_delta", "runtime": RUNTIME, "event_seq": 1, "idempotency_key": "k"}
    del frame[member]
    feed.again(frame)
    assert "P8" in feed.rules()


@pytest.mark.parametrize(
    "members",
    [
        {"runtime": {**RUNTIME, "agent_id": "agent-2"}},
        {"runtime": {**RUNTIME, "conversation_id": "conv-2"}},
        {"runtime": None},
        {"subagent_id": "sub"},
    ],
)
def test_p9_a_frame_of_another(members) -> None:
    feed = Feed()
    feed.event("stream_delta", delta={"message_type": "assistant_message"}, **members)
    assert "P9" in feed.rules()
    assert feed.found.texts == []


@pytest.mark.parametrize(
    "members", [{"agent_id": "agent-2"}, {"conversation_id": "conv-2"}, {"subagent_id": "sub"}]
)
def test_p9_a_delta_of_another(members) -> None:
    feed = Feed()
    feed.delta("assistant_message", content="x", **members)
    assert "P9" in feed.rules()
    assert feed.found.texts == []


@pytest.mark.parametrize("what", ["fragment", "start", "end", "final", "provisional"])
def test_p10_two_runs_for_one_call(what) -> None:
    feed = Feed()
    feed.fragment(COMMAND)
    if what == "fragment":
        part = {"tool_call_id": "c1", "name": "Bash", "arguments": "x"}
        feed.delta("approval_request_message", "r9", tool_call=part)
    else:
        feed.numbered("stop_reason", stop_reason="requires_approval")
        steps = ["start", "provisional", "end", "final"]
        for step in steps[: steps.index(what)]:
            feed.provisional("x") if step == "provisional" else getattr(feed, step)()
        if what == "provisional":
            feed.final("x", id="synthetic-tool-return-stream-c1", run_id="r9")
        else:
            getattr(feed, what)(run_id="r9")
    assert "P10" in feed.rules()


@pytest.mark.parametrize("steps", [[], ["start"], ["start", "end"]])
def test_p11_a_call_without_a_result(steps) -> None:
    feed = Feed()
    feed.asked()
    for step in steps:
        getattr(feed, step)()
    assert "P11" in feed.rules()


def test_p11_a_provisional_result_is_none() -> None:
    feed = Feed()
    feed.asked()
    feed.start()
    feed.provisional("LETTA\n")
    feed.end()
    assert "P11" in feed.rules()
    assert feed.found.calls["c1"].final is None


def test_p12_only_turn_finished() -> None:
    feed = Feed()
    feed.numbered("assistant_message", content="x")
    feed.event("turn_finished", turn_id="t1", run_id="r1", stop_reason="end_turn")
    assert "P12" in feed.rules()


def test_p12_no_end_of_the_turn() -> None:
    feed = Feed()
    feed.numbered("stop_reason", stop_reason="end_turn")
    assert "P12" in feed.rules()


def test_p12_two_reasons() -> None:
    feed = Feed()
    feed.numbered("stop_reason", "r2", stop_reason="cancelled")
    feed.finished()
    assert "P12" in feed.rules()


def test_p12_a_turn_that_is_none_of_ours() -> None:
    feed = whole()
    feed.finished()
    assert "P12" in feed.rules()


def test_p13_a_run_that_was_not_seen() -> None:
    feed = Feed()
    feed.numbered("stop_reason", stop_reason="end_turn")
    feed.event("turn_finished", turn_id="t1", run_id="r9", stop_reason="end_turn")
    assert "P13" in feed.rules()


def test_messages_of_others_are_kept() -> None:
    feed = whole()
    feed.delta("user_message", otid="other", content="<task-notification>")
    status = {"client_message_ids_by_run_id": {"r1": ["cm-1"], "r2": ["cm-2"]}}
    feed.event("update_loop_status", loop_status=status)
    assert feed.rules() == []
    assert [one["otid"] for one in feed.found.user_messages] == ["other"]
    assert feed.found.client_message_ids == {"cm-1", "cm-2"}


@pytest.mark.parametrize("kind", ["summary_message", "event_message"])
def test_p15_a_compaction(kind) -> None:
    feed = Feed()
    feed.delta(kind)
    assert "P15" in feed.rules()


@pytest.mark.parametrize("kind", ["loop_error", "error_message"])
def test_p16_an_error_in_the_turn(kind) -> None:
    feed = Feed()
    feed.delta(kind)
    assert "P16" in feed.rules()


def test_p16_what_cannot_be_read() -> None:
    feed = Feed()
    feed.found.unreadable("frame 3")
    feed.again({"type": "error"})
    feed.event("stream_delta", delta={"message_type": "assistant_message", "content": 2**60})
    assert feed.rules().count("P16") == 3


@pytest.mark.parametrize("content", [None, 1, [{"type": "image"}], [{"text": "x"}], ["x"]])
def test_what_is_no_text_is_no_evidence(content) -> None:
    feed = Feed()
    feed.delta("assistant_message", content=content)
    assert "P1" in feed.rules()


@pytest.mark.parametrize(
    "members",
    [
        {"tool_returns": []},
        {"tool_returns": [{"tool_call_id": "c1", "status": "success", "tool_return": "OTHER"}]},
        {"tool_returns": "x"},
        {"tool_return": 1},
        {"id": None},
    ],
)
def test_a_result_that_says_two_things_is_none(members) -> None:
    feed = Feed()
    feed.asked()
    feed.start()
    feed.end()
    if members == {"tool_returns": []}:
        members = {**members, "tool_call_id": None}
    feed.final(**members)
    assert set(feed.rules()) & {"P1", "P11"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["delta", "message_type", "tool_call", "tool_calls", "tool_call_id", "id", "run_id"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)
KINDS = st.sampled_from(
    [
        "assistant_message",
        "approval_request_message",
        "client_tool_start",
        "client_tool_end",
        "tool_return_message",
        "stop_reason",
        "approval_classification_end",
        "user_message",
    ]
)


@given(st.lists(st.tuples(KINDS, JSON, JSON, JSON), max_size=5))
def test_any_deltas_can_be_fed(deltas) -> None:
    feed = Feed()
    for kind, one, two, three in deltas:
        members = one if isinstance(one, dict) else {"content": one, "tool_returns": two}
        feed.event(
            "stream_delta",
            delta={"run_id": "r1", "id": "m1", "tool_call": three, **members, "message_type": kind},
        )
        feed.event("update_loop_status", loop_status=one)
        feed.event("control_request", request=two)
        feed.event("update_device_status", device_status=three)
    feed.found.finish()
