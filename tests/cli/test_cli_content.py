from __future__ import annotations

import pytest

import lettafast
from support import tool, user

MIB = 1 << 20


def ref(path):
    """The ref of a transcript's first tool call."""
    with lettafast.open_transcript(path) as transcript:
        parts = [part for turn in transcript.page().turns for part in turn.parts]
    return next(part.ref for part in parts if part.kind == "tool")


def test_three_megabytes_come_whole(cli, make):
    output = "caf\u00e9 \U0001f600 \u05d0\n" * 230_000  # characters of 1 to 4 bytes over every cut
    size = len(output.encode())
    assert size > 3 * MIB
    path = make.file(user(), tool(output=output, line_id="call_1"))
    for name in (ref(path), "call_1"):
        result = cli("content", path, name)
        assert (result.status, result.err) == (0, "")
        assert result.out == output.encode()


def test_json_gives_one_object_for_each_range(cli, make):
    output = "x" + "\u20ac" * (MIB + 10)
    size = len(output.encode())
    path = make.file(tool(output=output))
    result = cli("content", path, ref(path), "--json")
    ranges = result.json
    assert len(ranges) == 4
    assert list(ranges[0]) == ["text", "start", "end", "size"]
    assert "".join(piece["text"] for piece in ranges) == output
    assert [piece["start"] for piece in ranges] == [0, *(piece["end"] for piece in ranges[:-1])]
    assert ranges[-1]["end"] == size
    assert {piece["size"] for piece in ranges} == {size}


def test_the_part_is_the_text_or_a_tool_calls_output(cli, make):
    path = make.file(user("question"), tool(arguments='{"a":1}', output="answer"))
    call = ref(path)
    entry = call.rsplit(":", 1)[0] + ":0"
    assert cli("content", path, call).out == b"answer"
    assert cli("content", path, call, "--part", "output").out == b"answer"
    assert cli("content", path, call, "--part", "input").out == b'{"a":1}'
    assert cli("content", path, entry).out == b"question"
    assert cli("content", path, entry, "--part=text").out == b"question"


def test_an_absent_output_is_empty(cli, make):
    path = make.file(tool(output=None, ok=None))
    assert cli("content", path, ref(path))[:2] == (0, b"")
    assert cli("content", path, ref(path), "--json").json == [
        {"text": "", "start": 0, "end": 0, "size": 0}
    ]


@pytest.mark.parametrize(
    ("start", "length", "text"),
    [
        (0, 1, "a"),
        (0, 2, "a\u20ac"),
        (2, 1, "\u20ac"),
        (2, 0, ""),
        (4, 2, "b\U0001f600"),
        (6, 99, "\U0001f600c"),
        (10, None, ""),
    ],
)
def test_a_range_is_widened_to_whole_characters(cli, make, start, length, text):
    path = make.file(tool(output="a\u20acb\U0001f600c"))
    more = [] if length is None else ["--length", str(length)]
    result = cli("content", path, ref(path), "--start", str(start), *more)
    assert (result.status, result.text) == (0, text)


def test_a_length_above_one_range_is_copied_in_several(cli, make):
    output = "\u20ac" * MIB
    path = make.file(tool(output=output))
    arguments = ["content", path, ref(path), "--start", "1", "--length", str(MIB + 5)]
    pieces = cli(*arguments, "--json").json
    assert len(pieces) == 2
    assert (pieces[0]["start"], pieces[-1]["end"]) == (0, MIB + 8)
    assert cli(*arguments).out == output.encode()[: MIB + 8]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["at:v1-0:0"], "not a ref"),
        ([b"\xff"], "not a ref"),
        (["twice"], "several"),
        (["REF", "--part", "text"], "no such part"),
        (["REF", "--part", "other"], "invalid choice"),
        (["REF", "--start", "3"], "above the text's size"),
        (["REF", "--start=-1"], "whole number"),
        (["REF", "--start", "9" * 18], "above the text's size"),
        (["REF", "--start", "9" * 5000], "whole number"),
    ],
)
def test_bad_refs_parts_and_ranges_are_usage_errors(cli, make, arguments, message):
    call = tool(output="ok", line_id="twice")
    path = make.file(call, call)
    arguments = [ref(path) if argument == "REF" else argument for argument in arguments]
    result = cli("content", path, *arguments)
    assert (result.status, result.out) == (2, b"")
    assert message in result.err


def test_a_ref_of_another_history_is_the_answer_no(cli, make, complaint):
    result = cli("content", make.file(tool()), "at:v1-0123456789abcdef:0")
    assert (result.status, result.out) == (1, b"")
    complaint(result.err, "history changed")


def test_a_terminal_sees_the_text_and_is_not_steered(cli, make):
    text = "a\x1b]0;title\x07\u202e\tb\nc"
    path = make.file(tool(output=text))
    assert cli("content", path, ref(path)).out == text.encode()
    shown = cli.on_terminal("content", path, ref(path), env={"NO_COLOR": "1"}).out
    assert shown == b"a\\x1b]0;title\\x07\\u202e\tb\nc\n"
    colored = cli.on_terminal("content", path, ref(path)).out
    assert colored.startswith(b"a\x1b[7m\\x1b\x1b[27m]0;title")


def test_lenient_reads_what_strict_refuses(cli, make):
    path = make.file(b"x\n", tool(output="out", line_id="c"))
    assert cli("content", path, "c").status == 1
    assert cli("content", path, "c", "--lenient").out == b"out"
