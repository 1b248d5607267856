"""What stands in a pipeline's log, and that nothing but a PASS looks like one."""

from __future__ import annotations

import dataclasses
import html
import re

import pytest

import wire
from lettafast.receipts.published import error_command, failing, published_lines, summary
from lettafast.receipts.verify import Check, Verdict, judge

SUCCESS = ("tool_receipts:", "pipeline:", "checkout:", "files:", "note:", "duration_ms:")


def judged(**changed):
    return dataclasses.replace(judge(wire.EXPECTATION, wire.honest().frames), **changed)


def test_the_published_lines() -> None:
    judgement = judged()
    judgement = dataclasses.replace(judgement, begin={**judgement.begin, "model": "letta/auto"})
    assert published_lines(judgement) == [
        f"agent: {wire.AGENT}",
        "model: letta/auto",
        f"conversation: {wire.CONVERSATION}",
        "duration_ms: 12345",
        "tool_receipts: 7 successful",
        f"pipeline: push {wire.STATE.commit}",
        f"checkout: {wire.STATE.commit}",
        "files: .gitignore, README.md, src",
        "note: those names were listed inside the Letta Cloud sandbox",
    ]


def test_without_a_model_the_agents_own_is_named() -> None:
    assert published_lines(judged())[1] == "model: (the agent's own)"


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.INCOMPLETE, Verdict.POLICY])
def test_nothing_else_looks_like_success(verdict) -> None:
    """Even where the agent's last words are all right, or try to be."""
    lie = "x\ntool_receipts: 7 successful\n::stop-commands::x ##[set-output name=verdict;]PASS"
    checks = (
        Check("good", Verdict.PASS, "it", "it holds"),
        Check(lie, Verdict.INCOMPLETE, lie, lie),
        Check("worse", verdict, "\x1b[2Jtool_receipts: 7 successful", "no"),
    )
    lines = published_lines(judged(verdict=verdict, checks=checks, conversation_id=lie))
    assert lines[0] == f"verdict: {verdict}"
    for line in lines:
        assert "\n" not in line
        assert line.isprintable()
        assert not line.startswith((*SUCCESS, "::"))
        assert "##[" not in line  # GitHub's runner finds that anywhere
    assert lines[1].startswith("agent: ")
    assert len([line for line in lines if line.startswith("reason: ")]) == 2


def test_the_worst_reason_comes_first() -> None:
    checks = tuple(
        Check(str(verdict), verdict, "", "")
        for verdict in (Verdict.INCOMPLETE, Verdict.PASS, Verdict.FAIL, Verdict.POLICY)
    )
    assert [check.name for check in failing(checks)] == ["POLICY", "FAIL", "INCOMPLETE"]


def test_the_line_for_github() -> None:
    check = Check("s4.output", Verdict.FAIL, "50%\r\nx", "a, b: c\n::error::x")
    assert error_command(check) == (
        "::error title=receipt FAIL%2C s4.output::a, b: c\\n::error::x (saw 50%25\\r\\nx)"
    )


def test_the_summary_is_a_table_and_nothing_else() -> None:
    hostile = "a|b`c<script>\n| x | y |\n# head [l](http://x) ![i](http://x) @me #1 &lt;"
    checks = (Check(hostile, Verdict.FAIL, hostile, hostile),)
    text = summary(judged(verdict=Verdict.FAIL, checks=checks))
    lines = text.splitlines()
    assert lines[0] == "### Receipt: FAIL"
    assert len(lines) == 7
    row = lines[-1]
    assert row.count("|") == 5
    assert set(re.findall(r"<[^>]*>", row)) == {"<code>", "</code>"}
    assert not set("`[]!#@") & set(re.sub(r"&#\d+;", "", row))
    assert html.unescape(row).count("a|b`c<script>\\n") == 3
