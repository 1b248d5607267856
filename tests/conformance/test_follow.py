"""`follow`: pages of only the rows that are appended, as they come.

The clock is the test's: each time that `follow` would sleep, the next thing happens.
"""

from __future__ import annotations

import dataclasses
import json
import os
import types
from collections.abc import Callable

import pytest

from lettafast import HistoryChanged, TranscriptRefused
from oracle import dumps
from support import append, assistant, descriptors, padded, reasoning, tool, user


class Script:
    """What happens at each sleep; at its end the transcript is closed, which ends `follow`."""

    def __init__(self, monkeypatch, transcript) -> None:
        self.steps: list[Callable[[], object]] = []
        self.slept: list[float] = []
        self.transcript = transcript
        monkeypatch.setattr("lettafast.transcript.time", types.SimpleNamespace(sleep=self._sleep))

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.steps:
            self.steps.pop(0)()
        else:
            self.transcript.close()

    def run(self, poll: float = 0.25) -> list:
        pages: list = []
        with pytest.raises(ValueError, match="closed"):
            pages.extend(self.transcript.follow(poll))
        return pages


def texts(page) -> list[str]:
    return [part.text or part.kind for turn in page.turns for part in turn.parts]


def test_nothing_at_the_start(backend, desk, monkeypatch) -> None:
    script = Script(monkeypatch, desk.open(user() + assistant()))
    assert script.run(poll=0.5) == []
    assert script.slept == [0.5]


def test_pages_of_only_the_appended_rows(backend, desk, monkeypatch) -> None:
    transcript = desk.open(user("old") + assistant("old"))
    script = Script(monkeypatch, transcript)
    script.steps = [
        lambda: append(desk.path, user("one") + reasoning("two")),
        lambda: None,
        lambda: append(desk.path, tool() + assistant("three")),
        lambda: append(desk.path, user("four")),
    ]
    first, second, third = script.run()
    assert (texts(first), texts(second), texts(third)) == (
        ["one", "two"],
        ["tool", "three"],
        ["four"],
    )
    assert (first.starts_mid_turn, first.ends_mid_turn) == (False, False)
    assert (second.starts_mid_turn, second.ends_mid_turn) == (True, False)
    assert (third.starts_mid_turn, third.ends_mid_turn) == (False, False)
    assert script.slept == [0.25] * 5


def test_the_page_is_as_any_other(backend, desk, monkeypatch) -> None:
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)
    script.steps = [lambda: append(desk.path, assistant("\ud83d") + tool() + b"tail")]
    (found,) = script.run()
    oracle = desk.oracle()
    expected, end = oracle.appended(len(user("old")))
    assert end == oracle.end
    assert found.older == found.cursor == f"{oracle.history_id}:{len(user('old'))}"
    assert (found.tail_bytes, found.replaced_surrogates, found.diagnostics_total) == (4, 1, 0)
    said = dataclasses.asdict(found)
    for turn in said["turns"]:
        turn["parts"] = [
            {name: value for name, value in part.items() if name in wanted}
            for part, wanted in zip(turn["parts"], expected["turns"][0]["parts"], strict=True)
        ]
    assert json.loads(json.dumps(said)) == expected


def test_as_json_bytes(backend, desk, monkeypatch) -> None:
    """The same pages, each as the bytes that `page_json` would give."""
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)
    script.steps = [
        lambda: append(desk.path, assistant("one") + tool()),
        lambda: append(desk.path, user("two")),
    ]
    start = len(user("old"))
    pages: list[bytes] = []
    with pytest.raises(ValueError, match="closed"):
        pages.extend(transcript.follow_json())
    second = start + len(assistant("one") + tool())
    oracle = desk.oracle()
    assert pages[1:] == [dumps(oracle.appended(second)[0])]
    first = json.loads(pages[0])
    assert first["turns"] == oracle.appended(start)[0]["turns"][:1]
    assert (first["starts_mid_turn"], first["ends_mid_turn"]) == (False, False)


def test_from_an_empty_file(backend, desk, monkeypatch) -> None:
    transcript = desk.open(b"")
    script = Script(monkeypatch, transcript)
    script.steps = [
        lambda: append(desk.path, user("one")[:10]),
        lambda: append(desk.path, user("one")[10:] + assistant("two")[:5]),
        lambda: append(desk.path, assistant("two")[5:]),
    ]
    first, second = script.run()
    assert (texts(first), texts(second)) == (["one"], ["two"])
    assert (first.cursor, first.older) == (f"{first.history_id}:0", None)
    assert first.tail_bytes == 5
    assert second.starts_mid_turn is False  # a user entry lies before


def test_rows_that_came_before_the_first_look(backend, desk, monkeypatch) -> None:
    """`follow` begins with what was validated when it was called, not when it is first read."""
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)
    pages = transcript.follow()
    append(desk.path, user("between"))
    assert texts(next(pages)) == ["between"]
    assert script.slept == []


def test_a_refresh_beside_it_takes_no_rows_away(backend, desk, monkeypatch) -> None:
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)

    def grow() -> None:
        append(desk.path, user("new"))
        assert transcript.refresh() == "grown"

    script.steps = [grow]
    (found,) = script.run()
    assert texts(found) == ["new"]


def test_skipped_lines_alone_give_no_page(backend, desk, monkeypatch) -> None:
    transcript = desk.open(user("old"), "lenient")
    script = Script(monkeypatch, transcript)
    script.steps = [
        lambda: append(desk.path, b"?\n"),
        lambda: append(desk.path, b"?\n" + user("new") + b"?\n"),
    ]
    (found,) = script.run()
    assert texts(found) == ["new"]
    assert found.diagnostics_total == 3


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_ends_when_the_history_changes(backend, desk, monkeypatch, how: str) -> None:
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)

    def change() -> None:
        if how == "truncated":
            os.truncate(desk.path, 3)
        else:
            desk.path.rename(desk.folder / "away")

    script.steps = [lambda: append(desk.path, user("new")), change]
    pages = transcript.follow()
    assert texts(next(pages)) == ["new"]
    with pytest.raises(HistoryChanged) as caught:
        next(pages)
    assert caught.value.reason == how
    with pytest.raises(StopIteration):
        next(pages)


def test_ends_when_a_row_is_refused(backend, desk, monkeypatch) -> None:
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)
    script.steps = [lambda: append(desk.path, user("good") + b"[]\n")]
    with pytest.raises(TranscriptRefused) as caught:
        next(transcript.follow())
    assert caught.value.line == 3


def test_ends_when_it_is_reopened(backend, desk, monkeypatch) -> None:
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)
    script.steps = [transcript.reopen]
    with pytest.raises(HistoryChanged) as caught:
        next(transcript.follow())
    assert caught.value.reason == "other_history"
    assert transcript.page().turns  # the transcript itself is fine


def test_large_growth_comes_in_several_pages(backend, desk, monkeypatch) -> None:
    transcript = desk.open(padded(user("old"), 200), max_page_bytes=600)
    rows = [padded(tool(str(number)), 200) for number in range(8)]
    script = Script(monkeypatch, transcript)
    script.steps = [lambda: append(desk.path, b"".join(rows))]
    pages = script.run()
    assert [len(page.turns[0].parts) for page in pages] == [3, 3, 2]
    assert [page.starts_mid_turn for page in pages] == [False, True, True]
    assert [page.ends_mid_turn for page in pages] == [True, True, False]
    outputs = [part.output for page in pages for turn in page.turns for part in turn.parts]
    assert outputs == [str(number) for number in range(8)]


def test_more_than_a_thousand_units_are_bounded_by_bytes_alone(backend, desk, monkeypatch) -> None:
    transcript = desk.open(b"")
    script = Script(monkeypatch, transcript)
    script.steps = [lambda: append(desk.path, user() * 1500)]
    assert [len(page.turns) for page in script.run()] == [1500]


def test_a_row_larger_than_a_page_comes_alone(backend, desk, monkeypatch) -> None:
    transcript = desk.open(b"", max_page_bytes=300)
    script = Script(monkeypatch, transcript)
    rows = [user("a"), assistant("x" * 5000), user("b")]
    script.steps = [lambda: append(desk.path, b"".join(rows))]
    assert [texts(page) for page in script.run()] == [["a"], ["x" * 5000], ["b"]]


CHAINS = {
    "before a chain": (3, 3, 900),
    "the chain is first": (0, 6, 600),
    "the chain fits": (1, 3, 800),
    "it fits to the byte": (1, 4, 1000),
    "one byte too many": (1, 4, 999),
    "a chain at the end": (2, 3, 600),
}


@pytest.mark.parametrize("name", CHAINS)
def test_joined_rows_stay_together(backend, desk, name: str) -> None:
    """A page of appended rows stops before joined rows that it cannot hold whole."""
    before, count, size = CHAINS[name]
    ids = [*(f"m-split-{number}" for number in range(count - 1)), "m"]
    rows = [
        *[padded(tool(), 200)] * before,
        *(padded(assistant(one, one), 200) for one in ids),
        padded(tool(), 200),
        padded(user(), 200),
    ]
    start = padded(user("old"), 200)
    transcript = desk.open(start + b"".join(rows), max_page_bytes=size)
    oracle = desk.oracle(max_page_bytes=size)
    at = len(start)
    while at < oracle.end:
        expected, stop = oracle.appended(at)
        data, end = transcript._open.appended_json(at)
        assert (data, end) == (dumps(expected), stop)
        at = end
    for row in oracle.rows:  # and from every row, inside the chain too
        expected, stop = oracle.appended(row.offset)
        assert transcript._open.appended_json(row.offset) == (dumps(expected), stop)


def test_no_watch_is_needed(backend, desk, monkeypatch) -> None:
    """It looks with `fstat`: a system that has no watches left makes no difference."""
    transcript = desk.open(user("old"))
    script = Script(monkeypatch, transcript)
    seen: list[str] = []
    script.steps = [
        lambda: seen.extend(descriptors().values()),
        lambda: append(desk.path, user("new")),
    ]
    assert len(script.run()) == 1
    assert str(desk.path) in seen
    assert not [name for name in seen if "inotify" in name]


def test_in_real_time(backend, desk) -> None:
    """Without a script: a row is seen soon after it was written."""
    import threading

    transcript = desk.open(user("old"))
    timer = threading.Timer(0.05, append, (desk.path, user("new")))
    timer.start()
    assert texts(next(transcript.follow(poll=0.005))) == ["new"]
    timer.join()
