"""`lettafast content`: one long text or tool output, whole or in part."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from lettafast.errors import LettafastError, RefError, RefReason
from lettafast.records import MAX_RANGE_BYTES, ContentPart, TextRange
from lettafast.transcript import Transcript
from lettafast.visible import file_name, visible

from . import output
from .locate import add_path, open_from
from .numbers import count, human_size
from .paint import paint_for_stdout
from .progress import Progress
from .usage import UsageError

HELP = "print one text or tool output, whole or a range of it"
DESCRIPTION = """\
Prints one decoded text, byte for byte and with nothing added. On a terminal,
control and invisible characters are spelled out and a last line end is added.
Numbers are bytes of UTF-8; a range is widened to whole characters."""
EPILOG = f"""\
With --json: one object for each range of at most {MAX_RANGE_BYTES:,} bytes, with `text`,
`start`, `end` and `size` (of the whole text).

exit status:
  0  done    1  refused, or the ref's history is gone    2  bad ref, part or range
  3  the transcript could not be read

examples:
  lettafast show AGENT/CONVERSATION --refs
  lettafast content AGENT/CONVERSATION at:v1-0123456789abcdef:4711 > output.txt
  lettafast content AGENT/CONVERSATION call_123 --part input | jq -r .command"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_path(parser)
    parser.add_argument(
        "ref",
        metavar="REF",
        help="`ref` of a page, or the id of a tool call that only one has",
    )
    parser.add_argument(
        "--part",
        choices=("text", "input", "output"),
        help="what to print (default: an entry's text; of a tool call, its output)",
    )
    parser.add_argument(
        "--start", metavar="N", type=count, default=0, help="the first byte (default: 0)"
    )
    parser.add_argument(
        "--length", metavar="N", type=count, help="how many bytes (default: all that follow)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each range")


def run(args: argparse.Namespace) -> int:
    """Prints the ranges one after the other."""
    paint = paint_for_stdout()
    raw = not output.is_terminal(sys.stdout)
    last = "\n"
    with open_from(args) as transcript, Progress() as progress:
        for found in _ranges(transcript, args):
            if args.json:
                output.write_json(
                    {
                        "text": found.text,
                        "start": found.start,
                        "end": found.end,
                        "size": found.size,
                    }
                )
            elif raw:
                output.write_text(found.text)
                progress.say(f"copied {human_size(found.end)} of {human_size(found.size)}")
            else:
                output.write_text(visible(found.text, paint.mark))
                last = found.text[-1:] or last
    if last != "\n":
        output.write_text("\n")
    return 0


def _ranges(transcript: Transcript, args: argparse.Namespace) -> Iterator[TextRange]:
    """What was asked for, in ranges of at most `MAX_RANGE_BYTES`."""
    ref = file_name(args.ref)
    part = args.part or _usual_part(transcript, ref)
    start: int = args.start
    while True:
        left = MAX_RANGE_BYTES if args.length is None else args.start + args.length - start
        try:
            found = transcript.content(ref, part, start, left)
        except LettafastError:
            raise
        except ValueError as error:
            raise UsageError(str(error), "`size` of any range says how long the text is") from error
        yield found
        start = found.end
        done = start >= found.size or start == found.start
        if done or (args.length is not None and start >= args.start + args.length):
            return


def _usual_part(transcript: Transcript, ref: str) -> ContentPart:
    """The part that is meant when none is named: a text, or a tool call's output."""
    try:
        transcript.content(ref, "text", 0, 0)
    except RefError as error:
        if error.reason is RefReason.NO_SUCH_PART:
            return "output"
        raise
    return "text"
