"""Which transcript a PATH means."""

from __future__ import annotations

import argparse
import os

from lettafast.errors import SourceError, SourceReason
from lettafast.paths import transcript_root
from lettafast.records import Mode
from lettafast.store import Store
from lettafast.transcript import Transcript, open_transcript

from .progress import Progress

PATH_HELP = (
    "a transcript file, a conversation folder, or AGENT/CONVERSATION in the store; "
    "what exists as a path is taken as one"
)


def path_argument(text: str) -> str:
    """An argument that is a PATH."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "`-` is refused: a transcript is read at byte offsets, and again, which standard input "
            "does not allow; save it to a file and name that"
        )
    return text


def add_path(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of a command that reads one transcript: `path` and `mode`."""
    parser.add_argument("path", metavar="PATH", type=path_argument, help=PATH_HELP)
    add_lenient(parser)


def add_lenient(parser: argparse.ArgumentParser) -> None:
    """Adds `--lenient`, which sets `mode`."""
    parser.add_argument(
        "--lenient",
        dest="mode",
        action="store_const",
        const="lenient",
        default="strict",
        help="skip what is damaged and count it, instead of refusing the whole transcript",
    )


def open_from(args: argparse.Namespace) -> Transcript:
    """Opens what the arguments of `add_path` say, with progress."""
    with Progress() as progress:
        progress.say(f"reading {args.path}")
        return open_at(args.path, args.mode)


def open_at(path: str, mode: Mode) -> Transcript:
    """Opens what PATH means. Raises what `open_transcript` raises."""
    if _exists(path):
        whole = os.path.join(path, "transcript.jsonl") if os.path.isdir(path) else path
        return open_transcript(whole, mode)
    agent, _, conversation = path.partition("/")
    if all(name not in ("", ".", "..") and "/" not in name for name in (agent, conversation)):
        return _open_in_store(path, agent, conversation, mode)
    return open_transcript(path, mode)


def _open_in_store(path: str, agent: str, conversation: str, mode: Mode) -> Transcript:
    missing = SourceError(SourceReason.MISSING, path)
    try:
        root = transcript_root()
    except SourceError as error:
        missing.hint = f"nothing is at this path, and the store has no absolute one: {error.name}"
        raise missing from error
    try:
        return Store(root).transcript(agent, conversation, mode)
    except SourceError as error:
        if error.reason is not SourceReason.MISSING:
            raise
        missing.hint = f"nothing is at this path, nor at AGENT/CONVERSATION in the store {root}"
        raise missing from error


def _exists(path: str) -> bool:
    """Whether anything is at `path`, a link that leads nowhere included.

    What cannot be looked at counts as there, so that opening it says why.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
