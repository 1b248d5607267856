"""What is written of a message, above all where it says the API key back."""

from __future__ import annotations

import json

import pytest

from keys import KEY
from lettafast.receipts.frames import FrameLog
from lettafast.receipts.recorder import Recorder
from lettafast.receipts.secret import Secret


@pytest.fixture
def log():
    return FrameLog(None)


@pytest.fixture
def recorder(log):
    return Recorder(log, Secret(KEY))


def fragment(text, **members):
    delta = {"message_type": "assistant_message", "id": "m", "content": text, **members}
    return {"type": "stream_delta", "delta": delta}


def refused(log):
    return [
        note["reason"] for note in (json.loads(one.raw) for one in log.frames) if "note" in note
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"type": "x", "said": [KEY]}),
        json.dumps({"type": "x", KEY: 1}),
        json.dumps({"type": "x", "said": [KEY]}).replace(KEY[0], f"\\u{ord(KEY[0]):04x}"),
    ],
)
def test_a_message_that_says_the_key_is_not_kept(recorder, log, text) -> None:
    assert recorder.arrived("control", text.encode()) is None
    assert refused(log) == ["it holds the API key"]
    assert KEY[2:] not in log.frames[0].raw


@pytest.mark.parametrize("cut", [1, 9, len(KEY) - 1])
@pytest.mark.parametrize("members", [{}, {"otid": "o"}])
def test_nor_is_the_fragment_that_completes_it(recorder, log, cut, members) -> None:
    """The whole text is what is judged, and shown where it is not the expected one."""
    between = fragment("something else", id="n")
    for channel in ("control", "stream"):
        for said in (
            fragment([{"type": "text", "text": f"it is {KEY[:cut]}"}], **members),
            between,
        ):
            assert recorder.arrived(channel, json.dumps(said).encode()) == said
        last = json.dumps(fragment(f"{KEY[cut:]}.", **members)).encode()
        assert recorder.arrived(channel, last) is None
    assert refused(log) == ["it ends a text with the API key"] * 2
    assert KEY not in "".join(
        str(json.loads(one.raw).get("delta", {}).get("content")) for one in log.frames
    )


def test_a_key_in_many_fragments(recorder) -> None:
    taken = [recorder.arrived("control", json.dumps(fragment(one)).encode()) for one in f"a{KEY}b"]
    assert [one is None for one in taken] == [*[False] * len(KEY), True, False]


def test_what_only_begins_like_the_key_is_kept(recorder, log) -> None:
    for text in (KEY[:5], KEY[:5], KEY[6:], ""):
        assert recorder.arrived("control", json.dumps(fragment(text)).encode()) is not None
    assert not refused(log)
