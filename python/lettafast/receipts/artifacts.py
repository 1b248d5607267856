"""The files that a run leaves beside its frame log."""

from __future__ import annotations

import os

from securesystemslib.signer import CryptoSigner

from . import strict_json
from .envelope import write_receipt
from .expected import ExpectedState
from .frame import Frames
from .frames import FRAMES
from .judgement import Judgement
from .junit import junit
from .plan import plan_json
from .statement import note, plan_of, statements

RECEIPT = "receipt.jsonl"
JUNIT = "junit.xml"
PLAN = "plan.json"
FILES = (FRAMES, RECEIPT, JUNIT, PLAN)
"""All that a run leaves."""

_NAMED = ("url", "commit", "tree", "agent_id", "model", "kind", "pipeline_id", "profile", "session")


def write_artifacts(
    folder: str,
    state: ExpectedState,
    judgement: Judgement,
    log: Frames,
    signer: CryptoSigner | None,
) -> None:
    """Writes the receipt, the JUnit file and the plan beside the log.

    Raises `OSError`, also where one of them is there.
    """
    made = statements(judgement, state, log.frames, log.head, log.sha256)
    _write(os.path.join(folder, RECEIPT), write_receipt(made, signer))
    properties = {
        name: str(judgement.begin[name]) for name in _NAMED if judgement.begin.get(name) is not None
    }
    sandbox = note(log.frames, "sandbox").get("sandbox_id")
    properties |= {
        "verdict": str(judgement.verdict),
        "conversation_id": judgement.conversation_id or "",
        **({"sandbox_id": str(sandbox)} if sandbox is not None else {}),
        "chain": log.head,
        "frames_sha256": log.sha256,
    }
    _write(os.path.join(folder, JUNIT), junit(judgement, properties))
    plan = plan_of(state, log.frames)
    shown = None if plan is None else plan_json(plan)
    _write(os.path.join(folder, PLAN), strict_json.canonical(shown) + b"\n")


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
