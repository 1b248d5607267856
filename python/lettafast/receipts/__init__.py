"""Did the agent's separate computer really see this commit? Plans, frames and verdicts.

Needs the extra `lettafast[receipts]`.
"""

from __future__ import annotations

from .frames import Frame, FrameLog, Frames, FramesError, read_frames
from .gate import Decision, Gate
from .plan import Plan, PlanError, Step, challenge_message, make_plan, opening_message, plan_json
from .verify import EXIT, CallEvidence, Check, Expectation, Judgement, Verdict, judge

__all__ = [
    "EXIT",
    "CallEvidence",
    "Check",
    "Decision",
    "Expectation",
    "Frame",
    "FrameLog",
    "Frames",
    "FramesError",
    "Gate",
    "Judgement",
    "Plan",
    "PlanError",
    "Step",
    "Verdict",
    "challenge_message",
    "judge",
    "make_plan",
    "opening_message",
    "plan_json",
    "read_frames",
]
