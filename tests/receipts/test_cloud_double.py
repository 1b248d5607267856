"""The double of Letta Cloud keeps the rules that it is there to have kept by others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from cloud_double import Answer, CloudDouble, Fault, delta, of_type
from session_feed import Hosted, Scripted

KEY = "sk-of-the-double"
HEADERS = {"Authorization": f"Bearer {KEY}"}
Frame = dict[str, Any]
SECONDS = 10


def numbered(*frames: Frame) -> list[Frame]:
    return [
        {**frame, "event_seq": at, "idempotency_key": f"{frame['type']}:{at}"}
        for at, frame in enumerate(frames, 1)
    ]


def streamed(message_type: str, seq_id: int, **members: Any) -> Frame:
    said = {"message_type": message_type, "run_id": "run-1", "seq_id": seq_id, "id": "m", **members}
    return {"type": "stream_delta", "delta": said}


CALL = {"tool_call_id": "call-1", "name": "Bash", "arguments": '{"command":"git status"}'}
TURN = numbered(
    streamed("approval_request_message", 1, tool_call=CALL),
    streamed("usage_statistics", 2),
    streamed("stop_reason", 3, stop_reason="end_turn"),
    {"type": "turn_finished", "run_id": "run-1"},
)


def one_turn(said: Frame) -> list[Frame]:
    return TURN if said["type"] == "input" else []


Sockets = dict[str, ClientConnection]


@contextmanager
def sockets(cloud: CloudDouble) -> Iterator[Sockets]:
    base = f"{cloud.url.replace('http', 'ws')}/v1/environments/connection-1/status/ws"
    with (
        connect(f"{base}?channel=control", additional_headers=HEADERS, proxy=None) as control,
        connect(f"{base}?channel=stream", additional_headers=HEADERS, proxy=None) as stream,
    ):
        yield {"control": control, "stream": stream}


def received(socket: ClientConnection, count: int) -> list[Frame]:
    """So many frames, each acknowledged."""
    frames = []
    for _ in range(count):
        frame = json.loads(socket.recv(timeout=SECONDS))
        with suppress(ConnectionClosed):  # the last frames may be behind a close
            socket.send(json.dumps({"type": "ack", "seq": frame["seq"]}))
        frames.append(frame)
    return frames


def events(frames: list[Frame]) -> list[int]:
    return [frame["event_seq"] for frame in frames]


def say(sockets: Sockets, kind: str = "input") -> None:
    sockets["control"].send(json.dumps({"type": kind}))


def settled(cloud: CloudDouble, sockets: Sockets) -> None:
    """All that was sent has been taken: a pong is answered after it."""
    for socket in sockets.values():
        socket.send('{"type":"ping"}')
        assert json.loads(socket.recv(timeout=SECONDS)) == {"type": "pong"}


def test_rest_from_the_conversation_to_the_end_of_its_sandbox() -> None:
    stored = [{"id": f"message-{n}"} for n in range(3)]
    with (
        CloudDouble(Scripted(one_turn, stored), KEY) as cloud,
        httpx.Client(base_url=cloud.url, headers=HEADERS, trust_env=False) as http,
    ):
        made = http.post("/v1/conversations/?agent_id=agent-1", json={}).json()
        box = http.post("/v1/agents/agent-1/sandboxes", json={"conversationId": made["id"]}).json()
        assert (box["conversationId"], box["resumed"]) == (made["id"], False)
        refresh = f"/v1/sandboxes/{box['sandboxId']}/refresh"
        assert http.post(refresh, json={"ttlMinutes": 10}).json()["ttlMinutes"] == 10
        assert http.get(f"/v1/environments/{box['deviceId']}").json()["connectionId"]
        pages = f"/v1/conversations/{made['id']}/messages?order=asc&limit=2"
        first = http.get(pages).json()
        assert first == stored[:2]
        assert http.get(f"{pages}&after={first[-1]['id']}").json() == stored[2:]
        assert cloud.running == {box["sandboxId"]}
        assert http.post(f"/v1/sandboxes/{box['sandboxId']}/terminate", json={}).status_code == 200
        assert cloud.running == set()
        gone = http.post(refresh, json={"ttlMinutes": 10})
        assert (gone.status_code, gone.json()["errorCode"]) == (404, "SANDBOX_NOT_FOUND")
    assert cloud.routes() == [
        "conversation", "sandbox", "refresh", "environment", "history", "history", "terminate",
        "refresh",
    ]  # fmt: skip


def test_answers_come_once_and_in_order() -> None:
    offline = Answer(change={"connectionId": None})
    answers = {"environment": [Answer(404, {"error": "no"}), offline], "terminate": [Answer(500)]}
    with (
        CloudDouble(Scripted(one_turn), KEY, answers=answers) as cloud,
        httpx.Client(base_url=cloud.url, headers=HEADERS, trust_env=False) as http,
    ):
        path = "/v1/environments/device-1"
        assert http.get(path).status_code == 404
        assert http.get(path).json()["connectionId"] is None
        assert http.get(path).json()["connectionId"] == "connection-of-device-1"
        box = http.post("/v1/agents/a/sandboxes", json={"conversationId": "conv-1"}).json()
        end = f"/v1/sandboxes/{box['sandboxId']}/terminate"
        assert http.post(end, json={}).status_code == 500
        assert cloud.running
        assert http.post(end, json={}).status_code == 200


def test_nothing_without_the_key() -> None:
    with CloudDouble(Scripted(one_turn), KEY) as cloud:
        said = httpx.post(f"{cloud.url}/v1/conversations/?agent_id=a", json={}, trust_env=False)
        assert said.status_code == 401
        with pytest.raises(InvalidStatus, match="401"):
            connect(
                f"{cloud.url.replace('http', 'ws')}/v1/environments/c/status/ws?channel=control"
            )
        assert [asked.authorized for asked in cloud.asked] == [False, False]


def test_both_sockets_carry_the_whole_feed_each_with_its_own_numbers() -> None:
    with CloudDouble(Scripted(one_turn), KEY) as cloud, sockets(cloud) as both:
        say(both)
        for socket in both.values():
            frames = received(socket, 4)
            assert events(frames) == [1, 2, 3, 4]
            assert [frame["seq"] for frame in frames] == [1, 2, 3, 4]
        settled(cloud, both)
        assert cloud.unacknowledged == {"control": 0, "stream": 0}
        assert cloud.wrongs == []


def test_what_breaks_the_rules_of_the_relay_is_told() -> None:
    with CloudDouble(Scripted(one_turn), KEY) as cloud, sockets(cloud) as both:
        say(both)
        seqs = [json.loads(both["stream"].recv(timeout=SECONDS))["seq"] for _ in range(4)]
        both["stream"].send(json.dumps({"type": "ack", "seq": seqs[1]}))
        both["stream"].send(json.dumps({"type": "input"}))
        received(both["control"], 4)
        settled(cloud, both)
        assert cloud.wrongs == ["stream: ack of 2, not [1]", "input on stream"]
        assert cloud.unacknowledged == {"control": 0, "stream": 4}


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (Fault("drop", delta("usage_statistics")), [1, 3, 4]),
        (Fault("repeat", delta("usage_statistics")), [1, 2, 2, 3, 4]),
        (Fault("swap", delta("usage_statistics")), [1, 3, 2, 4]),
        (Fault("delay", delta("usage_statistics"), seconds=0.05), [1, 2, 3, 4]),
        (Fault("replace", delta("usage_statistics"), data={"event_seq": 9}), [1, 9, 3, 4]),
        (Fault("precede", delta("usage_statistics"), data={"event_seq": 9}), [1, 9, 2, 3, 4]),
        (Fault("drop", delta("usage_statistics"), "control"), [1, 2, 3, 4]),
        (Fault("drop", of_type("stream_delta"), nth=3), [1, 2, 4]),
    ],
)
def test_faults_of_the_feed(fault: Fault, seen: list[int]) -> None:
    with CloudDouble(Scripted(one_turn), KEY, faults=[fault]) as cloud, sockets(cloud) as both:
        say(both)
        assert events(received(both["stream"], len(seen))) == seen


@pytest.mark.parametrize(("what", "code"), [("close", 1011), ("cut", None)])
def test_faults_that_end_a_socket(what: Any, code: int | None) -> None:
    fault = Fault(what, of_type("turn_finished"), "stream")
    with CloudDouble(Scripted(one_turn), KEY, faults=[fault]) as cloud, sockets(cloud) as both:
        say(both)
        assert events(received(both["stream"], 3)) == [1, 2, 3]
        with pytest.raises(ConnectionClosed) as closed:
            both["stream"].recv(timeout=SECONDS)
        assert (closed.value.rcvd.code if closed.value.rcvd else None) == code
        assert events(received(both["control"], 4)) == [1, 2, 3, 4]


def test_bytes_that_are_no_text() -> None:
    fault = Fault("replace", of_type("turn_finished"), "stream", data=b"\xff\xfe")
    with CloudDouble(Scripted(one_turn), KEY, faults=[fault]) as cloud, sockets(cloud) as both:
        say(both)
        received(both["stream"], 3)
        assert both["stream"].recv(timeout=SECONDS, decode=False) == b"\xff\xfe"


def test_split_channels_let_the_end_of_a_turn_overtake_its_deltas() -> None:
    fault = Fault("delay", delta("stop_reason"), "stream", seconds=0.2)
    with (
        CloudDouble(Scripted(one_turn), KEY, faults=[fault], split=True) as cloud,
        sockets(cloud) as both,
    ):
        say(both)
        assert events(received(both["control"], 1)) == [4]
        received(both["stream"], 2)
        with pytest.raises(TimeoutError):
            both["stream"].recv(timeout=0.05)
        assert json.loads(both["stream"].recv(timeout=SECONDS))["event_seq"] == 3


def test_the_end_of_the_sandbox_ends_its_sockets() -> None:
    with (
        CloudDouble(Scripted(one_turn), KEY) as cloud,
        httpx.Client(base_url=cloud.url, headers=HEADERS, trust_env=False) as http,
    ):
        box = http.post("/v1/agents/a/sandboxes", json={"conversationId": "conv-1"}).json()
        with sockets(cloud) as both:
            http.post(f"/v1/sandboxes/{box['sandboxId']}/terminate", json={})
            for socket in both.values():
                with pytest.raises(ConnectionClosed) as closed:
                    socket.recv(timeout=SECONDS)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1001


def test_hosted_frames_come_in_fragments_and_without_gaps() -> None:
    hosted = Hosted(Scripted(one_turn), pieces=3)
    with CloudDouble(hosted, KEY) as cloud, sockets(cloud) as both:
        say(both)
        frames = received(both["stream"], 7)
        assert events(frames) == list(range(1, 8))
        assert len({frame["idempotency_key"] for frame in frames}) == 7
        deltas = [frame["delta"] for frame in frames[:-1]]
        assert [each["seq_id"] for each in deltas] == list(range(1, 7))
        calls = [each["tool_call"] for each in deltas if "tool_call" in each]
        assert calls[0]["arguments"] is None
        assert "".join(call["arguments"] for call in calls[1:]) == CALL["arguments"]
        assert [each["message_type"] for each in deltas[4:]] == ["stop_reason", "usage_statistics"]


def test_hosted_results_are_stored_as_answers_to_an_approval() -> None:
    result = {"tool_call_id": "call-1", "status": "success", "tool_return": "done"}
    stored = [{"id": "m", "message_type": "tool_return_message", **result}]
    assert Hosted(Scripted(one_turn, stored)).history("conv-1") == [
        {
            "id": "m",
            "message_type": "approval_response_message",
            "approvals": [{"type": "tool", **result}],
        }
    ]
