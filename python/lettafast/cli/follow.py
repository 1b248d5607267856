"""`lettafast follow`: what is appended to a transcript, as it comes."""

from __future__ import annotations

import argparse
import os
import select
import sys
import threading

from . import output
from .locate import add_path, open_from
from .numbers import human_count
from .paint import paint_for_stdout
from .render import Renderer
from .status import LOST_READER

HELP = "print turns as they are appended"
DESCRIPTION = """\
Prints what is appended from now on: for people, or with --json as one page of
JSON a line. Letta Code appends a turn when it is complete, so nothing comes
while an agent is at work. Ends with Ctrl-C, when the reader of its output goes
away, and when the file stops being the same history."""
EPILOG = """\
exit status:
  1  refused, or the history changed: start again    3  the transcript could not be read
  130  Ctrl-C

examples:
  lettafast follow AGENT/CONVERSATION
  lettafast follow AGENT/CONVERSATION --json | jq -c '.turns[]'"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_path(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one page of JSON for each growth"
    )


def run(args: argparse.Namespace) -> int:
    """Prints what is appended until it is stopped."""
    renderer = Renderer(paint_for_stdout(), refs=False)
    with open_from(args) as transcript:
        if sys.stdout is not None:
            threading.Thread(target=_watch_reader, daemon=True).start()
        if output.is_terminal(sys.stderr):
            turns = human_count(transcript.summary.turns, "turn", "turns")
            output.note(f"{turns} so far; waiting for more (Ctrl-C ends)")
        if args.json:
            for data in transcript.follow_json():
                output.write(data + b"\n")
                output.flush()
        for page in transcript.follow():
            for number, turn in enumerate(page.turns):
                continued = number == 0 and page.starts_mid_turn
                output.write_text(renderer.turn(turn, continued=continued))
            output.flush()
    return 0


def _watch_reader() -> None:
    """Ends the process when standard output has lost its reader.

    A write would find out, but a quiet transcript may never need one. Nothing
    is left to clean up: this command changes no file, and its reader has gone.
    """
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)  # an error or a hang-up is always told
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll()):
        os._exit(LOST_READER)
