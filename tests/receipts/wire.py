"""Synthetic runs, in the form of `fixtures/letta-0.34.12/appserver-*.jsonl`.

A double: `Wire` writes the frames of a session step by step, `honest` those of a run in which all
is as it should be. Real sessions are in those recordings and in the tests of the end to end.
"""

from __future__ import annotations

import json
from typing import Any

from lettafast.receipts import Expectation, Frame, challenge_message, make_plan, opening_message
from lettafast.receipts.expected import ExpectedState

AGENT = "agent-00000000-0000-4000-8000-000000000001"
CONVERSATION = "conv-00000000-0000-4000-8000-000000000002"
RUNTIME = {"agent_id": AGENT, "conversation_id": CONVERSATION}
SANDBOX = "sandbox-1"
DEVICE = "device-1"
URL = "https://knot.example/did:plc:abc/repo"
NONCE = "0123456789abcdef" * 2
CHALLENGE = "fedcba9876543210" * 2
NAMES = (".gitignore", "README.md", "src")
STATE = ExpectedState(
    commit="1" * 40, tree="2" * 40, names=NAMES, printed=NAMES, listing=b"100644 blob x\ta\0"
)
EXPECTATION = Expectation(STATE, URL, AGENT, "push", "strict")
PLAN = make_plan(STATE, URL, NONCE, "push")
CHALLENGED = PLAN.challenged(CHALLENGE)
FETCH_FAILED = "Exit code: 124\n(Command completed with no output)"
LATER = "2026-12-01T00:00:00.000Z"


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Wire:
    """Frames of one run, in order. In a `cloud` session each event comes twice."""

    def __init__(self, session: str = "app-server", profile: str = "strict") -> None:
        self.session = session
        self.profile = profile
        self.mode = {"strict": "strict", "seed": "unrestricted"}[profile]
        self.frames: list[Frame] = []
        self.stored: list[dict[str, Any]] = []
        self.seq = 0
        self.run = 0
        self.messages = 0
        self.calls = 0
        self.requests = 0
        self._said = 0

    def add(self, direction: str, channel: str, value: Any) -> Frame:
        raw = value if isinstance(value, str) else to_json(value)
        frame = Frame(len(self.frames), direction, channel, 1_700_000_000_000, raw)
        self.frames.append(frame)
        return frame

    def note(self, name: str, **members: Any) -> None:
        self.add("note", "runner", {"note": name, **members})

    def out(self, value: dict[str, Any]) -> None:
        self.add("out", "control", value)

    def into(self, value: dict[str, Any]) -> None:
        """Something that the session says: on both sockets of the relay."""
        if self.session == "cloud":
            self._said += 1
            self.add("in", "stream", {**value, "seq": self._said})
            self.add("in", "control", {**value, "seq": self._said})
        else:
            self.add("in", "control", value)

    def request_id(self) -> str:
        self.requests += 1
        return f"lettafast-{self.requests}"

    def event(self, kind: str, **members: Any) -> dict[str, Any]:
        self.seq += 1
        value = {
            "type": kind,
            **members,
            "runtime": RUNTIME,
            "event_seq": self.seq,
            "emitted_at": LATER,
            "idempotency_key": f"{kind}:{self.seq}:k",
        }
        self.into(value)
        return value

    def delta(self, kind: str, **members: Any) -> dict[str, Any]:
        said = {"message_type": kind, "run_id": self.run_id, **members}
        return self.event("stream_delta", delta=said)

    @property
    def run_id(self) -> str:
        return f"local-run-{self.run}"

    def numbered(self, kind: str, **members: Any) -> dict[str, Any]:
        """A delta that has a number in its run."""
        self.in_run += 1
        return self.delta(kind, seq_id=self.in_run, **members)

    def new_run(self) -> None:
        self.run += 1
        self.in_run = 0
        status = {
            "status": "PROCESSING_API_RESPONSE",
            "client_message_ids_by_run_id": {self.run_id: [f"lettafast-cm-{self.messages}"]},
        }
        self.event("update_loop_status", loop_status=status)

    def device(self, **changed: Any) -> None:
        status = {
            "current_permission_mode": self.mode,
            "current_loaded_tools": ["Bash"],
            "background_processes": [],
            "pending_control_requests": [],
        }
        self.event("update_device_status", device_status={**status, **changed})

    def begin(self, **changed: Any) -> None:
        members = {
            "version": 1,
            "profile": self.profile,
            "agent_id": AGENT,
            "model": None,
            "url": URL,
            "commit": STATE.commit,
            "tree": STATE.tree,
            "names": list(STATE.names),
            "kind": "push",
            "nonce": NONCE,
            "session": self.session,
            "pipeline_id": None,
        }
        self.note("begin", **{**members, **changed})

    def rest(self, request: str, asked: Any, answer: Any, status: int = 200) -> None:
        self.add("out", "rest", {"request": request, "body": asked})
        self.add("in", "rest", {"request": request, "status": status, "body": answer})

    def start(self) -> None:
        """The conversation, the sandbox and the session."""
        which: dict[str, Any] = {"create_conversation": {"body": {}}}
        if self.session == "cloud":
            which = {"conversation_id": CONVERSATION}
            made = {"id": CONVERSATION, "agent_id": AGENT}
            self.rest(f"POST /v1/conversations/?agent_id={AGENT}", {}, made)
            self.note("conversation", conversation_id=CONVERSATION)
            sandbox = {
                "sandboxId": SANDBOX,
                "deviceId": DEVICE,
                "conversationId": CONVERSATION,
                "resumed": False,
            }
            asked = {"conversationId": CONVERSATION}
            self.rest(f"POST /v1/agents/{AGENT}/sandboxes", asked, sandbox)
            self.note("sandbox", sandbox_id=SANDBOX, device_id=DEVICE, resumed=False)
        request_id = self.request_id()
        self.out(
            {
                "type": "runtime_start",
                "client_info": {"name": "lettafast"},
                "agent_id": AGENT,
                **which,
                "recover_approvals": False,
                "force_device_status": True,
                "mode": self.mode,
                "skill_sources": [],
                "request_id": request_id,
            }
        )
        created = {"agent": False, "conversation": self.session != "cloud"}
        self.into(
            {
                "type": "runtime_start_response",
                "request_id": request_id,
                "success": True,
                "runtime": RUNTIME,
                "created": created,
            }
        )
        if self.session != "cloud":
            self.note("conversation", conversation_id=CONVERSATION)
        self.device(current_loaded_tools=[])

    def say(self, text: str) -> None:
        """A message of the runner's."""
        self.messages += 1
        request_id = self.request_id()
        message = {
            "role": "user",
            "content": text,
            "client_message_id": f"lettafast-cm-{self.messages}",
        }
        self.out(
            {
                "type": "input",
                "runtime": RUNTIME,
                "payload": {
                    "kind": "create_message",
                    "messages": [message],
                    "exclude_interactive_tools": True,
                    "client_tool_allowlist": ["Bash"],
                },
                "request_id": request_id,
            }
        )
        self.into(
            {
                "type": "input_accepted",
                "request_id": request_id,
                "runtime": RUNTIME,
                "accepted": True,
                "disposition": "started",
            }
        )
        reminder = {"type": "text", "text": "<system-reminder>\nhere\n</system-reminder>"}
        content = [reminder, {"type": "text", "text": text}]
        self.store("user_message", content=content, otid=message["client_message_id"])

    def store(self, kind: str, **members: Any) -> None:
        message_id = f"ui-msg-{len(self.stored)}"
        self.stored.append({"id": message_id, "message_type": kind, **RUNTIME, **members})

    def ask(self, arguments: Any, name: str = "Bash", call_id: str | None = None) -> str:
        """One step of the model that asks for one call: up to the approval request."""
        self.new_run()
        call_id = self.fragments(arguments, name, call_id)
        self.stop("requires_approval")
        self.classified([call_id])
        if self.profile == "strict":
            self.control_request(call_id, arguments, name)
        return call_id

    def fragments(
        self, arguments: Any, name: str = "Bash", call_id: str | None = None, pieces: int = 3
    ) -> str:
        self.calls += 1
        call_id = call_id or f"call_{self.calls}"
        text = arguments if isinstance(arguments, str) else to_json(arguments)
        size = max(1, -(-len(text) // pieces))
        for at in range(0, len(text), size):
            part = {"tool_call_id": call_id, "name": name, "arguments": text[at : at + size]}
            message_id = f"letta-msg-{self.calls}"
            self.numbered("approval_request_message", id=message_id, tool_call=part)
        whole = {"tool_call_id": call_id, "name": name, "arguments": text}
        self.store("approval_request_message", tool_call=whole)
        return call_id

    def stop(self, reason: str) -> None:
        self.numbered("stop_reason", stop_reason=reason)

    def classified(self, asked: list[str], allowed: list[str] | None = None) -> None:
        if self.profile == "seed":
            asked, allowed = [], asked
        self.delta(
            "approval_classification_end",
            auto_allowed_tool_call_ids=allowed or [],
            auto_denied_tool_call_ids=[],
            user_input_tool_call_ids=asked,
        )

    def control_request(self, call_id: str, arguments: Any, name: str = "Bash") -> dict[str, Any]:
        asked = {
            "subtype": "can_use_tool",
            "tool_name": name,
            "input": arguments,
            "tool_call_id": call_id,
            "permission_suggestions": [],
        }
        return self.event("control_request", request_id=f"perm-{call_id}", request=asked)

    def decide(self, call_id: str, why: str | None = None) -> None:
        """Allows a call, or denies it with `why`."""
        decision = {"behavior": "allow"} if why is None else {"behavior": "deny", "message": why}
        self.out(
            {
                "type": "input",
                "runtime": RUNTIME,
                "payload": {
                    "kind": "approval_response",
                    "request_id": f"perm-{call_id}",
                    "decision": decision,
                },
            }
        )

    def started(self, call_id: str, arguments: Any, name: str = "Bash") -> None:
        self.delta(
            "client_tool_start",
            tool_call_id=call_id,
            tool_name=name,
            tool_args=to_json(arguments),
        )

    def provisional(self, call_id: str, text: str) -> None:
        self.returned(call_id, text, "success", f"synthetic-tool-return-stream-{call_id}")

    def ended(self, call_id: str, status: str = "success") -> None:
        self.delta("client_tool_end", tool_call_id=call_id, status=status)

    def returned(
        self, call_id: str, text: str, status: str = "success", message_id: str | None = None
    ) -> None:
        one = {"tool_call_id": call_id, "status": status, "tool_return": text}
        message_id = message_id or f"synthetic-tool-return-{call_id}"
        self.delta("tool_return_message", id=message_id, tool_returns=[one], **one)

    def result(self, call_id: str, text: str, status: str = "success") -> None:
        """The end of a call, its final result, and what is stored of it."""
        self.ended(call_id, status)
        self.returned(call_id, text, status)
        self.store("tool_return_message", tool_call_id=call_id, status=status, tool_return=text)

    def call(self, command: str, text: str, status: str = "success", **members: Any) -> str:
        """A whole call that is allowed."""
        arguments = {"command": command, "description": "look", **members}
        call_id = self.ask(arguments)
        if self.profile == "strict":
            self.decide(call_id)
        self.started(call_id, arguments)
        if status == "success" and text.endswith("\n"):
            self.provisional(call_id, text[:-1])
        self.result(call_id, text, status)
        return call_id

    def denied(self, command: str, why: str) -> str:
        """A whole call that the gate denies."""
        call_id = self.ask({"command": command, "description": "look"})
        self.decide(call_id, why)
        self.result(call_id, why, "error")
        return call_id

    def speak(self, text: str) -> None:
        """The agent's last words of a turn, in two fragments, and the turn's end."""
        self.new_run()
        self.text(text)
        self.end_turn()

    def text(self, text: str) -> None:
        message_id = f"ui-text-{self.run}"
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            content = [{"type": "text", "text": part}]
            self.numbered("assistant_message", id=message_id, content=content)
        self.store("assistant_message", content=[{"type": "text", "text": text}])

    def end_turn(self, reason: str = "end_turn") -> None:
        self.stop(reason)
        self.device()
        self.event(
            "turn_finished", turn_id=f"turn-{self.messages}", stop_reason=reason, run_id=self.run_id
        )

    def challenge(self) -> None:
        self.note("challenge", challenge=CHALLENGE)
        self.say(challenge_message(CHALLENGED))

    def finish(self) -> None:
        """The state once more, the history, and the end."""
        request_id = self.request_id()
        self.out(
            {
                "type": "sync",
                "runtime": RUNTIME,
                "recover_approvals": False,
                "force_device_status": True,
                "request_id": request_id,
            }
        )
        self.device()
        self.into({"type": "sync_response", "request_id": request_id, "success": True})
        if self.session == "cloud":
            path = f"POST /v1/sandboxes/{SANDBOX}/terminate"
            self.rest(path, {}, {"success": True})
            self.note("terminated", acknowledged=True)
            for channel in ("control", "stream"):
                self.note("closed", channel=channel, code=1000, reason="")
            path = f"GET /v1/conversations/{CONVERSATION}/messages?order=asc&limit=100"
            self.rest(path, None, self.stored)
            last = self.stored[-1].get("id")
            self.rest(f"{path}&after={last}", None, [])
        else:
            request_id = self.request_id()
            self.out(
                {
                    "type": "conversation_messages_list",
                    "conversation_id": CONVERSATION,
                    "query": {"order": "desc", "limit": 100},
                    "request_id": request_id,
                }
            )
            self.into(
                {
                    "type": "conversation_messages_list_response",
                    "request_id": request_id,
                    "success": True,
                    "messages": self.stored[::-1],
                    "next_before": self.stored[0]["id"],
                    "has_more": False,
                }
            )
            self.note("closed", channel="control", code=1000, reason="")
        self.note("end", duration_ms=12345)

    def opening(self) -> None:
        self.begin()
        self.start()
        self.say(opening_message(PLAN))

    def steps(self, *, failed_fetches: int = 0) -> None:
        """s1 to s6, as asked for."""
        for step in PLAN.steps:
            if step.name == "s2":
                for _ in range(failed_fetches):
                    self.call(step.command, FETCH_FAILED, "error")
            self.call(step.command, step.output)

    def proof(self) -> None:
        step = CHALLENGED.steps[6]
        self.call(step.command, step.output)


def honest(session: str = "app-server", profile: str = "strict", failed_fetches: int = 0) -> Wire:
    """A run in which all is as it should be."""
    wire = Wire(session, profile)
    wire.opening()
    wire.steps(failed_fetches=failed_fetches)
    wire.speak("ready")
    wire.challenge()
    wire.proof()
    wire.speak(CHALLENGED.final_text)
    wire.finish()
    return wire
