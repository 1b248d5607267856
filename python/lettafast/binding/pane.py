"""A pane: a terminal and what runs in it, whoever provides it."""

from __future__ import annotations

from dataclasses import dataclass

from lettafast.herdr.records import Report


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane. `(socket, terminal_id)` names it for as long as its terminal lives.

    A member that the provider does not know is None.
    """

    provider: str
    """`herdr`, `tmux`, or `pid` for a process that was named itself."""
    socket: str
    """The path of the server's socket; "" where there is no server."""
    pane_id: str
    """What people call it: unique only together with the socket."""
    terminal_id: str
    cwd: str | None
    """The folder of what runs in front."""
    label: str | None
    title: str | None
    """The terminal's title, as the program set it."""
    agent: str | None
    """The agent in front: as the provider detects it, else `letta` where lettafast sees one."""
    agent_status: str
    """`idle`, `working`, `blocked`, `done` or `unknown`; a newer herdr may know others."""
    report: Report | None
    """What an agent's integration told the provider."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal as the kernel knows it, for who may name one: its session and its device."""

    leader: int
    """The pid of the leader of the session that it controls."""
    path: str
