"""Markdown to HTML: what is kept, what is shown as text, and that it is never slow."""

from __future__ import annotations

import html.parser
import re
import time

import hypothesis
import hypothesis.strategies as st
import pytest

from lettafast.web import markdown as module
from lettafast.web.markdown import MAX_MARKDOWN_CHARS, markdown

# Pieces that a harmful text is made of.
PIECES = st.sampled_from(
    "<script> </script> <img src=x onerror=alert(1)> <a href='javascript:x'> [x](javascript:x)"
    " [x](data:x) ![x](http://e/p.png) [x]: <javascript:x> &#x202e; &lt;b&gt; ``` | |-|-| - > # *"
    " ** ~~ ` \\ \x1b[2J \u202e <http://e> style= \" ' onclick=x &quot;"
    ' [x](http://e"onload=x) \x00 \n \r ~~~python def'.split(" ")
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=25).map(" ".join)
MISLEADING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Kept(html.parser.HTMLParser):
    """Fails on whatever the page does not allow."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        assert tag in module.ELEMENTS
        for name, value in attrs:
            assert name in ("href", "rel", "class", "tabindex", "start", "data-language"), name
            if name == "href":
                assert value.lower().startswith(("http:", "https:", "mailto:")), value
            if name == "class":
                known = {
                    *module.TOKEN_CLASSES,
                    *module.ALIGNMENTS.values(),
                    "image",
                    "wide",
                    "code",
                }
                assert set(value.split()) <= known

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(data)

    def handle_decl(self, decl):
        raise AssertionError(decl)


@hypothesis.given(TEXTS)
def test_only_what_is_allowed_comes_out(text: str) -> None:
    kept = Kept()
    kept.feed(markdown(text))
    kept.close()
    assert not MISLEADING.search(kept.text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("[x](javascript:y)", "<p>[x](javascript:y)</p>"),
        ("[x](/api/health)", "<p>[x](/api/health)</p>"),
        ("[x](//evil.example)", "<p>[x](//evil.example)</p>"),
        (
            "[x](mailto:a@b.c)",
            '<p><a href="mailto:a@b.c" rel="noopener noreferrer nofollow">x</a></p>',
        ),
        (
            "![cat](http://e/cat.png)",
            (
                '<p><a class="image" href="http://e/cat.png" rel="noopener noreferrer nofollow">'
                "Image: cat (http://e/cat.png)</a></p>"
            ),
        ),
        ("![cat](data:image/png;base64,AA)", "<p>![cat](data:image/png;base64,AA)</p>"),
        ("# one", "<h3>one</h3>"),
        ("###### six", "<h6>six</h6>"),
        ("a \x1b[2J b", r"<p>a \x1b[2J b</p>"),
        ("a &#x202e; b", r"<p>a \u202e b</p>"),
        ("~~gone~~", "<p><s>gone</s></p>"),
        ("a\r\nb", "<p>a\nb</p>"),
    ],
)
def test_what_becomes_of(text: str, shown: str) -> None:
    assert markdown(text).strip() == shown


def test_code_is_highlighted_by_classes() -> None:
    shown = markdown("```python\ndef f(): return '<x>'\n```")
    assert '<span class="k">def</span>' in shown
    assert "&lt;x&gt;" in shown
    assert 'data-language="python"' in shown
    assert "<span" not in markdown("```klingon\ndef f()\n```")
    assert "data-language" not in markdown('```"onload=x\nx\n```')


def test_tables_have_their_own_box_and_alignment() -> None:
    shown = markdown("| a | b |\n| :-: | -: |\n| 1 | 2 |")
    assert '<div class="wide" tabindex="0"><table>' in shown
    assert '<td class="to-center">1</td>' in shown
    assert "style" not in shown


SLOW = {
    "brackets": "[" * MAX_MARKDOWN_CHARS,
    "images": "![" * (MAX_MARKDOWN_CHARS // 2),
    "stars": "*a " * (MAX_MARKDOWN_CHARS // 3),
    "underscores": "_a" * (MAX_MARKDOWN_CHARS // 2),
    "quotes": ">" * MAX_MARKDOWN_CHARS,
    "ticks": "".join("`" * n + " " for n in range(280)),
    "lists": "".join(" " * (2 * n) + "- a\n" for n in range(190)),
    "cells": "|a" * 200 + "\n" + "|-" * 200 + "\n" + ("|" * 200 + "\n") * 150,
    "java": "```java\n" + "a<b " * (module.MAX_HIGHLIGHTED_CHARS // 4 - 1) + "\n```",
    "lua": "```lua\n" + "[=[" * (module.MAX_HIGHLIGHTED_CHARS // 3) + "\n```",
    "ruby": "```ruby\n" + "<<a " * (module.MAX_HIGHLIGHTED_CHARS // 4 - 1) + "\n```",
}


@pytest.mark.parametrize("name", SLOW)
def test_no_text_takes_long(name: str) -> None:
    began = time.process_time()
    markdown(SLOW[name][:MAX_MARKDOWN_CHARS])
    assert time.process_time() - began < 8


def test_every_language_has_a_lexer() -> None:
    from pygments.lexers import get_lexer_by_name

    for language in module.LANGUAGES:
        get_lexer_by_name(language)
