"""What stands behind the double of Letta Cloud: a real App Server, or frames that a test wrote.

`Hosted` gives frames the form that a recording of the real Letta Cloud has where the local backend
of Letta Code differs (letta-ai/letta-agent-sdk, `src/tests/fixtures/live/tool_lifecycle.json`):
arguments and texts in fragments, an `otid`, `tool_calls` as one object, and the usage after the
stop reason; and stored results the form that the types of `letta-client` have for them.
"""

from __future__ import annotations

import json
import queue
import uuid
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Protocol

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

SECONDS = 20.0
"""Within which an App Server must answer."""
Json = dict[str, Any]


class Feed(Protocol):
    """One session's frames, as text."""

    def send(self, text: str) -> None:
        """Takes what the client sent."""

    def receive(self) -> str | None:
        """Waits for the next frame; None at the end."""

    def close(self) -> None:
        """Ends `receive`, also one that waits."""


class Backend(Protocol):
    """What the cloud keeps, and what runs in its sandboxes."""

    def conversation(self, body: Json) -> str:
        """The id of a new conversation; `body` names its agent."""

    def history(self, conversation_id: str) -> list[Json]:
        """The stored messages, oldest first."""

    def feed(self) -> Feed:
        """A new session."""


class AppServer:
    """The App Server at `url` (`ws://127.0.0.1:PORT/ws`) is both."""

    def __init__(self, url: str) -> None:
        self._url = url

    def conversation(self, body: Json) -> str:
        said = self._ask([{"type": "conversation_create", "body": body}])[0]
        return str(said["conversation"]["id"])

    def history(self, conversation_id: str) -> list[Json]:
        messages: list[Json] = []
        query: Json = {"order": "desc", "limit": 100}
        while True:
            request = {"type": "conversation_messages_list", "conversation_id": conversation_id}
            said = self._ask([{**request, "query": query}])[0]
            messages += said["messages"]
            if not said.get("has_more"):
                return messages[::-1]
            query = {**query, "before": said["next_before"]}

    def feed(self) -> Feed:
        return _AppServerFeed(self._url)

    def _ask(self, requests: list[Json]) -> list[Json]:
        answers = []
        with connect(self._url, proxy=None, compression=None, max_size=None) as socket:
            for at, request in enumerate(requests):
                socket.send(json.dumps({**request, "request_id": f"double-{at}"}))
                while True:
                    said = json.loads(socket.recv(timeout=SECONDS))
                    if said.get("request_id") == f"double-{at}":
                        break
                assert said.get("success") is True, said
                answers.append(said)
        return answers


class _AppServerFeed:
    def __init__(self, url: str) -> None:
        self._stack = ExitStack()
        connecting = connect(url, proxy=None, compression=None, max_size=None)
        self._socket = self._stack.enter_context(connecting)

    def send(self, text: str) -> None:
        self._socket.send(text)

    def receive(self) -> str | None:
        try:
            return str(self._socket.recv())
        except ConnectionClosed:
            return None

    def close(self) -> None:
        self._stack.close()


class Scripted:
    """A test's own session: `answer` gives the frames that follow one of the client's.

    A frame may be text, for what no JSON object is.
    """

    def __init__(
        self,
        answer: Callable[[Json], Iterable[Json | str]],
        messages: Iterable[Json] = (),
        conversation_id: str = "conv-00000000-0000-4000-8000-000000000001",
    ) -> None:
        self._answer = answer
        self._messages = list(messages)
        self._conversation_id = conversation_id

    def conversation(self, body: Json) -> str:
        return self._conversation_id

    def history(self, conversation_id: str) -> list[Json]:
        return self._messages

    def feed(self) -> Feed:
        return _ScriptedFeed(self._answer)


class _ScriptedFeed:
    def __init__(self, answer: Callable[[Json], Iterable[Json | str]]) -> None:
        self._answer = answer
        self._frames: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def send(self, text: str) -> None:
        for frame in self._answer(json.loads(text)):
            self._frames.put(frame if isinstance(frame, str) else json.dumps(frame))

    def receive(self) -> str | None:
        return self._frames.get()

    def close(self) -> None:
        self._frames.put(None)


class Hosted:
    """Another backend, whose frames look as those of the hosted Letta do."""

    def __init__(self, backend: Backend, pieces: int = 5) -> None:
        """`pieces`: into how many fragments arguments and texts are cut."""
        self._backend = backend
        self._pieces = pieces

    def conversation(self, body: Json) -> str:
        return self._backend.conversation(body)

    def history(self, conversation_id: str) -> list[Json]:
        return [_stored(message) for message in self._backend.history(conversation_id)]

    def feed(self) -> Feed:
        return _HostedFeed(self._backend.feed(), self._pieces)


def _stored(message: Json) -> Json:
    """A result as the answer to an approval request, as `letta-client` has a type for it."""
    if message.get("message_type") != "tool_return_message":
        return message
    members = ("tool_call_id", "status", "tool_return")
    result = {"type": "tool", **{name: message[name] for name in members}}
    kept = {name: value for name, value in message.items() if name not in members}
    return {**kept, "message_type": "approval_response_message", "approvals": [result]}


class _HostedFeed:
    def __init__(self, feed: Feed, pieces: int) -> None:
        self._feed = feed
        self._pieces = pieces
        self._ready: list[str] = []
        self._usage: Json | None = None
        # By how much the numbers have moved: of all events, and of each run's messages.
        self._events = 0
        self._messages: dict[Any, int] = {}

    def send(self, text: str) -> None:
        self._feed.send(text)

    def close(self) -> None:
        self._feed.close()

    def receive(self) -> str | None:
        while not self._ready:
            text = self._feed.receive()
            if text is None:
                return None
            self._ready = [json.dumps(frame) for frame in self._changed(json.loads(text))]
        return self._ready.pop(0)

    def _changed(self, frame: Json) -> list[Json]:
        delta = frame.get("delta", {})
        run = delta.get("run_id")
        if "event_seq" in frame:
            frame["event_seq"] += self._events
        if "seq_id" in delta:
            delta["seq_id"] += self._messages.get(run, 0)
        kind = delta.get("message_type")
        if kind == "usage_statistics" and self._usage is None:
            self._usage = frame
            return []
        if self._usage is not None:
            usage, self._usage = self._usage, None
            if kind != "stop_reason":
                return [usage, frame]
            for holder, key in ((frame, "event_seq"), (delta, "seq_id")):
                other = usage if holder is frame else usage["delta"]
                holder[key], other[key] = other[key], holder[key]
            return [frame, usage]
        if kind == "approval_request_message":
            return self._in_fragments(frame, list(self._of_a_call(delta)))
        if kind == "assistant_message" and isinstance(delta.get("content"), list):
            text = "".join(part.get("text", "") for part in delta["content"])
            return self._in_fragments(frame, [{"content": piece} for piece in self._cut(text)])
        return [frame]

    def _of_a_call(self, delta: Json) -> Iterable[Json]:
        call = delta["tool_call"]
        first = {**call, "arguments": None}
        yield {"tool_call": first, "tool_calls": first}
        for piece in self._cut(call["arguments"]):
            more = {"tool_call_id": call["tool_call_id"], "arguments": piece}
            yield {"tool_call": more, "tool_calls": more}

    def _in_fragments(self, frame: Json, changes: list[Json]) -> list[Json]:
        delta = frame["delta"]
        otid = str(uuid.uuid5(uuid.NAMESPACE_OID, str(delta.get("id"))))
        fragments = [
            {
                **frame,
                "event_seq": frame["event_seq"] + at,
                "idempotency_key": f"{frame['idempotency_key']}-{at}",
                "delta": {**delta, **change, "otid": otid, "seq_id": delta["seq_id"] + at},
            }
            for at, change in enumerate(changes)
        ]
        more = len(changes) - 1
        self._events += more
        self._messages[delta.get("run_id")] = self._messages.get(delta.get("run_id"), 0) + more
        return fragments

    def _cut(self, text: str) -> list[str]:
        size = max(1, -(-len(text) // self._pieces))
        return [text[at : at + size] for at in range(0, len(text), size)] or [""]
