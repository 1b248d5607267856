"""Both backends, and Python's `json` where the text is legal, say the same of the same bytes."""

from __future__ import annotations

import itertools
import json
import os
from random import Random
from typing import Any

import grammar
import hypothesis
import pytest
from answers import backends, everything, opened
from hypothesis import strategies as st
from strategies import NOISE, mutated, transcripts

from lettafast import Limits
from oracle import Oracle, dumps
from support import NIGHTLY, append, as_dict, fast_folder

VOLUME = 50_000 if NIGHTLY else 10_000
LIMITS = [
    Limits(),
    Limits(max_page_bytes=1),
    Limits(max_page_bytes=300),
    Limits(max_line_bytes=150, max_page_bytes=700),
    Limits(max_line_bytes=40),
]


@pytest.fixture(scope="module")
def both() -> dict[str, Any]:
    return backends()


@pytest.fixture(scope="module")
def path() -> str:
    with fast_folder() as folder:
        yield os.path.join(folder, "transcript.jsonl")


def turn(both: dict[str, Any], data: bytes) -> list[tuple[str, Any]]:
    """The pure backend and the native one, each time with other instructions (nightly: all)."""
    pure, *native = both.items()
    return [pure, *(native if NIGHTLY or not native else [native[len(data) % len(native)]])]


def write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def check(both, path: str, data: bytes, limits: Limits, *, full: bool = True) -> dict[str, Any]:
    """Strict and lenient on both backends; what strict says, then what lenient says."""
    write(path, data)
    said = {}
    for mode in ("strict", "lenient"):
        for name, backend in turn(both, data):
            answer = everything(backend, path, mode, limits, full=full)
            if name == "pure":
                said[mode] = answer
            assert answer == said[mode], f"{name}, {mode}, {limits}, {data!r}"
    if isinstance(said["strict"], dict):
        # What strict accepts lenient returns as it is, without a word.
        assert said["lenient"] == said["strict"]
        assert said["lenient"]["diagnostics_total"] == 0
    else:
        _, *fault = said["strict"]
        notes = said["lenient"]["diagnostics"]
        if fault[0] != "bom":
            assert notes[0]["line"] == fault[1]
    return said


def check_oracle(path: str, said: dict[str, Any], data: bytes, limits: Limits) -> None:
    """Both are what Python's `json` makes of lines that are legal."""
    status = os.stat(path)
    oracle = Oracle(data, status.st_dev, status.st_ino, max_page_bytes=limits.max_page_bytes)
    assert said["entries"] == oracle.entries()
    assert as_dict(said["summary"]) == oracle.summary()
    assert said["newest"] == dumps(oracle.page())
    before = None
    for found in said.get("pages", ()):
        page = oracle.page(before, 2)
        assert found == dumps(page)
        before = page["older"] and int(page["older"].rsplit(":", 1)[1])
    at = 0
    for found, end in said.get("appended", ()):
        assert (found, end) == (dumps(oracle.appended(at)[0]), oracle.appended(at)[1])
        at = end


@hypothesis.given(transcripts(), st.sampled_from(LIMITS[:3]))
def test_legal_transcripts(both, path, data, limits) -> None:
    said = check(both, path, data, limits)
    assert isinstance(said["strict"], dict)
    check_oracle(path, said["strict"], data, limits)


@hypothesis.given(transcripts(drifted=True), st.sampled_from(LIMITS))
def test_drifted_transcripts(both, path, data, limits) -> None:
    check(both, path, data, limits)


@hypothesis.given(mutated(), st.sampled_from(LIMITS))
def test_mutated_transcripts(both, path, data, limits) -> None:
    check(both, path, data, limits)


@hypothesis.given(st.binary(max_size=200), st.sampled_from(LIMITS))
def test_any_bytes(both, path, data, limits) -> None:
    check(both, path, data, limits)


@hypothesis.given(st.lists(NOISE, max_size=12))
def test_any_tokens(both, path, tokens) -> None:
    check(both, path, b"{" + b"".join(tokens) + b"}\n", LIMITS[0])


@hypothesis.given(mutated() | transcripts(), st.data(), st.sampled_from(LIMITS))
def test_growth_in_pieces(both, path, whole, data, limits) -> None:
    """Both grow alike over appends cut anywhere, and end as what is opened in one go."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=1, max_size=4)))
    for mode in ("strict", "lenient"):
        logs = {
            name: grow(backend, path, whole, cuts, mode, limits)
            for name, backend in turn(both, whole)
        }
        write(path, whole)
        for name, log in logs.items():
            assert log == logs["pure"], f"{name}, {mode}, {cuts}, {whole!r}"
        final = everything(both["pure"], path, mode, limits, full=False)
        if isinstance(final, list) and final[1] == "bom":
            final[-1] = logs["pure"][-1][-1]  # its excerpt shows what was there by then
        assert logs["pure"][-1] == final


def grow(backend, path: str, whole: bytes, cuts: list[int], mode: str, limits: Limits) -> list:
    """What one backend said at each step, and in the end."""
    edges = [*cuts, len(whole)]
    # The file keeps its inode over the backends, so that history ids are the same.
    write(path, whole[: edges[0]])
    reader = opened(backend, path, mode, limits)
    if isinstance(reader, list):
        return [reader]
    log: list[Any] = []
    try:
        for start, end in itertools.pairwise(edges):
            append(path, whole[start:end])
            try:
                log.append(reader.handle.refresh(False))
            except Exception as error:  # noqa: BLE001 - compared, whatever it is
                again = [type(error).__name__, str(error)]
                fault = ["reason", "line", "line_offset", "offset", "field", "excerpt"]
                return [*log, again, ["refused", *(getattr(error, name) for name in fault)]]
            log.append(reader.handle.summary())
            log.append(reader.handle.page_json(None, 2))
        said = reader.state()
        said["newest"] = reader.handle.page_json(None, 50)
        return [*log, said]
    finally:
        reader.close()


SHARDS = 10


@pytest.mark.parametrize("shard", range(SHARDS))
def test_volume(both, path, shard: int) -> None:
    """Ten thousand transcripts, always the same ones: half legal, half not."""
    legal = 0
    for number in range(shard, VOLUME, SHARDS):
        random = Random(number)
        broken = number % 4 > 1
        data = grammar.transcript(random, damage=0.15 * broken, mutations=0.8 * broken)
        limits = LIMITS[number % 3 if not broken else number % len(LIMITS)]
        said = check(both, path, data, limits, full=number // SHARDS % 10 == 0)
        if not broken:
            check_oracle(path, said["strict"], data, limits)
        legal += isinstance(said["strict"], dict)
    # The grammar must keep making both sorts.
    assert VOLUME / SHARDS * 0.5 <= legal <= VOLUME / SHARDS * 0.8


# What a window, a group of blocks or a buffer may cut, and what no cut may hide.
LONG_PIECES = [
    rb"plain text of some length, as in most outputs. ",
    rb"\n",
    rb"\\",
    rb"\"",
    rb"\u001b[0m",
    rb"\ud83d\ude00",
    rb"\ud83d",
    rb"\ude00",
    rb"\u00e9",
    "é漢😀".encode(),
]
LONG_FAULTS = [rb"\x", rb"\u12g4", b"\x01", b"\xff", b"\xed\xa0\x80", b'"', b"\xe6\xbc"]


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 24))
def test_long_strings(both, path, seed: int) -> None:
    """Lines of some 300 KB, whose strings are read in pieces; half of them with a fault."""
    random = Random(seed)
    pieces = random.sample(LONG_PIECES, random.randint(1, len(LONG_PIECES)))
    body, size = [], 0
    while size < 300_000:
        body.append(random.choice(pieces))
        size += len(body[-1])
    if seed % 2:
        body.insert(random.randrange(len(body)), random.choice(LONG_FAULTS))
    line = b'{"kind":"user","captured_at":"2026-01-05T08:00:05.614Z","text":"%s"}\n'
    data = line % b"first" + line % b"".join(body) + line % b"last"
    said = check(both, path, data, Limits(), full=False)
    assert isinstance(said["strict"], dict) or seed % 2


def test_the_grammar_raises_every_reason(both, path) -> None:
    """Else the comparisons above would say little."""
    reasons = set()
    for number in range(20_000):
        random = Random(-number - 1)
        data = grammar.transcript(random, damage=0.2, mutations=0.9)
        write(path, data)
        answer = opened(both["pure"], path, "strict", LIMITS[3 if number % 9 == 0 else 0])
        if isinstance(answer, list):
            reasons.add(str(answer[1]))
        else:
            answer.close()
        if len(reasons) == 15:
            return
    raise AssertionError(sorted(reasons))


def test_json_agrees_about_what_is_no_json(both, path) -> None:
    """Where strict says `malformed_json`, `json` refuses too, and where it accepts, both do."""
    seen = set()
    for number in range(1500):
        random = Random(number * 7 + 1)
        line = grammar.line(random, 0.0)
        data = grammar.mutate(random, line).replace(b"\n", b"")
        write(path, data + b"\n")
        answer = opened(both["pure"], path, "strict", LIMITS[0])
        try:
            value = json.loads(data.decode("utf-8"))
            accepted = isinstance(value, dict)
        except (ValueError, RecursionError):
            accepted = False
        if isinstance(answer, list):
            reason = str(answer[1])
        else:
            reason = "ok"
            answer.close()
        seen.add(reason)
        if reason == "ok":
            assert accepted, data
        if reason in ("malformed_json", "invalid_utf8", "control_character", "trailing_data"):
            assert not accepted, data
    assert {"ok", "malformed_json", "invalid_utf8", "control_character"} <= seen
