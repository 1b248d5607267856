"""`lettafast bind --pid N`: which conversation a running letta shows, in whatever terminal."""

from __future__ import annotations

import argparse

from .explain import print_news
from .numbers import positive
from .sessions import add_watch, looks, plain_binder
from .usage import UsageError

HELP = "say which conversation a running letta shows"
DESCRIPTION = """\
Shows the verdict on the letta that has this pid, and each rule that was looked at.
Where the letta is in front of a pane of herdr or tmux, it is the verdict on that
pane. A letta in any other terminal is bound where it has a witness
(`lettafast witness install`)."""
EPILOG = """\
exit status:
  0  bound to a conversation    1  nothing proves which one it shows
  2  no such process

examples:
  lettafast bind --pid 4711
  lettafast bind --pid 4711 --json | jq -r .conversation_id"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--pid", metavar="N", required=True, type=positive, help="the process id of a letta"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_watch(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the verdict and its evidence; with `--watch`, again whenever the verdict changes."""
    status, before = 0, None
    with plain_binder() as looking:
        for _ in looks(args):
            found = looking.look_at_pid(args.pid)
            if found is None:
                raise UsageError(
                    f"no process has the pid {args.pid}", "`lettafast panes` lists what runs"
                )
            status, before = print_news(looking.bound(*found), before, args)
    return status
