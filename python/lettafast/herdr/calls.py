"""herdr's calls, without the waiting: each yields requests and is sent the reply lines.

What carries them, blocking or not, is `client` and `aio`. Every call may end with
`HerdrUnavailable`, `HerdrProtocolError` or `HerdrRefused`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

from lettafast.errors import HerdrRefused, HerdrRefusedReason

from . import codec
from .records import PaneInfo, ProcessInfo, ReadSource, Screen, Snapshot, Version

T = TypeVar("T")
Call = Generator[bytes, bytes, T]

EVENTS = (
    "workspace.created",
    "workspace.updated",
    "workspace.renamed",
    "workspace.closed",
    "tab.created",
    "tab.closed",
    "tab.renamed",
    "pane.created",
    "pane.closed",
    "pane.updated",
    "pane.focused",
    "pane.moved",
    "pane.exited",
    "pane.agent_detected",
)
"""What is subscribed to unless other kinds are named: what may change a snapshot."""


def ping(socket: str) -> Call[Version]:
    """The version of herdr. It is answered by a thread of its own: the rest may still be busy."""
    return codec.version_of(codec.result(socket, (yield codec.request("ping")), "pong"))


def snapshot(socket: str) -> Call[Snapshot]:
    """All panes, tabs and workspaces.

    herdr before 0.7.2 lacks the one call for it; there they are asked for one after
    the other, and may not be of one moment.
    """
    try:
        line = yield codec.request("session.snapshot")
        found = codec.result(socket, line, "session_snapshot").inner("snapshot")
    except HerdrRefused as error:
        if error.reason is not HerdrRefusedReason.INVALID_REQUEST:
            raise
    else:
        return codec.snapshot_of(codec.version_of(found), found, found, found)
    version = yield from ping(socket)
    workspaces = codec.result(socket, (yield codec.request("workspace.list")), "workspace_list")
    tabs = codec.result(socket, (yield codec.request("tab.list")), "tab_list")
    panes = codec.result(socket, (yield codec.request("pane.list")), "pane_list")
    return codec.snapshot_of(version, panes, tabs, workspaces)


def pane(socket: str, pane_id: str) -> Call[PaneInfo]:
    """One pane; after a move it may answer to an older id and say its new one."""
    line = yield codec.request("pane.get", pane_id=pane_id)
    return codec.pane_of(codec.result(socket, line, "pane_info").inner("pane"))


def process_info(socket: str, pane_id: str) -> Call[ProcessInfo]:
    """The processes of the pane's foreground group."""
    line = yield codec.request("pane.process_info", pane_id=pane_id)
    found = codec.result(socket, line, "pane_process_info")
    return codec.process_info_of(found.inner("process_info"))


def read(socket: str, pane_id: str, lines: int, source: ReadSource) -> Call[Screen]:
    """The pane's last `lines` rows.

    Always asked for as `ansi`: for a `text` read herdr may scroll the user's program
    up and down to collect rows.
    """
    line = yield codec.request(
        "pane.read", pane_id=pane_id, source=source, lines=lines, format="ansi"
    )
    return codec.screen_of(codec.result(socket, line, "pane_read").inner("read"))


def subscription(events: Iterable[str], status_of: Iterable[str]) -> bytes:
    """The request for `events`, and for changes of the agent status of panes."""
    wanted = [{"type": name} for name in events]
    wanted += [{"type": "pane.agent_status_changed", "pane_id": pane_id} for pane_id in status_of]
    return codec.request("events.subscribe", subscriptions=wanted)


def started(socket: str, line: bytes) -> None:
    """Checks the first line of a subscription."""
    codec.result(socket, line, "subscription_started")
