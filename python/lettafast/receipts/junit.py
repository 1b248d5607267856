"""A verdict as JUnit XML: one test case for each check."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # it only writes here

from lettafast.visible import file_name, visible_line

from .judgement import Check, Judgement, Verdict

_SUITE = "lettafast receipt"
_MILLISECONDS = 1000


def junit(judgement: Judgement, properties: dict[str, str]) -> bytes:
    """The file. What does not hold is a failure; missing evidence is an error.

    XML knows no way to write most control characters: they are made visible.
    """
    checks = judgement.checks
    missing = sum(check.verdict is Verdict.INCOMPLETE for check in checks)
    wrong = sum(check.verdict is not Verdict.PASS for check in checks) - missing
    counts = {
        "name": _SUITE,
        "tests": str(len(checks)),
        "failures": str(wrong),
        "errors": str(missing),
        "time": f"{(judgement.duration_ms or 0) / _MILLISECONDS:.3f}",
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {**counts, "skipped": "0"})
    listed = ET.SubElement(suite, "properties")
    for name, value in properties.items():
        ET.SubElement(listed, "property", {"name": name, "value": _shown(value)})
    for check in checks:
        _case(suite, check)
    ET.indent(suites)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ET.Element, check: Check) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": "lettafast.receipt", "name": _shown(check.name), "time": "0"},
    )
    if check.verdict is not Verdict.PASS:
        kind = "error" if check.verdict is Verdict.INCOMPLETE else "failure"
        said = {"message": _shown(check.sentence), "type": str(check.verdict)}
        ET.SubElement(case, kind, said).text = f"saw {_shown(check.saw)}"
    else:
        ET.SubElement(case, "system-out").text = _shown(check.saw)


def _shown(text: str) -> str:
    return visible_line(file_name(text))
