"""What clients are told while transcripts change: real sockets, real files."""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from lettafast import Transcript
from lettafast.web.events import Subscription
from support import NIGHTLY, append, assistant, descriptors, user
from webserver import AGENT, SECONDS, Site, Stream, serving, until

WATCH = f"conversation:{AGENT}/c"
CONVERSATION = f"/api/conversations/{AGENT}/c"
CLIENTS = 200 if NIGHTLY else 60


def end_of(site: Site) -> str:
    page = site.json(CONVERSATION)
    size = (site.root / AGENT / "c" / "transcript.jsonl").stat().st_size
    return f"{page['history_id']}:{size}"


def test_an_append_is_told_within_half_a_second(site: Site) -> None:
    path = site.write("c", user("one") + assistant())
    with site.stream(WATCH) as stream:
        first = stream.next()
        assert first[:2] == ("grown", {"watch": WATCH, "bytes": 0, "cursor": end_of(site)})
        for number in range(5):
            row = user(f"more {number}")
            began = time.monotonic()
            append(path, row)
            event = stream.next()
            assert event.at - began < 0.5
            assert event[:2] == (
                "grown",
                {"watch": WATCH, "bytes": len(row), "cursor": end_of(site)},
            )
            after = quote(first.data["cursor"])
            turns = site.json(f"{CONVERSATION}?after={after}")["turns"]
            assert turns[-1]["parts"][0]["text"] == f"more {number}"
            first = event


def test_a_tail_is_no_news_until_its_line_ends(site: Site) -> None:
    path = site.write("c", user("one"))
    row = user("two")
    with site.stream(WATCH) as stream:
        stream.next()
        append(path, row[:10])
        assert stream.is_silent(0.7)
    with site.stream(WATCH) as stream:
        stream.next()
        append(path, row[10:])
        assert stream.next().data["bytes"] == len(row)


def test_a_large_transcript_is_as_quick(tmp_path: pathlib.Path) -> None:
    size = (500 << 20) if NIGHTLY else (60 << 20)
    with serving(tmp_path) as site:
        block = user("q") + assistant("a" * 2000)
        path = site.write("c", block * (size // len(block)))
        try:
            began = time.monotonic()
            assert site.get(CONVERSATION).status_code == 200
            opened = time.monotonic() - began
            began = time.monotonic()
            assert site.get(CONVERSATION).status_code == 200
            again = time.monotonic() - began
            with site.stream(WATCH) as stream:
                stream.next()
                began = time.monotonic()
                append(path, user("new"))
                told = stream.next().at - began
            print(f"{size >> 20} MiB: first page {opened:.3f} s, next {again:.3f} s, {told:.3f} s")
            assert told < 0.5
            assert again < max(0.2, opened)
        finally:
            path.unlink()


def test_a_transcript_that_comes_and_goes(site: Site) -> None:
    """Not written yet, written, replaced, truncated, refused, mended, unreadable, gone."""
    with site.stream(WATCH) as stream:
        missing = stream.next()
        assert missing.name == "missing"
        assert missing.data["problem"]["type"] == "urn:lettafast:missing"
        path = site.write("c", user("one"))
        assert stream.next()[:2] == (
            "grown",
            {"watch": WATCH, "bytes": 0, "cursor": end_of(site)},
        )
        other = path.with_name("other")
        other.write_bytes(user("another") + assistant())
        other.replace(path)
        assert stream.next()[:2] == (
            "history_changed",
            {"watch": WATCH, "reason": "other_history"},
        )
        append(path, user("more"))
        assert stream.next().name == "grown"
        path.write_bytes(user("anew"))
        assert stream.next().name == "history_changed"
        append(path, b'{"kind":"odd"}\n')
        refused = stream.next()
        assert refused.name == "refused"
        assert refused.data["problem"]["line"] == 2
        assert refused.data["problem"] == site.json(CONVERSATION, 422)
        path.write_bytes(user("anew") + user("mended"))
        accepted = stream.next()
        assert accepted[:2] == ("history_changed", {"watch": WATCH, "reason": "accepted"})
        path.rename(path.with_name("aside"))
        path.symlink_to(path.with_name("aside"))
        unreadable = stream.wait("missing")
        if unreadable.data["problem"]["type"] != "urn:lettafast:unreadable":
            unreadable = stream.wait("missing")  # it was looked at between the two
        assert unreadable.data["problem"]["reason"] == "symlink"
        path.unlink()
        gone = stream.next()
        assert gone.data["problem"]["type"] == "urn:lettafast:not_written"
        path.with_name("aside").rename(path)
        assert stream.next().name in ("grown", "history_changed")
        append(path, user("last"))
        assert stream.wait("grown").data["cursor"] == end_of(site)


def test_permission_taken_and_given(site: Site) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = site.write("c", user("one"))
    with site.stream(WATCH) as stream:
        stream.next()
        path.parent.chmod(0)
        assert stream.next().data["problem"]["reason"] == "permission_denied"
        path.parent.chmod(0o755)
        assert stream.next().name == "grown"


def test_who_comes_later_is_told_how_it_stands(site: Site) -> None:
    path = site.write("c", user("one"))
    with site.stream(WATCH) as first:
        first.next()
        append(path, user("two"))
        first.next()
        with site.stream(WATCH) as second:
            assert second.next().data == {"watch": WATCH, "bytes": 0, "cursor": end_of(site)}
        append(path, user("three"))
        assert first.next().data["bytes"] == len(user("three"))


def test_strict_and_lenient_are_watched_apart(site: Site) -> None:
    path = site.write("c", user("one") + b"{}\n")
    lenient = f"{WATCH}?mode=lenient"
    with site.stream(WATCH, lenient) as stream:
        found = {event.data["watch"]: event.name for event in (stream.next(), stream.next())}
        assert found == {WATCH: "refused", lenient: "grown"}
        append(path, user("two"))
        assert stream.wait("grown").data["watch"] == lenient


@pytest.mark.parametrize(
    "watch",
    [
        "",
        "c",
        "conversation:",
        "conversation:a",
        "conversation:a/b/c",
        "pane:a",
        "file:a/b",
        "conversation:a/b?mode=x",
        "conversation:a%2fb/c",
        "conversation:a/%00",
    ],
)
def test_what_is_no_watch(site: Site, watch: str) -> None:
    answer = site.get("/api/events", params={"watch": watch})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:lettafast:query")
    assert site.get("/api/events").status_code == 400
    assert site.get(f"/api/events?watch={WATCH}&x=1").status_code == 400


def test_names_beyond_the_root_are_not_watched(site: Site) -> None:
    (site.root.parent / "transcript.jsonl").write_bytes(user("secret"))
    with site.stream("conversation:../..", "conversation:%2e%2e/.") as stream:
        for _ in range(2):
            assert stream.next().data["problem"]["reason"] == "bad_name"


def test_silence_is_broken_by_comments(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, heartbeat=0.2) as site:
        site.write("c", user())
        with site.stream(WATCH) as stream:
            assert stream.response.headers["content-type"] == "text/event-stream"
            assert stream.response.headers["cache-control"] == "private, no-cache"
            assert stream.line() == b"retry: 1000\n"
            stream.next()
            assert stream.line() == b"\n"
            for _ in range(3):
                assert [stream.line(), stream.line()] == [b":\n", b"\n"]


def test_nothing_is_read_while_nothing_changes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    refresh = Transcript.refresh

    def counted(self: Transcript, verify: bool = False) -> object:
        nonlocal read
        read += 1
        return refresh(self, verify)

    monkeypatch.setattr(Transcript, "refresh", counted)
    names = [f"c-{number}" for number in range(50)]
    paths = [site.write(name, user()) for name in names]
    with site.stream(*(f"conversation:{AGENT}/{name}" for name in names)) as stream:
        for _ in names:
            stream.next()
        before = read
        time.sleep(1.2)
        assert read == before
        append(paths[7], user())
        stream.next()
        assert read == before + 1


def test_a_hundred_idle_conversations_cost_next_to_nothing(site: Site) -> None:
    names = [f"c-{number}" for number in range(100)]
    for name in names:
        site.write(name, user() + assistant())
    watches = [f"conversation:{AGENT}/{name}" for name in names]
    with site.stream(*watches[:50]) as one, site.stream(*watches[50:]) as other:
        for stream in (one, other):
            for _ in range(50):
                stream.next()
        assert site.health()["watched_files"] == 100
        seconds = 20 if NIGHTLY else 3
        began = time.process_time()
        time.sleep(seconds)
        share = (time.process_time() - began) / seconds
        print(f"100 idle conversations: {share:.2%} of a core")
        assert share < 0.02  # one percent on a quiet machine; this one is shared


def test_a_client_that_left_costs_nothing(site: Site) -> None:
    site.write("c", user())
    site.json(CONVERSATION)
    time.sleep(0.05)
    gc.collect()
    before = len(descriptors())
    streams = [site.stream(WATCH) for _ in range(20)]
    for stream in streams:
        stream.next()
    assert site.health()["clients"] == 20
    for stream in streams:
        stream.close()
    until(lambda: site.health()["clients"] == 0)
    assert site.health()["watched_files"] == 0
    until(lambda: site.app.state.live._task is None)
    gc.collect()
    assert len(descriptors()) <= before + 1


def test_streams_and_watches_are_bounded(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, streams=2, watches=3, watched=4) as site:
        with (
            site.stream("conversation:a/1", "conversation:a/2") as one,
            site.stream("conversation:a/1", "conversation:a/3") as two,
        ):
            one.next()
            two.next()
            busy = site.get("/api/events?watch=conversation:a/1")
            assert (busy.status_code, busy.json()["type"]) == (503, "urn:lettafast:busy")
            assert busy.headers["retry-after"]
        until(lambda: site.health()["clients"] == 0)
        many = "&".join(f"watch=conversation:a/{number}" for number in range(4))
        assert site.get(f"/api/events?{many}").status_code == 400
        with site.stream(*(f"conversation:a/{number}" for number in range(3))) as stream:
            stream.next()
            more = "&".join(f"watch=conversation:b/{number}" for number in range(2))
            assert site.get(f"/api/events?{more}").status_code == 503


def test_a_client_that_never_reads_is_let_go(tmp_path: pathlib.Path) -> None:
    """Others are told meanwhile, and what waits for it stays small."""
    names = [f"{'long-name-' * 15}{number}" for number in range(30)]
    with serving(tmp_path, unread=1.0, waiting=100_000) as site:
        site.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        paths = [site.write(name, user()) for name in names]
        query = "&".join(f"watch=conversation:{AGENT}/{name}" for name in names)
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect(("127.0.0.1", site.port))
        with contextlib.closing(deaf):
            headers = {"Host": f"localhost:{site.port}", **site.headers}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            deaf.sendall(f"GET /api/events?{query} HTTP/1.1\r\n{head}\r\n".encode())
            until(lambda: site.health()["clients"] == 1)
            end = time.monotonic() + SECONDS
            with site.stream(f"conversation:{AGENT}/{names[0]}") as other:
                other.next()
                while site.health()["clients"] == 2:
                    assert time.monotonic() < end
                    for path in paths:
                        append(path, user("x"))
                    assert other.next().name == "grown"


def test_too_much_waits_for_a_client() -> None:
    client = Subscription(["w"], 3)
    for _ in range(3):
        client.put(b"x")
    assert not client.ended
    client.put(b"x")
    assert client.ended
    client.put(b"x")
    assert not client._waiting


def test_many_clients_while_a_writer_appends(site: Site) -> None:
    """Each is told of every byte, reads pages meanwhile, and nothing fails."""
    path = site.write("c", user("one") + assistant())
    rows, done = 12, threading.Event()

    def write() -> None:
        for number in range(rows):
            append(path, user(f"row {number}") + assistant("a" * 1000))
            time.sleep(0.1)
        append(path, user("the last"))
        done.set()

    def follow(number: int) -> tuple[int, int]:
        with Stream(site, WATCH) as stream:
            event, told, pages = stream.next(), 0, 0
            cursor = start = event.data["cursor"]
            while not (done.is_set() and cursor == end_of_file()):
                event = stream.next()
                assert event.name == "grown"
                told += event.data["bytes"]
                cursor = event.data["cursor"]
                if number % 4 == 0:
                    after = quote(start)
                    answer = site.get(f"{CONVERSATION}?after={after}&mode=strict")
                    assert answer.status_code == 200
                    pages += 1
            return told, pages + int(cursor.rpartition(":")[2]) - int(start.rpartition(":")[2])

    def end_of_file() -> str:
        return f"{history}:{path.stat().st_size}"

    history = site.json(CONVERSATION)["history_id"]
    writer = threading.Thread(target=write)
    with ThreadPoolExecutor(CLIENTS) as pool:
        following = [pool.submit(follow, number) for number in range(CLIENTS)]
        until(lambda: site.health()["clients"] == CLIENTS, 30)
        writer.start()
        told = [one.result(timeout=120) for one in following]
    writer.join()
    assert all(grown <= total for grown, total in told)
    assert all(grown > 0 for grown, _ in told)
    until(lambda: site.health()["clients"] == 0)


def test_the_end_of_the_server_ends_every_stream(tmp_path: pathlib.Path) -> None:
    gc.collect()
    before = descriptors()
    site = Site(tmp_path).start()
    site.write("c", user())
    streams = [site.stream(WATCH) for _ in range(30)]
    for stream in streams:
        stream.next()
    site.json(CONVERSATION)
    idle = socket.create_connection(("127.0.0.1", site.port))
    half = socket.create_connection(("127.0.0.1", site.port))
    half.sendall(b"GET / HTTP/1.1\r\nHost:")
    assert site.stop() < 1  # as long as answers have to end in
    for stream in streams:
        ready, _, _ = select.select([stream.response.fp], [], [], SECONDS)
        assert ready
        stream.close()
    idle.close()
    half.close()
    gc.collect()
    left = {number: name for number, name in descriptors().items() if number not in before}
    assert left == {}
    assert not [thread for thread in threading.enumerate() if "lettafast" in thread.name]
