"""Conversations to look at: a plain one, a long one, and one that is out to harm its reader."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any

from support import assistant, error, reasoning, tool, user

AGENT = "agent-local-5f1c2a9e-0d7b-4e83-9b52-6c1f0a8d3e47"

TOKEN_FIX = """\
The check compared the expiry in **milliseconds** with a clock in *seconds*, so every
token looked fresh for 50,000 years. Two places had to change:

1. `Session.expires_at` is now seconds, like everything else here.
2. `is_fresh` takes the clock as an argument, so that the test can set it.

```python
def is_fresh(token: Token, now: float | None = None) -> bool:
    \"\"\"Whether the token may still be used.\"\"\"
    return token.expires_at > (time.time() if now is None else now)
```

| case | before | after |
| :--- | :---: | ---: |
| fresh token | accepted | accepted |
| expired token | **accepted** | refused |
| no expiry | crash | refused |

See [RFC 6749, section 5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1) for `expires_in`.
"""

OLD = """def is_fresh(token):
    return token.expires_at > time.time()
"""
NEW = """def is_fresh(token, now=None):
    \"\"\"Whether the token may still be used.\"\"\"
    return token.expires_at > (time.time() if now is None else now)
"""
FAILED = """\
============================= test session starts ==============================
collected 31 items

tests/test_auth.py ....F..........................                       [100%]

=================================== FAILURES ===================================
______________________________ test_expired_token ______________________________
    def test_expired_token():
>       assert not is_fresh(Token(expires_at=1))
E       assert not True

tests/test_auth.py:41: AssertionError
========================= 1 failed, 30 passed in 0.84s =========================
"""


def at(minute: int, second: int = 0) -> str:
    return f"2026-11-30T09:{minute:02}:{second:02}.000Z"


def call(name: str, output: str | None, ok: bool | None, when: str, **arguments: Any) -> bytes:
    return tool(
        output,
        f"call-{name}-{when}",
        name=name,
        arguments=json.dumps(arguments),
        ok=ok,
        captured_at=when,
    )


def plain() -> list[bytes]:
    """What a working day looks like; one row an item."""
    return [
        user("Where are the tokens checked?", captured_at=at(1)),
        reasoning("The user asks for a place in the code: search first.", captured_at=at(1)),
        call("Grep", "src/auth.py:12\nsrc/session.py:88\n", True, at(1), pattern="expires_at"),
        assistant("In `src/auth.py`, line 12, by `is_fresh`.", captured_at=at(1)),
        user(
            "A token that expired yesterday is still accepted. Find out why, and fix it.\n"
            "The test is tests/test_auth.py.",
            captured_at=at(4),
        ),
        reasoning(
            "An expired token is accepted. Units, perhaps: milliseconds against seconds.\n\n"
            "Run the test, then read `is_fresh`.",
            captured_at=at(4),
        ),
        assistant("I run the test first.", captured_at=at(4)),
        call(
            "Bash",
            FAILED,
            False,
            at(4),
            command="python -m pytest tests/test_auth.py",
            description="Run the tests",
        ),
        call(
            "Read",
            "1\timport time\n2\n" + OLD,
            True,
            at(4),
            file_path="/home/user/proj/src/auth.py",
        ),
        call(
            "Edit",
            "The file was edited.",
            True,
            at(4),
            file_path="/home/user/proj/src/auth.py",
            old_string=OLD,
            new_string=NEW,
        ),
        call(
            "Bash",
            "31 passed in 0.79s\n",
            True,
            at(4),
            command="python -m pytest tests/test_auth.py",
            description="Run the tests again",
        ),
        assistant(TOKEN_FIX, captured_at=at(4)),
        user("Good. Commit it.", captured_at=at(9)),
        call(
            "Bash",
            "[main 3f2c1d8] Compare token expiry in seconds\n",
            True,
            at(9),
            command="git commit -am 'Compare token expiry in seconds'",
        ),
        assistant("Committed as `3f2c1d8`.", captured_at=at(9)),
    ]


RUN = "window.__ran = (window.__ran || 0) + 1"
SCRIPTS = (
    f"<script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f'"><svg onload="{RUN}">',
    f'</textarea></template></pre></details><iframe srcdoc="<script>parent.{RUN}</script>">',
    f"<style>*{{display:none}}</style><a href='javascript:{RUN}'>x</a>",
    f"{{{{ {RUN} }}}}{{% raw %}}",
)
LINKS = (
    f"[one](javascript:{RUN}) [two](data:text/html,<script>{RUN}</script>)"
    f" [three](vbscript:x) [four](/api/health) [five](//evil.example/x)"
    " ![six](https://evil.example/p.png)"
    f" ![seven](javascript:{RUN}) <javascript:{RUN}>"
    f" [eight](https://good.example/a 'title\" onclick=\"{RUN}')"
    " [nine](&#106;avascript:alert) [ten](https://evil.example/%E2%80%AE)"
)
CONTROLS = (
    "esc\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07 bell\x07"
    " back\x08 nul\x00 csi\x9b2J rtl\u202egnp.exe\u202c zero\u200bwidth isolate\u2066x\u2069"
    " tag\U000e0041 del\x7f"
    " reference &#x202e; &#8238; cr\rend"
)
SPELLED = (
    r"\x1b[31m",
    r"\x1b]8;;https://evil.example\x07",
    r"\x08",
    r"\x00",
    r"\x9b2J",
    r"\u202egnp.exe",
    r"\u200bwidth",
    r"\u2066",
    r"\U000e0041",
    r"\x7f",
    r"\r",
)


def hostile() -> list[bytes]:
    """Everything that a transcript could try, in every place that it can put text in."""
    rows = []
    for text in (*SCRIPTS, LINKS, CONTROLS):
        arguments = json.dumps({"command": text, "file_path": text}, ensure_ascii=False)
        change = json.dumps({"file_path": text, "old_string": text, "new_string": "new " + text})
        rows += [
            user(text, text),
            reasoning(text),
            assistant(text, text, text),
            assistant(f"```{text.split()[0]}\n{text}\n```\n\n| a | b |\n| - | - |\n| {text} | x |"),
            error(text),
            tool(text, text, name=text, arguments=arguments, ok=False),
            tool(text, text + "2", name=text, arguments=text, ok=None),
            tool(None, text + "3", name="Edit", arguments=change, ok=None),
        ]
    return rows


def long(turns: int) -> Iterable[bytes]:
    """Turns of very different heights."""
    for number in range(turns):
        yield user(f"question {number}", captured_at=at(number % 60))
        yield reasoning("thought " * (number % 40), captured_at=at(number % 60))
        if number % 3 == 0:
            yield call(
                "Bash",
                f"line {number}\n" * (number % 9),
                number % 15 != 0,
                at(number % 60),
                command=f"run {number}",
            )
        yield assistant(
            f"answer {number}\n\n"
            + "\n\n".join(["some words of it " * (number % 23)] * (number % 5)),
            captured_at=at(number % 60),
        )


def keep(root: pathlib.Path, conversation: str, rows: Iterable[bytes]) -> pathlib.Path:
    """Writes a transcript into a store; where it is."""
    path = root / AGENT / conversation / "transcript.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(rows))
    return path
