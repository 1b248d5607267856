"""When the file is no longer the history that was read: how it is noticed, and reopening."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from lettafast import (
    CursorError,
    HistoryChanged,
    HistoryReason,
    RefError,
    SourceError,
    Store,
    TranscriptRefused,
)
from oracle import dumps
from support import append, assistant, entries, overwrite, padded, row, tool, user

KEPT = 64 * 1024


def changed(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(HistoryChanged) as caught:
        call(*arguments, **named)
    assert isinstance(caught.value.reason, HistoryReason)
    return str(caught.value.reason)


def test_shrinks(backend, desk) -> None:
    data = user() + assistant()
    for size in (0, 1, len(user()), len(data) - 1):
        transcript = desk.open(data)
        os.truncate(desk.path, size)
        assert changed(transcript.refresh) == "truncated"
        transcript.close()


def test_shrinks_and_grows_again(backend, desk) -> None:
    transcript = desk.open(user() + assistant())
    os.truncate(desk.path, 0)
    append(desk.path, user("another") + assistant("and more of it than there was"))
    assert changed(transcript.refresh) == "rewritten"


def test_loses_its_tail(backend, desk) -> None:
    """A tail that is cut away was written by nobody who only appends."""
    transcript = desk.open(user() + b"x" * 20)
    wait_for_the_clock(desk.path)
    os.truncate(desk.path, len(user()) + 10)
    assert changed(transcript.refresh) == "rewritten"


def wait_for_the_clock(path: os.PathLike[str]) -> None:
    """Until a change made now is stamped with another time than the file has."""
    probe = os.fspath(path) + ".probe"
    before = os.stat(path).st_ctime_ns
    while True:
        with open(probe, "wb"):
            pass
        if os.stat(probe).st_ctime_ns > before:
            break
        time.sleep(0.001)
    os.unlink(probe)


def test_replaced_by_another_file(backend, desk) -> None:
    data = user() + assistant()
    transcript = desk.open(data)
    other = desk.folder / "other"
    other.write_bytes(data + user())
    os.rename(other, desk.path)
    assert changed(transcript.refresh) == "replaced"


def test_replaced_by_an_equal_file(backend, desk) -> None:
    transcript = desk.open(user())
    shutil.copy2(desk.path, desk.folder / "copy")
    os.rename(desk.folder / "copy", desk.path)
    assert changed(transcript.refresh) == "replaced"


@pytest.mark.parametrize("what", ["nothing", "folder", "fifo", "link", "link-to-itself"])
def test_another_thing_at_its_place(backend, desk, what: str) -> None:
    transcript = desk.open(user())
    moved = desk.folder / "moved"
    os.rename(desk.path, moved)
    if what == "folder":
        desk.path.mkdir()
    elif what == "fifo":
        os.mkfifo(desk.path)
    elif what == "link":
        desk.path.symlink_to("moved")
    elif what == "link-to-itself":
        desk.path.symlink_to(desk.path.name)
    assert changed(transcript.refresh) == "replaced"


def test_a_folder_above_it_is_another(backend, tmp_path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "agent" / "conversation").mkdir(parents=True)
        (tmp_path / name / "agent/conversation/transcript.jsonl").write_bytes(user())
    with Store(tmp_path / "one").transcript("agent", "conversation") as transcript:
        assert transcript.refresh() == "unchanged"
        os.rename(tmp_path / "one/agent", tmp_path / "away")
        os.rename(tmp_path / "two/agent", tmp_path / "one/agent")
        assert changed(transcript.refresh) == "replaced"


def test_the_root_itself_may_be_moved(backend, tmp_path) -> None:
    """The names are walked beneath the same root descriptor."""
    (tmp_path / "one/agent/conversation").mkdir(parents=True)
    path = tmp_path / "one/agent/conversation/transcript.jsonl"
    path.write_bytes(user())
    with Store(tmp_path / "one").transcript("agent", "conversation") as transcript:
        os.rename(tmp_path / "one", tmp_path / "two")
        append(tmp_path / "two/agent/conversation/transcript.jsonl", assistant())
        assert transcript.refresh() == "grown"


def test_rewritten_in_place_with_its_mtime_restored(backend, desk) -> None:
    """The same size, inode and mtime: ctime alone tells."""
    transcript = desk.open(user("before"))
    status = os.stat(desk.path)
    overwrite(desk.path, 0, user("behind"))
    after = os.stat(desk.path)
    assert (after.st_size, after.st_ino, after.st_mtime_ns) == (
        status.st_size,
        status.st_ino,
        status.st_mtime_ns,
    )
    assert changed(transcript.refresh) == "rewritten"


@pytest.mark.parametrize("how", ["chmod", "touch", "link", "xattr", "same-bytes"])
def test_ctime_alone(backend, desk, how: str) -> None:
    """A change of the inode without growth is a changed history: a documented cost."""
    transcript = desk.open(user() + assistant())
    wait_for_the_clock(desk.path)
    if how == "chmod":
        desk.path.chmod(0o600)
    elif how == "touch":
        os.utime(desk.path)
    elif how == "link":
        os.link(desk.path, desk.folder / "second")
    elif how == "xattr":
        try:
            os.setxattr(desk.path, "user.lettafast", b"1")
        except OSError:
            pytest.skip("no extended attributes here")
    else:
        overwrite(desk.path, 0, user())
    assert changed(transcript.refresh) == "rewritten"


def test_reading_it_is_no_change(backend, desk) -> None:
    transcript = desk.open(user())
    wait_for_the_clock(desk.path)
    desk.path.read_bytes()
    os.utime(desk.folder)
    assert transcript.refresh() == "unchanged"


def test_growth_with_a_chmod_is_growth(backend, desk) -> None:
    transcript = desk.open(user())
    wait_for_the_clock(desk.path)
    desk.path.chmod(0o600)
    append(desk.path, assistant())
    assert transcript.refresh() == "grown"


def test_the_ctime_check_waits_once(backend, desk) -> None:
    """A stamp that changes before the size of an append does is no rewrite.

    Kernels stamp ctime before the size: the second look, 20 ms later, sees the growth.
    """
    for _ in range(20):
        transcript = desk.open(user())
        wait_for_the_clock(desk.path)
        desk.path.chmod(0o600)
        timer = threading.Timer(0.008, append, (desk.path, assistant()))
        timer.start()
        start = time.perf_counter()
        assert transcript.refresh() == "grown"
        elapsed = time.perf_counter() - start
        timer.join()
        transcript.close()
        if elapsed >= 0.02:
            return  # the append fell between the two looks
    pytest.fail("refresh never looked twice")


def test_kept_bytes_and_growth(backend, desk) -> None:
    """A rewrite in the last 64 KiB is seen also where the file grew."""
    lines = [padded(user(f"{number}"), 1024) for number in range(200)]
    data = b"".join(lines)
    for at in (len(data) - KEPT, len(data) - KEPT // 2, len(data) - 1024):
        transcript = desk.open(data)
        where = data.index(b'"text":"', at) + 8
        overwrite(desk.path, where, b"X")
        append(desk.path, assistant())
        assert changed(transcript.refresh) == "rewritten"
        transcript.close()


def test_kept_bytes_of_a_long_line(backend, desk) -> None:
    data = user("x" * 200_000)
    for at in (len(data) - KEPT, len(data) - 1000):
        transcript = desk.open(data)
        overwrite(desk.path, at, b"y")
        append(desk.path, assistant())
        assert changed(transcript.refresh) == "rewritten"
        transcript.close()


def test_a_rewrite_before_the_kept_bytes_needs_verify(backend, desk) -> None:
    """Together with growth it is not seen: a documented limit. `verify` sees it."""
    data = user("x" * 200_000)
    for at in (1000, len(data) - KEPT - 1):
        transcript = desk.open(data)
        overwrite(desk.path, at, b"y")
        append(desk.path, assistant())
        assert transcript.refresh() == "grown"
        assert changed(transcript.refresh, verify=True) == "rewritten"
        assert changed(transcript.refresh) == "rewritten"
        transcript.close()


def test_the_kept_bytes_move_on(backend, desk) -> None:
    """After growth the kept bytes are the last 64 KiB of what is validated now."""
    first = user("x" * 100_000)
    transcript = desk.open(first)
    append(desk.path, assistant("y" * 100_000))
    assert transcript.refresh() == "grown"
    overwrite(desk.path, len(first) - 1000, b"z")  # kept before, not any more
    append(desk.path, user())
    assert transcript.refresh() == "grown"
    overwrite(desk.path, len(first) + 60_000, b"z")
    append(desk.path, user())
    assert changed(transcript.refresh) == "rewritten"


def test_verify_after_growth_in_pieces(backend, desk) -> None:
    """The checksum runs on over every refresh, tails included."""
    transcript = desk.open(b"")
    data = user("\U0001f600" * 50_000) + tool("x" * 70_000) + assistant()
    for start in range(0, len(data), 7_001):
        append(desk.path, data[start : start + 7_001])
        transcript.refresh()
    assert transcript.refresh(verify=True) == "unchanged"
    overwrite(desk.path, 100, b"y")
    append(desk.path, user())
    assert transcript.refresh() == "grown"
    assert changed(transcript.refresh, verify=True) == "rewritten"


def test_verify_with_growth(backend, desk) -> None:
    transcript = desk.open(user())
    append(desk.path, assistant())
    assert transcript.refresh(verify=True) == "grown"
    append(desk.path, b"tail")
    assert transcript.refresh(verify=True) == "unchanged"
    assert transcript.refresh(verify=True) == "unchanged"


def test_verify_in_lenient_mode_covers_skipped_lines(backend, desk) -> None:
    data = user() + b"?" * 100 + b"\n" + tool("x" * 100_000)
    transcript = desk.open(data, "lenient")
    assert transcript.refresh(verify=True) == "unchanged"
    overwrite(desk.path, len(user()) + 10, b"!")
    append(desk.path, user())
    assert transcript.refresh() == "grown"
    assert changed(transcript.refresh, verify=True) == "rewritten"


READS: dict[str, Callable[[Any, str], Any]] = {
    "page_json": lambda transcript, _: transcript.page_json(),
    "page": lambda transcript, _: transcript.page(),
    "content": lambda transcript, ref: transcript.content(ref, "text"),
    "entries": lambda transcript, _: list(transcript.entries()),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("how", ["shrinks", "no-json", "no-row"])
def test_a_row_read_again_that_is_none_any_more(backend, desk, name: str, how: str) -> None:
    transcript = desk.open(user("hello"))
    ref = f"at:{transcript.page().history_id}:0"
    if how == "shrinks":
        os.truncate(desk.path, 30)
    elif how == "no-json":
        overwrite(desk.path, 3, b"\x00")
    else:
        overwrite(desk.path, 0, padded(b"[]\n", len(user("hello"))))
    assert changed(READS[name], transcript, ref) == "rewritten"
    assert changed(lambda: transcript.summary) == "rewritten"
    assert changed(transcript.refresh) == "rewritten"


@pytest.mark.parametrize("name", READS)
def test_shrinking_is_noticed_in_lenient_mode_too(backend, desk, name: str) -> None:
    transcript = desk.open(user("hello"), "lenient")
    ref = f"at:{transcript.page().history_id}:0"
    os.truncate(desk.path, 30)
    assert changed(READS[name], transcript, ref) == "rewritten"


def test_search_by_bare_id_reads_again_too(backend, desk) -> None:
    transcript = desk.open(user() + tool(line_id="call"))
    os.truncate(desk.path, len(user()) + 5)
    assert changed(transcript.tool_output, "call") == "rewritten"


def test_a_page_never_mixes_two_files(backend, desk) -> None:
    """What was opened is read by its descriptor until a refresh says that its place has changed."""
    transcript = desk.open(user("mine") + assistant("also mine"))
    other = desk.folder / "other"
    other.write_bytes(user("theirs") + assistant("not mine!"))
    os.rename(other, desk.path)
    assert [entry["text"] for entry in entries(transcript)] == ["mine", "also mine"]
    assert transcript.page().turns[0].parts[0].text == "mine"
    assert changed(transcript.refresh) == "replaced"


CALLS: dict[str, Callable[[Any], Any]] = {
    "summary": lambda transcript: transcript.summary,
    "diagnostics": lambda transcript: transcript.diagnostics,
    "diagnostics_total": lambda transcript: transcript.diagnostics_total,
    "file_id": lambda transcript: transcript.file_id,
    "page": lambda transcript: transcript.page(),
    "page_json": lambda transcript: transcript.page_json(),
    "page_json with a bad cursor": lambda transcript: transcript.page_json("x"),
    "page_json with a bad limit": lambda transcript: transcript.page_json(limit=0),
    "entries": lambda transcript: list(transcript.entries()),
    "entries from no row": lambda transcript: list(transcript.entries(1)),
    "content": lambda transcript: transcript.content("x", "text"),
    "content of no form": lambda transcript: transcript.content("?", "no such part"),
    "content from below 0": lambda transcript: transcript.content("x", "text", -1),
    "tool_output": lambda transcript: transcript.tool_output("x"),
    "refresh": lambda transcript: transcript.refresh(),
    "refresh with verify": lambda transcript: transcript.refresh(verify=True),
    "follow": lambda transcript: next(transcript.follow(0)),
    "follow_json": lambda transcript: next(transcript.follow_json(0)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("what", ["history", "refused"])
def test_every_later_call_raises_the_same(backend, desk, name: str, what: str) -> None:
    transcript = desk.open(user())
    if what == "history":
        os.truncate(desk.path, 0)
        first = HistoryChanged
    else:
        append(desk.path, assistant() + b"{}\n")
        first = TranscriptRefused
    with pytest.raises(first) as one:
        transcript.refresh()
    # Even where the file is as it was again.
    os.truncate(desk.path, 0)
    append(desk.path, user())
    for _ in range(2):
        with pytest.raises(first) as again:
            CALLS[name](transcript)
        assert type(again.value) is type(one.value)
        assert vars(again.value) == vars(one.value)
        assert str(again.value) == str(one.value)


def test_nothing_else_makes_a_transcript_unusable(backend, desk) -> None:
    """Errors about a cursor, a ref, an offset or a limit change nothing."""
    transcript = desk.open(user() + tool())
    history = transcript.page().history_id
    good = transcript.page_json()
    for error, call in (
        (CursorError, lambda: transcript.page_json("x")),
        (CursorError, lambda: transcript.page_json(limit=0)),
        (CursorError, lambda: transcript.page_json(f"{history}:1")),
        (HistoryChanged, lambda: transcript.page_json("v1-0123456789abcdef:0")),
        (HistoryChanged, lambda: transcript.page_json(f"{history}:999999")),
        (HistoryChanged, lambda: transcript.content(f"at:{history}:999999", "text")),
        (HistoryChanged, lambda: transcript.content("at:v1-0123456789abcdef:0", "text")),
        (RefError, lambda: transcript.content("?", "text")),
        (RefError, lambda: transcript.tool_output("nowhere")),
        (RefError, lambda: transcript.content(f"at:{history}:0", "output")),
        (ValueError, lambda: transcript.content(f"at:{history}:0", "text", 99)),
        (CursorError, lambda: transcript.entries(1)),
    ):
        with pytest.raises(error):
            call()
        assert transcript.page_json() == good
    assert transcript.refresh(verify=True) == "unchanged"


def test_reopen_after_a_rewrite(backend, desk) -> None:
    """The same place, inode and first line: the number counts up and old cursors are refused."""
    transcript = desk.open(user() + assistant("before"))
    old = transcript.page()
    ref = f"at:{old.history_id}:0"
    assert old.history_id == desk.oracle().history_id
    overwrite(desk.path, len(user()), assistant("behind"))
    assert changed(transcript.refresh) == "rewritten"
    for number in (1, 2, 3):
        transcript.reopen()
        new = transcript.page()
        assert new.history_id == f"{old.history_id}.{number}"
        assert new.cursor == f"{new.history_id}:0"
        assert transcript.page_json() == dumps(desk.oracle(reopened=number).page())
        assert changed(transcript.page, old.cursor) == "other_history"
        assert changed(transcript.content, ref, "text") == "other_history"
        assert transcript.content(f"at:{new.history_id}:0", "text").text == "hi"
        assert transcript.refresh() == "unchanged"
        if number > 1:
            before = f"{old.history_id}.{number - 1}:0"
            assert changed(transcript.page, before) == "other_history"


def test_reopen_without_a_change_counts_too(backend, desk) -> None:
    transcript = desk.open(user())
    old = transcript.page().history_id
    transcript.reopen()
    assert transcript.page().history_id == f"{old}.1"


def test_reopen_finds_another_file(backend, desk) -> None:
    transcript = desk.open(user())
    old = transcript.page().history_id
    other = desk.folder / "other"
    other.write_bytes(user() + assistant())
    os.rename(other, desk.path)
    assert changed(transcript.refresh) == "replaced"
    transcript.reopen()
    new = transcript.page().history_id
    assert new == desk.oracle().history_id
    assert new != old
    assert "." not in new
    assert transcript.summary.entries == 2
    assert transcript.file_id.ino == os.stat(desk.path).st_ino


def test_reopen_finds_another_first_line(backend, desk) -> None:
    transcript = desk.open(user("one"))
    first = transcript.page().history_id
    overwrite(desk.path, 0, user("two"))
    transcript.reopen()
    second = transcript.page().history_id
    assert second == desk.oracle().history_id
    assert second != first
    assert "." not in second
    # And back: the object has met that one before.
    overwrite(desk.path, 0, user("one"))
    transcript.reopen()
    assert transcript.page().history_id == f"{first}.1"
    overwrite(desk.path, 0, user("two"))
    transcript.reopen()
    assert transcript.page().history_id == f"{second}.1"


def test_the_number_counts_where_the_history_comes_with_growth(backend, desk) -> None:
    """Reopened while empty, grown to the first line of an earlier opening."""
    transcript = desk.open(user())
    old = transcript.page().history_id
    os.truncate(desk.path, 0)
    assert changed(transcript.refresh) == "truncated"
    transcript.reopen()
    assert transcript.page().history_id is None
    assert changed(transcript.page, f"{old}:0") == "other_history"
    append(desk.path, user())
    assert transcript.refresh() == "grown"
    assert transcript.page().history_id == f"{old}.1"
    assert changed(transcript.page, f"{old}:0") == "other_history"


def test_a_fresh_object_knows_no_earlier_one(backend, desk) -> None:
    first = desk.open(user() + assistant("before"))
    overwrite(desk.path, len(user()), assistant("behind"))
    second = desk.open()
    assert second.page().history_id == first.page().history_id
    assert second.page(second.page().cursor).turns == ()


def test_reopen_mends_a_refusal(backend, desk) -> None:
    transcript = desk.open(user())
    append(desk.path, b"{}\n")
    with pytest.raises(TranscriptRefused):
        transcript.refresh()
    with pytest.raises(TranscriptRefused):
        transcript.reopen()  # still bad, and still refused
    with pytest.raises(TranscriptRefused):
        transcript.page()
    desk.path.write_bytes(user() + assistant())
    transcript.reopen()
    assert len(entries(transcript)) == 2


def test_a_reopen_that_fails_changes_nothing(backend, desk) -> None:
    transcript = desk.open(user())
    good = transcript.page_json()
    desk.path.rename(desk.folder / "away")
    with pytest.raises(SourceError) as caught:
        transcript.reopen()
    assert caught.value.reason == "missing"
    assert transcript.page_json() == good  # it still reads what it had opened
    assert changed(transcript.refresh) == "replaced"
    with pytest.raises(SourceError):
        transcript.reopen()
    assert changed(transcript.page) == "replaced"
    (desk.folder / "away").rename(desk.path)
    transcript.reopen()
    assert transcript.page().history_id is not None
    assert len(entries(transcript)) == 1


def test_a_refused_reopen_changes_nothing(backend, desk) -> None:
    transcript = desk.open(user() + assistant())
    good = transcript.page_json()
    other = desk.folder / "other"
    other.write_bytes(b"[]\n")
    os.rename(other, desk.path)
    with pytest.raises(TranscriptRefused):
        transcript.reopen()
    assert transcript.page_json() == good


def test_entries_that_were_begun_do_not_go_on_over_a_reopen(backend, desk) -> None:
    transcript = desk.open(user() * 20_000)
    begun = transcript.entries()
    next(begun)
    transcript.reopen()
    with pytest.raises(HistoryChanged) as caught:
        list(begun)
    assert caught.value.reason == "other_history"
    assert transcript.summary.entries == 20_000


def test_lenient_reopen_reads_its_diagnostics_again(backend, desk) -> None:
    transcript = desk.open(user() + b"?\n" * 3, "lenient")
    assert transcript.diagnostics_total == 3
    overwrite(desk.path, 0, row("user", text="hi") + b"?\n" * 3)
    transcript.reopen()
    assert transcript.diagnostics_total == 3
    assert [note.line for note in transcript.diagnostics] == [2, 3, 4]


def test_order_place_before_size(backend, desk) -> None:
    """Replaced and shorter: the place is looked at first."""
    transcript = desk.open(user() + assistant())
    (desk.folder / "other").write_bytes(b"")
    os.truncate(desk.path, 3)
    os.rename(desk.folder / "other", desk.path)
    assert changed(transcript.refresh) == "replaced"


def test_order_kept_bytes_before_new_lines(backend, desk) -> None:
    """Rewritten and grown by a bad line: the history is gone, whatever was appended."""
    transcript = desk.open(user())
    overwrite(desk.path, user().index(b"hi"), b"ho")
    append(desk.path, b"[]\n")
    assert changed(transcript.refresh) == "rewritten"


def test_order_new_lines_before_verify(backend, desk) -> None:
    data = user("x" * 200_000)
    transcript = desk.open(data)
    overwrite(desk.path, 1000, b"y")
    append(desk.path, b"[]\n")
    with pytest.raises(TranscriptRefused):
        transcript.refresh(verify=True)
