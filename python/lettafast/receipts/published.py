"""What a run says in a pipeline's log: the published lines, and only of a PASS."""

from __future__ import annotations

from collections.abc import Callable

from lettafast.visible import file_name, visible_line

from .judgement import Check, Judgement, Verdict

OWN_MODEL = "(the agent's own)"


def published_lines(judgement: Judgement) -> list[str]:
    """The lines for standard output, without line ends.

    Of a PASS: who was asked, how many tool results count, and the agent's four lines. Of anything
    else the verdict and what does not hold. No line of that begins like one that says success.
    """
    if judgement.verdict is not Verdict.PASS:
        reasons = [f"reason: {told(one)}" for one in failing(judgement.checks)]
        return [f"verdict: {judgement.verdict}", *_who(judgement), *reasons]
    duration = f"duration_ms: {judgement.duration_ms}"
    receipts = f"tool_receipts: {judgement.receipts} successful"
    final = (judgement.final_text or "").split("\n")
    return [*_who(judgement), duration, receipts, *map(one_line, final)]


def failing(checks: tuple[Check, ...]) -> list[Check]:
    """The checks that do not hold, the worst first."""
    order = [Verdict.POLICY, Verdict.FAIL, Verdict.INCOMPLETE]
    wrong = [check for check in checks if check.verdict is not Verdict.PASS]
    return sorted(wrong, key=lambda check: order.index(check.verdict))


def told(check: Check) -> str:
    """A check that does not hold, in one line."""
    return one_line(f"{check.verdict} {check.name}: {check.sentence} (saw {check.saw})")


def error_command(check: Check) -> str:
    """The line by which GitHub Actions shows an error beside a job.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    title = _escaped(one_line(f"receipt {check.verdict}, {check.name}"))
    title = title.replace(":", "%3A").replace(",", "%2C")
    message = _escaped(one_line(f"{check.sentence} (saw {check.saw})"))
    return f"::error title={title}::{message}"


def summary(judgement: Judgement) -> str:
    """The verdict and each check as Markdown, for the summary of a GitHub Actions job."""
    begin = judgement.begin
    lines = [
        f"### Receipt: {judgement.verdict}",
        "",
        (
            f"Commit {_code(str(begin.get('commit')))} of {_code(str(begin.get('url')))}, "
            f"looked at by {_code(str(begin.get('agent_id')))}."
        ),
        "",
        "| check | verdict | what was seen | |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {_plain(one.name)} | {one.verdict} | {_code(one.saw)} | {_plain(one.sentence)} |"
        for one in judgement.checks
    ]
    return "\n".join(lines) + "\n"


def one_line(text: str, mark: Callable[[str], str] = str) -> str:
    """Anything as one line, in which GitHub's runner finds no command: it takes `##[` for one.

    Anywhere in a line, that is. `mark` is that of `visible_line`.
    https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
    """
    return visible_line(file_name(text), mark).replace("##[", r"##\x5b")


def _who(judgement: Judgement) -> list[str]:
    begin = judgement.begin
    return [
        f"agent: {one_line(str(begin.get('agent_id')))}",
        f"model: {one_line(str(begin.get('model') or OWN_MODEL))}",
        f"conversation: {one_line(judgement.conversation_id or '-')}",
    ]


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _code(text: str) -> str:
    return f"<code>{_plain(text)}</code>"


def _plain(text: str) -> str:
    """Text in which Markdown and HTML find nothing of theirs."""
    return "".join(
        one if one.isalnum() or one in " .," else f"&#{ord(one)};" for one in one_line(text)
    )
