"""`lettafast page`: one page of a transcript as JSON, the bytes that a front-end gets."""

from __future__ import annotations

import argparse

from lettafast.records import MAX_PAGE_LIMIT, PAGE_LIMIT
from lettafast.visible import file_name

from . import output
from .locate import add_path, open_from
from .numbers import count

HELP = "print one page of turns as JSON"
DESCRIPTION = """\
Prints the newest page of a transcript, or the page that ends where CURSOR
points, as one line of JSON. Turns come oldest first; `older` is the cursor of
the page before, or null."""
EPILOG = """\
exit status:
  0  done    1  refused, or the cursor's history is gone    2  bad cursor or limit
  3  the transcript could not be read

examples:
  lettafast page ~/.letta/transcripts/AGENT/CONVERSATION
  lettafast page AGENT/CONVERSATION --limit 5 | jq .turns
  lettafast page AGENT/CONVERSATION --before v1-0123456789abcdef:4711"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_path(parser)
    parser.add_argument(
        "--before", metavar="CURSOR", help="the page that ends here: `older` of another page"
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=count,
        default=PAGE_LIMIT,
        help="most user entries, each with what follows it, "
        f"from 1 to {MAX_PAGE_LIMIT} (default: {PAGE_LIMIT})",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the bytes of `page_json` and an LF."""
    before = None if args.before is None else file_name(args.before)
    with open_from(args) as transcript:
        output.write(transcript.page_json(before, args.limit) + b"\n")
    return 0
