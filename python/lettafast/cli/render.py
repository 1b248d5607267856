"""Turns for people, as text for a terminal.

What a transcript says always begins in column 4, so that no text can pass for
a heading or for another part; and it is made visible, never executed.
"""

from __future__ import annotations

from lettafast.records import Part, Turn
from lettafast.summary import summarize_arguments
from lettafast.visible import visible, visible_line

from .numbers import human_size
from .paint import Paint

_SIGNS = {"text": (" ", None), "thinking": ("~", "dim"), "error": ("!", "red")}
_STATE_COLORS = {"ok": "green", "failed": "red"}


class Renderer:
    """Turns one after the other; `refs` adds each tool call's ref."""

    def __init__(self, paint: Paint, *, refs: bool) -> None:
        self._paint = paint
        self._refs = refs
        self._begun = False

    def turn(self, turn: Turn, *, continued: bool) -> str:
        """One turn; a `continued` one goes on where the turn before it stopped."""
        blocks = [self._part(part) for part in turn.parts]
        if not (continued and self._begun):
            heading = self._paint("bold", turn.role)
            if turn.role == "user":
                heading = self._paint("cyan", heading)
            when = self._paint("dim", f"{turn.ts[:10]} {turn.ts[11:19]} UTC")
            blocks.insert(0, f"{heading}  {when}")
            if self._begun:
                blocks.insert(0, "")
        self._begun = True
        return "".join(f"{block}\n" for block in blocks)

    def _part(self, part: Part) -> str:
        if part.kind == "tool":
            return f"  * {self._call(part)}"
        sign, style = _SIGNS[part.kind]
        text = visible(part.text or "", self._paint.mark)
        if style:
            text = self._paint(style, text)
        if not text:
            text = self._paint("dim", "(empty)")
        block = f"  {sign} {_indented(text)}"
        if part.ref is not None:
            whole = f"cut; all {human_size(part.size or 0)}: lettafast content PATH {part.ref}"
            block += f"\n  {self._paint('dim', f'({whole})')}"
        return block

    def _call(self, part: Part) -> str:
        mark = self._paint.mark
        state = part.state or "unknown"
        name = "(no name)" if part.name is None else visible_line(part.name, mark)
        sizes = f"in {human_size(part.input_size or 0)}"
        if part.output is not None:
            sizes += f", out {human_size(part.output_size or 0)}"
        words = [
            self._paint("bold", name),
            visible_line(summarize_arguments(part.input), mark),
            f"({self._paint(_STATE_COLORS.get(state, 'yellow'), state)}; {sizes})",
            self._paint("dim", part.ref or "") if self._refs else "",
        ]
        return " ".join(word for word in words if word)


def _indented(text: str) -> str:
    """The text with every line but the first and the empty ones in column 4."""
    first, *lines = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line else "" for line in lines)])
