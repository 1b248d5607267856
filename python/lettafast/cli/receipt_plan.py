"""`lettafast receipt plan`: what an agent would be asked to run."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from . import output
from .paint import Paint, paint_for_stdout
from .receipt_checks import shown
from .usage import UsageError

if TYPE_CHECKING:
    from lettafast.receipts.expected import ExpectedState
    from lettafast.receipts.plan import Plan

HELP = "print the commands that an agent would be asked to run, and what they must print"
DESCRIPTION = """\
Reads the checkout and prints the plan. Nothing is sent anywhere. A run makes a new
nonce and a new challenge, so its plan has other folder names and another last digest."""
EPILOG = """\
exit status:
  0  done    2  the checkout is not clean, or the environment is wrong

environment:
  TANGLED_*  what the pipeline says of itself; without it, name the repository with --url

examples:
  lettafast receipt plan --url https://tangled.org/me/project
  lettafast receipt plan --json | jq -r '.steps[].command'"""

_NONCE_BYTES = 16


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the action."""
    add_checkout(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_checkout(parser: argparse.ArgumentParser) -> None:
    """Where the commit is, here and for the agent."""
    parser.add_argument(
        "--repo", metavar="DIR", default=".", help="the checkout (default: this folder)"
    )
    parser.add_argument(
        "--url",
        metavar="URL",
        help="the repository's HTTPS address, outside a pipeline (else TANGLED_REPO_URL)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the plan."""
    from lettafast.receipts.expected import expected_state
    from lettafast.receipts.metadata import source_of
    from lettafast.receipts.plan import plan_json

    kind, url = source_of(os.environ, local_url=args.url)
    state = expected_state(args.repo)
    plan = some_plan(state, url, kind)
    if args.json:
        output.write_json(plan_json(plan))
    else:
        output.write_text(_text(plan, paint_for_stdout()))
    return 0


def some_plan(state: ExpectedState, url: str, kind: str) -> Plan:
    """A plan with a nonce and a challenge of its own. Raises `UsageError` where there is none."""
    import secrets

    from lettafast.receipts.plan import PlanError, make_plan

    try:
        plan = make_plan(state, url, secrets.token_hex(_NONCE_BYTES), kind)
    except PlanError as error:
        raise UsageError(str(error), "no agent can be asked about this repository") from None
    return plan.challenged(secrets.token_hex(_NONCE_BYTES))


def _text(plan: Plan, paint: Paint) -> str:
    lines = [f"commit {plan.state.commit} of {plan.url}", ""]
    for step in plan.steps:
        lines.append(paint("bold", f"{step.name} {step.title}"))
        lines.append(f"  {shown(step.command, paint)}")
        lines += [paint("dim", f"  > {shown(line, paint)}") for line in step.output.splitlines()]
    lines += ["", paint("bold", "then the agent says"), *(f"  {line}" for line in _final(plan))]
    return "\n".join(lines) + "\n"


def _final(plan: Plan) -> list[str]:
    return plan.final_text.split("\n")
