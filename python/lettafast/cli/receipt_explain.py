"""`lettafast receipt explain`: what a receipt says, check by check."""

from __future__ import annotations

import argparse
from typing import Any

from . import output
from .paint import Paint, paint_for_stdout
from .receipt_checks import check_lines, not_reached, shown

HELP = "show each check of a receipt, and what it saw"
DESCRIPTION = """\
Shows what a receipt says: who was asked, each check, whether it held, and what it saw.
Nothing is proven by that: `lettafast receipt verify` proves it."""
EPILOG = """\
exit status:
  0  done    3  the file could not be read    10  it is no sound receipt

examples:
  lettafast receipt explain receipt.jsonl
  lettafast receipt explain receipt.jsonl --json | jq '.checks[] | select(.verdict != "PASS")'"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the action."""
    parser.add_argument("receipt", metavar="FILE", help="the receipt, receipt.jsonl of a run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Prints what the receipt says."""
    from lettafast.receipts.envelope import LONGEST, read_receipt

    try:
        with open(args.receipt, "rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        return not_reached(error)
    receipt = read_receipt(data)
    said = _said(receipt.statements[1], receipt.key_id)
    if args.json:
        output.write_json(said)
    else:
        output.write_text(_text(said, paint_for_stdout()))
    return 0


def _said(statement: dict[str, Any], key_id: str | None) -> dict[str, Any]:
    """What the statement says, whatever it is: it may be of anyone's making."""
    predicate = _members(statement.get("predicate"))
    subjects = statement.get("subject")
    subject = _members(subjects[0]) if isinstance(subjects, list) and subjects else {}
    checks = predicate.get("checks")
    limits = predicate.get("limits")
    return {
        "verdict": predicate.get("verdict"),
        "says_key": key_id,
        "url": subject.get("name"),
        "commit": _members(subject.get("digest")).get("gitCommit"),
        "tree": _members(subject.get("digest")).get("gitTree"),
        "invocation": _members(predicate.get("invocation")),
        "checks": [_members(one) for one in checks] if isinstance(checks, list) else [],
        "calls": predicate.get("calls"),
        "limits": limits if isinstance(limits, list) else [],
    }


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(said: dict[str, Any], paint: Paint) -> str:
    lines = [f"the receipt says {paint('bold', shown(said['verdict'], paint))}"]
    names = ("url", "commit", "tree")
    lines += [f"  {name}: {shown(said[name], paint)}" for name in names]
    lines += [
        f"  {shown(name, paint)}: {shown(value, paint)}"
        for name, value in said["invocation"].items()
    ]
    key = said["says_key"]
    lines.append(f"  signed: {'no' if key is None else f'it says with the key {key}'}")
    lines += ["", *check_lines(said["checks"], paint), ""]
    lines += [shown(limit, paint) for limit in said["limits"]]
    lines.append("This is what the file says; `lettafast receipt verify` proves it.")
    return "\n".join(lines) + "\n"
