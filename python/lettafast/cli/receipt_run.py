"""`lettafast receipt run`: one run with an agent, its verdict and its files."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from lettafast.errors import MetadataError, MetadataReason
from lettafast.visible import file_name, visible_line

from . import output
from .numbers import count
from .receipt_checks import not_reached, read_key
from .receipt_plan import add_checkout, some_plan
from .usage import UsageError

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from lettafast.receipts.judgement import Judgement
    from lettafast.receipts.metadata import Trigger
    from lettafast.receipts.secret import Secret

HELP = "have the agent look at the commit that is checked out here"
DESCRIPTION = """\
Starts a new conversation with the agent in a new managed sandbox of Letta Cloud, has
it run the plan's commands and no others, ends the sandbox and judges what was
reported. A PASS prints the published lines; anything else begins with `verdict:`.
The files frames.jsonl, receipt.jsonl, junit.xml and plan.json go to DIR."""
EPILOG = """\
exit status:
  0   PASS                  2   the command or the environment is wrong
  10  FAIL                  3   something could not be reached or written
  11  INCOMPLETE            12  POLICY

environment:
  LETTA_API_KEY          the key for Letta Cloud; it is written nowhere
  LETTA_AGENT_ID         the agent
  LETTA_MODEL            a model for this conversation only
  LETTA_BASE_URL         another address than Letta Cloud's
  LETTAFAST_SIGNING_KEY  an Ed25519 private key in PEM; instead of --key
  TANGLED_*              what the pipeline says of itself
  GITHUB_ACTIONS         with `true`, errors and a summary for GitHub too

examples:
  lettafast receipt run --out ../receipt
  lettafast receipt run --url https://tangled.org/me/project --key ci.pem"""

API_KEY = "LETTA_API_KEY"
BASE_URL = "LETTA_BASE_URL"
SIGNING_KEY = "LETTAFAST_SIGNING_KEY"
_LEAST_SECONDS = 90
"""The session's end alone may take half of it."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the action."""
    add_checkout(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="the folder for the files (default: a new temporary one)"
    )
    parser.add_argument("--key", metavar="FILE", help="sign with this Ed25519 private key, in PEM")
    parser.add_argument(
        "--profile",
        choices=("strict", "seed"),
        default="strict",
        help="strict (default): each call is asked for and answered; seed: looked at afterwards",
    )
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=_seconds,
        help=f"how long all of it may take, at least {_LEAST_SECONDS} (default: 285)",
    )
    parser.add_argument(
        "--app-server",
        metavar="URL",
        help="talk to one App Server of Letta Code directly, such as ws://127.0.0.1:8283",
    )


def run(args: argparse.Namespace) -> int:
    """Runs, writes the files and prints the lines; the verdict's exit status."""
    from lettafast.receipts.unreadable import unreadable

    with unreadable():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    import asyncio

    from lettafast.receipts import urls
    from lettafast.receipts.artifacts import write_artifacts
    from lettafast.receipts.deadlines import Deadlines
    from lettafast.receipts.expected import expected_state
    from lettafast.receipts.frames import read_frames
    from lettafast.receipts.metadata import check_trigger, trigger_of
    from lettafast.receipts.run import RunOptions, run_receipt
    from lettafast.receipts.verify import EXIT

    # Taken out first: nothing that is started from here on has them in its environment.
    api_key = os.environ.pop(API_KEY, "")
    signing_key = os.environ.pop(SIGNING_KEY, "")
    signer = _signer(args.key, signing_key)
    trigger = trigger_of(os.environ, local_url=args.url)
    secret = _secret(api_key, trigger, is_direct=args.app_server is not None)
    state = expected_state(args.repo)
    check_trigger(trigger, state.commit)
    some_plan(state, trigger.url, trigger.kind)  # one can be made: nothing was asked so far
    try:
        folder = _folder(args.out)
        options = RunOptions(
            state=state,
            url=trigger.url,
            kind=trigger.kind,
            agent_id=trigger.agent_id,
            out=folder,
            pipeline_id=trigger.pipeline_id,
            model=trigger.model,
            api_key=secret,
            base_url=os.environ.get(BASE_URL) or urls.LETTA_CLOUD,
            app_server=args.app_server,
            profile=args.profile,
            deadlines=Deadlines() if args.seconds is None else Deadlines(total=args.seconds),
        )
        result = asyncio.run(run_receipt(options, _progress))
        log = read_frames(result.frames_path)
        write_artifacts(folder, state, result.judgement, log, signer)
        _tell(result.judgement)
    except BrokenPipeError:  # of standard output
        raise
    except OSError as error:
        return not_reached(error)
    if signer is None:
        output.note("the receipt is not signed: it proves nothing about who made it")
    output.note(f"the files are in {visible_line(file_name(folder))}")
    return EXIT[result.judgement.verdict]


def _seconds(text: str) -> int:
    seconds = count(text)
    if seconds < _LEAST_SECONDS:
        raise argparse.ArgumentTypeError(f"it must be at least {_LEAST_SECONDS}")
    return seconds


def _signer(path: str | None, pem: str) -> CryptoSigner | None:
    from lettafast.receipts.envelope import signing_key

    if path is not None and pem:
        raise UsageError(f"both --key and {SIGNING_KEY} give a key", "give one of them, or none")
    if path is not None:
        return signing_key(read_key(path), file_name(path))
    return signing_key(pem.encode("utf-8", "surrogateescape"), SIGNING_KEY) if pem else None


def _secret(api_key: str, trigger: Trigger, *, is_direct: bool) -> Secret | None:
    """The key, which must stand in nothing that goes into the receipt."""
    from lettafast.receipts.metadata import AGENT, MODEL, PIPELINE, REPOSITORY
    from lettafast.receipts.secret import Secret

    if is_direct:
        return None
    secret = Secret(api_key)
    written = {
        REPOSITORY: trigger.url,
        PIPELINE: trigger.pipeline_id,
        AGENT: trigger.agent_id,
        MODEL: trigger.model,
    }
    for variable, value in written.items():
        if value is not None and secret.is_in(value):
            raise MetadataError(variable, MetadataReason.HOLDS_KEY)
    return secret


def _folder(path: str | None) -> str:
    """The folder for the files, in which none of them is yet."""
    from lettafast.receipts.artifacts import FILES

    if path is None:
        import tempfile

        return tempfile.mkdtemp(prefix="lettafast-receipt-")
    os.makedirs(path, exist_ok=True)
    for name in FILES:
        if os.path.lexists(os.path.join(path, name)):
            raise UsageError(
                f"{file_name(path)} has a `{name}` already",
                "name a new folder with --out: a receipt is never written over",
            )
    return path


def _progress(text: str) -> None:
    from lettafast.receipts.published import one_line

    output.note(one_line(text))


def _tell(judgement: Judgement) -> None:
    from lettafast.receipts.published import error_command, failing, published_lines, summary

    is_github = os.environ.get("GITHUB_ACTIONS") == "true"
    lines = published_lines(judgement)
    if is_github:
        lines += [error_command(check) for check in failing(judgement.checks)]
    output.write_text("".join(f"{line}\n" for line in lines))
    output.flush()
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if is_github and place:
        with open(place, "a", encoding="utf-8") as file:
            file.write(summary(judgement))
