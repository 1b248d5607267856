"""A double of herdr's socket API, since herdr itself cannot be had where the tests run.

It is not herdr and holds none of its code: it was written from what herdr 0.8.0 to
0.9.3 was seen to do, and its replies were once checked against herdr's own schema.
What it copies:

- one JSON object a line, one request a connection, after which it is closed; only
  `events.subscribe` keeps it open
- a bad request is `invalid_request`; its id is empty up to 0.9.1 (`echo_error_ids`)
- a blank, cut, overlong or non-UTF-8 request is closed without a reply
- optional fields are left out, never null
- a report is answered `ok` even when it is ignored: of one letta the first one stays;
  a changed report makes no event; a cold restart keeps reports
- `pane.read`: 80 rows unless more are asked for, at most 1,000; a `text` read of an
  idle agent on the alternate screen scrolls it (`harvests`)

A scenario is a dict, see `SCENARIO`; what `FAULTS` lists can be armed with `fault`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

Json = dict[str, Any]

MAX_REQUEST_BYTES = 1 << 20
READ_LINES = 80
MAX_READ_LINES = 1_000
TICK = 0.1
"""Seconds between two looks of a subscription, each of which sends one event a kind."""
KEPT_EVENTS = 512

REPORTERS = {("herdr:letta", "letta"), ("herdr:claude", "claude"), ("herdr:codex", "codex")}
REPLACING = {
    ("herdr:claude", "claude"): {"clear", "resume", "compact"},
    ("herdr:codex", "codex"): {"startup", "clear", "resume", "compact"},
}
"""The starts after which a report replaces an earlier one. There is none for letta."""
STARTS = {"startup", "resume", "clear", "compact", "branch", "new", "fork", "select"}
READ_SOURCES = ("visible", "recent", "recent_unwrapped", "detection")

SUBSCRIPTIONS = set(
    "workspace.created workspace.updated workspace.metadata_updated workspace.renamed "
    "workspace.moved workspace.reordered workspace.closed workspace.focused worktree.created "
    "worktree.opened worktree.removed tab.created tab.closed tab.focused tab.renamed tab.moved "
    "pane.created pane.closed pane.updated pane.focused pane.moved pane.exited "
    "pane.agent_detected layout.updated".split()
)
PANE_SUBSCRIPTIONS = {"pane.agent_status_changed", "pane.scroll_changed", "pane.output_matched"}

FAULTS = {
    "slow": "wait `delay` seconds, then answer",
    "hang": "read the request, never answer, keep the connection open",
    "close": "read the request, close without a byte",
    "close_on_accept": "close before reading",
    "garbage": "a line that is not JSON",
    "html": "a line of HTML",
    "invalid_utf8": "a line that looks like JSON with broken UTF-8",
    "not_object": "a JSON array",
    "half_line": "the first half of the reply, then close",
    "no_newline": "the whole reply without its LF, then close",
    "dribble": "the reply in pieces of `size` bytes, `delay` seconds apart",
    "wrong_id": "the reply with another id",
    "wrong_type": "a valid result of another type",
    "empty_result": "the result `ok`, whatever was asked",
    "error": "an error reply (`code`, `message`)",
    "oversized": "the reply with `size` bytes more in an unknown field",
    "endless_line": "`size` bytes without an LF, then close",
    "extra_fields": "unknown fields at every level",
    "drop_fields": "the reply without `fields`, at every level",
    "null_fields": "`fields` that a pane lacks as null",
    "set_fields": "`fields` set to other values wherever there is a `pane_id`",
    "two_lines": "the reply twice",
    "noise_before": "a blank line, then the reply",
}

CONVERSATION = "conv-7d0c2f8e-1111-4222-8333-444455556666"
SCENARIO: Json = {
    "version": "0.9.3",
    "protocol": 22,
    "echo_error_ids": True,
    "replay_events": False,
    "workspaces": [
        {
            "workspace_id": "w1",
            "label": "shop",
            "tabs": [
                {
                    "tab_id": "w1:t1",
                    "label": "1",
                    "panes": [
                        {
                            "pane_id": "w1:p1",
                            "cwd": "/srv/shop",
                            "agent": "letta",
                            "agent_status": "idle",
                            "terminal_title": "Ada",
                            "agent_session": {
                                "source": "herdr:letta",
                                "agent": "letta",
                                "kind": "id",
                                "value": CONVERSATION,
                            },
                            "shell_pid": 4100,
                            "process_group_id": 4188,
                            "processes": [
                                {
                                    "pid": 4188,
                                    "name": "node",
                                    "argv": ["node", "/usr/local/bin/letta"],
                                    "cwd": "/srv/shop",
                                }
                            ],
                            "text": "$ letta\n> fix the cart\n  Done. 3 tests added.\n",
                        },
                        {
                            "pane_id": "w1:p2",
                            "cwd": "/srv/shop",
                            "shell_pid": 4200,
                            "processes": [
                                {
                                    "pid": 4200,
                                    "name": "bash",
                                    "argv": ["-bash"],
                                    "cwd": "/srv/shop",
                                }
                            ],
                            "text": "$ make test\nok\n$ \n",
                        },
                    ],
                },
                {
                    "tab_id": "w1:t2",
                    "label": "review",
                    "panes": [{"pane_id": "w1:p3", "cwd": "/srv", "text": "$ \n"}],
                },
            ],
        }
    ],
    "focused_pane_id": "w1:p1",
}


class RefusalError(Exception):
    """One of herdr's error replies."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class HerdrDouble:
    """Listens at `path` from `start` to `stop`, or as a context. `requests` holds what was asked.

    `lacking` names methods that this herdr is too old to know.
    """

    def __init__(
        self,
        path: os.PathLike[str] | str,
        scenario: Json | None = None,
        lacking: Iterable[str] = (),
    ) -> None:
        self.path = os.fspath(path)
        self.lock = threading.RLock()
        self.lacking = set(lacking)
        self.requests: list[Json] = []
        self.harvests: dict[str, int] = {}
        self._faults: list[Json] = []
        self._events: list[tuple[int, Json]] = []
        self._last_event = 0
        self._seqs: dict[tuple[str, str], int] = {}
        self._terminals = 0
        self._server: socket.socket | None = None
        self._stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        said = copy.deepcopy(SCENARIO if scenario is None else scenario)
        self.version = said.get("version", "0.9.3")
        self.protocol = said.get("protocol", 22)
        self.echo_error_ids = said.get("echo_error_ids", True)
        self.replay_events = said.get("replay_events", False)
        self.workspaces: list[Json] = said.get("workspaces", [])
        self.focused = said.get("focused_pane_id")
        for _, _, pane in self._panes():
            self._prepare(pane)

    # What a test does to it.

    def fault(
        self,
        kind: str,
        *,
        method: str | None = None,
        pane_id: str | None = None,
        times: int | None = None,
        after: int = 0,
        **options: Any,
    ) -> None:
        """Arms a fault for `times` requests (None: all), of `method` and `pane_id` if given."""
        if kind not in FAULTS:
            raise ValueError(kind)
        with self.lock:
            self._faults.append(
                {
                    "kind": kind,
                    "method": method,
                    "pane_id": pane_id,
                    "times": times,
                    "after": after,
                    **options,
                }
            )

    def clear_faults(self) -> None:
        with self.lock:
            self._faults.clear()

    def pane(self, pane_id: str) -> Json:
        with self.lock:
            return self._find(pane_id)[2]

    def set_pane(self, pane_id: str, **fields: Any) -> None:
        """Changes a pane; None takes a field away. Only what herdr tells of makes an event."""
        with self.lock:
            workspace, _, pane = self._find(pane_id)
            before = (pane.get("agent"), pane.get("agent_status"))
            for name, value in fields.items():
                if value is None:
                    pane.pop(name, None)
                else:
                    pane[name] = copy.deepcopy(value)
            self._prepare(pane)
            self._tell_of_agent(workspace, pane, before)

    def report(self, pane_id: str, value: str, start: str = "new", **more: Any) -> bool:
        """What letta's hook sends; whether the pane has that report now."""
        params = {
            "pane_id": pane_id,
            "source": "herdr:letta",
            "agent": "letta",
            "agent_session_id": value,
            "session_start_source": start,
            "seq": time.time_ns(),
            **more,
        }
        with self.lock:
            self._report_agent_session(params)
            return (self.pane(pane_id).get("agent_session") or {}).get("value") == value

    def start_letta(
        self, pane_id: str, pid: int, argv: list[str] | None = None, cwd: str | None = None
    ) -> None:
        with self.lock:
            pane = self.pane(pane_id)
            self._run(pane, pid, argv or ["letta"], cwd)
            pane.pop("no_runtime", None)
            self.set_pane(pane_id, agent="letta", agent_status="idle")

    def exit_process(self, pane_id: str) -> None:
        """The agent's process ends and herdr notices."""
        with self.lock:
            workspace, _, pane = self._find(pane_id)
            before = (pane.get("agent"), pane.get("agent_status"))
            for name in ("agent", "agent_session", "display_agent"):
                pane.pop(name, None)
            pane["agent_status"] = "unknown"
            pane["processes"] = []
            pane["process_group_id"] = pane.get("shell_pid")
            if pane.get("shell_pid"):
                self._run(pane, pane["shell_pid"], ["-bash"])
            self._seqs = {key: seq for key, seq in self._seqs.items() if key[0] != pane_id}
            self._tell_of_agent(workspace, pane, before, released=True)

    def create_pane(self, tab_id: str, pane: Json) -> None:
        with self.lock:
            pane = copy.deepcopy(pane)
            self._prepare(pane)
            for workspace in self.workspaces:
                for tab in workspace["tabs"]:
                    if tab["tab_id"] == tab_id:
                        tab["panes"].append(pane)
                        self.emit("pane_created", pane=self._pane_info(workspace, tab, pane))
                        return
            raise KeyError(tab_id)

    def close_pane(self, pane_id: str) -> None:
        with self.lock:
            workspace, tab, pane = self._find(pane_id)
            tab["panes"].remove(pane)
            self.emit("pane_closed", pane_id=pane_id, workspace_id=workspace["workspace_id"])

    def cold_restart(self, *, resume: bool = True, pending: bool = False) -> None:
        """Connections and event history go, terminal ids change, pane ids stay.

        With `resume`, a pane with a report runs `letta --conversation …` again, later
        ones with the same report are shells without one; `pending` leaves the resumed
        ones listed and not started. Without, each pane is a shell that keeps its report.
        """
        with self.lock:
            self._drop_connections()
            self._events, self._last_event, self._seqs = [], 0, {}
            taken = set()
            for _, _, pane in self._panes():
                report = pane.get("agent_session")
                for name in ("terminal_id", "agent", "display_agent", "terminal_title"):
                    pane.pop(name, None)
                pane.update(agent_status="unknown", text="")
                pane["shell_pid"] = random.randint(20_000, 60_000)
                self._run(pane, pane["shell_pid"], ["-bash"])
                self._prepare(pane)
                if not report or not resume:
                    continue
                argv = _resuming(report)
                if argv is None or tuple(report.values()) in taken:
                    del pane["agent_session"]
                    continue
                taken.add(tuple(report.values()))
                pane.update(agent=report["agent"], agent_status="idle")
                if pending:
                    pane["no_runtime"] = True
                else:
                    self._run(pane, random.randint(20_000, 60_000), argv)

    def emit(self, event: str, **data: Any) -> None:
        """Makes an event, such as `pane_exited`."""
        with self.lock:
            self._last_event += 1
            said = {"event": event, "data": {"type": event, **copy.deepcopy(data)}}
            self._events.append((self._last_event, said))
            del self._events[:-KEPT_EVENTS]

    # Its life.

    def start(self) -> HerdrDouble:
        self._stopping.clear()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder, name = os.path.split(self.path)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            long = len(self.path) > 100
            self._server.bind(f"/proc/self/fd/{descriptor}/{name}" if long else self.path)
        finally:
            os.close(descriptor)
        os.chmod(self.path, 0o600)
        self._server.listen(64)
        self._server.settimeout(0.05)
        self._spawn(self._accept, self._server)
        return self

    def stop(self, *, unlink: bool = True) -> None:
        """Ends it; without `unlink` the dead socket stays, as after a crash."""
        self._stopping.set()
        self._drop_connections()
        if self._server is not None:
            with contextlib.suppress(OSError):  # wakes `accept` on Linux
                self._server.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
            if thread.is_alive():
                raise RuntimeError("the double does not stop")
        self._threads = []
        if self._server is not None:
            self._server.close()
            self._server = None
        if unlink and os.path.exists(self.path):
            os.unlink(self.path)

    def __enter__(self) -> HerdrDouble:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _spawn(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _drop_connections(self) -> None:
        with self.lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, server: socket.socket) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = server.accept()
            except OSError:  # a timeout, or the end
                continue
            with self.lock:
                self._connections.add(connection)
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._spawn(self._serve, connection)

    # One connection.

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):
                self._serve_one(connection)
        finally:
            with self.lock:
                self._connections.discard(connection)
            connection.close()

    def _serve_one(self, connection: socket.socket) -> None:
        if self._take_fault(early=True):
            return
        line = self._request_line(connection)
        if line is None:
            return
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            return
        if not text:
            return
        request, request_id, wrong = self._parse(text)
        method, params = str(request.get("method")), request.get("params")
        with self.lock:
            self.requests.append({"id": request_id, "method": method, "params": params})
        fault = self._take_fault(
            method, params.get("pane_id") if isinstance(params, dict) else None
        )
        kind = fault.get("kind")
        if kind == "close":
            return
        if kind == "hang":
            while not self._stopping.wait(0.02) and not _gone(connection):
                pass
            return
        if kind == "slow" and self._stopping.wait(fault.get("delay", 1.0)):
            return
        if wrong is not None:
            self._send(connection, self._invalid(request_id, wrong), fault)
        elif method == "events.subscribe":
            self._stream(connection, request_id, params, fault)
        else:
            self._send(connection, self._answer(request_id, method, params), fault)

    def _request_line(self, connection: socket.socket) -> bytes | None:
        connection.settimeout(0.05)
        until = time.monotonic() + 5
        data = b""
        while b"\n" not in data:
            if len(data) > MAX_REQUEST_BYTES:
                return None
            try:
                chunk = connection.recv(65536)
            except TimeoutError:
                if time.monotonic() >= until or self._stopping.is_set():
                    return None
                continue
            if not chunk:
                return None
            data += chunk
        line = data.split(b"\n", 1)[0]
        return None if len(line) > MAX_REQUEST_BYTES else line

    def _parse(self, text: str) -> tuple[Json, str, str | None]:
        try:
            request = json.loads(text)
        except ValueError as error:
            return {}, "", f"expected value: {error}"
        if not isinstance(request, dict):
            return {}, "", "invalid type, expected a request object"
        request_id = request.get("id")
        if not isinstance(request_id, str):
            return request, "", "missing field `id`"
        method = request.get("method")
        known = (set(METHODS) | {"events.subscribe"}) - self.lacking
        if method not in known:
            return request, request_id, f"unknown variant `{method}`, expected one of {known}"
        if not isinstance(request.get("params"), dict):
            return request, request_id, "missing field `params`"
        return request, request_id, None

    def _answer(self, request_id: str, method: str, params: Any) -> Json:
        try:
            with self.lock:
                return {"id": request_id, "result": METHODS[method](self, params)}
        except RefusalError as error:
            if error.code == "invalid_request":
                return self._invalid(request_id, error.message)
            return {"id": request_id, "error": {"code": error.code, "message": error.message}}

    def _invalid(self, request_id: str, wrong: str) -> Json:
        return {
            "id": request_id if self.echo_error_ids else "",
            "error": {"code": "invalid_request", "message": f"invalid request: {wrong}"},
        }

    def _take_fault(
        self, method: str | None = None, pane_id: str | None = None, *, early: bool = False
    ) -> Json:
        with self.lock:
            for fault in self._faults:
                if (
                    (fault["kind"] == "close_on_accept") != early
                    or fault["times"] == 0
                    or (not early and fault["method"] not in (None, method))
                    or (not early and fault["pane_id"] not in (None, pane_id))
                ):
                    continue
                if fault["after"]:
                    fault["after"] -= 1
                    continue
                if fault["times"] is not None:
                    fault["times"] -= 1
                return fault
        return {}

    def _send(self, connection: socket.socket, reply: Json, fault: Json) -> None:
        connection.settimeout(30)
        for piece in _spoiled(reply, fault):
            connection.sendall(piece)
            if fault.get("kind") == "dribble" and self._stopping.wait(fault.get("delay", 0.001)):
                return

    # Events.

    def _tell_of_agent(
        self, workspace: Json, pane: Json, before: tuple[Any, Any], *, released: bool = False
    ) -> None:
        agent, status = pane.get("agent"), pane.get("agent_status")
        data = {"pane_id": pane["pane_id"], "workspace_id": workspace["workspace_id"]}
        if agent is not None:
            data["agent"] = agent
        if agent != before[0]:
            self.emit("pane_agent_detected", **data, **({"released": True} if released else {}))
        if status != before[1]:
            self.emit("pane_agent_status_changed", **data, agent_status=status)

    def _stream(self, connection: socket.socket, request_id: str, params: Any, fault: Json) -> None:
        try:
            wanted = [self._wanted(one) for one in params.get("subscriptions", [])]
        except RefusalError as error:
            reply = {"id": request_id, "error": {"code": error.code, "message": error.message}}
            if error.code == "invalid_request":
                reply = self._invalid(request_id, error.message)
            self._send(connection, reply, fault)
            return
        with self.lock:
            seen = [0 if self.replay_events else self._last_event] * len(wanted)
        self._send(
            connection, {"id": request_id, "result": {"type": "subscription_started"}}, fault
        )
        if fault.get("kind") not in (None, "slow", "dribble", "extra_fields", "noise_before"):
            return
        while not self._stopping.is_set() and not _gone(connection):
            for event in self._due(wanted, seen):
                connection.sendall(json.dumps(event).encode() + b"\n")
            self._stopping.wait(TICK)

    def _wanted(self, subscription: Json) -> tuple[str, str | None]:
        kind = subscription.get("type")
        if kind not in SUBSCRIPTIONS | PANE_SUBSCRIPTIONS:
            raise RefusalError("invalid_request", f"unknown variant `{kind}`")
        if kind in SUBSCRIPTIONS:
            return kind, None
        with self.lock:
            return kind, self._find(subscription.get("pane_id"))[2]["pane_id"]

    def _due(self, wanted: list[tuple[str, str | None]], seen: list[int]) -> list[Json]:
        """The next event of each subscription; those of one pane have dots and no type."""
        due = []
        with self.lock:
            for at, (kind, pane_id) in enumerate(wanted):
                for number, event in self._events:
                    if number <= seen[at] or event["event"] != kind.replace(".", "_"):
                        continue
                    seen[at] = number
                    if pane_id is None:
                        due.append(event)
                    elif event["data"]["pane_id"] == pane_id:
                        data = {key: value for key, value in event["data"].items() if key != "type"}
                        due.append({"event": kind, "data": data})
                    break
        return due

    # What it shows.

    def _prepare(self, pane: Json) -> None:
        self._terminals += 1
        pane.setdefault("terminal_id", f"term_{time.time_ns():x}{self._terminals:x}")
        pane.setdefault("agent_status", "unknown")
        pane.setdefault("revision", 0)
        pane.setdefault("viewport_rows", 40)
        pane.setdefault("processes", [])

    def _run(self, pane: Json, pid: int, argv: list[str], cwd: str | None = None) -> None:
        name = os.path.basename(argv[0])[:15]
        cwd = cwd or pane.get("cwd", "/")
        pane["processes"] = [{"pid": pid, "name": name, "argv": argv, "cwd": cwd}]
        pane["process_group_id"] = pid

    def _panes(self) -> Iterator[tuple[Json, Json, Json]]:
        for workspace in self.workspaces:
            for tab in workspace["tabs"]:
                for pane in tab["panes"]:
                    yield workspace, tab, pane

    def _find(self, pane_id: str | None) -> tuple[Json, Json, Json]:
        for found in self._panes():
            if pane_id in (found[2]["pane_id"], *found[2].get("aliases", ())):
                return found
        raise RefusalError("pane_not_found", f"pane {pane_id} not found")

    def _pane_info(self, workspace: Json, tab: Json, pane: Json) -> Json:
        info = {
            "pane_id": pane["pane_id"],
            "terminal_id": pane["terminal_id"],
            "workspace_id": workspace["workspace_id"],
            "tab_id": tab["tab_id"],
            "focused": pane["pane_id"] == self.focused,
            "agent_status": pane["agent_status"],
            "revision": pane["revision"],
        }
        for name in (
            "cwd foreground_cwd label agent title terminal_title display_agent state_labels "
            "tokens agent_session"
        ).split():
            if pane.get(name):
                info[name] = copy.deepcopy(pane[name])
        if "terminal_title" in info:
            info["terminal_title_stripped"] = info["terminal_title"]
        if pane["processes"]:
            info.setdefault("foreground_cwd", pane["processes"][0]["cwd"])
        return info

    def _pane_infos(self) -> list[Json]:
        return [self._pane_info(*found) for found in self._panes()]

    def _tab_infos(self) -> list[Json]:
        return [
            {
                "tab_id": tab["tab_id"],
                "workspace_id": workspace["workspace_id"],
                "number": at + 1,
                "label": tab["label"],
                "focused": any(pane["pane_id"] == self.focused for pane in tab["panes"]),
                "pane_count": len(tab["panes"]),
                "agent_status": "unknown",
            }
            for workspace in self.workspaces
            for at, tab in enumerate(workspace["tabs"])
        ]

    def _workspace_infos(self) -> list[Json]:
        found = []
        for at, workspace in enumerate(self.workspaces):
            panes = [pane for tab in workspace["tabs"] for pane in tab["panes"]]
            found.append(
                {
                    "workspace_id": workspace["workspace_id"],
                    "number": at + 1,
                    "label": workspace["label"],
                    "focused": any(pane["pane_id"] == self.focused for pane in panes),
                    "pane_count": len(panes),
                    "tab_count": len(workspace["tabs"]),
                    "active_tab_id": workspace["tabs"][0]["tab_id"] if workspace["tabs"] else "",
                    "agent_status": "unknown",
                }
            )
        return found

    # Its methods.

    def _ping(self, _: Json) -> Json:
        capabilities = {"live_handoff": True, "detached_server_daemon": True}
        return {
            "type": "pong",
            "version": self.version,
            "protocol": self.protocol,
            "capabilities": capabilities,
        }

    def _snapshot(self, _: Json) -> Json:
        return {
            "type": "session_snapshot",
            "snapshot": {
                "version": self.version,
                "protocol": self.protocol,
                "focused_pane_id": self.focused,
                "workspaces": self._workspace_infos(),
                "tabs": self._tab_infos(),
                "panes": self._pane_infos(),
                "layouts": [],
                "agents": [info for info in self._pane_infos() if info.get("agent")],
            },
        }

    def _workspace_list(self, _: Json) -> Json:
        return {"type": "workspace_list", "workspaces": self._workspace_infos()}

    def _tab_list(self, _: Json) -> Json:
        return {"type": "tab_list", "tabs": self._tab_infos()}

    def _pane_list(self, _: Json) -> Json:
        return {"type": "pane_list", "panes": self._pane_infos()}

    def _pane_get(self, params: Json) -> Json:
        pane = self._pane_info(*self._find(_text(params, "pane_id")))
        return {"type": "pane_info", "pane": pane}

    def _process_info(self, params: Json) -> Json:
        pane = self._running(params)
        info = {"pane_id": pane["pane_id"], "shell_pid": pane.get("shell_pid", 1)}
        if pane.get("process_group_id"):
            info["foreground_process_group_id"] = pane["process_group_id"]
        if pane["processes"]:
            info["foreground_processes"] = [
                {**process, "cmdline": " ".join(process.get("argv", []))}
                for process in pane["processes"]
            ]
        return {"type": "pane_process_info", "process_info": info}

    def _read(self, params: Json) -> Json:
        pane = self._running(params)
        source, form = _text(params, "source"), params.get("format", "text")
        if source not in READ_SOURCES or form not in ("text", "ansi"):
            raise RefusalError("invalid_request", f"unknown variant `{source}` or `{form}`")
        lines = params.get("lines")
        recent = source.startswith("recent")
        if recent and form == "text" and pane.get("alt_screen") and pane["agent_status"] == "idle":
            self.harvests[pane["pane_id"]] = self.harvests.get(pane["pane_id"], 0) + 1
        text = pane.get("ansi_text" if form == "ansi" else "text") or pane.get("text", "")
        rows = text.splitlines(keepends=True)
        most = min(READ_LINES if lines is None else lines, MAX_READ_LINES) if recent else lines
        kept = rows if most is None else rows[-most:] if most else []
        workspace, tab, _ = self._find(pane["pane_id"])
        return {
            "type": "pane_read",
            "read": {
                "pane_id": pane["pane_id"],
                "workspace_id": workspace["workspace_id"],
                "tab_id": tab["tab_id"],
                "source": source,
                "format": form,
                "text": "".join(kept),
                "revision": 0,
                "truncated": len(kept) < len(rows),
            },
        }

    def _running(self, params: Json) -> Json:
        pane = self._find(_text(params, "pane_id"))[2]
        if pane.get("no_runtime"):
            raise RefusalError("pane_not_found", f"pane {pane['pane_id']} not found")
        return pane

    def _report_agent_session(self, params: Json) -> Json:
        pane = self._find(_text(params, "pane_id"))[2]
        source, agent = _text(params, "source"), _text(params, "agent").lower()
        value, seq = params.get("agent_session_id"), params.get("seq")
        ok = {"type": "ok"}
        if (source, agent) not in REPORTERS or not value:
            return ok
        last = self._seqs.get((pane["pane_id"], source))
        if last is not None and (seq is None or seq <= last):
            return ok
        if seq is not None:
            self._seqs[pane["pane_id"], source] = seq
        detected, current = pane.get("agent"), pane.get("agent_session")
        start = params.get("session_start_source")
        if detected not in (None, agent):
            return ok
        if current and (current["source"], current["agent"]) != (source, agent):
            if detected != agent or start not in STARTS:
                return ok
        elif (
            current
            and current["value"] != value
            and start not in REPLACING.get((source, agent), ())
        ):
            return ok
        pane["agent_session"] = {"source": source, "agent": agent, "kind": "id", "value": value}
        return ok


METHODS: dict[str, Callable[[HerdrDouble, Json], Json]] = {
    "ping": HerdrDouble._ping,
    "session.snapshot": HerdrDouble._snapshot,
    "workspace.list": HerdrDouble._workspace_list,
    "tab.list": HerdrDouble._tab_list,
    "pane.list": HerdrDouble._pane_list,
    "pane.get": HerdrDouble._pane_get,
    "pane.process_info": HerdrDouble._process_info,
    "pane.read": HerdrDouble._read,
    "pane.report_agent_session": HerdrDouble._report_agent_session,
}


def _text(params: Json, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RefusalError("invalid_request", f"missing field `{name}`")
    return value


def _resuming(report: Json) -> list[str] | None:
    """How herdr resumes what was reported; None where it cannot."""
    if report["agent"] != "letta":
        return [report["agent"], "--resume", report["value"]]
    kind, default, agent = report["value"].partition("default:")
    if kind or not default:
        return ["letta", "--conversation", report["value"]]
    return ["letta", "--conversation", "default", "--agent", agent] if agent else None


def _spoiled(reply: Json, fault: Json) -> Iterator[bytes]:
    """The bytes to send, spoiled as the fault says."""
    kind = fault.get("kind")
    if kind == "wrong_id":
        reply = {**reply, "id": "someone-else"}
    elif kind == "wrong_type":
        reply = {"id": reply["id"], "result": {"type": "layout_export", "layout": {}}}
    elif kind == "empty_result":
        reply = {"id": reply["id"], "result": {"type": "ok"}}
    elif kind == "error":
        code, message = fault.get("code", "internal_error"), fault.get("message", "it failed")
        reply = {"id": reply["id"], "error": {"code": code, "message": message}}
    elif kind == "oversized":
        reply = {**reply, "padding": "x" * fault.get("size", 40 << 20)}
    elif kind == "extra_fields":
        reply = _mapped(reply, lambda found: {**found, "zz_new_field": {"a": [1, None]}})
    elif kind == "drop_fields":
        gone = set(fault["fields"])
        reply = _mapped(reply, lambda found: {key: found[key] for key in found if key not in gone})
    elif kind == "null_fields":
        names = fault.get("fields", ("agent", "agent_session", "display_agent", "terminal_title"))
        reply = _mapped(
            reply,
            lambda found: {**dict.fromkeys(names if "pane_id" in found else ()), **found},
        )
    elif kind == "set_fields":
        reply = _mapped(
            reply, lambda found: {**found, **fault["fields"]} if "pane_id" in found else found
        )
    text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "backslashreplace")
    spoiled = {
        "garbage": b"%%% not json %%%\n",
        "html": b"<html><body>502 Bad Gateway</body></html>\n",
        "invalid_utf8": b'{"id":"x","result":{"type":"ok","t":"\xff\xfe\x80"}}\n',
        "not_object": b'["result",1,2]\n',
        "half_line": line[: len(line) // 2],
        "no_newline": line,
        "two_lines": (line + b"\n") * 2,
        "noise_before": b"\n" + line + b"\n",
    }
    if kind == "endless_line":
        for _ in range(fault.get("size", 64 << 20) >> 16):
            yield b"y" * (1 << 16)
    elif kind == "dribble":
        size = fault.get("size", 7)
        for at in range(0, len(line) + 1, size):
            yield (line + b"\n")[at : at + size]
    else:
        yield spoiled.get(str(kind), line + b"\n")


def _mapped(value: Any, change: Callable[[Json], Json]) -> Any:
    if isinstance(value, dict):
        return change({name: _mapped(inner, change) for name, inner in value.items()})
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    return value


def _gone(connection: socket.socket) -> bool:
    try:
        connection.settimeout(0)
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        with contextlib.suppress(OSError):
            connection.settimeout(30)
