"""What is asked of `tmux list-panes`, and how its answer is read.

A title, a name or a path may hold anything, a line end too. So each value stands between
marks that were drawn for this one question, which no value can hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_VARIABLES = (
    "pane_id",
    "pane_pid",
    "pane_tty",
    "pane_dead",
    "session_name",
    "window_index",
    "pane_index",
    "=256:pane_title",
    "pane_current_path",
)
_PANE_ID = re.compile("%[0-9]{1,10}")
_PID = re.compile("[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class TmuxPane:
    """One pane of a tmux server."""

    pane_id: str
    """`%` and a number: the server gives no other pane the same."""
    pid: int
    """Of the process that tmux started in it: the leader of its terminal's session."""
    tty: str
    """The path of its terminal."""
    is_dead: bool
    """Whether that process ended, and tmux only keeps what it left on the screen."""
    place: str
    """`<session>:<window>.<pane>`, as a target of tmux's commands: the first of several."""
    title: str
    """The terminal's title, as the program set it; the host's name before any did."""
    folder: str
    """The folder of what runs in front; may hold lone surrogates for bytes that are no UTF-8."""


def template(mark: bytes) -> str:
    """The format that gives each value between two marks, for `list-panes -F`."""
    text = mark.decode("ascii")
    return text + "".join(f"#{{{name}}}{text}" for name in _VARIABLES)


def parse(mark: bytes, answer: bytes) -> tuple[TmuxPane, ...]:
    """The panes of an answer, each once, in tmux's order. Raises `ValueError`.

    A window that is linked into several sessions is listed in each.
    """
    if not answer:
        return ()
    first, *pieces = answer.split(mark)
    size = len(_VARIABLES) + 1
    if first or len(pieces) % size or any(end != b"\n" for end in pieces[size - 1 :: size]):
        raise ValueError("no list of panes")
    panes: dict[str, TmuxPane] = {}
    for at in range(0, len(pieces), size):
        pane = _pane(pieces[at : at + size - 1])
        panes.setdefault(pane.pane_id, pane)
    return tuple(panes.values())


def _pane(values: list[bytes]) -> TmuxPane:
    texts = [value.decode("utf-8", "replace") for value in values[:-1]]
    pane_id, pid, tty, dead, session, window, index, title = texts
    if not _PANE_ID.fullmatch(pane_id) or not _PID.fullmatch(pid):
        raise ValueError("no pane")
    folder = values[-1].decode("utf-8", "surrogateescape")
    place = f"{session}:{window}.{index}"
    return TmuxPane(pane_id, int(pid), tty, dead == "1", place, title, folder)
