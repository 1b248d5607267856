"""`lettafast receipt`: whether the agent's separate computer really saw this commit."""

from __future__ import annotations

import argparse
from typing import Protocol

from . import receipt_explain, receipt_plan, receipt_run, receipt_verify
from .usage import UsageError

HELP = "have an agent look at a commit in its own computer, and prove that it did"
DESCRIPTION = """\
A Letta agent's tools run in another computer. `run` has it fetch the commit that is
checked out here, and keeps what each tool call reported; `verify` judges that again on
any machine. What an agent says is never the proof: docs/RECEIPTS.md tells what is."""
EPILOG = """\
`lettafast receipt ACTION --help` tells of each.

exit status:
  0   PASS: every step has its evidence, and nothing else was asked for
  2   the command or the environment is wrong; nothing was asked of the agent
  3   something could not be reached, read or written
  10  FAIL: the evidence contradicts what was expected, or the receipt was altered
  11  INCOMPLETE: evidence is missing
  12  POLICY: something beyond the plan was asked for or done
  13  UNSIGNED: it would be a PASS, and nobody whose key was named signed it"""


class _Action(Protocol):
    HELP: str
    DESCRIPTION: str
    EPILOG: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


_ACTIONS: dict[str, _Action] = {
    "run": receipt_run,
    "plan": receipt_plan,
    "verify": receipt_verify,
    "explain": receipt_explain,
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The actions and their arguments."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True, title="actions")
    for name, action in _ACTIONS.items():
        subparser = actions.add_parser(
            name,
            help=action.HELP,
            description=action.DESCRIPTION,
            epilog=action.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        action.arguments(subparser)


def run(args: argparse.Namespace) -> int:
    """Does what was asked for, where the extra is installed."""
    try:
        return _ACTIONS[args.action].run(args)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this command needs the package `{error.name}`",
            "install it with `pip install 'lettafast[receipts]'`",
        ) from None
