"""The parts of the server that need no socket: threads, what is news, what stays open."""

from __future__ import annotations

import asyncio
import pathlib
import threading
import time

import pytest

from lettafast import HistoryChanged, Limits, SourceError, TranscriptRefused, open_transcript
from lettafast.errors import HerdrUnavailable, HerdrUnavailableReason, InternalError, SourceReason
from lettafast.web.events import EventStream, Subscription
from lettafast.web.jsons import to_json
from lettafast.web.places import Place, quoted, stamp, unquoted
from lettafast.web.problems import problem_of
from lettafast.web.reading import read_page
from lettafast.web.shelf import Shelf
from lettafast.web.tail import Tail
from lettafast.web.workers import Workers
from support import append, assistant, user

PLACE = Place("/root", "agent", "conversation", "strict")


def test_workers_are_bounded_and_daemons() -> None:
    workers = Workers(3, "test-worker")
    running = most = 0
    lock = threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return number * 2

    async def main() -> list[int]:
        return await asyncio.gather(*(workers.run(work, number) for number in range(20)))

    assert asyncio.run(main()) == [number * 2 for number in range(20)]
    assert most == 3
    started = [thread for thread in threading.enumerate() if thread.name.startswith("test-worker")]
    assert len(started) == 3
    assert all(thread.daemon for thread in started)
    assert workers.close(time.monotonic() + 1)
    assert not [thread for thread in started if thread.is_alive()]


def test_a_worker_gives_back_what_was_raised() -> None:
    workers = Workers(1, "test-worker")

    async def main() -> None:
        with pytest.raises(KeyError, match="gone"):
            await workers.run({}.__getitem__, "gone")
        assert await workers.run(len, "abc") == 3

    asyncio.run(main())
    assert workers.close(time.monotonic() + 1)


def test_a_worker_that_hangs_holds_up_nobody() -> None:
    workers = Workers(1, "test-worker")
    free = threading.Event()

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(workers.run(free.wait), 0.05)

    asyncio.run(main())
    began = time.monotonic()
    assert not workers.close(time.monotonic() + 0.1)
    assert time.monotonic() - began < 1
    free.set()
    assert workers.close(time.monotonic() + 1)


def test_what_of_a_tail_is_news() -> None:
    tail = Tail(PLACE)
    assert tail.found(None) == ("grown", {"bytes": 0, "cursor": None})
    assert tail.found(None) is None
    assert tail.found("v1-a:10") == ("grown", {"bytes": 10, "cursor": "v1-a:10"})
    assert tail.found("v1-a:10") is None
    assert tail.found("v1-a:15") == ("grown", {"bytes": 5, "cursor": "v1-a:15"})
    assert tail.standing == ("grown", {"bytes": 0, "cursor": "v1-a:15"})
    assert tail.found("v1-a.1:15") == ("history_changed", {"reason": "other_history"})
    assert tail.found(None) == ("history_changed", {"reason": "other_history"})
    gone = SourceError(SourceReason.MISSING, "x")
    assert tail.failed(gone) == ("missing", {"problem": problem_of(gone).body})
    assert tail.failed(gone) is None
    assert tail.standing[0] == "missing"
    assert tail.found("v1-a.1:15") == ("grown", {"bytes": 0, "cursor": "v1-a.1:15"})
    tail.failed(gone)
    assert tail.found("v1-b:1") == ("history_changed", {"reason": "other_history"})


def test_problems_of_errors() -> None:
    socket = HerdrUnavailable(HerdrUnavailableReason.TIMEOUT, "/s")
    for error, status, kind in (
        (SourceError(SourceReason.MISSING, "x"), 404, "missing"),
        (SourceError(SourceReason.BAD_NAME, "x"), 404, "missing"),
        (SourceError(SourceReason.SYMLINK, "x"), 422, "unreadable"),
        (SourceError(SourceReason.IO, "x", 5), 422, "unreadable"),
        (SourceError(SourceReason.IO, "x", 24), 503, "busy"),
        (SourceError(SourceReason.CHANGED, "x"), 409, "history_changed"),
        (socket, 503, "herdr"),
        (InternalError("x"), 500, "internal"),
        (KeyError("secret"), 500, "internal"),
    ):
        body = problem_of(error).body
        assert (body["status"], body["type"]) == (status, f"urn:lettafast:{kind}")
        assert "secret" not in str(body)


def test_a_stream_that_is_not_read_ends() -> None:
    """Whatever the server beneath does: nothing is left waiting, and nobody is told any more."""
    client = Subscription(["w"], 10)
    ended = []

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.body":
            await never()

    async def main() -> None:
        stream = EventStream(client, ended.append, 15.0, 0.05)
        await asyncio.wait_for(stream({}, never, send), 5)
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(main())
    assert ended == [client]


def test_a_page_knows_whether_more_came_behind_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t"
    rows = [user(f"{number} {'x' * 500}") for number in range(6)]
    path.write_bytes(b"".join(rows))
    with open_transcript(path, limits=Limits(max_page_bytes=1500)) as transcript:
        newest = read_page(transcript, None, None, 50)
        assert (newest.at_end, newest.end) == (True, transcript.end)
        cursor = transcript.page().older
        older = read_page(transcript, cursor, None, 50)
        assert (older.at_end, older.end) == (False, cursor)
        history = cursor.partition(":")[0]
        first = read_page(transcript, None, f"{history}:0", 50)
        assert not first.at_end
        assert first.end not in (transcript.end, f"{history}:0")
        last = read_page(transcript, None, transcript.end, 50)
        assert (last.at_end, last.end) == (True, transcript.end)


def test_json_of_names_that_are_no_utf8() -> None:
    assert to_json({"a\u00e9": ["\udcff", 1, None, ("x",)]}) == (
        '{"a\u00e9":["\\\\xff",1,null,["x"]]}'.encode()
    )


@pytest.mark.parametrize("name", ["a b", "\udcff", "%2f", "\u00e9", "?#&=", "~.-_"])
def test_names_in_addresses(name: str) -> None:
    assert unquoted(quoted(name)) == name
    assert quoted(name).isascii()
    assert not set(quoted(name)) & set("/?#& ")


def test_a_stamp_moves_with_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "f"
    seen = [stamp(str(path))]
    path.write_bytes(b"one")
    seen.append(stamp(str(path)))
    append(path, b"two")
    seen.append(stamp(str(path)))
    path.rename(tmp_path / "g")
    (tmp_path / "g").rename(path)
    other = tmp_path / "h"
    other.write_bytes(b"onetwo")
    other.replace(path)
    seen.append(stamp(str(path)))
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    seen.append(stamp(str(path)))
    assert len({*seen}) == len(seen)
    assert stamp("a\0b") == 0
    assert isinstance(stamp(str(path / "below")), int)


def test_a_refused_transcript_is_not_read_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent" / "c" / "transcript.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(user() + b"{}\n")
    place = Place(str(tmp_path), "agent", "c", "strict")
    workers = Workers(1, "test-worker")
    shelf = Shelf(workers, Limits(), 4)
    opened = 0
    from lettafast import Store

    original = Store.transcript

    def counted(self: Store, *arguments: object) -> object:
        nonlocal opened
        opened += 1
        return original(self, *arguments)

    monkeypatch.setattr(Store, "transcript", counted)

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(TranscriptRefused):
                await shelf.read(place, lambda transcript: transcript.summary)
        assert opened == 1
        path.write_bytes(user() + assistant())
        assert (await shelf.read(place, lambda found: found.summary)).entries == 2
        # One that was fine and is refused now keeps its history apart when it is mended.
        first = await shelf.read(place, lambda found: found.end)
        append(path, b"{}\n")
        for _ in range(2):
            with pytest.raises(TranscriptRefused):
                await shelf.read(place, lambda found: found.end)
        path.write_bytes(user() + assistant("mended"))
        again = await shelf.read(place, lambda found: found.end)
        assert again.partition(":")[0] == first.partition(":")[0] + ".1"

    asyncio.run(main())
    shelf.close()
    workers.close(time.monotonic() + 1)


def test_one_transcript_is_opened_once_for_all_who_ask(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "agent" / "c" / "transcript.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(user())
    place = Place(str(tmp_path), "agent", "c", "strict")
    workers = Workers(8, "test-worker")
    shelf = Shelf(workers, Limits(), 4)

    async def main() -> set[int]:
        return set(await asyncio.gather(*(shelf.read(place, id) for _ in range(30))))

    assert len(asyncio.run(main())) == 1
    assert shelf.open_transcripts == 1
    shelf.close()
    workers.close(time.monotonic() + 1)


def test_the_end_and_what_came_after(tmp_path: pathlib.Path, backend: object) -> None:
    """`Transcript.end` and `Transcript.appended_json`, of both backends."""
    path = tmp_path / "t"
    path.write_bytes(b"")
    with open_transcript(path) as transcript:
        assert transcript.end is None
        append(path, user("one") + b"tail")
        transcript.refresh()
        end = transcript.end
        assert end is not None
        assert end.endswith(f":{len(user('one'))}")
        data, again = transcript.appended_json(end)
        assert (b'"turns":[]' in data, again) == (True, end)
        for wrong in ("x", end + "9999", end.replace("v1-", "v1-0")[:22]):
            with pytest.raises((ValueError, HistoryChanged)):
                transcript.appended_json(wrong)
        start = end.rpartition(":")[0] + ":0"
        assert transcript.appended_json(start) == (transcript.page_json(), end)
