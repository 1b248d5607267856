"""What is shown of a call that edits."""

from __future__ import annotations

import json

import hypothesis
import hypothesis.strategies as st
import pytest

from lettafast.web.diff import diff_of


def lines(name: str, **arguments: object) -> list[str]:
    found = diff_of(name, json.dumps(arguments))
    return [] if found is None else [line.sign + line.text for line in found.lines]


def test_an_edit() -> None:
    assert lines("Edit", file_path="a.py", old_string="a\nb\nc\n", new_string="a\nx\nc\n") == [
        " a",
        "-b",
        "+x",
        " c",
    ]
    found = diff_of("Edit", '{"file_path":"a.py","old_string":"a","new_string":"b\\nc"}')
    assert (found.path, found.removed, found.added, found.cut) == ("a.py", 1, 2, False)


def test_a_changed_end_of_the_last_line_is_shown() -> None:
    assert lines("Edit", old_string="a", new_string="a\n") == [" a", "+"]


def test_several_edits() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}, 7]
    assert lines("MultiEdit", edits=edits) == ["@edit 1 of 3", "-a", "+b", "@edit 2 of 3", "-c"]


def test_a_written_file() -> None:
    assert lines("Write", file_path="a", content="x\ny\n") == ["+x", "+y"]
    assert lines("write_file", file_path="a", content="x") == ["+x"]
    assert lines("SendMail", content="x") == []


def test_a_patch() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n keep\n-old\n+new\n*** End Patch"
    found = diff_of("ApplyPatch", json.dumps({"input": patch}))
    assert found.path == "src/a.py"
    assert [line.sign for line in found.lines] == ["@", "@", "@", " ", "-", "+", "@"]


def test_far_places_are_told_apart() -> None:
    old = "\n".join(str(number) for number in range(60))
    new = old.replace("\n3\n", "\nx\n").replace("\n50\n", "\ny\n")
    shown = lines("Edit", old_string=old, new_string=new)
    assert "@further down" in shown
    assert len(shown) < 30


@pytest.mark.parametrize("text", [None, "", "[]", "7", "x", '{"command":"ls"}', '{"edits":[]}'])
def test_what_is_no_edit(text: str | None) -> None:
    assert diff_of("Bash", text) is None


@hypothesis.given(st.integers(0, 200))
def test_a_cut_edit_is_shown_as_far_as_it_is_known(length: int) -> None:
    whole = json.dumps({"file_path": "a", "old_string": 'q"\\\n' * 20, "new_string": "\u2028\nb"})
    found = diff_of("Edit", whole[:length])
    if found is not None:
        assert found.cut == (length < len(whole))
        assert all(line.text in ('q"\\', "q", 'q"', "", "\u2028", "b") for line in found.lines)
    assert found is not None or '"old_string": "q' not in whole[:length]


@hypothesis.given(st.text(max_size=60))
def test_no_arguments_raise(text: str) -> None:
    diff_of(text, text)
    diff_of("Edit", '{"old_string":"' + text)
