"""The files that a project has are there, and what the Markdown files link to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {".git", ".venv", "build", "dist", "target", "node_modules", "packaging", ".hypothesis"}
"""Folders that are not the project's own text (`packaging` links to the README)."""
MARKDOWN = sorted(
    path.relative_to(ROOT)
    for path in ROOT.rglob("*.md")
    if not MADE.intersection(path.relative_to(ROOT).parts)
)
LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """The anchor that hosting pages give a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def anchors(text: str) -> set[str]:
    return {slug(found) for found in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)}


@pytest.mark.parametrize("path", MARKDOWN, ids=str)
def test_links_resolve(path: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", (ROOT / path).read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (ROOT / path.parent / name) if name else ROOT / path
        if not linked.exists() or (anchor and anchor not in anchors(linked.read_text("utf-8"))):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize(
    "name",
    [
        ".ci/run",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "SECURITY.md",
        "benches/README.md",
        "docs/ABI.md",
        "docs/ARCHITECTURE.md",
        "docs/CASES.md",
        "docs/CLI.md",
        "docs/FORMAT.md",
        "docs/GLOSSARY.md",
        "docs/PAGES.md",
        "docs/SAFETY.md",
        "include/lettafast.h",
    ],
)
def test_file_is_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_license_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License\n                           Version 2.0" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_each_decision_is_numbered_and_states_itself() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    for number, page in enumerate(pages, start=1):
        text = page.read_text("utf-8")
        assert page.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number}. ")


def test_make_targets_in_the_texts_exist() -> None:
    targets = set(
        re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    )
    for path in MARKDOWN:
        named = re.findall(
            r"(?:`|^)make ([a-z][a-z0-9-]*)", (ROOT / path).read_text("utf-8"), re.MULTILINE
        )
        assert set(named) <= targets, path
