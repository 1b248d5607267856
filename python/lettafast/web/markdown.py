"""Markdown of a transcript as HTML that cannot act.

A message is untrusted text. HTML in it is off, so the only elements are those that
the renderer writes; the result goes through nh3 as well, with a fixed list of
elements, attributes and classes. Nothing is loaded from elsewhere: an image is a
link. Control and bidirectional characters are spelled out before and after.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from lettafast.visible import visible

MAX_MARKDOWN_CHARS = 40_000
"""A longer text is shown as it is: what a reader waits for stays short."""
MAX_HIGHLIGHTED_CHARS = 8_000
"""Characters of a code block that are highlighted; a longer one is shown plain."""

# Lexers that were looked at; any other language is shown plain.
# fmt: off
LANGUAGES = frozenset((
    "bash", "c", "c++", "cpp", "csharp", "css", "diff", "docker", "dockerfile", "go", "html",
    "ini", "java", "javascript", "js", "json", "jsx", "kotlin", "lua", "makefile", "markdown",
    "md", "php", "powershell", "py", "python", "python3", "rb", "rs", "ruby", "rust", "scss",
    "sh", "shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml", "yaml", "yml",
    "zsh",
))
ELEMENTS = frozenset((
    "a", "blockquote", "br", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
))
# fmt: on
TOKEN_CLASSES = frozenset(name for name in STANDARD_TYPES.values() if name)
ALIGNMENTS = {f"text-align:{side}": f"to-{side}" for side in ("left", "center", "right")}

_SCHEME = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,30}")
_FORMATTER = HtmlFormatter(nowrap=True)

_CLEANER = nh3.Cleaner(
    tags=set(ELEMENTS),
    clean_content_tags=set(),
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}, "code": {"data-language"}},
    tag_attribute_values={"pre": {"tabindex": {"0"}}, "div": {"tabindex": {"0"}}},
    allowed_classes={
        "a": {"image"},
        "div": {"wide"},
        "pre": {"code"},
        "span": set(TOKEN_CLASSES),
        "td": set(ALIGNMENTS.values()),
        "th": set(ALIGNMENTS.values()),
    },
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)


def markdown(text: str) -> str:
    """HTML of `text`, at most `MAX_MARKDOWN_CHARS` of it; safe to put into a page as it is."""
    source = visible(text.replace("\r\n", "\n"))
    # Character references and percent escapes come out as characters only now.
    return visible(_CLEANER.clean(_PARSER.render(source)))


class _Renderer(RendererHTML):
    """Writes what the cleaner keeps: classes for styles, links for images."""

    def heading_open(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        """Headings of a message stand below the one of its turn."""
        return f"<{_lower(tokens[at].tag)}>"

    def heading_close(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        return f"</{_lower(tokens[at].tag)}>\n"

    def table_open(self, *_: Any) -> str:
        """A table scrolls in a box of its own, by keys too."""
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def td_open(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        return _cell(tokens[at])

    th_open = td_open

    def code_block(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        return _code(tokens[at].content, "")

    def fence(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        words = tokens[at].info.split()
        return _code(tokens[at].content, words[0] if words else "")

    def image(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
        """A link: loading an image would tell its server what was read."""
        token = tokens[at]
        address = str(token.attrs.get("src", ""))
        name = self.renderInlineAsText(token.children or [], options, env)
        shown = f"{name} ({address})" if name else address
        return f'<a class="image" href="{html.escape(address)}">Image: {html.escape(shown)}</a>'


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _is_link  # type: ignore[method-assign]
    return parser


def _is_link(url: str) -> bool:
    return _SCHEME.match(url) is not None


def _lower(tag: str) -> str:
    return f"h{min(int(tag[1]) + 2, 6)}"


def _cell(token: Token) -> str:
    side = ALIGNMENTS.get(str(token.attrs.get("style", "")))
    return f'<{token.tag} class="{side}">' if side else f"<{token.tag}>"


def _code(text: str, language: str) -> str:
    shown = f' data-language="{language}"' if _LANGUAGE.fullmatch(language) else ""
    body = _highlighted(text, language.lower())
    return f'<pre class="code" tabindex="0"><code{shown}>{body}</code></pre>\n'


def _highlighted(text: str, language: str) -> str:
    if language not in LANGUAGES or len(text) > MAX_HIGHLIGHTED_CHARS:
        return html.escape(text)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return html.escape(text)
    return str(highlight(text, lexer, _FORMATTER))


_PARSER = _parser()
