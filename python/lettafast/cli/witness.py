"""`lettafast witness`: the mod by which Letta Code itself says which conversation it shows."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from lettafast.visible import file_name, visible_line

from . import output
from .paint import Paint, paint_for_stdout
from .table import write_table
from .usage import UsageError

if TYPE_CHECKING:  # loaded only by this command
    from lettafast.witness import Found, LettaStatus

HELP = "install or remove the mod by which Letta Code says what it shows"
DESCRIPTION = """\
Letta Code loads what lies in ~/.letta/mods. `install` puts one small file there,
by which each letta says which conversation it shows, and so `lettafast panes` knows
after /new and /resume, too. The mod shows, prints and sends nothing. A letta that
already runs loads it after /reload or its next start; `status` says which have it.
`uninstall` removes the mod and what it has written. A file of that name that is
not as lettafast installed it is left as it is. Linux only."""
EPILOG = """\
exit status:
  0  done; with `status`: what this lettafast installs is there
  1  something else has the mod's name; with `status`: it is not there
  2  the command is wrong
  3  it could not be read or written

examples:
  lettafast witness install
  lettafast witness status --json | jq '.lettas[] | select(.state == "not_loaded")'"""

_HEADINGS = ("PID", "MOD", "SHOWS", "FOLDER")
_STATES = {
    "loaded": "loaded",
    "stale": "loaded, and silent: it is stopped, or very busy",
    "not_loaded": "not loaded, or nothing is shown yet: type /reload there, or start it again",
    "mods_off": "not loaded: it was started without mods",
    "headless": "not needed: it shows no conversation",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("action", choices=("install", "uninstall", "status"))
    parser.add_argument("--home", metavar="DIR", help="the home folder (default: yours)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Installs, removes or looks."""
    home = _home(args)
    try:
        if args.action == "install":
            return _install(home, args)
        if args.action == "uninstall":
            return _uninstall(home, args)
        return _status(home, args)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this command needs the package `{error.name}`",
            "install it with `pip install 'lettafast[binding]'`",
        ) from None


def _home(args: argparse.Namespace) -> str:
    if args.home == "":
        raise UsageError("--home names no folder", "name the home folder of the user of Letta Code")
    home = os.path.abspath(args.home) if args.home else os.path.expanduser("~")
    if not os.path.isabs(home):
        raise UsageError("HOME is no absolute path", "name the home folder with --home")
    return home


def _install(home: str, args: argparse.Namespace) -> int:
    from lettafast.witness import State, install

    before = install(home)
    changed = before.state is not State.CURRENT
    if args.json:
        output.write_json({"changed": changed} | _mod_shape(home))
        return 0
    place = _place(home)
    if not changed:
        output.write_text(f"{place} is there already\n")
        return 0
    replaced = f", in the place of version {before.version}" if before.version is not None else ""
    output.write_text(f"{place} was installed{replaced}\n")
    output.write_text("A letta that runs already loads it after /reload.\n")
    return 0


def _uninstall(home: str, args: argparse.Namespace) -> int:
    from lettafast.witness import State, lettas_of, uninstall

    running = [letta.pid for letta in lettas_of(home)]
    removed = uninstall(home, running)
    if args.json:
        output.write_json(
            {
                "changed": removed.mod.state is not State.MISSING,
                "witnesses": removed.witnesses,
                "left": list(removed.left),
            }
            | _mod_shape(home)
        )
        return 0
    done = "was not there" if removed.mod.state is State.MISSING else "was removed"
    output.write_text(f"{_place(home)} {done}\n")
    if removed.left:
        pids = ", ".join(map(str, removed.left))
        output.write_text(f"These lettas keep it until they end or /reload: {pids}\n")
    return 0


def _status(home: str, args: argparse.Namespace) -> int:
    from lettafast.witness import State, check_place, installed, lettas_of

    found = installed(home)
    check_place(home)
    lettas = lettas_of(home)
    if args.json:
        output.write_json(_mod_shape(home) | {"lettas": [_letta_shape(one) for one in lettas]})
    else:
        output.write_text(_told(home, found))
        if lettas:
            paint = paint_for_stdout()
            output.write_text("\n")
            write_table([_HEADINGS, *(_row(one, paint) for one in lettas)], paint)
    return 0 if found.state is State.CURRENT else 1


def _mod_shape(home: str) -> dict[str, Any]:
    """What lies at the mod's place now."""
    from lettafast.witness import VERSION, installed, mod_path

    found = installed(home)
    return {
        "path": file_name(mod_path(home)),
        "installed": found.state.value,
        "version": found.version,
        "newest": VERSION,
    }


def _letta_shape(letta: LettaStatus) -> dict[str, Any]:
    said = letta.witness
    return {
        "pid": letta.pid,
        "folder": None if letta.folder is None else file_name(letta.folder),
        "state": letta.loaded.value,
        "agent_id": said and said.agent_id,
        "conversation_id": said and said.conversation_id,
        "saw": file_name(letta.saw) or None,
    }


def _place(home: str) -> str:
    from lettafast.witness import mod_path

    return visible_line(file_name(mod_path(home)))


def _told(home: str, found: Found) -> str:
    """What lies at the mod's place, in words."""
    from lettafast.witness import State

    words = {
        State.MISSING: "is not there: `lettafast witness install` puts it there",
        State.CURRENT: f"is installed, version {found.version}",
        State.OTHER: f"is of another lettafast, version {found.version}: "
        "`lettafast witness install` replaces it",
        State.CHANGED: "is not as lettafast has installed it, and is left as it is",
        State.FOREIGN: "is not lettafast's, and is left as it is",
    }
    return f"{_place(home)} {words[found.state]}\n"


def _row(letta: LettaStatus, paint: Paint) -> tuple[str, ...]:
    said = letta.witness
    shows = f"{said.agent_id}/{said.conversation_id}" if said else "-"
    return (
        str(letta.pid),
        _STATES[letta.loaded.value],
        visible_line(shows, paint.mark),
        visible_line(file_name(letta.folder or "-"), paint.mark),
    )
