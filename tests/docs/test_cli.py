"""docs/CLI.md says what `--help` says."""

from __future__ import annotations

from pathlib import Path

from cli_help import page

CLI = Path(__file__).parents[2] / "docs" / "CLI.md"


def test_the_page_is_current() -> None:
    # Only the words: where argparse breaks a usage line differs between Python versions.
    assert CLI.read_text("utf-8").split() == page().split(), "`make docs` writes it anew"
