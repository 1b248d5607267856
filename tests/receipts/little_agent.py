"""A script in the place of Letta Code: it plays turns, and runs nothing.

It is a double. Its frames have the form of the recordings `appserver-*.jsonl` of Letta Code
0.34.12, so far as what is tested with it looks at them; the end-to-end tests drive the real one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import time
import uuid

from websockets.asyncio.server import serve

AGENT = "agent-1"
CONVERSATION = "conv-1"
RUNTIME = {"agent_id": AGENT, "conversation_id": CONVERSATION}


class Call:
    """One tool call of the script, and what it returns."""

    def __init__(self, command, output, status="success"):
        self.command, self.output, self.status = command, output, status
        self.tool_call_id = f"call-{uuid.uuid4().hex[:8]}"


class LittleAgent:
    """Plays `turns`, each its calls and then its final text, one for each message.

    `faults` names what goes wrong. It is a `Backend` of `session_feed`; `received` has what came.
    A number among its frames is a pause in seconds, None closes the connection.
    """

    def __init__(self, turns=(), *, mode="strict", faults=()):
        self.turns = [list(turn) for turn in turns]
        self.mode = mode
        self.faults = set(faults)
        self.received = []
        self.messages = []
        self.event_seq = 0
        self.waiting = None

    def of_type(self, kind):
        return [said for said in self.received if said.get("type") == kind]

    def approvals(self):
        return [
            said["payload"]
            for said in self.of_type("input")
            if said["payload"]["kind"] == "approval_response"
        ]

    def conversation(self, body):
        return CONVERSATION

    def history(self, conversation_id):
        return self.messages

    def feed(self):
        return _Feed(self)

    def answer(self, said):
        """The frames that follow one of the client's."""
        self.received.append(said)
        kind = said["type"]
        if kind == "runtime_start":
            yield from self._start(said)
        elif kind == "sync" and "no_sync" not in self.faults:
            yield self._device()
            yield self._answer(said, "sync_response", runtime=RUNTIME, success=True)
        elif kind == "conversation_messages_list":
            yield self._history(said)
        elif kind == "input" and said["payload"]["kind"] == "create_message":
            yield from self._input(said)
        elif kind == "input" and self.waiting is not None:
            yield from self._play(said["payload"]["decision"]["behavior"] == "allow")

    def _start(self, said):
        if "refuse_start" in self.faults:
            members = {"success": False, "runtime": None, "error": "Agent agent-1 not found"}
        else:
            members = {"success": True, "runtime": RUNTIME}
        yield self._answer(said, "runtime_start_response", **members)
        if "no_device" not in self.faults:
            yield self._device()

    def _input(self, said):
        if "no_accept" in self.faults:
            return
        accepted = "refuse_input" not in self.faults
        members = {"runtime": RUNTIME, "accepted": accepted, "disposition": "started"}
        yield self._answer(said, "input_accepted", **members)
        if accepted:
            self.messages.append({"id": f"m{len(self.messages)}", "message_type": "user_message"})
            self.waiting = self._turn(self.turns.pop(0) if self.turns else [""])
            yield from self._play(None)

    def _play(self, decision):
        """Goes on with the turn until it waits for a decision, or has ended."""
        try:
            frame = self.waiting.send(decision)
            while frame != "decide":
                yield frame
                frame = next(self.waiting)
        except StopIteration:
            self.waiting = None

    def _turn(self, script):
        *calls, text = script
        run = f"run-{uuid.uuid4().hex[:6]}"
        for call in calls:
            yield from self._call(run, call)
        if "silent" in self.faults:
            return
        if "close" in self.faults:
            yield None
            return
        content = [{"type": "text", "text": text}]
        yield self._delta("assistant_message", id="t1", run_id=run, content=content)
        stop = {"stop_reason": "end_turn", "run_id": run}
        if not {"overtake", "no_stop_reason"} & self.faults:
            yield self._delta("stop_reason", **stop)
        done = {"turn_id": f"turn-{uuid.uuid4()}", "run_id": run, "stop_reason": "end_turn"}
        yield self._event("turn_finished", **done)
        if "overtake" in self.faults:
            yield 0.3
            yield self._delta("stop_reason", **stop)

    def _call(self, run, call):
        arguments = {"command": call.command, "description": "d"}
        named = {"run_id": run, "tool_call_id": call.tool_call_id}
        tool = {
            "tool_call_id": call.tool_call_id,
            "name": "Bash",
            "arguments": json.dumps(arguments),
        }
        self._store(message_type="approval_request_message", tool_call=tool)
        name = f"a-{call.tool_call_id}"
        yield self._delta("approval_request_message", id=name, run_id=run, tool_call=tool)
        yield self._delta("stop_reason", stop_reason="requires_approval", run_id=run)
        allowed = True
        if self.mode == "strict":
            request = {
                "subtype": "can_use_tool",
                "tool_name": "Bash",
                "input": arguments,
                "tool_call_id": call.tool_call_id,
            }
            request_id = f"perm-{call.tool_call_id}"
            yield self._event("control_request", request_id=request_id, request=request)
            allowed = yield "decide"
        status, output = (call.status, call.output) if allowed else ("error", "denied")
        if allowed:
            shown = {"tool_name": "Bash", "tool_args": tool["arguments"]}
            yield self._delta("client_tool_start", **named, **shown)
        yield self._delta("client_tool_end", **named, status=status)
        returned = {"tool_call_id": call.tool_call_id, "status": status, "tool_return": output}
        self._store(message_type="tool_return_message", **returned)
        yield self._delta(
            "tool_return_message",
            id=f"synthetic-tool-return-{uuid.uuid4()}",
            run_id=run,
            **returned,
            tool_returns=[returned],
        )

    def _store(self, **members):
        self.messages.append({"id": f"m{len(self.messages)}", **members})

    def _history(self, said):
        """In pages, newest first, as Letta Code does."""
        query = said["query"]
        stored = self.messages[::-1]
        if "before" in query:
            stored = stored[[each["id"] for each in stored].index(query["before"]) + 1 :]
        page = stored[: min(query["limit"], 3)]
        more = {
            "next_before": page[-1]["id"] if page else None,
            "has_more": len(page) < len(stored),
        }
        kind = "conversation_messages_list_response"
        return self._answer(said, kind, success=True, messages=page, **more)

    @staticmethod
    def _answer(said, kind, **members):
        return {"type": kind, "request_id": said["request_id"], **members}

    def _event(self, kind, **members):
        self.event_seq += 1
        key = f"{kind}:{self.event_seq}:{uuid.uuid4()}"
        marks = {"runtime": RUNTIME, "event_seq": self.event_seq, "idempotency_key": key}
        return {"type": kind, **members, **marks}

    def _delta(self, message_type, **members):
        return self._event("stream_delta", delta={"message_type": message_type, **members})

    def _device(self):
        status = {
            "current_permission_mode": self.mode,
            "background_processes": [],
            "pending_control_requests": [],
        }
        return self._event("update_device_status", device_status=status)


class _Feed:
    def __init__(self, agent):
        self._agent = agent
        self._frames = queue.SimpleQueue()

    def send(self, text):
        for frame in self._agent.answer(json.loads(text)):
            self._frames.put(frame)

    def receive(self):
        while isinstance(frame := self._frames.get(), float):
            time.sleep(frame)
        return None if frame is None else json.dumps(frame)

    def close(self):
        self._frames.put(None)


@contextlib.asynccontextmanager
async def app_server(agent):
    """The address of an App Server, at which `agent` plays."""

    async def talk(connection):
        async for text in connection:
            for frame in agent.answer(json.loads(text)):
                if frame is None:
                    await connection.close(1011, "gone")
                elif isinstance(frame, float):
                    await asyncio.sleep(frame)
                else:
                    await connection.send(json.dumps(frame))

    async with serve(talk, "127.0.0.1", 0, max_size=None) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws"
