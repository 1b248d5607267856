"""The answers are the same wherever it runs: no locale, no UTF-8 mode, another hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from lettafast import open_transcript
from support import ROOT, run_python, tool, user

CODE = """
import json, locale, sys
import lettafast, lettafast.transcript
from lettafast import SourceError, Store, TranscriptRefused, _backend, open_transcript
chosen = _backend.load(sys.argv[2])
_backend.current = lambda: chosen
with open_transcript(sys.argv[1] + "/transcript.jsonl") as transcript:
    said = {
        "page": transcript.page_json().decode("utf-8"),
        "texts": [entry.text for entry in transcript.entries()],
        "output": transcript.tool_output("call-1").text,
        "utf8": sys.flags.utf8_mode,
        "encoding": locale.getpreferredencoding(False),
    }
try:
    open_transcript(sys.argv[1] + "/bad.jsonl")
except TranscriptRefused as error:
    said["refused"] = [error.reason, error.offset, error.field, error.excerpt]
conversations = list(Store(sys.argv[1] + "/store").conversations())
said["conversations"] = [[ascii(one.conversation), one.state] for one in conversations]
for one in conversations:
    with Store(sys.argv[1] + "/store").transcript(one.agent, one.conversation) as transcript:
        assert transcript.summary.entries == 1
print(json.dumps(said))
"""


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONHASHSEED": "1"},
        {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONHASHSEED": "2"},
    ],
    ids=["c-without-coercion", "c", "posix", "utf8"],
)
def test_the_same_answers(backend, tmp_path, environ) -> None:
    text = "caf\u00e9 \u20ac \U0001f600 \u2028"
    (tmp_path / "transcript.jsonl").write_bytes(user(text) + tool(text))
    (tmp_path / "bad.jsonl").write_bytes(user("\u00e9").replace(b"\xc3\xa9", b"\xe9"))
    folder = tmp_path / "store" / "agent" / "caf\u00e9"
    folder.mkdir(parents=True)
    (folder / "transcript.jsonl").write_bytes(user())
    said = run_python(CODE, str(tmp_path), backend.name, **environ)
    assert said["utf8"] == int(environ["PYTHONUTF8"])
    if environ.get("PYTHONCOERCECLOCALE") == "0":
        assert said["encoding"].upper() not in ("UTF-8", "UTF8")  # else this proves nothing
    with open_transcript(tmp_path / "transcript.jsonl") as transcript:
        assert said["page"] == transcript.page_json().decode()
    assert json.loads(said["page"])["turns"][0]["parts"][0]["text"] == text
    assert (said["texts"], said["output"]) == ([text, None], text)
    reason, offset, field, excerpt = said["refused"]
    assert (reason, offset, field) == ("invalid_utf8", 23, "text")
    assert r"\xe9" in excerpt
    assert len(said["conversations"]) == 1
    assert said["conversations"][0][1] == "present"


def test_the_suite_itself(backend) -> None:
    """The recordings and the strings again, in a test run that knows only ASCII."""
    tests = [f"{ROOT}/tests/recordings", f"{ROOT}/tests/conformance/test_unicode.py"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            backend.name,
            *tests,
        ],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    assert b" passed" in done.stdout
