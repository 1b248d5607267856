"""`lettafast receipt verify`: the verdict again, from the frames and what the caller expects."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from . import output
from .paint import Paint, paint_for_stdout
from .receipt_checks import check_lines, not_reached, read_key, shown

if TYPE_CHECKING:
    from lettafast.receipts.offline import OfflineResult

HELP = "judge a receipt again, on any machine and without a network"
DESCRIPTION = """\
Computes the verdict again from the recorded frames, the commit in your own repository
and the agent that you name; what the receipt says decides nothing. The receipt must be
signed with the key that you name, be of exactly these frames and say what they give."""
EPILOG = """\
exit status:
  0   PASS
  2   the command is wrong, or the commit is not in the repository
  3   a file could not be read
  10  FAIL: also a receipt that was altered, of another run, or of another key
  11  INCOMPLETE    12  POLICY
  13  UNSIGNED: it would be a PASS, and nobody whose key was named signed it

examples:
  lettafast receipt verify receipt.jsonl --commit "$(git rev-parse HEAD)" \\
    --agent agent-1 --key ci.pub.pem
  lettafast receipt verify receipt.jsonl --commit SHA --agent agent-1 \\
    --allow-unsigned --json"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the action."""
    parser.add_argument("receipt", metavar="FILE", help="the receipt, receipt.jsonl of a run")
    parser.add_argument(
        "--frames",
        metavar="FILE",
        help="the frame log (default: frames.jsonl beside the receipt)",
    )
    parser.add_argument(
        "--repo",
        metavar="DIR",
        default=".",
        help="a repository that has the commit (default: this folder)",
    )
    parser.add_argument(
        "--commit", metavar="SHA", required=True, help="the commit that must have been seen"
    )
    parser.add_argument(
        "--agent", metavar="ID", required=True, help="the agent that must have been asked"
    )
    parser.add_argument(
        "--url", metavar="URL", help="the repository's address (without it, any will do)"
    )
    parser.add_argument(
        "--profile",
        choices=("strict", "seed", "any"),
        default="strict",
        help="how the session must have been held (default: strict)",
    )
    parser.add_argument(
        "--session",
        choices=("cloud", "app-server", "any"),
        default="cloud",
        help="where the tools must have run (default: cloud, a sandbox of Letta Cloud)",
    )
    parser.add_argument("--key", metavar="FILE", help="the Ed25519 public key, in PEM")
    parser.add_argument(
        "--allow-unsigned",
        action="store_true",
        help="let a PASS be one though no signature was checked",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Prints the verdict and each check; the verdict's exit status."""
    from lettafast.receipts.envelope import public_key
    from lettafast.receipts.expected import expected_state
    from lettafast.receipts.frames import FRAMES
    from lettafast.receipts.metadata import LOCAL_URL, check_agent, check_url
    from lettafast.receipts.offline import verify_receipt
    from lettafast.receipts.verify import EXIT, Expectation

    agent_id = check_agent(args.agent, "--agent")
    if args.url is not None:
        check_url(args.url, LOCAL_URL)
    key = None if args.key is None else public_key(read_key(args.key), args.key)
    frames = args.frames or os.path.join(os.path.dirname(args.receipt), FRAMES)
    expectation = Expectation(
        state=expected_state(args.repo, args.commit),
        url=args.url or "",
        agent_id=agent_id,
        kind=None,
        profile=None if args.profile == "any" else args.profile,
        session=None if args.session == "any" else args.session,
    )
    try:
        result = verify_receipt(args.receipt, frames, expectation, key, args.allow_unsigned)
    except OSError as error:
        return not_reached(error)
    if args.json:
        output.write_json(_shape(result))
    else:
        output.write_text(_text(result, paint_for_stdout()))
    return EXIT[result.verdict]


def _shape(result: OfflineResult) -> dict[str, Any]:
    from lettafast.receipts.statement import check_json, plain

    judgement = result.judgement
    begin = {} if judgement is None else judgement.begin
    said = {
        "verdict": str(result.verdict),
        "signed_by": result.signed_by,
        "url": begin.get("url"),
        "commit": begin.get("commit"),
        "agent_id": begin.get("agent_id"),
        "model": begin.get("model"),
        "kind": begin.get("kind"),
        "profile": begin.get("profile"),
        "session": begin.get("session"),
        "conversation_id": None if judgement is None else judgement.conversation_id,
        "tool_receipts": 0 if judgement is None else judgement.receipts,
        "checks": [check_json(check) for check in result.checks],
    }
    shape: dict[str, Any] = plain(said)
    return shape


def _text(result: OfflineResult, paint: Paint) -> str:
    said = _shape(result)
    lines = [f"verdict: {paint('bold', said['verdict'])}"]
    lines += [
        f"{name}: {shown(said[name], paint)}"
        for name in ("url", "commit", "agent_id", "conversation_id", "profile", "session")
    ]
    signed = said["signed_by"] or "nobody: it proves nothing about who made it"
    lines += [f"signed_by: {signed}", "", *check_lines(said["checks"], paint)]
    return "\n".join(lines) + "\n"
