"""The plan's commands, and that the real git prints for them what the plan expects."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import subprocess

import pytest

from lettafast.receipts import (
    PlanError,
    challenge_message,
    make_plan,
    opening_message,
    plan_json,
)
from lettafast.receipts.expected import expected_state
from lettafast.receipts.plan import NO_OUTPUT
from wire import CHALLENGE, CHALLENGED, NONCE, PLAN, STATE, URL

FOLDER = f"/tmp/lettafast-{NONCE}"
GIT = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def test_the_commands() -> None:
    assert [step.command for step in CHALLENGED.steps] == [
        f"git init -q --template= {FOLDER}",
        (
            f"timeout 9 git -C {FOLDER} -c core.hooksPath=/dev/null"
            " -c http.followRedirects=false"
            " -c protocol.allow=never -c protocol.https.allow=always"
            f" fetch -q --depth=1 --no-tags --no-recurse-submodules {URL} {STATE.commit}"
        ),
        (
            f"git -C {FOLDER} -c core.hooksPath=/dev/null -c advice.detachedHead=false"
            " checkout -q --detach FETCH_HEAD"
        ),
        f"git -C {FOLDER} rev-parse --verify HEAD",
        f"git -C {FOLDER} rev-parse --verify 'HEAD^{{tree}}'",
        f"git -C {FOLDER} -c core.quotePath=true ls-tree --name-only HEAD",
        f"{{ printf %s {CHALLENGE}; git -C {FOLDER} ls-tree -r -z --full-tree HEAD; }} | sha256sum",
    ]
    assert [step.attempts for step in CHALLENGED.steps] == [1, 3, 1, 1, 1, 1, 1]


def test_the_outputs() -> None:
    digest = hashlib.sha256(CHALLENGE.encode() + STATE.listing).hexdigest()
    assert [step.output for step in CHALLENGED.steps] == [
        NO_OUTPUT,
        NO_OUTPUT,
        NO_OUTPUT,
        STATE.commit + "\n",
        STATE.tree + "\n",
        ".gitignore\nREADME.md\nsrc\n",
        digest + "  -\n",
    ]


def test_the_final_text_is_four_lines() -> None:
    assert PLAN.final_text == (
        f"pipeline: push {STATE.commit}\n"
        f"checkout: {STATE.commit}\n"
        "files: .gitignore, README.md, src\n"
        "note: those names were listed inside the Letta Cloud sandbox"
    )


def test_the_messages_hold_the_commands_and_not_what_they_print() -> None:
    opening, second = opening_message(PLAN), challenge_message(CHALLENGED)
    for step in PLAN.steps:
        assert f"\n{step.name}: {step.command}\n" in opening
    assert CHALLENGED.steps[6].command in second
    assert CHALLENGE not in opening
    for secret in (STATE.tree, "README.md", CHALLENGED.steps[6].output.split()[0]):
        assert secret not in opening + second


def test_the_plan_as_json_has_all_of_it() -> None:
    said = plan_json(CHALLENGED)
    assert [step["command"] for step in said["steps"]] == [one.command for one in CHALLENGED.steps]
    assert said["nonce"] == NONCE
    assert said["final_text"] == PLAN.final_text


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        ({"commit": "1" * 39}, {}),
        ({"commit": "G" * 40}, {}),
        ({"commit": "1" * 40 + "\n"}, {}),
        ({"tree": "; rm -rf /"}, {}),
        ({"printed": ("x" * 20_001,)}, {}),
        ({}, {"nonce": "x" * 32}),
        ({}, {"nonce": "0" * 31}),
        ({}, {"nonce": "0" * 32 + "\n"}),
        ({}, {"url": "http://a.example/b"}),
        ({}, {"url": "https://a.example/b c"}),
        ({}, {"url": "https://a.example/$(x)"}),
        ({}, {"url": "https://a.example/b\n"}),
        ({}, {"kind": "pull_request"}),
    ],
)
def test_what_is_no_value_of_a_plan_is_refused(changed, values) -> None:
    given = {"url": URL, "nonce": NONCE, "kind": "push", **values}
    with pytest.raises(PlanError):
        make_plan(dataclasses.replace(STATE, **changed), **given)


@pytest.mark.parametrize("challenge", ["", "0" * 31, "0" * 33, "$" * 32, "A" * 32])
def test_what_is_no_challenge_is_refused(challenge) -> None:
    with pytest.raises(PlanError):
        PLAN.challenged(challenge)


def test_a_second_challenge_takes_the_place_of_the_first() -> None:
    assert CHALLENGED.challenged("0" * 32) == PLAN.challenged("0" * 32)


@pytest.mark.parametrize("objects", ["sha1", "sha256"])
def test_the_real_git_prints_what_the_plan_expects(tmp_path: pathlib.Path, objects: str) -> None:
    """Real git, in a folder of the test's; the fetch comes from there too, and not over HTTPS."""
    origin = tmp_path / "origin"
    environment = {**os.environ, **GIT}

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", origin, *arguments], check=True, env=environment)

    (origin / "src").mkdir(parents=True)
    for name in ("README.md", ".gitignore", "src/a", "src.txt", "é", 'a"b'):
        (origin / name).write_text(name)
    subprocess.run(
        ["git", "init", "-q", f"--object-format={objects}", origin], check=True, env=environment
    )
    git("add", ".")
    git("commit", "-q", "-m", "one")
    state = expected_state(str(origin))
    plan = make_plan(state, URL, os.urandom(16).hex(), "push").challenged(CHALLENGE)
    folder = f"/tmp/lettafast-{plan.nonce}"
    for step in plan.steps:
        assert folder in step.command
        command = step.command.replace(folder, str(tmp_path / "clone"))
        if step.name == "s2":
            command = command.replace(URL, f"file://{origin}")
            command = command.replace("protocol.https", "protocol.file")
        ran = subprocess.run(
            ["bash", "-c", command], check=True, capture_output=True, env=environment, timeout=30
        )
        assert ran.stderr == b"", step
        # What Letta Code's Bash makes of a command that prints nothing.
        assert (ran.stdout.decode() or NO_OUTPUT) == step.output, step
