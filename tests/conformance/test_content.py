"""Ranges of long texts, refs and bare ids."""

from __future__ import annotations

import dataclasses

import pytest

from lettafast import HistoryChanged, RefError, RefReason
from support import assistant, error, reasoning, row, tool, user

MIXED = 'a\u00e9\u20ac\U0001f600\0\n"\\\u2028z\u07ff\uffff\U0010ffff'
MIB = 1 << 20


def refusal(transcript, ref: str, part: str = "text", **range_: int) -> str:
    with pytest.raises(RefError) as caught:
        transcript.content(ref, part, **range_)
    assert isinstance(caught.value.reason, RefReason)
    return str(caught.value.reason)


def expected(text: str, start: int, length: int) -> dict[str, object]:
    """A range, from the text's characters and the bytes at which they begin."""
    edges = [0]
    for char in text:
        edges.append(edges[-1] + len(char.encode()))
    size = edges[-1]
    end = min(size, start + min(length, MIB))
    down = max(edge for edge in edges if edge <= start)
    up = down if length == 0 else min(edge for edge in edges if edge >= end)
    shown = text[edges.index(down) : edges.index(up)]
    return {"text": shown, "start": down, "end": up, "size": size}


@pytest.mark.parametrize("part", ["text", "input", "output"])
def test_every_range_of_a_short_text(backend, desk, part: str) -> None:
    line = user(MIXED) if part == "text" else tool(MIXED, arguments=MIXED)
    transcript = desk.open(reasoning() + line)
    ref = f"at:{desk.oracle().history_id}:{len(reasoning())}"
    size = len(MIXED.encode())
    for start in range(size + 1):
        for length in range(size + 3):
            found = dataclasses.asdict(transcript.content(ref, part, start, length))
            assert found == expected(MIXED, start, length)
    with pytest.raises(ValueError, match=f"{size}"):
        transcript.content(ref, part, size + 1)
    with pytest.raises(ValueError, match="size"):
        transcript.content(ref, part, 1 << 70)


def test_escapes_of_every_form_are_one_text(backend, desk) -> None:
    """Ranges are of the decoded text, however the row wrote it."""
    text = "a\u00e9\u20ac\U0001f600\0\n\ufffd/"
    plain = '"a\u00e9\u20ac\U0001f600\\u0000\\n\ufffd/"'
    escaped = r'"\u0061\u00e9\u20aC\ud83d\ude00\u0000\u000a\ud83d\/"'
    for written in (plain, escaped):
        line = user("TEXT").replace(b'"TEXT"', written.encode())
        transcript = desk.open(line)
        ref = f"at:{desk.oracle().history_id}:0"
        size = len(text.encode())
        for start in range(size + 1):
            for length in (0, 1, 2, 3, 4, 5, size, MIB):
                found = dataclasses.asdict(transcript.content(ref, "text", start, length))
                assert found == expected(text, start, length)
        transcript.close()


def test_ranges_joined_are_the_text(backend, desk) -> None:
    text = (MIXED * 40_000)[:300_000]
    transcript = desk.open(user() + tool(text) + assistant())
    ref = f"at:{desk.oracle().history_id}:{len(user())}"
    size = len(text.encode())
    for length in (40_009, 65_536, 1_000_003, MIB, 10 * MIB):
        pieces, start = [], 0
        while True:
            found = transcript.content(ref, "output", start, length)
            assert found.start == start  # an end is always a boundary
            assert found.size == size
            pieces.append(found.text)
            start = found.end
            if start == size:
                break
        assert "".join(pieces) == text


def test_at_most_one_mib(backend, desk) -> None:
    text = "\U0001f600" * 600_000
    transcript = desk.open(tool(text))
    ref = f"at:{desk.oracle().history_id}:0"
    for length in (MIB, MIB + 1, 10 * MIB, 1 << 62, 1 << 70):
        assert transcript.content(ref, "output", 0, length).end == MIB
    assert transcript.content(ref, "output").end == MIB
    assert transcript.tool_output(ref).end == MIB
    # The end is counted from the start that was asked for, then moved up to a character.
    found = transcript.content(ref, "output", 1, MIB)
    assert (found.start, found.end) == (0, MIB + 4)
    found = transcript.content(ref, "output", 3, MIB - 1)
    assert (found.start, found.end) == (0, MIB + 4)
    found = transcript.content(ref, "output", 4, MIB)
    assert (found.start, found.end) == (4, MIB + 4)


@pytest.mark.parametrize("chars", [4_001, 2_000_001])
def test_the_whole_of_a_long_output_can_be_read(backend, desk, chars: int) -> None:
    text = "".join(chr(0x20 + number % 0x5F) for number in range(chars))
    transcript = desk.open(user() + tool(text))
    part = transcript.page().turns[1].parts[0]
    assert (len(part.output), part.output_size) == (4000, chars)
    pieces, start = [], 0
    while start < part.output_size:
        found = transcript.tool_output(part.ref, start)
        pieces.append(found.text)
        start = found.end
    assert "".join(pieces) == text


@pytest.mark.parametrize(
    ("start", "length"),
    [(-1, 1), (0, -1), (-1, -1), (-(1 << 70), 1), (0, -(1 << 70))],
)
def test_negative_numbers(backend, desk, start: int, length: int) -> None:
    transcript = desk.open(user())
    ref = f"at:{desk.oracle().history_id}:0"
    for call in (transcript.content, lambda ref, _, *range_: transcript.tool_output(ref, *range_)):
        with pytest.raises(ValueError, match="negative"):
            call(ref, "text", start, length)


def test_absent_texts_are_empty(backend, desk) -> None:
    transcript = desk.open(row("tool_call"))
    ref = f"at:{desk.oracle().history_id}:0"
    for part in ("input", "output"):
        for length in (0, 1, MIB):
            found = transcript.content(ref, part, 0, length)
            assert dataclasses.asdict(found) == {"text": "", "start": 0, "end": 0, "size": 0}
        with pytest.raises(ValueError, match="size"):
            transcript.content(ref, part, 1)


def test_which_parts_which_kind_has(backend, desk) -> None:
    lines = [user("u"), assistant("a"), reasoning("r"), error("e"), tool("o", arguments="i")]
    transcript = desk.open(b"".join(lines))
    oracle = desk.oracle()
    for at in oracle.rows:
        ref = f"at:{oracle.history_id}:{at.offset}"
        for part in ("text", "input", "output"):
            if (part == "text") == (at.kind != "tool_call"):
                text = {"text": at.kind[0], "input": "i", "output": "o"}[part]
                assert transcript.content(ref, part).text == text
            else:
                assert refusal(transcript, ref, part) == "no_such_part"
        for part in ("", "Text", "argsText", "resultText", "id", "name", "\0"):
            assert refusal(transcript, ref, part) == "no_such_part"


def test_the_entry_then_the_part_then_the_range(backend, desk) -> None:
    """Which of several errors is said."""
    transcript = desk.open(user())
    history = desk.oracle().history_id
    assert refusal(transcript, "?", "no", start=999) == "form"
    assert refusal(transcript, f"at:{history}:{len(user())}", "no", start=999) == "not_found"
    assert refusal(transcript, f"at:{history}:0", "no", start=999) == "no_such_part"
    assert refusal(transcript, f"at:{history}:0", "output", start=999) == "no_such_part"
    assert refusal(transcript, "x", "no", start=999) == "not_found"


def test_tool_output_is_content(backend, desk) -> None:
    transcript = desk.open(user() + tool("0123456789", "call"))
    ref = f"at:{desk.oracle().history_id}:{len(user())}"
    for one in (ref, "call"):
        assert transcript.tool_output(one, 2, 3).text == "234"
        assert transcript.tool_output(one) == transcript.content(one, "output")
        assert transcript.content(one, "input").text == "{}"
        assert refusal(transcript, one, "text") == "no_such_part"
    with pytest.raises(RefError) as caught:
        transcript.tool_output(f"at:{desk.oracle().history_id}:0")
    assert caught.value.reason == "no_such_part"


def test_refs_of_every_offset(backend, desk) -> None:
    data = user() + assistant() + tool()
    transcript = desk.open(data + b"tail of some bytes")
    oracle = desk.oracle()
    starts = {at.offset for at in oracle.rows}
    for offset in range(len(data) + 30):
        ref = f"at:{oracle.history_id}:{offset}"
        if offset > len(data):
            with pytest.raises(HistoryChanged) as caught:
                transcript.content(ref, "text")
            assert caught.value.reason == "beyond_end"
        elif offset not in starts:
            assert refusal(transcript, ref) == "not_found"
        elif data[offset:].startswith(tool()):
            assert refusal(transcript, ref) == "no_such_part"
        else:
            assert transcript.content(ref, "text").text in ("hi", "yo")


def test_a_skipped_line_has_no_ref(backend, desk) -> None:
    transcript = desk.open(user() + b"?\n" + user(), "lenient")
    history = transcript.page().history_id
    assert refusal(transcript, f"at:{history}:{len(user())}") == "not_found"
    assert transcript.content(f"at:{history}:{len(user()) + 2}", "text").text == "hi"


@pytest.mark.parametrize("offset", [str(1 << 63), str(1 << 64), "9" * 5000])
def test_huge_refs_are_beyond_the_end(backend, desk, offset: str) -> None:
    transcript = desk.open(user())
    with pytest.raises(HistoryChanged) as caught:
        transcript.content(f"at:{desk.oracle().history_id}:{offset}", "text")
    assert caught.value.reason == "beyond_end"


def test_refs_of_another_history(backend, desk) -> None:
    transcript = desk.open(user())
    for ref in ("at:v1-0123456789abcdef:0", f"at:{desk.oracle().history_id}.1:0"):
        with pytest.raises(HistoryChanged) as caught:
            transcript.content(ref, "text")
        assert caught.value.reason == "other_history"


@pytest.mark.parametrize(
    "ref",
    [
        "",
        " ",
        "a b",
        "a/b",
        "../x",
        "é",
        "a\n",
        "a\0",
        "x" * 129,
        "at:",
        "at:x",
        "at:{id}",
        "at:{id}:",
        "at:{id}:x",
        "at:{id}:-1",
        "at:{id}:00",
        "at:{id}:0 ",
        "at:at:{id}:0",
        "at:{id}.0:0",
        "at:v1-0123456789ABCDEF:0",
        "<script>",
        "\ud83d",
        "a+b",
        "a=b",
        "x" * 1_000_000,
    ],
)
def test_form(backend, desk, ref: str) -> None:
    transcript = desk.open(user() + tool())
    given = ref.replace("{id}", desk.oracle().history_id)
    assert refusal(transcript, given, "output") == "form"


@pytest.mark.parametrize(
    "line_id",
    [
        "a",
        "call_mock_3_0",
        "toolu_functions.Bash:6",
        "A-Z_0.9:-",
        "x" * 128,
        ":",
        "at",
        "AT:x",
        "a:at:b",
        "v1-0123456789abcdef:0",
    ],
)
def test_bare_ids(backend, desk, line_id: str) -> None:
    transcript = desk.open(user() + tool("mine", line_id) + tool("other", "other-id"))
    assert transcript.tool_output(line_id).text == "mine"


def test_bare_ids_that_nothing_has(backend, desk) -> None:
    data = user("u", "user-1") + assistant("a", "ui-msg-2") + reasoning(source_line_id="r")
    transcript = desk.open(data + tool(line_id=None) + tool(line_id=""))
    for line_id in ("user-1", "ui-msg-2", "r", "call", "x" * 128):
        assert refusal(transcript, line_id, "output") == "not_found"


def test_bare_ids_that_several_have(backend, desk) -> None:
    data = tool("one", "call_1") + user() + tool("two", "call_1") + tool("three", "call_2")
    transcript = desk.open(data)
    assert refusal(transcript, "call_1", "output") == "ambiguous"
    assert refusal(transcript, "call_1", "no such part") == "ambiguous"
    assert transcript.tool_output("call_2").text == "three"
    parts = [part for turn in transcript.page().turns for part in turn.parts if part.ref]
    assert [transcript.tool_output(part.ref).text for part in parts] == ["one", "two", "three"]


def test_an_id_that_another_kind_has_too_is_not_ambiguous(backend, desk) -> None:
    data = user("u", "same") + assistant("a", "same") + tool("mine", "same")
    transcript = desk.open(data)
    assert transcript.tool_output("same").text == "mine"
    assert refusal(transcript, "same", "text") == "no_such_part"


def test_bare_ids_are_compared_decoded(backend, desk) -> None:
    line = tool("mine", "call").replace(b'"call"', rb'"c\u0061ll"')
    transcript = desk.open(line)
    assert transcript.tool_output("call").text == "mine"


def test_a_bare_id_becomes_ambiguous_by_growth(backend, desk) -> None:
    transcript = desk.open(tool("one", "call"))
    assert transcript.tool_output("call").text == "one"
    with desk.path.open("ab") as file:
        file.write(tool("two", "call"))
    assert transcript.tool_output("call").text == "one"
    transcript.refresh()
    assert refusal(transcript, "call", "output") == "ambiguous"


def test_refs_live_as_long_as_the_history(backend, desk) -> None:
    transcript = desk.open(tool("one", "call"))
    ref = transcript.page().turns[0].parts[0].ref
    with desk.path.open("ab") as file:
        file.write(user() * 100)
    transcript.refresh()
    assert transcript.tool_output(ref).text == "one"
    transcript.reopen()
    with pytest.raises(HistoryChanged):
        transcript.tool_output(ref)
    assert transcript.tool_output("call").text == "one"


def test_the_cost_of_a_range_is_its_rows(backend, desk) -> None:
    """A ref into a large file reads one row of it: what it reads is counted by the kernel."""
    with open("/proc/self/io") as file:
        if "rchar" not in file.read():
            pytest.skip("no read counts here")
    data = user() * 10 + tool("needle") + (user("x" * 1000) * 8000)
    transcript = desk.open(data)
    ref = f"at:{desk.oracle().history_id}:{len(user()) * 10}"

    def read() -> int:
        with open("/proc/self/io") as file:
            return int(file.readline().split()[1])

    before = read()
    assert transcript.content(ref, "output").text == "needle"
    assert read() - before < len(data) / 10
