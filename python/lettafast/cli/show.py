"""`lettafast show`: a conversation for people."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lettafast.records import Turn
from lettafast.transcript import Transcript

from . import output
from .locate import add_path, open_from
from .numbers import human_count, positive
from .paint import paint_for_stdout
from .progress import Progress
from .render import Renderer

LAST = 10
"""Turns that are shown where the user names no number."""
_LIMIT = 50

HELP = "show the conversation for people"
DESCRIPTION = f"""\
Shows the last {LAST} turns of a conversation, oldest first: what was said,
thinking (~), errors (!) and tool calls (*), each call folded to one line.
Control and invisible characters are spelled out (\\x1b, \\u202e), so nothing in
a transcript can steer the terminal."""
EPILOG = """\
examples:
  lettafast show AGENT/CONVERSATION
  lettafast show transcript.jsonl --last 2 --refs
  lettafast show transcript.jsonl --all | less"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_path(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--last",
        metavar="N",
        type=positive,
        default=LAST,
        help=f"how many turns to show (default: {LAST})",
    )
    which.add_argument("--all", action="store_true", help="show every turn")
    parser.add_argument(
        "--refs", action="store_true", help="show each tool call's REF, for `lettafast content`"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the last turns, or all."""
    paint = paint_for_stdout()
    with open_from(args) as transcript:
        turns = transcript.summary.turns
        last = turns if args.all else min(args.last, turns)
        if last < turns:
            earlier = human_count(turns - last, "earlier turn", "earlier turns")
            output.write_text(paint("dim", f"({earlier}: --all shows them)") + "\n\n")
        renderer = Renderer(paint, refs=args.refs)
        for turn, continued in _last_turns(transcript, last):
            output.write_text(renderer.turn(turn, continued=continued))
        for line in _remarks(transcript):
            output.write_text("\n" + paint("dim", f"({line})") + "\n")
    return 0


def _last_turns(transcript: Transcript, last: int) -> Iterator[tuple[Turn, bool]]:
    """The last turns, oldest first, and whether each goes on with the one before it.

    Walks back over the pages until they hold enough, then forward again, so
    that never more than one page is in memory.
    """
    starts: list[str | None] = []
    before, held = None, 0
    with Progress() as progress:
        while not starts or (before is not None and held < last):
            progress.say(f"going back {held:,} of {last:,} turns")
            page = transcript.page(before, _LIMIT)
            starts.append(before)
            # A turn that begins on an older page is counted there.
            held += len(page.turns) - page.starts_mid_turn
            before = page.older
    surplus, shown = held - last, False
    for start in reversed(starts):
        page = transcript.page(start, _LIMIT)
        for number, turn in enumerate(page.turns):
            continued = number == 0 and page.starts_mid_turn
            if not continued:
                shown = surplus <= 0
                surplus -= 1
            if shown:
                yield turn, continued


def _remarks(transcript: Transcript) -> Iterator[str]:
    summary = transcript.summary
    if not summary.entries:
        yield "no entry yet"
    if summary.tail_bytes:
        unfinished = human_count(summary.tail_bytes, "byte", "bytes")
        yield f"an unfinished line of {unfinished} follows: it is being written, or was cut off"
    if transcript.diagnostics_total:
        faults = human_count(transcript.diagnostics_total, "diagnostic", "diagnostics")
        yield f"{faults}: lettafast check --lenient PATH lists what was skipped"
