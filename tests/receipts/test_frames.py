"""The frame log: what is written is read again, and any other byte is found."""

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from lettafast.receipts import FrameLog, FramesError, read_frames
from lettafast.receipts.frame import Frame, line, link, read_lines

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FRAMES = st.lists(
    st.tuples(
        st.sampled_from([("in", "control"), ("out", "rest"), ("note", "runner"), ("in", "stream")]),
        TEXT,
    ),
    max_size=6,
)


def write(path: pathlib.Path, *texts: str) -> FrameLog:
    log = FrameLog(str(path))
    for text in texts:
        log.append("in", "control", text)
    log.close()
    return log


def test_a_log_is_read_as_it_was_written(tmp_path) -> None:
    path = tmp_path / "frames.jsonl"
    log = write(path, '{"a":1}', "no JSON \x00\u2028", "")
    read = read_frames(str(path))
    assert list(read.frames) == log.frames
    assert read.head == log.head
    assert read.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_chain_is_the_documented_one(tmp_path) -> None:
    path = tmp_path / "frames.jsonl"
    log = write(path, "one", "two")
    chain = hashlib.sha256(b"lettafast-receipt/1\0").digest()
    for text in path.read_bytes().splitlines():
        said = json.loads(text)
        linked = said.pop("chain")
        chain = hashlib.sha256(chain + hashlib.sha256(rfc8785.dumps(said)).digest()).digest()
        assert linked == chain.hex()
        assert set(said) == {"at_ms", "channel", "dir", "i", "raw"}
    assert log.head == chain.hex()


def test_each_line_is_on_disk_before_the_next_frame(tmp_path) -> None:
    path = tmp_path / "frames.jsonl"
    log = FrameLog(str(path))
    for count in (1, 2, 3):
        log.append("note", "runner", "{}")
        assert path.read_bytes().count(b"\n") == count
    log.close()


def test_a_log_without_a_file_has_the_same_chain(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    kept = FrameLog(None)
    kept.append("in", "control", "x")
    assert kept.head == write(tmp_path / "frames.jsonl", "x").head
    kept.close()


def test_a_file_that_is_there_is_left_alone(tmp_path) -> None:
    path = tmp_path / "frames.jsonl"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        FrameLog(str(path))
    assert path.read_bytes() == b"mine"


def test_half_a_surrogate_pair_is_no_frame(tmp_path) -> None:
    log = FrameLog(str(tmp_path / "frames.jsonl"))
    with pytest.raises(ValueError, match="no canonical form"):
        log.append("in", "control", "\ud83d")
    assert log.frames == []
    log.append("in", "control", "whole")
    log.close()
    assert len(read_frames(str(tmp_path / "frames.jsonl")).frames) == 1


def test_every_altered_byte_is_found(tmp_path) -> None:
    path = tmp_path / "frames.jsonl"
    write(path, '{"a":"é"}', "two")
    data = path.read_bytes()
    head = read_frames(str(path)).head
    for at in range(len(data)):
        for other in (data[at] ^ 1, data[at] ^ 0x20, 0x0A, 0x20):
            changed = data[:at] + bytes([other]) + data[at + 1 :]
            if changed == data:
                continue
            path.write_bytes(changed)
            with pytest.raises(FramesError):
                read_frames(str(path))
    for at in range(len(data)):
        path.write_bytes(data[:at])
        try:
            shorter = read_frames(str(path))
        except FramesError:
            continue
        assert shorter.head != head  # whole lines alone: only the head says that there were more


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[1:], "line 1: "),
        (lambda lines: [lines[0], lines[0]], "line 2: "),
        (lambda lines: lines[::-1], "line 1: "),
        (lambda lines: [lines[0], b"\n", lines[1]], "line 2: "),
        (lambda lines: [b"\xef\xbb\xbf" + lines[0]], "line 1: "),
        (lambda lines: [lines[0][:-1]], "line 1: not the bytes"),
        (lambda lines: [lines[0][:-1] + b" \n"], "line 1: not the bytes"),
        (
            lambda lines: [lines[0].replace(b'"i":0', b'"i":0,"i":0')],
            "line 1: a key is there twice",
        ),
        (lambda lines: [lines[0].replace(b'"i":0', b'"i":-0')], "line 1: not the bytes"),
        (lambda lines: [lines[0].replace(b'"i":0', b'"i":0.0')], "line 1: a number is none"),
        (lambda lines: [lines[0].replace(b'"i":0', b'"i":false')], "line 1: a number is none"),
        (lambda lines: [lines[0].replace(b'"in"', b'"on"')], "line 1: an unknown direction"),
        (lambda lines: [lines[0].replace(b'"one"', b"[]")], "line 1: `raw` is no text"),
        (lambda lines: [lines[0].replace(b'"dir"', b'"die"')], "line 1: other members"),
        (lambda _: [b"[" * 100_000 + b"\n"], "line 1: "),
        (lambda _: [b"[]\n"], "line 1: no JSON object"),
        (lambda _: [b"\xff\n"], "line 1: "),
    ],
)
def test_what_we_do_not_write_is_refused(tmp_path, change, reason) -> None:
    path = tmp_path / "frames.jsonl"
    write(path, "one", "two")
    lines = path.read_bytes().splitlines(keepends=True)
    with pytest.raises(FramesError) as caught:
        read_lines(change(lines))
    assert str(caught.value).startswith(reason)


@given(FRAMES)
def test_any_frames_come_back(frames) -> None:
    chain = hashlib.sha256(b"lettafast-receipt/1\0").digest()
    lines, made = [], []
    for index, ((direction, channel), raw) in enumerate(frames):
        frame = Frame(index, direction, channel, index * 1000, raw)
        chain = link(chain, frame)
        made.append(frame)
        lines.append(line(frame, chain))
    read = read_lines(lines)
    assert list(read.frames) == made
    assert read.head == chain.hex()
