"""What herdr says, as values: frozen, slotted, made of plain types.

A member that herdr left out, or gave as null, is None. No string here contains a
surrogate: an escaped lone surrogate was read as U+FFFD. Ids are opaque.
Source: herdr 0.8.0 to 0.9.3, protocols 19 to 22 (`ping` says which one runs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ReadSource = Literal["visible", "recent", "recent_unwrapped", "detection"]

MAX_READ_LINES = 1_000
"""Rows that herdr gives at most, whatever is asked."""


@dataclass(frozen=True, slots=True)
class Report:
    """herdr's `agent_session`: what an integration said of the pane."""

    source: str
    agent: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class DescribedProcess:
    """A process of a pane's foreground group, as herdr describes it."""

    pid: int
    argv: tuple[str, ...] | None
    cwd: str | None


@dataclass(frozen=True, slots=True)
class Version:
    """Which herdr answers. The protocol's number rises with most releases; none is refused."""

    version: str
    protocol: int


@dataclass(frozen=True, slots=True)
class PaneInfo:
    """One pane, as herdr tells of it.

    `(socket, terminal_id)` names it for as long as its terminal lives.
    """

    socket: str
    pane_id: str
    """Unique only together with the socket; a move gives the pane another one."""
    terminal_id: str
    workspace_id: str
    tab_id: str
    cwd: str | None
    foreground_cwd: str | None
    """The folder of the process that owns the terminal."""
    label: str | None
    agent: str | None
    """herdr's label of the agent that it detected in front; None for a shell."""
    title: str | None
    """The terminal's title, as the program set it."""
    agent_status: str
    """`idle`, `working`, `blocked`, `done` or `unknown`; a newer herdr may know others."""
    report: Report | None
    focused: bool


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of a workspace."""

    tab_id: str
    workspace_id: str
    label: str
    focused: bool


@dataclass(frozen=True, slots=True)
class Workspace:
    """One workspace."""

    workspace_id: str
    label: str
    focused: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that one herdr session shows, in herdr's order."""

    version: str
    protocol: int
    panes: tuple[PaneInfo, ...]
    tabs: tuple[Tab, ...]
    workspaces: tuple[Workspace, ...]


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """What runs in front in one pane. No process at all means that herdr does not know."""

    pane_id: str
    shell_pid: int | None
    group: int | None
    """The terminal's foreground process group."""
    processes: tuple[DescribedProcess, ...]


@dataclass(frozen=True, slots=True)
class Screen:
    """The text of a pane, without escape sequences; LF ends a row."""

    pane_id: str
    text: str
    truncated: bool
    """Whether there were older rows."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in herdr. A changed report makes no event."""

    name: str
    """With underscores, as in `pane_created`, however herdr spelled it."""
    pane_id: str | None
    data: Mapping[str, Any]
    """The event's members as herdr sent them, not checked."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """herdr gives no snapshot now: the reason of the error, and its message."""

    reason: str
    message: str
