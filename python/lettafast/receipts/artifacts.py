"""The files that a run leaves beside its frame log."""

from __future__ import annotations

import os

from securesystemslib.signer import CryptoSigner

from . import strict_json
from .envelope import write_receipt
from .expected import ExpectedState
from .frame import Frame
from .judgement import Judgement
from .junit import junit
from .plan import plan_json
from .statement import note, plan_of, statements

FRAMES = "frames.jsonl"
RECEIPT = "receipt.jsonl"
JUNIT = "junit.xml"
PLAN = "plan.json"

_NAMED = ("url", "commit", "tree", "agent_id", "model", "kind", "pipeline_id", "profile", "session")


def write_artifacts(
    folder: str,
    state: ExpectedState,
    judgement: Judgement,
    log: tuple[list[Frame], str, str],
    signer: CryptoSigner | None,
) -> None:
    """Writes the receipt, the JUnit file and the plan. Raises `OSError`, also where one is there.

    `log` is the frames with their chain's head and the SHA-256 of their file, in hex.
    """
    frames, head, frames_sha256 = log
    made = statements(judgement, state, frames, head, frames_sha256)
    _write(os.path.join(folder, RECEIPT), write_receipt(made, signer))
    properties = {
        name: str(judgement.begin[name]) for name in _NAMED if judgement.begin.get(name) is not None
    }
    sandbox = note(frames, "sandbox").get("sandbox_id")
    properties |= {
        "verdict": str(judgement.verdict),
        "conversation_id": judgement.conversation_id or "",
        **({"sandbox_id": str(sandbox)} if sandbox is not None else {}),
        "chain": head,
        "frames_sha256": frames_sha256,
    }
    _write(os.path.join(folder, JUNIT), junit(judgement, properties))
    plan = plan_of(state, frames)
    shown = None if plan is None else plan_json(plan)
    _write(os.path.join(folder, PLAN), strict_json.canonical(shown) + b"\n")


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
