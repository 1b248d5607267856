"""A double in the place of the live run: it plays the synthetic log of `wire`.

`PLAYED` in the environment says what is played: `honest`, `cut` (the end is missing) or `extra`
(another command is asked for). All else is real: the checkout, the files, the signature, the
printing. As a program it is `lettafast` with that double.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys

import pytest

import wire
from lettafast.cli import main
from lettafast.receipts import run as run_module
from lettafast.receipts.frames import read_frames
from lettafast.receipts.verify import judge
from made import stage, write_frames


async def play(options, on_progress):
    session = "cloud" if options.app_server is None else "app-server"
    with pytest.MonkeyPatch.context() as patch:
        named = {"kind": options.kind, "profile": options.profile}
        expectation = stage(patch, options.state, options.url, options.agent_id, **named)
        frames = _frames(os.environ["PLAYED"], session, options.profile)
    begin = json.loads(frames[0].raw)
    begin |= {"kind": options.kind, "model": options.model, "pipeline_id": options.pipeline_id}
    frames[0] = dataclasses.replace(frames[0], raw=wire.to_json(begin))
    on_progress("played \x1b[31m progress")
    path = os.path.join(options.out, run_module.FRAMES)
    write_frames(path, frames)
    read = read_frames(path)
    judgement = judge(expectation, read.frames)
    return run_module.RunResult(judgement, path, read.head, read.sha256, None)


def _frames(played, session, profile):
    if played == "extra":
        run = wire.Wire(session, profile)
        run.opening()
        run.denied("touch evil", "The command is none of the plan.")
        run.steps()
        run.speak("ready")
        run.challenge()
        run.proof()
        run.speak(wire.CHALLENGED.final_text)
        run.finish()
        return run.frames
    frames = wire.honest(session, profile).frames
    return frames[:-12] if played == "cut" else frames


if __name__ == "__main__":
    run_module.run_receipt = play
    sys.exit(main())
