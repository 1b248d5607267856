"""Which conversation does a pane show? Facts, then rules, then a verdict.

    from lettafast.binding import Binder
    from lettafast.herdr.client import Herdr

    with Binder() as binder:
        verdict = binder.bind("w1:p1", Herdr(socket))

Needs the extra `lettafast[binding]`.
"""

from __future__ import annotations

from .bind import Binder, BoundPane, bind
from .facts import Facts
from .gather import gather
from .memory import Memory
from .rules import RULES, decide
from .verdict import Bound, Evidence, Reason, Terminal, Verdict

__all__ = [
    "RULES",
    "Binder",
    "Bound",
    "BoundPane",
    "Evidence",
    "Facts",
    "Memory",
    "Reason",
    "Terminal",
    "Verdict",
    "bind",
    "decide",
    "gather",
]
