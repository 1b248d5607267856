"""The native scan is the same with every set of instructions, at every place in a block."""

from __future__ import annotations

import json
import os

import pytest
from answers import backends, everything

from lettafast import Limits
from support import CASES, fast_folder, instructions, load, user


@pytest.fixture(scope="module")
def both():
    return backends()


def test_there_is_more_than_one_set() -> None:
    found = instructions()
    assert "scalar" in found
    assert load("native").isa() in found
    assert os.uname().machine not in ("x86_64", "aarch64") or len(found) > 1


def test_every_case(both) -> None:
    """The pairs of `fixtures/cases`, which the pure backend answers as they say."""
    with fast_folder() as folder:
        path = os.path.join(folder, "transcript.jsonl")
        for case in sorted(CASES.glob("*.jsonl")):
            limit = json.loads(case.with_suffix(".json").read_text("ascii"))["max_line_bytes"]
            with open(path, "wb") as file:
                file.write(case.read_bytes())
            for mode in ("strict", "lenient"):
                said = {
                    name: everything(backend, path, mode, Limits(max_line_bytes=limit))
                    for name, backend in both.items()
                }
                for name, answer in said.items():
                    assert answer == said["pure"], f"{case.stem}, {mode}, {name}"


SPECIAL = {
    "backslash": b"\\\\",
    "escape": b"\\n",
    "pair": b"\\ud83d\\ude00",
    "lone": b"\\ud83dx",
    "two-bytes": "\u00e9".encode(),
    "four-bytes": "\U0001f600".encode(),
    "separator": "\u2028".encode(),
    "control": b"\x01",
    "ff": b"\xff",
    "cut": b"\xe2\x82",
    "surrogate": b"\xed\xa0\x80",
    "bad-escape": b"\\q",
    "many-backslashes": b"\\" * 62,
    "odd-backslashes": b"\\" * 63,
    "quote": b'"',
    "escaped-quote": b'\\"',
}


@pytest.mark.parametrize("name", SPECIAL)
def test_every_place_in_a_block(both, name: str) -> None:
    """Something special at each of 150 distances, in one text and over two rows."""
    with fast_folder() as folder:
        path = os.path.join(folder, "transcript.jsonl")
        for distance in range(150):
            text = b"x" * distance + SPECIAL[name] + b"y" * (distance % 7)
            data = user("@").replace(b"@", text) + user("after")
            with open(path, "wb") as file:
                file.write(data)
            for mode in ("strict", "lenient"):
                said = [
                    everything(backend, path, mode, Limits(), full=False)
                    for backend in both.values()
                ]
                for answer in said:
                    assert answer == said[0], f"{distance}, {mode}"


def test_white_space_and_line_ends_at_every_place(both) -> None:
    with fast_folder() as folder:
        path = os.path.join(folder, "transcript.jsonl")
        for distance in range(200):
            row = user("x" * (distance % 67))
            data = b" " * distance + row + b"\t" * (distance % 5) + row[:-1] + b"\r" + b"\n\n" + row
            with open(path, "wb") as file:
                file.write(data)
            for mode in ("strict", "lenient"):
                said = [
                    everything(backend, path, mode, Limits(), full=False)
                    for backend in both.values()
                ]
                for answer in said:
                    assert answer == said[0], f"{distance}, {mode}"
