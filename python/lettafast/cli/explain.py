"""`lettafast explain PANE`: why a pane shows what it shows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lettafast.visible import file_name, visible_line

from . import output
from .herdrs import Notes, add_sessions, binder, is_reached, looks, shown
from .paint import Paint, paint_for_stdout
from .status import UNREACHABLE
from .usage import UsageError

if TYPE_CHECKING:
    from lettafast.binding import BoundPane
    from lettafast.binding.world import SeenPane, World

HELP = "say why a pane shows its conversation or its terminal"
DESCRIPTION = """\
Shows each rule of the proof that was looked at, whether it held, the fact that it
saw and one sentence about it. PANE is herdr's id of a pane or of its terminal, or
SESSION/ID with the `session` and `pane_id` of `lettafast panes --json`."""
EPILOG = """\
exit status:
  0  bound to a conversation    1  the pane shows its terminal
  2  no such pane, or several   3  no herdr session could be looked at

examples:
  lettafast explain w1:p1
  lettafast explain w1:p1 --session work --json | jq -r .reason"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("pane", metavar="PANE", help="a pane's id, such as w1:p1")
    add_sessions(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Prints the verdict and its evidence; with `--watch`, again whenever the verdict changes."""
    from lettafast.binding import BoundPane

    status, before = 0, None
    with binder(args) as looking:
        notes = Notes(args)
        for _ in looks(args):
            world = looking.look()
            notes.tell(world)
            seen = _find(world, args)
            if seen is None:
                status = UNREACHABLE
                continue
            found = BoundPane(seen.pane, looking.verdict(world, seen))
            status, before = _print_news(found, before, args)
    return status


def _find(world: World, args: argparse.Namespace) -> SeenPane | None:
    """The pane that is meant; None where it may be in a session that could not be looked at."""
    named = [seen for seen in shown(args, world) if args.pane in _names(seen)]
    if len(named) > 1:
        candidates = ", ".join(_full_name(seen) for seen in named)
        raise UsageError(
            f"several sessions have a pane `{args.pane}`: {candidates}",
            "name one of these, or its session with --session or --socket",
        )
    if named:
        return named[0]
    if world.unseen or not is_reached(args, world):
        return None
    raise UsageError(f"no pane is named `{args.pane}`", "`lettafast panes` lists them")


def _names(seen: SeenPane) -> tuple[str, ...]:
    return seen.pane.pane_id, seen.pane.terminal_id, _full_name(seen)


def _full_name(seen: SeenPane) -> str:
    """`<session>/<pane id>`: no other pane has it."""
    from lettafast.binding.names import session_name

    return f"{session_name(seen.pane.socket)}/{seen.pane.pane_id}"


def _print_news(found: BoundPane, before: object, args: argparse.Namespace) -> tuple[int, object]:
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
    from lettafast.binding import RULES

    pane = _visible(pane_id, paint)
    if verdict["verdict"] == "bound":
        shown = f"{verdict['agent_id']}/{verdict['conversation_id']}"
        lines = [f"{pane} shows {paint('bold', _visible(shown, paint))}"]
    else:
        lines = [f"{pane} shows its terminal: {paint('bold', verdict['reason'])}"]
    width = max(len(name) for name, _ in RULES)
    looked_at = {found["rule"] for found in verdict["evidence"]}
    for found in verdict["evidence"]:
        mark = paint("green", "holds") if found["held"] else paint("red", "fails")
        lines.append(f"  {mark}  {found['rule']:{width}}  {found['sentence']}")
        lines.append(paint("dim", f"         {'':{width}}  {_visible(found['saw'], paint)}"))
    lines.extend(
        f"  {paint('dim', f'-      {name:{width}}  not looked at')}"
        for name, _ in RULES
        if name not in looked_at
    )
    if "advice" in verdict:
        lines.append(f"\nhint: {verdict['advice']}")
    return "\n".join(lines) + "\n"


def _visible(text: str, paint: Paint) -> str:
    return visible_line(file_name(text), paint.mark)
