"""The whole product against the one other Python package that reads Letta's transcripts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lettafast

from .generate import sample
from .peers import TRAJECTORY
from .report import Group, Report
from .rounds import Job, interleave, ratios


def pages(path: Path, read: Callable[[lettafast.Transcript, str | None], Any]) -> Iterator[Any]:
    """All pages of a transcript, newest first, one at a time: none is held after the next."""
    with lettafast.open_transcript(path) as transcript:
        before = None
        while True:
            page = read(transcript, before)
            before = older(page)
            yield page
            del page
            if before is None:
                return


def older(page: lettafast.Page | bytes) -> str | None:
    """The cursor of the page before; its place in the JSON is fixed."""
    if isinstance(page, lettafast.Page):
        return page.older
    start = page.index(b'"older":') + 8
    value = page[start : page.index(b",", start)]
    return None if value == b"null" else value.decode().strip('"')


def page_json(transcript: lettafast.Transcript, before: str | None) -> bytes:
    return transcript.page_json(before)


def page_objects(transcript: lettafast.Transcript, before: str | None) -> lettafast.Page:
    return transcript.page(before)


@pytest.mark.parametrize("profile", ["tools", "chat"])
def test_to_turns(profile: str, report: Report, full: bool, few: int) -> None:
    if shutil.which("node") is None:
        report.missing.append("agent-trajectory: no Node")
        pytest.skip("no Node")
    chosen = sample(profile, (100 if full else 8) << 20)
    read = TRAJECTORY.make()

    # What every page must come to, which is checked once: a user entry more or less would show.
    users = sum(page.count(b'{"role":"user"') for page in pages(chosen.path, page_json))
    assert users == chosen.user_entries
    total = sum(map(len, pages(chosen.path, page_json)))
    turns = sum(len(page.turns) for page in pages(chosen.path, page_objects))

    def check_total(found: int) -> None:
        assert found == total

    def check_turns(found: int) -> None:
        assert found == turns

    def check_records(records: list[dict[str, Any]]) -> None:
        wanted = chosen.entries - chosen.error_entries, chosen.user_entries
        assert TRAJECTORY.counts(records) == wanted

    def json_bytes() -> int:
        return sum(map(len, pages(chosen.path, page_json)))

    def objects() -> int:
        return sum(len(page.turns) for page in pages(chosen.path, page_objects))

    jobs = [
        Job("lettafast, JSON", json_bytes, check_total),
        Job("lettafast, objects", objects, check_turns),
        Job(TRAJECTORY.name, lambda: read(chosen), check_records),
    ]
    times = interleave(jobs, few)
    title = "From a path to all turns"
    report.groups.append(Group(title, profile, chosen.bytes, TRAJECTORY.name, times))
    product = ratios(times[TRAJECTORY.name], times["lettafast, JSON"])
    report.add("product", profile, product, unit="×", note="turns as JSON bytes")
    product = ratios(times[TRAJECTORY.name], times["lettafast, objects"])
    report.add("product objects", profile, product, unit="×", note="turns as Python objects")
