"""`lettafast list`: the conversations of a store."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from lettafast.paths import transcript_root
from lettafast.records import ConversationRef
from lettafast.store import Store
from lettafast.visible import file_name, visible_line

from . import output
from .numbers import human_size, human_time
from .paint import paint_for_stdout
from .progress import Progress
from .table import write_table

HELP = "list the conversations of the store"
DESCRIPTION = """\
Lists every conversation folder beneath the root where Letta Code keeps its
transcripts (LETTA_TRANSCRIPT_ROOT, else ~/.letta/transcripts), by name. No
transcript is read: `present` says that there are bytes, `empty` that there are
none, `missing` that the folder has no transcript; `lettafast check` reads."""
EPILOG = """\
exit status:
  0  done    3  the root could not be read

examples:
  lettafast list
  lettafast list --root /backup/transcripts
  lettafast list --json | jq -r 'select(.size > 1000000) | .agent + "/" + .conversation'"""

_HEADINGS = ("AGENT", "CONVERSATION", "STATE", "SIZE", "MODIFIED")
_SIZE = _HEADINGS.index("SIZE")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_root(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object for each conversation"
    )


def add_root(parser: argparse.ArgumentParser) -> None:
    """Adds `--root`."""
    parser.add_argument("--root", metavar="DIR", help="the store's folder (default: Letta Code's)")


def run(args: argparse.Namespace) -> int:
    """Prints a table, or one object a line."""
    root = transcript_root() if args.root is None else args.root
    conversations = Store(root).conversations()
    if args.json:
        for found in conversations:
            output.write_json(_as_json(found))
        return 0
    with Progress() as progress:
        rows = list(_rows(_counted(conversations, progress)))
    if rows:
        write_table([_HEADINGS, *rows], paint_for_stdout(), right=[_SIZE])
    else:
        output.note(f"no conversation is beneath {visible_line(file_name(root))}")
    return 0


def _as_json(found: ConversationRef) -> dict[str, Any]:
    value = asdict(found)
    value["agent"] = file_name(found.agent)
    value["conversation"] = file_name(found.conversation)
    return value


def _counted(
    conversations: Iterable[ConversationRef], progress: Progress
) -> Iterator[ConversationRef]:
    for number, found in enumerate(conversations, start=1):
        progress.say(f"listing: {number:,} conversations")
        yield found


def _rows(conversations: Iterable[ConversationRef]) -> Iterator[tuple[str, ...]]:
    for found in conversations:
        state: str = found.state
        if found.state == "unreadable" and found.reason:
            state = f"{state} ({found.reason.replace('_', ' ')})"
        yield (
            visible_line(file_name(found.agent)),
            visible_line(file_name(found.conversation)) or "-",
            state,
            "-" if found.size is None else human_size(found.size),
            "-" if found.mtime is None else human_time(found.mtime),
        )
