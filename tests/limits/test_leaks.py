"""Thousands of opens and errors leave no descriptor and no memory behind."""

from __future__ import annotations

import gc
import os

import pytest

from lettafast import (
    CursorError,
    HistoryChanged,
    Limits,
    RefError,
    SourceError,
    TranscriptRefused,
    open_transcript,
)
from support import NIGHTLY, append, assistant, descriptors, reasoning, tool, user

ROUNDS = 20_000 if NIGHTLY else 2_500
"""Each opens four files: 10,000 opens and more errors than that."""


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def expect(error: type[Exception], call) -> None:
    try:
        call()
    except error:
        return
    pytest.fail(f"no {error.__name__}")


def round_of_opens(folder) -> None:
    """Good and bad files, and each sort of error on an open one."""
    with open_transcript(folder / "good") as transcript:
        page = transcript.page()
        transcript.page_json(page.cursor)
        list(transcript.entries())
        transcript.tool_output("call-1")
        expect(CursorError, lambda: transcript.page_json("x"))
        expect(HistoryChanged, lambda: transcript.page_json(f"{page.history_id}:99999"))
        expect(RefError, lambda: transcript.content("nowhere", "text"))
        expect(ValueError, lambda: transcript.content(f"at:{page.history_id}:0", "text", 99))
        transcript.refresh()
    expect(TranscriptRefused, lambda: open_transcript(folder / "bad"))
    with open_transcript(folder / "bad", "lenient", Limits(1000, 1000)) as transcript:
        assert transcript.diagnostics_total == 3
        transcript.reopen()
    expect(SourceError, lambda: open_transcript(folder / "missing"))
    expect(SourceError, lambda: open_transcript(folder / "link"))


def test_ten_thousand_opens_and_errors(backend, tmp_path) -> None:
    (tmp_path / "good").write_bytes(user() + tool() + reasoning() + assistant())
    (tmp_path / "bad").write_bytes(b"{}\n" + user() + b"[]\n" + b"x" * 5000 + b"\n")
    (tmp_path / "link").symlink_to("good")
    for _ in range(300):  # what is made once and kept
        round_of_opens(tmp_path)
    before = descriptors(), resident()
    for _ in range(ROUNDS):
        round_of_opens(tmp_path)
    assert descriptors() == before[0]
    assert resident() - before[1] < 4 << 20


def test_a_long_life(backend, tmp_path) -> None:
    """One transcript that is refreshed and read thousands of times, and goes sticky at the end."""
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(user())
    with open_transcript(path) as transcript:
        for number in range(3_000):
            append(path, user(str(number)) + assistant())
            transcript.refresh()
            transcript.page_json(limit=1)
            if number == 300:
                before = descriptors(), resident()
        assert transcript.summary.entries == 6_001
        assert descriptors() == before[0]
        assert resident() - before[1] < 8 << 20
        os.truncate(path, 0)
        for _ in range(2_000):
            expect(HistoryChanged, transcript.refresh)
        assert resident() - before[1] < 8 << 20


def test_thousands_of_reopens(backend, tmp_path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(user() + assistant() * 50)
    with open_transcript(path) as transcript:
        history = transcript.page().history_id
        for number in range(1, 2_001):
            transcript.reopen()
            if number == 300:
                before = descriptors(), resident()
        assert transcript.page().history_id == f"{history}.2000"
        assert descriptors() == before[0]
        assert resident() - before[1] < 4 << 20
        path.rename(tmp_path / "away")
        for _ in range(1_000):
            expect(SourceError, transcript.reopen)
        assert descriptors().keys() == before[0].keys()
