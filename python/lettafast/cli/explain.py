"""`lettafast explain PANE`: why a pane shows what it shows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lettafast.visible import file_name, visible_line

from . import output
from .paint import Paint, paint_for_stdout
from .sessions import Sessions, add_sessions, looks
from .status import UNREACHABLE
from .usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lettafast.binding import BoundPane, Proof
    from lettafast.binding.world import SeenPane, World

HELP = "say why a pane shows its conversation or its terminal"
DESCRIPTION = """\
Shows each rule of both proofs that was looked at, whether it held, the fact that it
saw and one sentence about it. PANE is the id of a pane or of its terminal, as herdr
or tmux calls it, or SESSION/ID with the `session` and `pane_id` of
`lettafast panes --json`."""
EPILOG = """\
exit status:
  0  bound to a conversation    1  the pane shows its terminal
  2  no such pane, or several   3  no session could be looked at

examples:
  lettafast explain w1:p1
  lettafast explain %3
  lettafast explain w1:p1 --session work --json | jq -r .reason"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("pane", metavar="PANE", help="a pane's id, such as w1:p1 or %%3")
    add_sessions(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Prints the verdict and its evidence; with `--watch`, again whenever the verdict changes."""
    status, before = 0, None
    sessions = Sessions(args)
    with sessions.binder() as looking:
        for _ in looks(args):
            world = looking.look()
            sessions.tell(world)
            seen = _find(world, sessions, args.pane)
            if seen is None:
                status = UNREACHABLE
                continue
            status, before = print_news(looking.bound(world, seen), before, args)
    return status


def _find(world: World, sessions: Sessions, pane: str) -> SeenPane | None:
    """The pane that is meant; None where it may be in a session that could not be looked at."""
    named = [seen for seen in sessions.shown(world) if pane in _names(seen)]
    if len(named) > 1:
        candidates = ", ".join(_full_name(seen) for seen in named)
        raise UsageError(
            f"several sessions have a pane `{pane}`: {candidates}",
            "name one of these, or its session with --session or --socket",
        )
    if named:
        return named[0]
    if world.unseen or not sessions.is_reached(world):
        return None
    raise UsageError(f"no pane is named `{pane}`", "`lettafast panes` lists them")


def _names(seen: SeenPane) -> tuple[str, ...]:
    return seen.pane.pane_id, seen.pane.terminal_id, _full_name(seen)


def _full_name(seen: SeenPane) -> str:
    """`<session>/<pane id>`: no other pane has it."""
    from lettafast.binding.names import session_name

    return f"{session_name(seen.pane.provider, seen.pane.socket)}/{seen.pane.pane_id}"


def print_news(found: BoundPane, before: object, args: argparse.Namespace) -> tuple[int, object]:
    """Prints a verdict that is another than `before`; the exit status, and what is now."""
    from lettafast.binding import Bound
    from lettafast.binding.shape import pane_shape, verdict_shape

    is_bound = isinstance(found.verdict, Bound)
    shape = verdict_shape(found.verdict)
    news = [shape.get("reason"), shape.get("conversation_id"), shape.get("agent_id")]
    if news != before:
        if args.json:
            output.write_json(pane_shape(found))
        else:
            output.write_text(_text(found.pane.pane_id, shape, paint_for_stdout()))
        output.flush()
    return 0 if is_bound else 1, news


def _text(pane_id: str, verdict: dict[str, Any], paint: Paint) -> str:
    from lettafast.binding import PROOFS

    pane = _visible(pane_id, paint)
    if verdict["verdict"] == "bound":
        shown = f"{verdict['agent_id']}/{verdict['conversation_id']}"
        lines = [f"{pane} shows {paint('bold', _visible(shown, paint))}"]
    else:
        lines = [f"{pane} shows its terminal: {paint('bold', verdict['reason'])}"]
    width = max(len(name) for proof in PROOFS for name, _ in proof.rules)
    # What decided comes first here.
    decided = verdict["evidence"][-1]["proof"]
    for proof in sorted(PROOFS, key=lambda proof: proof.name != decided):
        found = [one for one in verdict["evidence"] if one["proof"] == proof.name]
        holds = "holds" if all(one["held"] for one in found) else "does not hold"
        lines.append(f'\nproof "{proof.name}" {holds}:')
        lines.extend(_rules(proof, found, width, paint))
    if "advice" in verdict:
        lines.append(f"\nhint: {verdict['advice']}")
    return "\n".join(lines) + "\n"


def _rules(proof: Proof, evidence: list[dict[str, Any]], width: int, paint: Paint) -> Iterator[str]:
    for found in evidence:
        mark = paint("green", "holds") if found["held"] else paint("red", "fails")
        yield f"  {mark}  {found['rule']:{width}}  {found['sentence']}"
        yield paint("dim", f"         {'':{width}}  {_visible(found['saw'], paint)}")
    looked_at = {found["rule"] for found in evidence}
    for name, _ in proof.rules:
        if name not in looked_at:
            yield f"  {paint('dim', f'-      {name:{width}}  not looked at')}"


def _visible(text: str, paint: Paint) -> str:
    return visible_line(file_name(text), paint.mark)
