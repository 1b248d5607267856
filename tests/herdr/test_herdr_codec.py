"""Lines out of bytes however they come, and no answer that is not understood or refused."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from double import HerdrDouble
from lettafast import HerdrError, HerdrProtocolError
from lettafast.herdr import calls, codec

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def fed(data: bytes, cuts: list[int]) -> list[bytes]:
    lines = codec.Lines("s")
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [
        line for start, end in itertools.pairwise(edges) for line in lines.feed(data[start:end])
    ]


@given(
    st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), st.lists(st.integers(0, 60))
)
def test_lines_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    whole = [line for line in data.split(b"\n")[:-1] if line.strip()]
    assert fed(data, cuts) == fed(data, []) == whole


def test_the_longest_line(monkeypatch) -> None:
    monkeypatch.setattr(codec, "MAX_LINE_BYTES", 10)
    assert fed(b"0123456789\n\n0123456789\n", [3, 9, 15]) == [b"0123456789"] * 2
    for cuts in ([], [1], [10], range(40)):
        with pytest.raises(HerdrProtocolError) as caught:
            fed(b"ok\n01234567890", list(cuts))
        assert str(caught.value.reason) == "too_long"


def answer(call: calls.Call, *lines: bytes) -> object:
    next(call)
    try:
        for line in lines:
            call.send(line)
    except StopIteration as done:
        return done.value
    pytest.fail("more was asked for")


def reply(double: HerdrDouble, method: str) -> dict:
    """What the double says of its first pane."""
    params = {"pane_id": "w1:p1", "source": "recent"}
    return double._answer("1", method, params)


MADE = {
    "ping": lambda: calls.ping("s"),
    "session.snapshot": lambda: calls.snapshot("s"),
    "pane.get": lambda: calls.pane("s", "w1:p1"),
    "pane.process_info": lambda: calls.process_info("s", "w1:p1"),
    "pane.read": lambda: calls.read("s", "w1:p1", 5, "recent"),
}


def places(value: object, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    else:
        return found
    return found + [one for name, below in inner for one in places(below, (*path, name))]


@given(st.data())
@pytest.mark.parametrize("method", MADE)
def test_an_answer_with_anything_anywhere(method: str, data) -> None:
    """It is read, or a typed error; nothing else is raised, whatever is changed."""
    said = reply(HerdrDouble("unused"), method)
    at = data.draw(st.sampled_from(places(said)))
    holder = said
    for name in at[:-1]:
        holder = holder[name]
    holder[at[-1]] = data.draw(values)
    line = json.dumps(said).encode()
    try:
        answer(MADE[method](), line)
    except HerdrError as error:
        assert error.socket == "s"  # noqa: PT017 - an answer is as good


@given(st.binary(max_size=40) | values.map(lambda value: json.dumps(value).encode()))
def test_any_line(line: bytes) -> None:
    for read in (codec.event, lambda socket, line: codec.result(socket, line, "pong")):
        with pytest.raises(HerdrError):
            read("s", line)


def test_requests_are_single_lines() -> None:
    line = codec.request("pane.get", pane_id='a\n"\u2028\ud800\0')
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "id": "lettafast",
        "method": "pane.get",
        "params": {"pane_id": 'a\n"\u2028\ud800\0'},
    }
