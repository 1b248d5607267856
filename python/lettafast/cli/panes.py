"""`lettafast panes`: every pane of herdr and tmux, and what it shows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TypeAlias

from lettafast.visible import file_name, visible_line

from . import output
from .paint import Paint, paint_for_stdout
from .sessions import Sessions, add_sessions, looks
from .status import UNREACHABLE
from .table import write_table

if TYPE_CHECKING:
    from lettafast.binding import Binder
    from lettafast.binding.world import World

HELP = "list the panes of herdr and tmux, and the conversation that each is proven to show"
DESCRIPTION = """\
Lists every pane of every herdr session and of every tmux server of yours that is
found. A pane is bound to a conversation when a proof holds; else it shows its
terminal, and the reason says why. `lettafast explain PANE` shows each rule and what
it saw."""
EPILOG = """\
exit status:
  0  done    3  no session could be looked at

examples:
  lettafast panes
  lettafast panes --watch
  lettafast panes --json | jq -r 'select(.verdict == "bound") | .conversation_id'"""

_Key: TypeAlias = tuple[str, str]
"""A pane's socket and terminal."""
_HEADINGS = ("PANE", "AGENT", "STATUS", "SHOWS", "FOLDER", "SESSION")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_sessions(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object for each pane")


def run(args: argparse.Namespace) -> int:
    """Prints a table or one object a pane; with `--watch`, then what changes."""
    from lettafast.binding.names import session_name

    status, known = 0, dict[_Key, dict[str, Any]]()
    sessions = Sessions(args)
    with sessions.binder() as looking:
        for number, _ in enumerate(looks(args)):
            world = looking.look()
            panes = _shapes(looking, world, sessions)
            # A session that does not answer now may still have the panes that it had.
            away = {session_name(one.name, one.socket) for one in world.unseen}
            panes |= {
                key: pane
                for key, pane in known.items()
                if pane["session"] in away and key not in panes
            }
            news = [pane for key, pane in panes.items() if _differs(known.get(key), pane)]
            gone = [known[key] | {"verdict": "gone"} for key in known.keys() - panes.keys()]
            known = panes
            _write([*news, *gone], args, with_headings=number == 0)
            output.flush()
            sessions.tell(world)
            status = 0 if sessions.is_reached(world) else UNREACHABLE
    return status


def _shapes(looking: Binder, world: World, sessions: Sessions) -> dict[_Key, dict[str, Any]]:
    from lettafast.binding.shape import pane_shape

    return {
        (seen.pane.socket, seen.pane.terminal_id): pane_shape(looking.bound(world, seen))
        for seen in sessions.shown(world)
    }


def _differs(before: dict[str, Any] | None, now: dict[str, Any]) -> bool:
    """Whether anything but the time of the look, and what a rule saw, is another."""
    return before is None or _lasting(before) != _lasting(now)


def _lasting(pane: dict[str, Any]) -> dict[str, Any]:
    return {name: pane[name] for name in pane if name not in ("checked_at", "evidence")}


def _write(panes: list[dict[str, Any]], args: argparse.Namespace, *, with_headings: bool) -> None:
    if args.json:
        for pane in panes:
            output.write_json(pane)
    elif panes:
        paint = paint_for_stdout()
        rows = [_row(pane, paint) for pane in panes]
        write_table([_HEADINGS, *rows] if with_headings else rows, paint, headed=with_headings)


def _row(pane: dict[str, Any], paint: Paint) -> tuple[str, ...]:
    shows = pane["verdict"]
    if shows == "bound":
        shows = f"{pane['agent_id']}/{pane['conversation_id']}"
    elif shows == "terminal":
        shows = f"terminal: {pane['reason']}"
    cells = (
        pane["pane_id"],
        pane["agent"] or "-",
        pane["agent_status"],
        shows,
        pane["cwd"] or "-",
        pane["socket"],
    )
    return tuple(visible_line(file_name(cell), paint.mark) for cell in cells)
