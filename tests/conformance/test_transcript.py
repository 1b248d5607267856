"""The reading API itself: arguments, closing, threads, summary, bounded memory."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import threading

import pytest

import lettafast
from lettafast import (
    BackendError,
    CursorError,
    Entry,
    FileId,
    Limits,
    Store,
    Summary,
    Transcript,
    TranscriptRefused,
    open_transcript,
)
from support import append, assistant, descriptors, entries, error, page, reasoning, tool, user


def test_entries_are_records(backend, desk) -> None:
    transcript = desk.open(user("hi", "user-1") + tool())
    one, two = transcript.entries()
    assert one == Entry(0, "user", "2026-09-01T00:00:00.000Z", text="hi", source_line_id="user-1")
    assert two == Entry(
        len(user("hi", "user-1")),
        "tool_call",
        "2026-09-01T00:00:00.000Z",
        name="Bash",
        args_text="{}",
        result_text="out",
        result_ok=True,
        source_line_id="call-1",
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.text = "x"
    assert not hasattr(one, "__dict__")


def test_summary(backend, desk) -> None:
    data = reasoning() + user() + user() + tool() + assistant("\ud83d") + error() + user()
    transcript = desk.open(data + b"tail")
    assert transcript.summary == Summary(
        entries=7,
        user_entries=3,
        turns=5,
        kinds={"user": 3, "assistant": 1, "reasoning": 1, "error": 1, "tool_call": 1},
        bytes=len(data) + 4,
        tail_bytes=4,
        replaced_surrogates=1,
    )
    assert list(transcript.summary.kinds) == [
        "user",
        "assistant",
        "reasoning",
        "error",
        "tool_call",
    ]


def test_summary_of_nothing(backend, desk) -> None:
    kinds = dict.fromkeys(("user", "assistant", "reasoning", "error", "tool_call"), 0)
    assert desk.open(b"").summary == Summary(0, 0, 0, kinds, 0, 0, 0)


def test_file_id(backend, desk) -> None:
    transcript = desk.open(user())
    status = os.stat(desk.path)
    assert transcript.file_id == FileId(status.st_dev, status.st_ino)


@pytest.mark.parametrize("mode", ["Strict", "", "lazy", None, b"strict"])
def test_modes(backend, desk, mode) -> None:
    with pytest.raises(ValueError, match="mode"):
        desk.open(user(), mode)


@pytest.mark.parametrize("name", ["max_line_bytes", "max_page_bytes"])
@pytest.mark.parametrize("value", [0, -1, 1 << 48, 1 << 70])
def test_limits_out_of_bounds(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [1, (1 << 48) - 1])
def test_limits_at_their_bounds(backend, desk, value: int) -> None:
    transcript = desk.open(user(), "lenient", max_line_bytes=value, max_page_bytes=value)
    assert transcript.summary.entries == (value > 1)


def test_the_default_limits() -> None:
    assert Limits() == Limits(max_line_bytes=67_108_864, max_page_bytes=16_777_216)


def test_a_line_of_exactly_the_default_limit(backend, desk) -> None:
    line = user("x" * ((64 << 20) - len(user("")) + 1))
    assert len(line) == (64 << 20) + 1  # with its LF
    assert desk.open(line).summary.entries == 1
    with pytest.raises(TranscriptRefused) as caught:
        desk.open(line[:-1] + b" \n")
    assert (caught.value.reason, caught.value.offset) == ("line_too_long", 64 << 20)


CALLS = {
    "file_id": lambda transcript: transcript.file_id,
    "summary": lambda transcript: transcript.summary,
    "diagnostics": lambda transcript: transcript.diagnostics,
    "diagnostics_total": lambda transcript: transcript.diagnostics_total,
    "page": lambda transcript: transcript.page(),
    "page_json": lambda transcript: transcript.page_json(),
    "end": lambda transcript: transcript.end,
    "appended_json": lambda transcript: transcript.appended_json("x:0"),
    "entries": lambda transcript: transcript.entries(),
    "content": lambda transcript: transcript.content("x", "text"),
    "tool_output": lambda transcript: transcript.tool_output("x"),
    "refresh": lambda transcript: transcript.refresh(),
    "follow": lambda transcript: transcript.follow(),
    "follow_json": lambda transcript: transcript.follow_json(),
    "reopen": lambda transcript: transcript.reopen(),
}


def test_the_calls_are_all_there_are() -> None:
    """So that no method is forgotten above."""
    public = {name for name, _ in inspect.getmembers(Transcript) if not name.startswith("_")}
    assert public == {*CALLS, "close"}


@pytest.mark.parametrize("name", CALLS)
def test_closed(backend, desk, name: str) -> None:
    transcript = desk.open(user())
    transcript.close()
    transcript.close()
    with pytest.raises(ValueError, match="closed"):
        CALLS[name](transcript)


def test_context_manager(backend, desk) -> None:
    desk.path.write_bytes(user())
    before = descriptors()
    with open_transcript(desk.path) as transcript:
        assert isinstance(transcript, Transcript)
        assert len(descriptors()) == len(before) + 2
    assert descriptors() == before
    with pytest.raises(ValueError, match="closed"):
        transcript.page()
    with pytest.raises(KeyError), open_transcript(desk.path) as transcript:
        raise KeyError
    assert descriptors() == before


def test_begun_iterators_end_with_a_close(backend, desk) -> None:
    transcript = desk.open(user() * 20_000)
    begun, followed = transcript.entries(), transcript.follow()
    next(begun)
    transcript.close()
    with pytest.raises(ValueError, match="closed"):
        list(begun)
    with pytest.raises(ValueError, match="closed"):
        next(followed)


def test_a_dropped_transcript_gives_its_descriptors_back(backend, desk) -> None:
    import gc

    desk.path.write_bytes(user())
    before = descriptors()
    transcript = open_transcript(desk.path)
    del transcript
    gc.collect()
    assert descriptors() == before


def test_many_threads(backend, desk) -> None:
    """Calls from several threads run one at a time inside; every answer is whole."""
    rows = [user(f"u{number}") + tool(str(number), f"call-{number}") for number in range(50)]
    transcript = desk.open(b"".join(rows[:10]))
    history = transcript.page().history_id
    failures: list[BaseException] = []
    done = threading.Event()

    def work(call) -> None:
        try:
            while not done.is_set():
                call()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test says it
            failures.append(error)

    def check_page() -> None:
        found = json.loads(transcript.page_json(limit=1000))
        users = [turn for turn in found["turns"] if turn["role"] == "user"]
        assert [turn["parts"][0]["text"] for turn in users] == [
            f"u{number}" for number in range(len(users))
        ]

    def check_entries() -> None:
        found = list(transcript.entries())
        assert len(found) % 2 == 0
        assert [entry.text for entry in found[::2]] == [
            f"u{number}" for number in range(len(found) // 2)
        ]

    calls = [
        check_page,
        check_entries,
        transcript.refresh,
        lambda: transcript.refresh(verify=True),
        lambda: transcript.content(f"at:{history}:0", "text"),
        lambda: transcript.tool_output("call-3"),
        lambda: transcript.summary,
        lambda: transcript.page(limit=3),
    ]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    try:
        for row in rows[10:]:
            append(desk.path, row)
            done.wait(0.005)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    transcript.refresh()
    assert transcript.summary.entries == 100


def test_a_close_among_threads(backend, desk) -> None:
    """A call that comes after another thread's close is a ValueError, nothing worse."""
    for _ in range(20):
        transcript = desk.open(user() * 100)
        raised: list[BaseException] = []

        def work(transcript=transcript, raised=raised) -> None:
            try:
                while True:
                    transcript.page_json()
            except BaseException as closed:  # noqa: BLE001
                raised.append(closed)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        transcript.close()
        for thread in threads:
            thread.join()
        assert [type(error) for error in raised] == [ValueError] * 4


def test_a_failed_open_is_no_transcript(backend, desk) -> None:
    before = descriptors()
    for data in (b"{}\n", b"\xef\xbb\xbf", b"\n"):
        with pytest.raises(TranscriptRefused):
            desk.open(data)
    with pytest.raises(lettafast.SourceError):
        open_transcript(desk.folder / "nothing")
    assert descriptors() == before


def test_messages_and_hints(backend, desk) -> None:
    data = user() + user() + b'{"kind":"user","text":"a","text":"b"}\n'
    with pytest.raises(TranscriptRefused) as caught:
        desk.open(data)
    offset = len(user()) * 2 + 26
    assert str(caught.value) == f'{desk.path}:3: duplicate key "text" at byte {offset}'
    assert caught.value.hint
    assert caught.value.exit_code == 1
    assert isinstance(caught.value, ValueError)


def test_two_transcripts_of_one_file(backend, desk) -> None:
    one = desk.open(user())
    two = desk.open()
    append(desk.path, assistant())
    assert one.refresh() == "grown"
    assert len(entries(two)) == 1
    assert two.refresh() == "grown"
    assert one.page_json() == two.page_json()


def test_paths_of_every_type(backend, desk) -> None:
    desk.path.write_bytes(user())
    for path in (desk.path, str(desk.path), os.fsencode(desk.path)):
        with open_transcript(path) as transcript:
            assert transcript.name == str(desk.path)
            assert transcript.mode == "strict"
            assert transcript.limits == Limits()


def test_store_and_path_give_the_same(backend, tmp_path) -> None:
    folder = tmp_path / "agent" / "conversation"
    folder.mkdir(parents=True)
    (folder / "transcript.jsonl").write_bytes(user() + assistant())
    with (
        Store(tmp_path).transcript("agent", "conversation", "lenient", Limits(1000, 2000)) as one,
        open_transcript(folder / "transcript.jsonl") as two,
    ):
        assert one.page_json() == two.page_json()
        assert one.name == two.name
        assert (one.mode, one.limits) == ("lenient", Limits(1000, 2000))


def test_bad_arguments_change_nothing(backend, desk) -> None:
    transcript = desk.open(user())
    for call in (
        lambda: transcript.page(limit=0),
        lambda: transcript.page("x"),
        lambda: transcript.entries(5),
        lambda: transcript.content("x", "text", -1),
    ):
        with pytest.raises((CursorError, ValueError)):
            call()
    assert page(transcript)["turns"][0]["parts"][0]["text"] == "hi"


@pytest.mark.parametrize("choice", ["Native", "rust", "python", "none", " "])
def test_an_unknown_backend(monkeypatch, choice: str) -> None:
    from lettafast import _backend

    with pytest.raises(BackendError) as caught:
        _backend.load(choice)
    assert caught.value.reason == "unknown"
    monkeypatch.setenv("LETTAFAST_BACKEND", choice)
    with pytest.raises(BackendError):
        _backend.load()


def test_the_backend_that_was_asked_for(backend, monkeypatch) -> None:
    from lettafast import _backend

    assert _backend.load(backend.name).name == backend.name
    monkeypatch.setenv("LETTAFAST_BACKEND", backend.name)
    assert _backend.load().name == backend.name
