"""The laws of the page format, for conversations that hypothesis makes."""

from __future__ import annotations

import itertools
import json
import pathlib

import hypothesis
import pytest
from hypothesis import strategies as st

from lettafast import Limits, _backend, open_transcript
from oracle import Oracle, dumps
from support import BACKENDS, append, assistant, error, fast_folder, load, reasoning, tool, user

TEXT = st.text(max_size=12) | st.sampled_from(["", "\u2028", "\ud83d", '"\\', "x" * 300])
ID = st.sampled_from([None, "", "m", "m-split-0", "m-split-1", "m-split-2", "n", "n-split-0"])
MESSAGE = st.sampled_from([None, "m", "n"])
ROW = (
    st.builds(user, TEXT)
    | st.builds(assistant, TEXT, ID, MESSAGE)
    | st.builds(assistant, TEXT, ID, MESSAGE)
    | st.builds(reasoning, TEXT)
    | st.builds(error, TEXT)
    | st.builds(tool, st.none() | TEXT, ID, ok=st.sampled_from([None, True, False]))
)
ROWS = st.lists(ROW, max_size=25)
PAGE_BYTES = st.sampled_from([1, 150, 300, 700, 16 << 20])


@pytest.fixture(params=BACKENDS, scope="module")
def law_backend(request):
    return load(request.param)


class Opened:
    """A transcript in a folder of its own; hypothesis runs a test's body many times."""

    def __init__(self, backend, data: bytes, max_page_bytes: int = 16 << 20) -> None:
        self._folder = fast_folder()
        self.path = pathlib.Path(self._folder.name) / "transcript.jsonl"
        self.path.write_bytes(data)
        self.max_page_bytes = max_page_bytes
        kept, _backend.current = _backend.current, lambda: backend
        try:
            self.transcript = open_transcript(
                self.path, limits=Limits(max_page_bytes=max_page_bytes)
            )
        finally:
            _backend.current = kept

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.transcript.close()
        self._folder.cleanup()

    def oracle(self) -> Oracle:
        identity = self.transcript.file_id
        return Oracle(
            self.path.read_bytes(),
            identity.dev,
            identity.ino,
            max_page_bytes=self.max_page_bytes,
        )

    def pages(self, limit: int) -> list[bytes]:
        """From the newest to the oldest."""
        found, before = [], None
        while True:
            found.append(self.transcript.page_json(before, limit))
            before = json.loads(found[-1])["older"]
            if before is None:
                return found


def joined(pages: list[bytes]) -> list[dict]:
    """The turns of all pages, oldest first; those that a page's edge cut are joined again."""
    turns: list[dict] = []
    goes_on = False
    for data in reversed(pages):
        page = json.loads(data)
        for number, turn in enumerate(page["turns"]):
            if number == 0 and page["starts_mid_turn"]:
                assert goes_on
                turns[-1]["parts"] += turn["parts"]
                turns[-1]["end_ts"] = turn["end_ts"]
            else:
                turns.append(turn)
        if page["turns"]:
            goes_on = page["ends_mid_turn"]
    assert not goes_on
    return turns


def texts(turns: list[dict]) -> str:
    return "|".join(
        part.get("text", f"<{part.get('input')},{part.get('output')}>")
        for turn in turns
        for part in turn["parts"]
    )


@hypothesis.given(ROWS, st.integers(1, 6), PAGE_BYTES)
def test_pages_joined_hold_each_entry_once(law_backend, rows, limit, size) -> None:
    with Opened(law_backend, b"".join(rows), size) as opened:
        pages = opened.pages(limit)
        turns = joined(pages)
        oracle = opened.oracle()
        # Without cuts inside joined rows the parts are the same too.
        whole = Oracle(
            opened.path.read_bytes(), opened.transcript.file_id.dev, opened.transcript.file_id.ino
        ).page(limit=1000)["turns"]
        assert [turn["offset"] for turn in turns] == [turn["offset"] for turn in whole]
        assert [turn["end_ts"] for turn in turns] == [turn["end_ts"] for turn in whole]
        if size == 16 << 20:
            assert turns == whole
        assert texts(turns).replace("|", "") == texts(whole).replace("|", "")
        counted = sum(json.loads(page)["replaced_surrogates"] for page in pages)
        assert counted == opened.transcript.summary.replaced_surrogates
        assert len(oracle.rows) == opened.transcript.summary.entries


@hypothesis.given(ROWS, st.integers(1, 6), PAGE_BYTES)
def test_pages_are_the_oracles(law_backend, rows, limit, size) -> None:
    with Opened(law_backend, b"".join(rows), size) as opened:
        oracle = opened.oracle()
        before = None
        for found in opened.pages(limit):
            expected = oracle.page(before, limit)
            assert found == dumps(expected)
            before = expected["older"] and int(expected["older"].rsplit(":", 1)[1])
        for at in [*(row.offset for row in oracle.rows), oracle.end]:
            if oracle.rows:
                cursor = f"{oracle.history_id}:{at}"
                assert opened.transcript.page_json(cursor, limit) == dumps(oracle.page(at, limit))


@hypothesis.given(ROWS, ROWS, st.integers(1, 4), PAGE_BYTES)
def test_appending_changes_no_older_page(law_backend, rows, more, limit, size) -> None:
    with Opened(law_backend, b"".join(rows), size) as opened:
        if not rows:
            return
        cursors = [json.loads(page)["older"] for page in opened.pages(limit)]
        cursors = [cursor for cursor in cursors if cursor is not None]
        before = {cursor: opened.transcript.page_json(cursor, limit) for cursor in cursors}
        append(opened.path, b"".join(more) + b'{"kind":"us')
        opened.transcript.refresh()
        for cursor, page in before.items():
            assert opened.transcript.page_json(cursor, limit) == page
        assert opened.transcript.page_json(limit=limit) == dumps(opened.oracle().page(limit=limit))


@hypothesis.given(ROWS, ROW, st.data())
def test_a_tail_never_shows(law_backend, rows, torn, data) -> None:
    cut = data.draw(st.integers(0, len(torn) - 1))
    with Opened(law_backend, b"".join(rows)) as opened:
        before = json.loads(opened.transcript.page_json())
        kept = list(opened.transcript.entries())
        append(opened.path, torn[:cut])
        assert opened.transcript.refresh() == "unchanged"
        after = json.loads(opened.transcript.page_json())
        assert after == {**before, "tail_bytes": cut}
        assert list(opened.transcript.entries()) == kept
    with Opened(law_backend, b"".join(rows) + torn[:cut]) as opened:
        fresh = json.loads(opened.transcript.page_json())
        assert len(fresh["turns"]) == len(before["turns"])
        assert fresh["tail_bytes"] == cut


@hypothesis.given(ROWS, st.data())
def test_growing_is_like_opening(law_backend, rows, data) -> None:
    """However a file came to be, in whatever pieces, it is read the same."""
    whole = b"".join(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    edges = [0, *cuts, len(whole)]
    with Opened(law_backend, b"") as opened:
        for start, end in itertools.pairwise(edges):
            append(opened.path, whole[start:end])
            before = opened.transcript.summary.entries
            grew = opened.transcript.refresh()
            assert grew == ("grown" if opened.transcript.summary.entries > before else "unchanged")
        assert opened.transcript.page_json() == dumps(opened.oracle().page())
        assert opened.transcript.refresh(verify=True) == "unchanged"


@hypothesis.given(ROWS, PAGE_BYTES, st.data())
def test_content_of_every_part(law_backend, rows, size, data) -> None:
    with Opened(law_backend, b"".join(rows), size) as opened:
        oracle = opened.oracle()
        for at in oracle.rows:
            ref = f"at:{oracle.history_id}:{at.offset}"
            parts = ["input", "output"] if at.kind == "tool_call" else ["text"]
            for part in parts:
                start = data.draw(st.integers(0, 40))
                length = data.draw(st.integers(0, 40))
                expected = oracle.content(at, part, start, length)
                if expected is None:
                    with pytest.raises(ValueError, match="size"):
                        opened.transcript.content(ref, part, start, length)
                else:
                    found = opened.transcript.content(ref, part, start, length)
                    assert expected == {
                        "text": found.text,
                        "start": found.start,
                        "end": found.end,
                        "size": found.size,
                    }
