"""What a page holds of its turns, and what it leaves to be fetched."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from lettafast.web import render
from lettafast.web.render import seen_advice, seen_line, seen_text, shown_turns


def page(*turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"turns": list(turns), "starts_mid_turn": False, **more}


def turn(role: str, *parts: dict[str, Any], offset: int = 0) -> dict[str, Any]:
    return {"role": role, "ts": "t", "end_ts": "t", "offset": offset, "parts": list(parts)}


def text(said: str, kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "text": said, **more}


def tool(output: str | None, **more: Any) -> dict[str, Any]:
    size = len((output or "").encode())
    found = {
        "kind": "tool",
        "ref": "at:v1:0",
        "id": "c",
        "name": "Bash",
        "state": "ok",
        "input": "{}",
    }
    return {**found, "input_size": 2, "output": output, "output_size": size, **more}


def test_only_what_the_agent_says_is_markdown() -> None:
    one, two = shown_turns(
        page(turn("user", text("*a*")), turn("assistant", text("*a*"), text("*b*", "error")))
    )
    assert one.parts[0].rendered is None
    assert not one.parts[0].is_too_long
    assert two.parts[0].rendered == "<p><em>a</em></p>\n"
    assert two.parts[1].rendered is None


def test_a_long_text_is_shown_as_it_is() -> None:
    (found,) = shown_turns(page(turn("assistant", text("x" * (render.MAX_MARKDOWN_CHARS + 1)))))
    assert found.parts[0].rendered is None
    assert found.parts[0].is_too_long
    assert found.parts[0].body.is_boxed


def test_the_newest_texts_are_rendered_first() -> None:
    said = "word " * 7_000
    number = render.MARKDOWN_CHARS_OF_A_PAGE // len(said)
    turns = [turn("assistant", text(said), offset=at) for at in range(number + 3)]
    shown = shown_turns(page(*turns))
    assert [found.offset for found in shown] == list(range(number + 3))
    assert [found.parts[0].rendered is not None for found in shown] == [False] * 3 + [True] * number


def test_a_page_that_takes_long_goes_on_without_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "SECONDS_OF_A_PAGE", -1.0)
    (found,) = shown_turns(page(turn("assistant", text("*a*"))))
    assert found.parts[0].rendered is None


def test_a_text_of_odd_characters_alone_is_spelled_out_without_marks() -> None:
    """A browser takes half a minute to lay out a million marks."""
    assert seen_text("\x00<").count('<span class="odd">') == 1
    shown = seen_text("\x00<" * 20_000)
    assert shown == r"\x00&lt;" * 20_000


def test_a_page_of_slow_changes_goes_on_without_comparing() -> None:
    """A hundred calls whose texts are alike everywhere: each is slow to compare."""
    arguments = json.dumps({"path": "x", "old_string": "\n" * 990, "new_string": "\n" * 980 + "x"})
    calls = [tool("", input=arguments, input_size=len(arguments)) for _ in range(48)]
    began = time.process_time()
    (found,) = shown_turns(page(turn("assistant", *calls)))
    assert time.process_time() - began < render.SECONDS_OF_A_PAGE + 1
    assert found.parts[-1].diff is not None
    assert found.parts[0].diff is None
    assert found.parts[0].input.text == arguments


def test_a_cut_text_has_what_the_rest_is_fetched_by() -> None:
    (found,) = shown_turns(page(turn("assistant", text("äb", ref="at:v1:9", size=20))))
    body = found.parts[0].body
    assert (body.ref, body.shown, body.size, body.is_cut) == ("at:v1:9", 3, 20, True)


def test_outputs_beyond_the_page_are_left_to_be_fetched() -> None:
    many = [tool("x" * 4_000) for _ in range(80)]
    (found,) = shown_turns(page(turn("assistant", *many)))
    held = [part.output.text is not None for part in found.parts]
    assert held[-1]
    assert not held[0]
    assert found.parts[0].output.is_cut
    assert sum(held) * 4_000 <= render.TOOL_CHARS_OF_A_PAGE
    assert (found.tools, found.failed) == (80, 0)


def test_an_absent_output_is_not_an_empty_one() -> None:
    (found,) = shown_turns(page(turn("assistant", tool(None, state="unfinished"), tool(""))))
    assert found.parts[0].output.absent
    assert not found.parts[1].output.absent
    assert found.parts[0].state_label == "no result"


def test_a_turn_that_goes_on_is_said_to() -> None:
    shown = shown_turns(
        page(turn("assistant", text("a")), turn("user", text("b")), starts_mid_turn=True)
    )
    assert [found.continues for found in shown] == [True, False]


def test_hostile_text_is_marked() -> None:
    assert seen_text("<b>\x1b\u202e\n") == (
        '&lt;b&gt;<span class="odd">\\x1b</span><span class="odd">\\u202e</span>\n'
    )
    assert seen_line("a\nb") == 'a<span class="odd">\\n</span>b'
    assert seen_line("\udcff") == r"\xff"
    assert seen_line(None) == ""
    assert seen_advice("Run `a <b>` now") == "Run <code>a &lt;b&gt;</code> now"
