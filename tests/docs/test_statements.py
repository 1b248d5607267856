"""The normative pages name tests that exist, and repeat the code's names and numbers correctly."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from lettafast import errors, records

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PAGES = ("FORMAT.md", "PAGES.md")
POINTER = re.compile(r"`([\w/]+\.py)::([\w:]+)`")
CASE = re.compile(r"`cases/([\w*-]+)`")


def text(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def statements(name: str) -> list[str]:
    """The list items of a page, each in one line."""
    items = re.findall(r"^- (?:.+\n)(?:  .+\n)*", text(name), re.MULTILINE)
    return [re.sub(r"\s+", " ", item) for item in items]


@cache
def names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found.update(
                f"{node.name}::{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef)
            )
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES)
def test_each_statement_names_a_test(page: str) -> None:
    found = statements(page)
    assert found
    assert [item for item in found if not (POINTER.search(item) or CASE.search(item))] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_named_tests_exist(page: str) -> None:
    missing = [
        f"{file}::{test}"
        for file, test in POINTER.findall(text(page))
        if not (TESTS / file).exists() or test not in names_in(TESTS / file)
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_the_named_cases_exist(page: str) -> None:
    cases = ROOT / "fixtures" / "cases"
    found = CASE.findall(text(page))
    assert [name for name in found if not list(cases.glob(f"{name}.jsonl"))] == []


def first_column(page: str, header: str) -> list[str]:
    """The first column of the table whose header begins with `header`, without backticks."""
    rows = text(page).split(f"\n| {header} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [row.split("|")[1].strip().strip("`") for row in rows]


def test_reasons_of_the_table() -> None:
    assert first_column("FORMAT.md", "reason") == [str(reason) for reason in errors.RefusedReason]


def test_source_reasons() -> None:
    section = text("FORMAT.md").split("`SourceError.reason` is one of:", 1)[1].split("\n## ", 1)[0]
    assert re.findall(r"^- `(\w+)`:", section, re.MULTILINE) == [
        str(reason) for reason in errors.SourceReason
    ]


def test_history_reasons_are_all_explained() -> None:
    explained = text("FORMAT.md") + text("PAGES.md")
    for reason in errors.HistoryReason:
        assert f"`{reason}`" in explained


def test_limits_of_the_table() -> None:
    rows = (
        text("FORMAT.md").split("\n| limit | value |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    )
    values = [row.split("|")[2].strip() for row in rows]
    limits = records.Limits()
    mib = 1 << 20
    assert values == [
        f"{limits.max_line_bytes // mib} MiB",
        f"{records.PAGE_LIMIT}, {records.MAX_PAGE_LIMIT:,}",
        f"{limits.max_page_bytes // mib} MiB",
        f"{records.TOOL_PREVIEW_CHARS:,} characters",
        f"{records.TEXT_PREVIEW_CHARS:,} characters",
        f"{records.MAX_RANGE_BYTES // mib} MiB",
        f"{records.MAX_KEPT_DIAGNOSTICS}",
        "64",
    ]


def test_errors_of_the_architecture_page() -> None:
    rows = text("ARCHITECTURE.md").split("\n| class | when | exit code |\n", 1)[1]
    listed = {}
    for row in rows.split("\n\n", 1)[0].splitlines()[1:]:
        classes, code = row.split("|")[1], int(row.split("|")[3])
        listed |= dict.fromkeys(re.findall(r"`(\w+)`", classes.split("(")[0]), code)
    public = errors.LettafastError.__subclasses__()
    assert listed == {cls.__name__: cls.exit_code for cls in public}
