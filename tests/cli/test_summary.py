from __future__ import annotations

import pytest

from lettafast.summary import SUMMARY_CHARS, summarize_arguments


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"command":"ls -la","description":"d"}', "ls -la"),
        ('{"description":"d","command":"ls"}', "ls"),
        ('{"file_path":"","path":"p"}', "p"),
        ('{"command":"a\\n\\tb   c"}', "a b c"),
        ('{"command":["ls"],"path":"p"}', "p"),
        ('{"x":1,"y":2}', "x: 1"),
        ('{"x":null}', "x: null"),
        ('{"x":[1,2]}', "x: [...]"),
        ('{"x":{"command":"inner"}}', "x: {...}"),
        ('{"odd":"value"}', "odd: value"),
        ("{}", ""),
        ("", ""),
        (None, ""),
        ("[1, 2]", "[1, 2]"),
        ("plain  words\n", "plain words"),
        ('{"command":"a\\u001b[2J"}', "a\x1b[2J"),
        ('{"command":"a\\ud83d"}', "a\ufffd"),
        ('{"command":"a\nraw"}', "a raw"),
        ("\ud800", "\ufffd"),
    ],
)
def test_the_most_telling_argument(arguments, line):
    assert summarize_arguments(arguments) == line


@pytest.mark.parametrize(
    ("preview", "line"),
    [
        ('{"file_path":"big.txt","content":"0123', "big.txt"),
        ('{"timeout":5,"command":"make al', "make al"),
        ('{"content":"abc\\u00', "content: abc"),
        ('{"content":"abc\\', "content: abc"),
        ('{"content":"a\\\\u00', "content: a\\u00"),
        ('{"edits":[{"a":"b"},', '{"edits":[{"a":"b"},'),
        ('{"a":tr', '{"a":tr'),
        ('{"file_pa', '{"file_pa'),
        ('{"command":"x"} {"command":"y"}', "x"),
    ],
)
def test_a_cut_preview_is_read_as_far_as_it_goes(preview, line):
    assert summarize_arguments(preview) == line


@pytest.mark.parametrize("deep", ["[" * 4000, '{"a":' * 800, '{"a":' + "[" * 3990])
def test_depth_cannot_hurt(deep):
    assert len(summarize_arguments(deep)) <= SUMMARY_CHARS


def test_what_is_left_out_is_marked():
    assert summarize_arguments('{"command":"' + "x" * 101 + '"}') == "x" * 97 + "..."
    assert summarize_arguments('{"command":"' + "x" * 100 + '"}') == "x" * 100
    assert summarize_arguments('{"command":"abcdef"}', limit=5) == "ab..."
