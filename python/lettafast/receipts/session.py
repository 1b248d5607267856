"""One session with Letta Code's App Server protocol (version 2), over either transport.

The order of the commands is that of `@letta-ai/letta-agent-sdk`; their types are those of PyPI's
`letta` 0.34.12 (`dist/types/types/protocol_v2.d.ts`).
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

from lettafast.errors import SessionError, SessionReason

from .accumulator import Accumulator
from .deadlines import Deadlines
from .frames import Channel
from .gate import Gate
from .judgement import MODES, Profile
from .recorder import Recorder
from .transport import Closed, Transport

_TOOLS = ["Bash"]
# What a delta's `stop_reason` says where the turn waits for approvals: that is not its end.
_GOES_ON = "requires_approval"
_EVENTS = ("control_request", "stream_delta", "turn_finished")
_PAGE = 100
_MOST_PAGES = 100

T = TypeVar("T")


class Session:
    """Sends what a run has to say, reads and records all that comes, and answers approvals."""

    def __init__(
        self,
        transport: Transport,
        recorder: Recorder,
        deadlines: Deadlines,
    ) -> None:
        """Call it in a running loop: it begins to read."""
        self._transport = transport
        self._recorder = recorder
        self._deadlines = deadlines
        self._events: list[tuple[dict[str, Any], Channel]] = []
        self._gate: Gate | None = None
        self._runtime: dict[str, str] = {}
        # The permission mode of each conversation that was told of.
        self._modes: dict[str, Any] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        self._decided: set[str] = set()
        # The turns that have finished, each with its last run; the runs that have a stop reason.
        self._finished: dict[str, Any] = {}
        self._stopped: set[str] = set()
        self._failure: SessionError | None = None
        self._closing = False
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def start(
        self, agent_id: str, conversation_id: str | None, model: str | None, profile: Profile
    ) -> str:
        """Starts the runtime; its conversation's id, that of a new one unless it is given.

        `model` is for a new conversation. Raises `SessionError`, also where the session does not
        run in the profile's mode; nothing was asked of the agent then.
        """
        which: dict[str, Any] = {"conversation_id": conversation_id}
        if conversation_id is None:
            which = {"create_conversation": {"body": {} if model is None else {"model": model}}}
        said = await self._request(
            {
                "type": "runtime_start",
                "client_info": {"name": "lettafast"},
                "agent_id": agent_id,
                **which,
                "recover_approvals": False,
                "force_device_status": True,
                "mode": MODES[profile],
                "skill_sources": [],
            }
        )
        runtime = said.get("runtime")
        if said.get("success") is not True or not isinstance(runtime, dict):
            raise SessionError(SessionReason.REFUSED, self._with_error("runtime_start", said))
        started = runtime.get("conversation_id")
        if (
            runtime.get("agent_id") != agent_id
            or not isinstance(started, str)
            or conversation_id not in (None, started)
        ):
            raise SessionError(SessionReason.PROTOCOL, "runtime_start")
        self._runtime = {"agent_id": agent_id, "conversation_id": started}
        await self._in_mode(MODES[profile])
        return started

    async def turn(self, text: str, gate: Gate, seconds: float) -> None:
        """Sends one message and awaits the end of its turn; `gate` answers what is asked in it."""
        self._gate = gate
        before = set(self._finished)
        said = await self._request(
            {
                "type": "input",
                "runtime": self._runtime,
                "payload": {
                    "kind": "create_message",
                    "messages": [
                        {
                            "role": "user",
                            "content": text,
                            "client_message_id": f"lettafast-{secrets.token_hex(8)}",
                        }
                    ],
                    "exclude_interactive_tools": True,
                    "client_tool_allowlist": _TOOLS,
                },
            }
        )
        if said.get("accepted") is not True:
            raise SessionError(SessionReason.REFUSED, self._with_error("input", said))
        turn = await self._until(
            lambda: next(iter(self._finished.keys() - before), None), seconds, "the end of a turn"
        )
        # It may overtake the last deltas, which come over the other socket.
        run = str(self._finished[turn])
        await self._wait(lambda: run in self._stopped or None, self._deadlines.stop_reason)

    def has_final(self, command: str) -> bool:
        """Whether a call of this command has its final result."""
        accumulator = Accumulator(self._runtime["agent_id"], self._runtime["conversation_id"])
        for said, channel in self._events:
            accumulator.feed(said, channel, 0)
        accumulator.finish()
        return any(
            call.done is not None and (call.arguments or {}).get("command") == command
            for call in accumulator.calls.values()
        )

    async def sync(self) -> None:
        """Has the device's state told again; an older Letta Code does not say when it has."""
        request_id = await self._ask(
            {
                "type": "sync",
                "runtime": self._runtime,
                "recover_approvals": False,
                "force_device_status": True,
            }
        )
        await self._wait(lambda: self._answers.get(request_id), self._deadlines.answer)

    async def read_history(self) -> None:
        """Has all stored messages told, newest first: `asc` does not say that there is more."""
        query: dict[str, Any] = {"order": "desc", "limit": _PAGE}
        for _ in range(_MOST_PAGES):
            said = await self._request(
                {
                    "type": "conversation_messages_list",
                    "conversation_id": self._runtime["conversation_id"],
                    "query": query,
                }
            )
            if said.get("success") is not True:
                raise SessionError(SessionReason.REFUSED, self._with_error("the history", said))
            if said.get("has_more") is not True:
                return
            query = {**query, "before": said.get("next_before")}
        raise SessionError(SessionReason.PROTOCOL, "the history")

    def fail(self, error: SessionError) -> None:
        """Ends what is awaited; the first reason counts. Reading goes on."""
        if self._failure is None:
            self._failure = error
        self._news.set()

    async def close(self) -> None:
        """Closes the sockets, and reads what came before."""
        self._closing = True
        await self._transport.close()
        await self._reading

    async def _in_mode(self, mode: str) -> None:
        """Nothing is asked of an agent whose tools run in another mode than was asked for."""

        def runs_in_it() -> bool | None:
            return self._modes.get(self._runtime["conversation_id"]) == mode or None

        if await self._wait(runs_in_it, self._deadlines.answer / 2):
            return
        await self.sync()
        if not await self._wait(runs_in_it, self._deadlines.answer / 2):
            raise SessionError(SessionReason.OTHER_MODE, mode)

    async def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        request_id = await self._ask(message)
        return await self._until(
            lambda: self._answers.get(request_id),
            self._deadlines.answer,
            f"the answer to {message['type']}",
        )

    async def _ask(self, message: dict[str, Any]) -> str:
        request_id = f"lettafast-{secrets.token_hex(8)}"
        await self._send({**message, "request_id": request_id})
        return request_id

    async def _send(self, message: dict[str, Any]) -> None:
        await self._transport.send(self._recorder.sent(message))

    async def _until(self, found: Callable[[], T | None], seconds: float, what: str) -> T:
        """As `_wait`, but a deadline that passes is an error."""
        value = await self._wait(found, seconds)
        if value is None:
            self._recorder.note("deadline", waiting_for=what)
            raise SessionError(SessionReason.DEADLINE, what)
        return value

    async def _wait(self, found: Callable[[], T | None], seconds: float) -> T | None:
        """What is found, or None after `seconds`. Raises `SessionError` when the session failed."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        alarm = loop.call_later(seconds, self._news.set)
        try:
            while True:
                value = found()
                if value is not None:
                    return value
                if self._failure is not None:
                    raise self._failure
                if self._reading.done():
                    self._reading.result()
                if loop.time() >= until:
                    return None
                self._news.clear()
                await self._news.wait()
        finally:
            alarm.cancel()

    async def _read(self) -> None:
        """Reads until all sockets have ended, whatever has failed meanwhile."""
        try:
            while (arrived := await self._transport.receive()) is not None:
                try:
                    if isinstance(arrived, Closed):
                        self._ended(arrived)
                    elif said := self._recorder.arrived(arrived.channel, arrived.data):
                        await self._take(said, arrived.channel)
                except SessionError as error:
                    self.fail(error)
                self._news.set()
        finally:
            self._news.set()

    def _ended(self, end: Closed) -> None:
        if end.too_big:
            self._recorder.too_big(end.channel)
        self._recorder.note("closed", channel=end.channel, code=end.code, reason=end.reason)
        if not self._closing:
            self.fail(SessionError(SessionReason.CLOSED, f"the {end.channel} socket"))

    async def _take(self, said: dict[str, Any], channel: Channel) -> None:
        if "event_seq" in said:
            self._events.append((said, channel))
        if self._gate is not None:
            self._gate.observe(said)
        kind, request_id, runtime = said.get("type"), said.get("request_id"), said.get("runtime")
        if kind == "update_device_status":
            # It may be here before who awaits the runtime's start knows of that.
            status = said.get("device_status")
            if isinstance(runtime, dict) and isinstance(status, dict):
                self._modes[str(runtime.get("conversation_id"))] = status.get(
                    "current_permission_mode"
                )
        elif kind not in _EVENTS:
            # Answers come on both sockets of the relay: the first one counts.
            if isinstance(request_id, str):
                self._answers.setdefault(request_id, said)
        elif runtime == self._runtime and "subagent_id" not in said:
            if kind == "control_request":
                await self._decide(said)
            elif kind == "turn_finished":
                self._finished.setdefault(str(said.get("turn_id")), said.get("run_id"))
            else:
                self._take_delta(said.get("delta"))

    def _take_delta(self, delta: Any) -> None:
        if (
            isinstance(delta, dict)
            and delta.get("message_type") == "stop_reason"
            and delta.get("stop_reason") != _GOES_ON
        ):
            self._stopped.add(str(delta.get("run_id")))

    async def _decide(self, asked: dict[str, Any]) -> None:
        """Answers an approval request, once: both sockets of the relay carry it."""
        request_id = str(asked.get("request_id"))
        if request_id in self._decided:
            return
        self._decided.add(request_id)
        if self._gate is not None:
            await self._send(self._gate.answer(asked, self._gate.decide(asked)))

    def _with_error(self, what: str, said: dict[str, Any]) -> str:
        error = said.get("error")
        return self._recorder.without_key(f"{what} ({error})") if error else what
