"""Hostile text for a terminal: what could steer it or mislead its reader is spelled out.

A transcript holds what models, tools and web pages said. Written raw to a
terminal, an escape sequence in it moves the cursor, sets the clipboard or hides
a line; a bidirectional control shows one thing and means another.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Controls (C0 but tab and LF, DEL, C1), the invisible and the bidirectional characters, fillers
# that look like nothing, line separators, noncharacters, tags and variation selectors of plane 14.
_UNSAFE = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0"
    r"\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS = r"\u200c\u200d"
_IN_TEXT = re.compile(f"[{_UNSAFE}{_JOINERS}]")
_IN_LINE = re.compile(rf"[\t\n{_UNSAFE}{_JOINERS}]")
# A joiner belongs to emoji and to many scripts, but to nothing that stands beside Latin letters.
_SCRIPT = rf"[^\x00-\u02ff{_UNSAFE}{_JOINERS}]"
_JOINED = re.compile(f"(?<={_SCRIPT})[{_JOINERS}](?={_SCRIPT})")

_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of a file's name."""

_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def visible(text: str, mark: Callable[[str], str] = str) -> str:
    r"""`text` with `\x1b`, `\u202e` and the like in place of such characters; LF and tab stay.

    `mark` may dress what was put in.
    """
    return _spelled(_IN_TEXT, text, mark)


def visible_line(text: str, mark: Callable[[str], str] = str) -> str:
    r"""The same on one line: LF and tab are `\n` and `\t`."""
    return _spelled(_IN_LINE, text, mark)


def file_name(name: str) -> str:
    r"""A file-system string, or a message with one in it, as text.

    Bytes that are no UTF-8 are `\xNN`, other surrogates `\uNNNN`. The locale's encoding does
    not matter.
    """
    name = _NO_BYTE.sub(lambda found: _escape(found[0]), name)
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _spelled(unsafe: re.Pattern[str], text: str, mark: Callable[[str], str]) -> str:
    def spell(found: re.Match[str]) -> str:
        joined = _JOINED.match(text, found.start())
        return found[0] if joined else mark(_escape(found[0]))

    return unsafe.sub(spell, text)


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    number = ord(character)
    if number < 1 << 8:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"
