"""Terminal text without what steers a terminal.

herdr gives a pane's rows with the escape sequences of their colors and links.
They are cut out by the grammar of ECMA-48 and xterm: control sequences, control
strings (OSC, DCS, SOS, PM, APC), shorter escapes; then every control that is
left. A sequence that the text's end cuts off goes too. A control string ends at
the end of its row at the latest, so that one without an end hides one row only.

Characters that mislead a reader without steering a terminal (bidirectional
controls, invisible ones) stay: a program may have meant them, and each front-end
shows them in its own way.
"""

from __future__ import annotations

import re

# Each branch consumes what it looks at and its classes do not overlap: linear in any text.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c\n]*(?:\x07|\x9c|\x1b\\)?"
    r"|\x1b[\x20-\x2f]*[\x30-\x7e]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def plain(text: str) -> str:
    """`text` without escape sequences and without controls, but for LF and tab."""
    return _SEQUENCE.sub("", text)
