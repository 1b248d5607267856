"""The JUnit file, as other programs read it."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import junitparser
import pytest

import wire
from lettafast.receipts.junit import junit
from lettafast.receipts.verify import Check, Verdict, judge


def judged(*checks):
    judgement = judge(wire.EXPECTATION, wire.honest().frames)
    return judgement if not checks else dataclasses.replace(judgement, checks=checks)


def test_a_pass() -> None:
    judgement = judged()
    data = junit(judgement, {"agent_id": wire.AGENT})
    suites = junitparser.JUnitXml.fromstring(data)
    (suite,) = suites
    assert (suite.tests, suite.failures, suite.errors) == (len(judgement.checks), 0, 0)
    assert suite.time == 12.345
    assert [case.name for case in suite] == [check.name for check in judgement.checks]
    assert all(case.is_passed for case in suite)
    assert {one.name: one.value for one in suite.properties()} == {"agent_id": wire.AGENT}


def test_what_does_not_hold() -> None:
    data = junit(
        judged(
            Check("good", Verdict.PASS, "it", "it holds"),
            Check("s4.output", Verdict.FAIL, "another", "the output is another", "s4"),
            Check("only_the_plan", Verdict.POLICY, "rm", "something else ran"),
            Check("stored", Verdict.INCOMPLETE, "nothing", "no history"),
        ),
        {},
    )
    (suite,) = junitparser.JUnitXml.fromstring(data)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 2, 1, 0)
    found = [case.result for case in suite]
    assert found[0] == []
    assert isinstance(found[1][0], junitparser.Failure)
    assert (found[1][0].message, found[1][0].type) == ("the output is another", "FAIL")
    assert isinstance(found[2][0], junitparser.Failure)
    assert isinstance(found[3][0], junitparser.Error)
    assert found[3][0].text == "saw nothing"


def test_whatever_an_agent_says_is_xml() -> None:
    every = "".join(map(chr, [*range(0x300), 0x2028, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1F600]))
    hostile = f"{every}]]><!-- <testcase/> &amp; \x1b[31m"
    checks = [
        Check(hostile, verdict, hostile, hostile)
        for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.INCOMPLETE)
    ]
    data = junit(judged(*checks), {"model": hostile})
    root = ET.fromstring(data)
    assert len(root.findall(".//testcase")) == 3
    for case in root.findall(".//testcase"):
        name = case.get("name")
        assert name.isprintable() or "\u00a0" in name
        assert "\\x1b[31m" in name
        assert "]]><!-- <testcase/> &amp; " in name
    (suite,) = junitparser.JUnitXml.fromstring(data)
    assert suite.tests == 3


@pytest.mark.parametrize("duration", [None, 0, 999])
def test_a_run_without_an_end_has_a_time(duration) -> None:
    judgement = dataclasses.replace(judged(), duration_ms=duration)
    (suite,) = junitparser.JUnitXml.fromstring(junit(judgement, {}))
    assert suite.time == (duration or 0) / 1000
