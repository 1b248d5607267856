"""A scripted model: what Letta Code talks to instead of a provider.

A test double, because a real model is neither offline nor repeatable, and
because the answers must contain what a transcript has to survive. It speaks
the one route that Letta Code uses, on loopback only, and holds no state: the
answer depends on the request alone, so a retry is harmless.

A turn is everything after the last user message; each round of tool results in
it moves the scenario one step on. A scenario is named by a token in the prompt.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = "mock-1"
CONTEXT_LENGTH = 65_536

STRANGE = (
    "emoji \U0001f600 ZWJ \U0001f468\u200d\U0001f469 combining e\u0301 RTL \u05e9\u05dc "
    "bidi \u202eabc\u202c LS\u2028PS\u2029NEL\u0085 NUL\u0000 ESC\u001b[31m DEL\u007f "
    'quote " backslash \\ lone \ud83d end'
)
PARAGRAPHS = "".join(f"Paragraph {n}. {'word ' * 60}\n\n" for n in range(24)).strip()
LONG_TEXT = "A paragraph of text that goes on. " * 32_000
"""1.09 MB: Letta Code appends it in three writes of up to 512 KiB."""


def _bash(command: str) -> dict[str, Any]:
    return {"name": "Bash", "arguments": {"command": command, "description": "run"}}


SCENARIOS: dict[str, list[dict[str, Any]]] = {
    "SCN:plain": [{"text": "Plain answer."}],
    "SCN:bash": [
        {"reasoning": "I should list.", "text": "Running.", "calls": [_bash("echo from-the-tool")]},
        {"text": "The tool said so."},
    ],
    "SCN:parallel": [
        {
            "text": "Three at once.",
            "calls": [
                _bash("echo one"),
                _bash("echo two; exit 3"),
                {"name": "Read", "arguments": {"file_path": "/nonexistent/x.txt"}},
            ],
        },
        {"text": "All done."},
    ],
    "SCN:unicode": [
        {"reasoning": STRANGE, "text": STRANGE, "calls": [_bash("printf '\\360\\237\\230\\200'")]},
        {"text": "Strange."},
    ],
    "SCN:slow": [{"text": "Late.", "wait": 15.0}],
    "SCN:write": [{"text": "Writing.", "calls": [_bash("touch written")]}, {"text": "Written."}],
    "SCN:subagent": [
        {
            "text": "Asking another.",
            "calls": [
                {
                    "name": "Agent",
                    "arguments": {
                        "subagent_type": "general-purpose",
                        "description": "a subagent",
                        "prompt": "SCN:plain for a subagent",
                    },
                }
            ],
        },
        {"text": "Asked."},
    ],
    "SCN:split": [{"text": PARAGRAPHS, "chunk": 200}],
    "SCN:long": [{"text": LONG_TEXT}],
}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """The step of the scenario that the request's turn has come to."""
    messages = body["messages"]
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    roles = [message["role"] for message in messages[last:]]
    rounds = sum(now == "tool" and before != "tool" for before, now in pairwise(roles))
    prompt = _text(messages[last]["content"])
    for token, steps in SCENARIOS.items():
        if token in prompt:
            return steps[min(rounds, len(steps) - 1)]
    return {"text": "ok"}


Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""The step that is the model's answer to a request."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        model = {"id": MODEL, "object": "model", "context_length": CONTEXT_LENGTH}
        self._json({"object": "list", "data": [model]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        step = self.server.answer(body)
        time.sleep(step.get("wait", 0.0))
        calls = [
            {
                "index": at,
                "id": f"call_{time.time_ns():x}_{at}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for at, call in enumerate(step.get("calls", []))
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self._delta({"role": "assistant", "content": ""})
        if "reasoning" in step:
            self._delta({"reasoning_content": step["reasoning"]})
        text = step.get("text", "")
        size = step.get("chunk") or len(text) or 1
        for at in range(0, len(text), size):
            self._delta({"content": text[at : at + size]})
        if calls:
            self._delta({"tool_calls": calls})
        self._delta({}, "tool_calls" if calls else "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk: dict[str, Any] = {
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": MODEL,
            "choices": [choice],
        }
        if finish:
            chunk["usage"] = {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18}
        # ASCII only: a lone surrogate stays an escape, as a provider would send it.
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode("ascii"))
        self.wfile.flush()

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode("ascii")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(answer: Answer = answer) -> Iterator[str]:
    """Serves on a free port of loopback; yields the base URL."""
    server = _Server(answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
