"""herdr's lines: a request to bytes, bytes to lines, a line to records. No I/O.

Source: herdr 0.8.0 to 0.9.3, `src/api/server.rs` and its schema. One JSON object a
line. A connection carries one request and one reply, so a reply belongs to its
connection; its id is not looked at (herdr up to 0.9.1 leaves it empty in an error).
Fields that are not used may be of any type, missing or new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from lettafast.errors import (
    HerdrProtocolError,
    HerdrProtocolReason,
    HerdrRefused,
    HerdrUnavailable,
    HerdrUnavailableReason,
)

from .records import (
    DescribedProcess,
    Event,
    PaneInfo,
    ProcessInfo,
    Report,
    Screen,
    Snapshot,
    Tab,
    Version,
    Workspace,
)
from .screen import plain

MAX_LINE_BYTES = 32 << 20
"""A longer line of herdr's is refused. The largest known are a few hundred KB."""

T = TypeVar("T")


def request(method: str, **params: Any) -> bytes:
    """The line that asks for `method`."""
    said = {"id": "lettafast", "method": method, "params": params}
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


class Lines:
    """What one connection sent, cut into lines as it comes; blank ones are left out."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completed, without their LF. Raises `HerdrProtocolError`."""
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            self._extend(end)
            if self._rest.strip():
                lines.append(bytes(self._rest))
            self._rest.clear()
        self._extend(rest)
        return lines

    def _extend(self, data: bytes) -> None:
        if len(self._rest) + len(data) > MAX_LINE_BYTES:
            raise HerdrProtocolError(HerdrProtocolReason.TOO_LONG, self._socket)
        self._rest += data


class Answer:
    """One object of an answer, read strictly where a field is asked for."""

    def __init__(self, socket: str, members: Mapping[str, Any], path: str = "") -> None:
        self.socket = socket
        self.members = members
        self._path = path

    def text(self, name: str) -> str:
        """A string that must be there."""
        found = self.optional_text(name)
        if found is None:
            self._fail(HerdrProtocolReason.MISSING_FIELD, name)
        return found

    def optional_text(self, name: str) -> str | None:
        """A string, or None where it was left out."""
        found = self.members.get(name)
        if found is None:
            return None
        if not isinstance(found, str):
            self._fail(HerdrProtocolReason.WRONG_TYPE, name)
        return _without_surrogates(found)

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        """An array of strings, or None where it was left out."""
        found = self.members.get(name)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self._fail(HerdrProtocolReason.WRONG_TYPE, name)
        return tuple(map(_without_surrogates, found))

    def number(self, name: str) -> int:
        """A whole number that must be there."""
        found = self.optional_number(name)
        if found is None:
            self._fail(HerdrProtocolReason.MISSING_FIELD, name)
        return found

    def optional_number(self, name: str) -> int | None:
        """A whole number of at most 63 bits, or None where it was left out."""
        found = self.members.get(name)
        if found is None:
            return None
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 1 << 63:
            self._fail(HerdrProtocolReason.WRONG_TYPE, name)
        return found

    def flag(self, name: str) -> bool:
        """A boolean; False where it was left out."""
        found = self.members.get(name)
        if found is None:
            return False
        if not isinstance(found, bool):
            self._fail(HerdrProtocolReason.WRONG_TYPE, name)
        return found

    def inner(self, name: str) -> Answer:
        """An object that must be there."""
        found = self.members.get(name)
        if found is None:
            self._fail(HerdrProtocolReason.MISSING_FIELD, name)
        return self._object(found, name)

    def each(
        self, name: str, read: Callable[[Answer], T], *, optional: bool = False
    ) -> tuple[T, ...]:
        """What `read` makes of each object of an array."""
        found = self.members.get(name)
        if found is None and optional:
            return ()
        if found is None:
            self._fail(HerdrProtocolReason.MISSING_FIELD, name)
        if not isinstance(found, list):
            self._fail(HerdrProtocolReason.WRONG_TYPE, name)
        return tuple(read(self._object(one, f"{name}[{at}]")) for at, one in enumerate(found))

    def _object(self, value: Any, name: str) -> Answer:
        if not isinstance(value, dict):
            self._fail(HerdrProtocolReason.WRONG_TYPE, name)
        return Answer(self.socket, value, f"{self._path}{name}.")

    def _fail(self, reason: HerdrProtocolReason, name: str) -> NoReturn:
        raise HerdrProtocolError(reason, self.socket, self._path + name)


def result(socket: str, line: bytes, kind: str) -> Answer:
    """The result of type `kind` that a reply carries.

    Raises `HerdrRefused` for herdr's own error reply, `HerdrUnavailable` where that
    says that herdr is shutting down, `HerdrProtocolError` for anything else.
    """
    found = _reply(socket, line).inner("result")
    if found.members.get("type") != kind:
        raise HerdrProtocolError(HerdrProtocolReason.UNEXPECTED_RESULT, socket)
    return found


def event(socket: str, line: bytes) -> Event:
    """The event that a line of a subscription carries; raises what `result` does."""
    said = _reply(socket, line)
    data = said.inner("data")
    # Events about a whole pane carry it instead of its id.
    pane = data.members.get("pane")
    holder = pane if isinstance(pane, dict) else data.members
    pane_id = holder.get("pane_id")
    return Event(
        name=said.text("event").replace(".", "_"),
        pane_id=pane_id if isinstance(pane_id, str) else None,
        data=data.members,
    )


def version_of(pong: Answer) -> Version:
    """What `ping` says, and the head of a snapshot."""
    return Version(pong.text("version"), pong.number("protocol"))


def snapshot_of(version: Version, panes: Answer, tabs: Answer, workspaces: Answer) -> Snapshot:
    """One snapshot from the answers that hold its arrays, which may be one and the same."""
    return Snapshot(
        version.version,
        version.protocol,
        panes.each("panes", pane_of),
        tabs.each("tabs", _tab_of),
        workspaces.each("workspaces", _workspace_of),
    )


def pane_of(pane: Answer) -> PaneInfo:
    """One `PaneInfo`."""
    agent = pane.optional_text("agent")
    return PaneInfo(
        socket=pane.socket,
        pane_id=pane.text("pane_id"),
        terminal_id=pane.text("terminal_id"),
        workspace_id=pane.text("workspace_id"),
        tab_id=pane.text("tab_id"),
        cwd=pane.optional_text("cwd"),
        foreground_cwd=pane.optional_text("foreground_cwd"),
        label=pane.optional_text("label"),
        agent=agent,
        title=pane.optional_text("terminal_title"),
        agent_status=pane.optional_text("agent_status") or "unknown",
        report=_report_of(pane, agent),
        focused=pane.flag("focused"),
    )


def process_info_of(info: Answer) -> ProcessInfo:
    """What `pane.process_info` says."""
    return ProcessInfo(
        pane_id=info.text("pane_id"),
        shell_pid=info.optional_number("shell_pid"),
        group=info.optional_number("foreground_process_group_id"),
        processes=info.each("foreground_processes", _process_of, optional=True),
    )


def screen_of(read: Answer) -> Screen:
    """What `pane.read` says, made plain."""
    return Screen(read.text("pane_id"), plain(read.text("text")), read.flag("truncated"))


def _reply(socket: str, line: bytes) -> Answer:
    try:
        said = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise HerdrProtocolError(HerdrProtocolReason.INVALID_UTF8, socket) from None
    except (ValueError, RecursionError):
        raise HerdrProtocolError(HerdrProtocolReason.MALFORMED_JSON, socket) from None
    if not isinstance(said, dict):
        raise HerdrProtocolError(HerdrProtocolReason.NOT_AN_OBJECT, socket)
    reply = Answer(socket, said)
    if said.get("error") is not None:
        refusal = reply.inner("error")
        code = refusal.text("code")
        if code == "server_unavailable":
            raise HerdrUnavailable(HerdrUnavailableReason.SHUTTING_DOWN, socket)
        raise HerdrRefused(socket, code, refusal.optional_text("message") or "")
    return reply


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _report_of(pane: Answer, agent: str | None) -> Report | None:
    """The pane's `agent_session`; one of an unknown form is an error where it may be Letta's."""
    found = pane.members.get("agent_session")
    if found is None:
        return None
    about = found if isinstance(found, dict) else {}
    if "letta" in (agent, about.get("agent")) or about.get("source") == "herdr:letta":
        report = pane.inner("agent_session")
        return Report(*map(report.text, ("source", "agent", "kind", "value")))
    said = [about.get(name) for name in ("source", "agent", "kind", "value")]
    if not all(isinstance(one, str) for one in said):
        return None
    return Report(*map(_without_surrogates, map(str, said)))


def _process_of(process: Answer) -> DescribedProcess:
    return DescribedProcess(
        pid=process.number("pid"),
        argv=process.optional_texts("argv"),
        cwd=process.optional_text("cwd"),
    )


def _tab_of(tab: Answer) -> Tab:
    return Tab(
        tab.text("tab_id"),
        tab.text("workspace_id"),
        tab.optional_text("label") or "",
        tab.flag("focused"),
    )


def _workspace_of(workspace: Answer) -> Workspace:
    return Workspace(
        workspace.text("workspace_id"),
        workspace.optional_text("label") or "",
        workspace.flag("focused"),
    )


def _without_surrogates(text: str) -> str:
    if text.isascii():
        return text
    # A pair of escapes is one character already; what is left of them is alone.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
