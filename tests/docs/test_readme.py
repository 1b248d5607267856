"""The Python blocks of the README run, on both backends, and give the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def run(block: str, backend: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=ROOT,
        env=os.environ | {"LETTAFAST_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_a_block() -> None:
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block: str) -> None:
    native = run(block, "native")
    assert native
    assert run(block, "pure") == native
