"""The whole product against the one other Python package that reads Letta's transcripts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

import lettafast

from .generate import sample
from .peers import TRAJECTORY
from .report import Group, Report
from .rounds import Job, interleave, ratios


def turns(path: Any, read: Callable[[lettafast.Transcript, str | None], Any]) -> list[Any]:
    """All pages of a transcript, newest first."""
    with lettafast.open_transcript(path) as transcript:
        pages, before = [], None
        while True:
            page = read(transcript, before)
            pages.append(page)
            before = older(page)
            if before is None:
                return pages


def older(page: lettafast.Page | bytes) -> str | None:
    """The cursor of the page before; its place in the JSON is fixed."""
    if isinstance(page, lettafast.Page):
        return page.older
    start = page.index(b'"older":') + 8
    value = page[start : page.index(b",", start)]
    return None if value == b"null" else value.decode().strip('"')


def page_json(transcript: lettafast.Transcript, before: str | None) -> bytes:
    return transcript.page_json(before, 1_000)


def page(transcript: lettafast.Transcript, before: str | None) -> lettafast.Page:
    return transcript.page(before, 1_000)


@pytest.mark.parametrize("profile", ["tools", "chat"])
def test_to_turns(profile: str, report: Report, full: bool, few: int) -> None:
    if shutil.which("node") is None:
        report.missing.append("agent-trajectory: no Node")
        pytest.skip("no Node")
    chosen = sample(profile, (100 if full else 8) << 20)
    read = TRAJECTORY.make()

    def check_json(pages: list[bytes]) -> None:
        assert sum(page.count(b'{"role":"user"') for page in pages) == chosen.user_entries

    def check_pages(pages: list[lettafast.Page]) -> None:
        users = sum(turn.role == "user" for page in pages for turn in page.turns)
        assert users == chosen.user_entries

    def check_records(records: list[dict[str, Any]]) -> None:
        wanted = chosen.entries - chosen.error_entries, chosen.user_entries
        assert TRAJECTORY.counts(records) == wanted

    jobs = [
        Job("lettafast, JSON", lambda: turns(chosen.path, page_json), check_json),
        Job("lettafast, objects", lambda: turns(chosen.path, page), check_pages),
        Job(TRAJECTORY.name, lambda: read(chosen), check_records),
    ]
    times = interleave(jobs, few)
    title = "From a path to all turns"
    report.groups.append(Group(title, profile, chosen.bytes, TRAJECTORY.name, times))
    product = ratios(times[TRAJECTORY.name], times["lettafast, JSON"])
    report.add("product", profile, product, unit="×", note="turns as JSON bytes")
    objects = ratios(times[TRAJECTORY.name], times["lettafast, objects"])
    report.add("product objects", profile, objects, unit="×", note="turns as Python objects")
