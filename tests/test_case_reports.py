"""`docs/CASES.md`: each public report has a test that exists, or a sentence that says why not."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from support import CASES, ROOT

TEXT = (ROOT / "docs" / "CASES.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| what was met"))
]
POINTER = re.compile(r"`([\w/]+\.py)::(\w+)`")
LINK = re.compile(r"\[[^]]+\]\(https://github\.com/[\w./-]+\)")
CASE = re.compile(r"`([a-z][a-z0-9_]+-[\w-]*…?)`")


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_there_are_rows() -> None:
    assert len(ROWS) > 30
    assert {len(row) for row in ROWS} == {4}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_each_row_has_reports_and_tests(row: list[str]) -> None:
    _, reports, _, held = row
    assert LINK.search(reports)
    pointers = POINTER.findall(held)
    assert pointers or held.startswith("Not a test: ")
    for file, name in pointers:
        assert name.startswith("test_")
        assert name in names_in(file), f"{file}::{name}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_the_named_cases_exist(row: list[str]) -> None:
    names = {path.stem for path in CASES.glob("*.jsonl")}
    for case in CASE.findall(row[3]):
        if case.endswith("…"):
            assert [name for name in names if name.startswith(case[:-1])]
        else:
            assert case in names


def test_what_reading_cannot_do_is_said() -> None:
    section = TEXT.split("## Which process, which session")[1]
    assert section.strip().startswith("Not a test here, because")
    assert len(LINK.findall(section.replace("\n", " "))) >= 10
