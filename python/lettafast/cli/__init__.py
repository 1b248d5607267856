"""The command `lettafast`: data to standard output, everything else to standard error."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn, Protocol

from lettafast import __version__
from lettafast.errors import LettafastError

from . import (
    bind,
    check,
    content,
    doctor,
    explain,
    follow,
    listing,
    output,
    page,
    panes,
    receipt,
    serve,
    show,
    witness,
)
from .status import INTERRUPTED, LOST_READER, UNREACHABLE
from .usage import UsageError

DESCRIPTION = """\
Reads the conversations of Letta Code: strictly, safely, without changing them."""
EPILOG = """\
PATH is a transcript file, a conversation folder, or AGENT/CONVERSATION in the
store; what exists as a path is taken as one.

exit status:
  0  done
  1  the answer is no: refused, or the history changed
  2  the command is wrong: usage, cursor, ref, range, backend
  3  something could not be read or written
  10 to 13  a verdict of `lettafast receipt`

environment:
  LETTA_TRANSCRIPT_ROOT  the store (default: ~/.letta/transcripts)
  LETTAFAST_BACKEND      auto, native or pure (default: auto)
  NO_COLOR               no color, when this is not empty"""


class _Command(Protocol):
    """What each module of a command offers."""

    HELP: str
    DESCRIPTION: str
    EPILOG: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


_COMMANDS: dict[str, _Command] = {
    "check": check,
    "page": page,
    "show": show,
    "content": content,
    "follow": follow,
    "list": listing,
    "panes": panes,
    "explain": explain,
    "bind": bind,
    "receipt": receipt,
    "serve": serve,
    "witness": witness,
    "doctor": doctor,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}", f"`{self.prog} --help` says how it is used")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    `argv` are the arguments after the program's name, else those of the process.
    """
    try:
        return _run(argv)
    except BrokenPipeError:
        output.abandon()
        return LOST_READER
    except KeyboardInterrupt:
        output.abandon()
        return INTERRUPTED
    except output.OutputError as error:
        output.abandon()
        output.complain(f"standard output: {error}", None)
        return UNREACHABLE


def _run(argv: Sequence[str] | None) -> int:
    status = 0
    try:
        args = _parser().parse_args(argv)
        status = args.run(args)
    except SystemExit:  # --help and --version; their text is still in the buffer
        pass
    except (LettafastError, UsageError) as error:
        output.flush()
        output.complain(str(error), error.hint)
        return error.exit_code
    output.flush()
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lettafast",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"lettafast {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for name, command in _COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.HELP,
            description=command.DESCRIPTION,
            epilog=command.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser
