"""`lettafast check`: whether transcripts are sound, and what is in them."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field
from typing import Any

from lettafast.errors import LettafastError, SourceError, SourceReason, TranscriptRefused
from lettafast.records import KINDS, Diagnostic, Mode, Summary
from lettafast.visible import file_name, visible_line

from . import output
from .locate import PATH_HELP, add_lenient, open_at, path_argument
from .numbers import human_count
from .paint import Paint, paint_for_stdout
from .progress import Progress

HELP = "read transcripts whole and say whether they are sound"
DESCRIPTION = """\
Reads each transcript from its first byte to its last complete line and says
what it is: ok, empty (no entry yet), missing, refused (a line breaks the
format) or unreadable (no regular file can be opened there)."""
EPILOG = """\
exit status: the highest of all paths
  0  ok, or empty        1  refused        3  missing, or unreadable

examples:
  lettafast check ~/.letta/transcripts/*/*
  lettafast check --lenient old.jsonl       count what is damaged, line by line
  lettafast check --json */transcript.jsonl | jq -r 'select(.state!="ok").path'"""

_COLORS = {"ok": "green", "empty": "yellow"}


@dataclass(frozen=True)
class _Verdict:
    path: str
    state: str
    summary: Summary | None = None
    error: LettafastError | None = None
    diagnostics: tuple[Diagnostic, ...] = field(default=())
    diagnostics_total: int = 0

    @property
    def exit_code(self) -> int:
        return self.error.exit_code if self.error else 0


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("paths", metavar="PATH", nargs="+", type=path_argument, help=PATH_HELP)
    add_lenient(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object for each path")


def run(args: argparse.Namespace) -> int:
    """Prints a verdict for each path."""
    highest = 0
    paint = paint_for_stdout()
    with Progress() as progress:
        for number, path in enumerate(args.paths, start=1):
            progress.say(f"checking {number} of {len(args.paths)}: {path}")
            verdict = _check(path, args.mode)
            highest = max(highest, verdict.exit_code)
            progress.hide()
            if args.json:
                output.write_json(_as_json(verdict))
            else:
                output.write_text(_for_people(verdict, paint))
            output.flush()
            if verdict.error is not None and not args.json:
                output.complain(str(verdict.error), verdict.error.hint)
    return highest


def _check(path: str, mode: Mode) -> _Verdict:
    try:
        with open_at(path, mode) as transcript:
            summary = transcript.summary
            return _Verdict(
                path,
                "ok" if summary.entries else "empty",
                summary,
                diagnostics=transcript.diagnostics,
                diagnostics_total=transcript.diagnostics_total,
            )
    except TranscriptRefused as error:
        return _Verdict(path, "refused", error=error)
    except SourceError as error:
        missing = error.reason is SourceReason.MISSING
        return _Verdict(path, "missing" if missing else "unreadable", error=error)


def _as_json(verdict: _Verdict) -> dict[str, Any]:
    summary, error = verdict.summary, verdict.error
    return {
        "path": file_name(verdict.path),
        "state": verdict.state,
        "entries": summary and summary.entries,
        "user_entries": summary and summary.user_entries,
        "turns": summary and summary.turns,
        "kinds": summary and {kind: summary.kinds[kind] for kind in KINDS},
        "bytes": summary and summary.bytes,
        "tail_bytes": summary and summary.tail_bytes,
        "replaced_surrogates": summary and summary.replaced_surrogates,
        "refused": asdict(_fault(error)) if isinstance(error, TranscriptRefused) else None,
        "error": {"reason": str(error.reason)} if isinstance(error, SourceError) else None,
        "diagnostics": [asdict(diagnostic) for diagnostic in verdict.diagnostics],
        "diagnostics_total": verdict.diagnostics_total,
    }


def _fault(error: TranscriptRefused) -> Diagnostic:
    return Diagnostic(
        str(error.reason), error.line, error.line_offset, error.offset, error.field, error.excerpt
    )


def _for_people(verdict: _Verdict, paint: Paint) -> str:
    state = paint(_COLORS.get(verdict.state, "red"), verdict.state)
    line = f"{visible_line(file_name(verdict.path), paint.mark)}: {state}"
    if verdict.summary is not None:
        counts = _counts(verdict.summary, verdict.diagnostics_total)
        return f"{line}: {counts}\n{_diagnostics(verdict, paint)}"
    if isinstance(verdict.error, TranscriptRefused):
        return f"{line}: {verdict.error.reason}\n{_excerpt(_fault(verdict.error), paint)}"
    if verdict.error is not None and verdict.state == "unreadable":
        line = f"{line}: {verdict.error.reason}"
    return f"{line}\n"


def _counts(summary: Summary, diagnostics_total: int) -> str:
    words = [human_count(summary.bytes, "byte", "bytes")]
    if summary.entries:
        kinds = ", ".join(
            f"{summary.kinds[kind]:,} {kind}" for kind in KINDS if summary.kinds[kind]
        )
        words.append(f"{human_count(summary.entries, 'entry', 'entries')} ({kinds})")
        words.append(human_count(summary.turns, "turn", "turns"))
    if summary.tail_bytes:
        words.append(f"{human_count(summary.tail_bytes, 'byte', 'bytes')} of an unfinished line")
    if summary.replaced_surrogates:
        words.append(
            human_count(summary.replaced_surrogates, "replaced surrogate", "replaced surrogates")
        )
    if diagnostics_total:
        words.append(human_count(diagnostics_total, "diagnostic", "diagnostics"))
    return ", ".join(words)


def _diagnostics(verdict: _Verdict, paint: Paint) -> str:
    shown = [
        f"  line {fault.line}: {_words(fault)}\n{_excerpt(fault, paint)}"
        for fault in verdict.diagnostics
    ]
    if rest := verdict.diagnostics_total - len(verdict.diagnostics):
        shown.append(f"  and {rest:,} more\n")
    return "".join(shown)


def _words(fault: Diagnostic) -> str:
    name = f' "{visible_line(fault.field)}"' if fault.field is not None else ""
    return f"{fault.reason.replace('_', ' ')}{name} at byte {fault.offset}"


def _excerpt(fault: Diagnostic, paint: Paint) -> str:
    """The excerpt, and below it a caret at the fault; an escaped byte takes four columns."""
    before = min(fault.offset - fault.line_offset, 40)
    column = 0
    for _ in range(before):
        column += 4 if fault.excerpt.startswith("\\", column) else 1
    return f"    {fault.excerpt}\n    {' ' * column}{paint('red', '^')}\n"
