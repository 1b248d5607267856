"""An expected state, as a checkout would give it."""

from __future__ import annotations

from lettafast.receipts.expected import ExpectedState

URL = "https://git.example/org/repo"


def a_state():
    return ExpectedState(
        commit="c" * 40,
        tree="d" * 40,
        names=("README.md", "src"),
        printed=("README.md", "src"),
        listing=b"listing\0",
    )
