"""Which conversation does a pane show? Facts, then rules, then a verdict.

    from lettafast.binding import Binder

    with Binder() as binder:
        panes, unseen = binder.panes()
        verdict = binder.bind_pid(4711)

Needs the extra `lettafast[binding]`.
"""

from __future__ import annotations

from .bind import Binder, BoundPane, bind
from .decide import PROOFS, decide
from .facts import Facts
from .gather import gather
from .herdr_panes import HerdrPanes
from .memory import Memory
from .pane import Pane
from .proof import Proof
from .providers import Provider
from .tmux_panes import TmuxPanes
from .verdict import Bound, Evidence, Reason, Terminal, Verdict

__all__ = [
    "PROOFS",
    "Binder",
    "Bound",
    "BoundPane",
    "Evidence",
    "Facts",
    "HerdrPanes",
    "Memory",
    "Pane",
    "Proof",
    "Provider",
    "Reason",
    "Terminal",
    "TmuxPanes",
    "Verdict",
    "bind",
    "decide",
    "gather",
]
