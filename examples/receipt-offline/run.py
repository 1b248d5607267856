"""Receipts on one machine, without an account and without a network: see README.md.

    python run.py [--letta PATH]

Exit status 0 when every command ended as it must.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The stage is that of the end-to-end tests.
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "receipts")]

from receipt_agents import Agent, bash, followed  # noqa: E402 - found by the line above
from receipt_world import (  # noqa: E402 - likewise
    ReceiptWorld,
    receipt_world,
    signing_keys,
)

SECONDS = 90


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--letta", default=shutil.which("letta"), help="the command of Letta Code")
    letta = parser.parse_args().letta
    if letta is None:
        parser.error("no `letta` on PATH: install it with `pip install letta==0.34.12`")
    with tempfile.TemporaryDirectory(prefix="lettafast-example-") as name:
        folder = Path(name)
        with receipt_world(letta, folder / "world") as world:
            return 0 if show(world, folder) else 1


def show(world: ReceiptWorld, folder: Path) -> bool:
    """Every command, what it prints and how it ends; whether it ended as it must."""
    private, public = signing_keys(folder)
    receipt = folder / "receipt"
    checkout = ["--repo", world.checkout]
    judge = ["verify", receipt / "receipt.jsonl", *checkout, "--commit", world.state.commit]
    judge += ["--agent", world.agent_id, "--url", world.url, "--session", "app-server"]
    judge += ["--key", public]

    def run(agent: Agent, out: Path, *more: object) -> int:
        world.agent = agent
        return command(
            world, "run", *checkout, "--app-server", world.server.url, "--out", out, *more
        )

    say("An agent does as it is asked, and the receipt is signed.")
    ended = [run(Agent(), receipt, "--key", private)]
    say("Somebody else judges the same receipt again.")
    ended.append(command(world, *judge))
    say("An agent reports the right commit, and has not looked.")
    ended.append(run(Agent(lambda _: [], world.known), folder / "without-looking"))
    say("An agent looks, and makes one call more.")
    ended.append(run(Agent(followed("s6", bash("ls /"))), folder / "one-more"))
    say("One byte of the signed run's frames is altered.")
    frames = receipt / "frames.jsonl"
    frames.write_bytes(frames.read_bytes().replace(b"success", b"succes5", 1))
    ended.append(command(world, *judge))
    return ended == [0, 0, 11, 12, 10]


def say(text: str) -> None:
    print(f"\n# {text}", flush=True)


def command(world: ReceiptWorld, *arguments: object) -> int:
    """Runs `lettafast receipt` as a pipeline would; its exit status."""
    words = [str(argument) for argument in arguments]
    print(f"$ lettafast receipt {shlex.join(words)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "lettafast", "receipt", *words],
        env=world.environ(),
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=SECONDS,
    )
    print(f"=> exit status {done.returncode}", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
