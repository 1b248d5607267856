"""The two build configurations say the same, and the version stands in one place."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import lettafast

if sys.version_info < (3, 11):
    pytest.skip("tomllib came with Python 3.11", allow_module_level=True)

import tomllib

ROOT = Path(__file__).parents[2]


def project(path: str) -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / path).read_text("utf-8"))["project"])


def test_the_version_stands_in_cargo_toml_alone() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    assert cargo["workspace"]["package"]["version"] == lettafast.__version__
    for path in ("pyproject.toml", "packaging/pure/pyproject.toml"):
        assert "version" in project(path)["dynamic"]
        assert "version" not in project(path)
    for path in ROOT.glob("rust/*/Cargo.toml"):
        assert tomllib.loads(path.read_text("utf-8"))["package"]["version"] == {"workspace": True}


def test_both_wheels_say_the_same_but_for_what_is_native() -> None:
    native, pure = project("pyproject.toml"), project("packaging/pure/pyproject.toml")
    assert native.pop("dependencies")
    assert "dependencies" not in pure
    native["classifiers"].remove("Programming Language :: Rust")
    assert native == pure


@pytest.mark.parametrize("name", ["Cargo.lock", "fuzz/Cargo.lock"])
def test_the_lock_file_names_the_public_index_only(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    sources = set(re.findall(r'^source = "(.*)"$', text, re.MULTILINE))
    assert sources == {"registry+https://github.com/rust-lang/crates.io-index"}
