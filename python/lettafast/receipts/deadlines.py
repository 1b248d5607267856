"""How long a run waits for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. A Tangled workflow has five minutes by default, so the whole run takes less.

    `total` bounds everything; the last `ending` seconds of it are kept for ending
    the sandbox and reading the history. The others bound one wait each: a REST
    call with its retries, the sandbox coming online, opening a socket, an answer
    on it, a pong, the stop reason that follows a finished turn, and the two turns.
    """

    total: float = 285.0
    ending: float = 45.0
    request: float = 15.0
    online: float = 90.0
    connect: float = 15.0
    answer: float = 20.0
    ping: float = 30.0
    pong: float = 15.0
    stop_reason: float = 1.0
    first_turn: float = 150.0
    second_turn: float = 60.0
    poll: float = 1.0
