"""What the real Letta Code writes is read strictly, followed, and shown as it was said."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import lettafast
from letta_code import ANSWERING, Conversation, Home, talk_stream_json, wait_until
from lettafast import _backend
from scripted_model import LONG_TEXT, PARAGRAPHS

SURROGATE = re.compile("[\ud800-\udfff]")


@pytest.fixture(params=["native", "pure"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def open_with(backend: str, path: Path) -> lettafast.Transcript:
    with pytest.MonkeyPatch.context() as patch:
        chosen = _backend.load(backend)
        patch.setattr("lettafast._backend.current", lambda: chosen)
        return lettafast.open_transcript(path)


def by_json(path: Path) -> list[dict[str, Any]]:
    """The rows as Python's json reads them, lone surrogates replaced."""

    def clean(value: Any) -> Any:
        return SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value

    rows, offset = [], 0
    for line in path.read_bytes().split(b"\n")[:-1]:
        row = json.loads(line)
        rows.append({key: clean(value) for key, value in row.items()} | {"offset": offset})
        offset += len(line) + 1
    return rows


def by_lettafast(transcript: lettafast.Transcript) -> list[dict[str, Any]]:
    names = {"args_text": "argsText", "result_text": "resultText", "result_ok": "resultOk"}
    return [
        {
            names.get(key, key): value
            for key in entry.__slots__
            if key != "replaced_surrogates" and (value := getattr(entry, key)) is not None
        }
        for entry in transcript.entries()
    ]


def read_whole(path: Path) -> None:
    """Both backends read it strictly, and what they read is what json reads."""
    for name in ("native", "pure"):
        with open_with(name, path) as transcript:
            assert by_lettafast(transcript) == by_json(path)
            assert transcript.summary.tail_bytes == 0


def texts(page: lettafast.Page) -> list[str]:
    return [part.text for turn in page.turns for part in turn.parts if part.text is not None]


@pytest.mark.parametrize("scenario", ["plain", "bash", "parallel", "unicode"])
def test_a_turn_is_read_strictly(conversation: Conversation, scenario: str) -> None:
    with lettafast.open_transcript(conversation.transcript) as transcript:
        conversation.say(f"SCN:{scenario} please")
        assert transcript.refresh() == "grown"
        shown = transcript.page(limit=1)
    read_whole(conversation.transcript)
    assert f"SCN:{scenario} please" in texts(shown)
    tools = [part for turn in shown.turns for part in turn.parts if part.kind == "tool"]
    expected = {"plain": [], "bash": ["ok"], "parallel": ["ok", "failed", "failed"]}
    assert [tool.state for tool in tools] == expected.get(scenario, ["ok"])
    if scenario == "unicode":
        assert shown.replaced_surrogates > 0


def test_split_rows_join_to_what_was_said(conversation: Conversation, backend: str) -> None:
    conversation.say(f"SCN:split {backend}")
    with open_with(backend, conversation.transcript) as transcript:
        page = transcript.page(limit=1)
        rows = [
            entry for entry in transcript.entries() if "-split-" in (entry.source_line_id or "")
        ]
    assert rows
    assert PARAGRAPHS in texts(page)


def test_follow_yields_the_turn_written_meanwhile(conversation: Conversation, backend: str) -> None:
    pages: list[lettafast.Page] = []
    ended: list[str] = []

    def follow() -> None:
        try:
            for page in transcript.follow(poll=0.02):
                pages.append(page)  # noqa: PERF402 - each must be there as soon as it comes
        except ValueError as error:
            ended.append(str(error))

    with open_with(backend, conversation.transcript) as transcript:
        before = transcript.summary.entries
        thread = threading.Thread(target=follow)
        thread.start()
        try:
            conversation.say(f"SCN:bash followed by {backend}")
            wait_until("the followed turn", ANSWERING, lambda: pages)
            after = [entry.offset for entry in transcript.entries()][before:]
        finally:
            transcript.close()
            thread.join()
    assert [message.endswith("was closed") for message in ended] == [True]
    assert texts(pages[0])[0] == f"SCN:bash followed by {backend}"
    assert pages[0].turns[0].offset == after[0]
    assert [part.kind for turn in pages[0].turns for part in turn.parts] == [
        "text", "thinking", "text", "tool", "text"
    ]  # fmt: skip


def test_a_long_text_arrives_without_a_false_change(conversation: Conversation) -> None:
    opened = [open_with(name, conversation.transcript) for name in ("native", "pure")]
    entries = opened[0].summary.entries
    failures: list[Exception] = []

    def refresh(transcript: lettafast.Transcript) -> None:
        end = time.monotonic() + ANSWERING
        try:
            while time.monotonic() < end and transcript.summary.entries < entries + 2:
                transcript.refresh()
                time.sleep(0.001)  # Letta Code needs the processor too
        except Exception as error:  # noqa: BLE001 - whatever ends the thread fails the test
            failures.append(error)

    threads = [threading.Thread(target=refresh, args=(transcript,)) for transcript in opened]
    for thread in threads:
        thread.start()
    conversation.say("SCN:long please")
    for thread in threads:
        thread.join()
    assert failures == []
    for transcript in opened:
        with transcript:
            assert transcript.summary.entries == entries + 2
            [part] = transcript.page(limit=1).turns[-1].parts
            assert (part.text, part.size) == (LONG_TEXT[: 1 << 20], len(LONG_TEXT))
            assert part.ref is not None
            rest = transcript.content(part.ref, "text", start=1 << 20)
            assert rest.text == LONG_TEXT[1 << 20 :]


def test_the_command_reads_it_on_both_backends(conversation: Conversation) -> None:
    answers = []
    for name in ("native", "pure"):
        done = subprocess.run(
            [sys.executable, "-m", "lettafast", "page", str(conversation.transcript)],
            env=os.environ | {"LETTAFAST_BACKEND": name},
            capture_output=True,
            check=True,
            timeout=60,
        )
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    assert json.loads(answers[0])["state"] == "ok"


def test_stream_json_mode(letta: str, model: str, folder: Path) -> None:
    (folder / "stream").mkdir()
    home = Home(letta, folder / "stream", model)
    talk_stream_json(home, ["SCN:plain one", "SCN:bash two", "SCN:unicode three"])
    [path] = home.transcripts()
    read_whole(path)
    with lettafast.open_transcript(path) as transcript:
        assert transcript.summary.user_entries == 3
        # Letta Code writes tool calls only from its TUI.
        assert transcript.summary.kinds["tool_call"] == 0
