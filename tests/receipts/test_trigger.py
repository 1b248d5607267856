"""What a pipeline says of itself, and each rule that it may break."""

from __future__ import annotations

import re

import pytest

from lettafast.errors import MetadataError, MetadataReason
from lettafast.receipts.metadata import Trigger, check_trigger, source_of, trigger_of
from lettafast.receipts.plan import make_plan
from states import a_state

SHA = "0123456789abcdef" * 2 + "01234567"
URL = "https://knot.example/did:plc:abc123/repo"
AGENT = "agent-00000000-0000-4000-8000-000000000001"
PUSH = {
    "CI": "true",
    "TANGLED_PIPELINE_ID": "at://did:web:knot.example/sh.tangled.pipeline/3abc",
    "TANGLED_PIPELINE_KIND": "push",
    "TANGLED_REPO_URL": URL,
    "TANGLED_SHA": SHA,
    "TANGLED_COMMIT_SHA": SHA,
    "TANGLED_REF": "refs/heads/main",
    "LETTA_AGENT_ID": AGENT,
    "LETTA_MODEL": "letta/auto",
}
LOCAL = {"LETTA_AGENT_ID": AGENT}


def refusal(environ, **options):
    with pytest.raises(MetadataError) as caught:
        trigger_of(environ, **options)
    error = caught.value
    assert error.exit_code == 2
    assert str(error) == f"{error.variable}: {error.rule}"
    return error.variable, error.reason


def test_a_push() -> None:
    trigger = trigger_of(PUSH)
    assert trigger == Trigger(
        kind="push",
        url=URL,
        sha=SHA,
        pipeline_id=PUSH["TANGLED_PIPELINE_ID"],
        agent_id=AGENT,
        model="letta/auto",
    )
    check_trigger(trigger, SHA)


def test_a_manual_run_may_have_no_commit() -> None:
    environ = {**PUSH, "TANGLED_PIPELINE_KIND": "manual"}
    del environ["TANGLED_SHA"], environ["TANGLED_COMMIT_SHA"], environ["LETTA_MODEL"]
    trigger = trigger_of(environ)
    assert (trigger.kind, trigger.sha, trigger.model) == ("manual", None, None)
    check_trigger(trigger, "f" * 40)


def test_a_local_run() -> None:
    assert trigger_of(LOCAL, local_url=URL) == Trigger("local", URL, None, None, AGENT, None)
    named = {**LOCAL, "TANGLED_PIPELINE_KIND": "local", "TANGLED_REPO_URL": URL}
    assert trigger_of(named).kind == "local"
    assert trigger_of({**LOCAL, "TANGLED_REPO_URL": URL}).url == URL
    # What a local run names wins: there is no pipeline that could be contradicted.
    assert trigger_of(named, local_url=f"{URL}2").url == f"{URL}2"
    assert source_of({}, local_url=URL) == ("local", URL)


def test_an_empty_variable_is_not_set() -> None:
    environ = {**PUSH, "TANGLED_SHA": "", "LETTA_MODEL": "", "TANGLED_PIPELINE_ID": ""}
    trigger = trigger_of(environ)
    assert (trigger.sha, trigger.model, trigger.pipeline_id) == (SHA, None, None)


def test_a_sha256_commit() -> None:
    long = "ab" * 32
    trigger = trigger_of({**PUSH, "TANGLED_SHA": long, "TANGLED_COMMIT_SHA": long})
    assert trigger.sha == long
    check_trigger(trigger, long)


@pytest.mark.parametrize(
    "url",
    [
        "https://tangled.org/cameron.stream/tangled-letta",
        "https://tangled.org/@me/a_b~c",
        "https://knot.example:8443/x/y",
        "https://127.0.0.1:4443/repo.git",
        "https://localhost/repo/",
    ],
)
def test_addresses_that_are_fine(url) -> None:
    assert trigger_of({**PUSH, "TANGLED_REPO_URL": url}).url == url
    # What is let in here must be something that a plan can be made of.
    make_plan(a_state(), url, "0" * 32, "push")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://knot.example/a/b", MetadataReason.NOT_HTTPS),
        ("HTTPS://knot.example/a/b", MetadataReason.NOT_HTTPS),
        ("git@knot.example:a/b", MetadataReason.NOT_HTTPS),
        ("ssh://knot.example/a/b", MetadataReason.NOT_HTTPS),
        ("ext::sh -c id", MetadataReason.NOT_HTTPS),
        ("--upload-pack=id", MetadataReason.NOT_HTTPS),
        (" https://knot.example/a", MetadataReason.NOT_HTTPS),
        ("https:/knot.example/a", MetadataReason.NOT_HTTPS),
        ("https://me:secret@knot.example/a/b", MetadataReason.CREDENTIALS),
        ("https://me@knot.example/a/b", MetadataReason.CREDENTIALS),
        ("https://@knot.example/a/b", MetadataReason.CREDENTIALS),
        ("https://knot.example/a?token=secret", MetadataReason.QUERY),
        ("https://knot.example?token=secret", MetadataReason.QUERY),
        ("https://knot.example/a?", MetadataReason.QUERY),
        ("https://knot.example/a#secret", MetadataReason.FRAGMENT),
        ("https://knot.example/a#", MetadataReason.FRAGMENT),
        ("https:///a/b", MetadataReason.HOST),
        ("https://-knot.example/a", MetadataReason.HOST),
        ("https://knot.example:/a", MetadataReason.HOST),
        ("https://knot.example:port/a", MetadataReason.HOST),
        ("https://kn\u00f6t.example/a", MetadataReason.HOST),
        ("https://knot_example/a", MetadataReason.HOST),
        ("https://knot.example\\@evil.example/a", MetadataReason.CREDENTIALS),
        ("https://knot.example\\.evil.example/a", MetadataReason.HOST),
        ("https://knot.example", MetadataReason.PATH),
        ("https://knot.example/", MetadataReason.PATH),
        ("https://knot.example/a b", MetadataReason.PATH),
        ("https://knot.example/a%20b", MetadataReason.PATH),
        ("https://knot.example/a'b", MetadataReason.PATH),
        ("https://knot.example/a;id", MetadataReason.PATH),
        ("https://knot.example/$(id)", MetadataReason.PATH),
        ("https://knot.example/a\n", MetadataReason.PATH),
        ("https://knot.example/a\x00", MetadataReason.PATH),
        ("https://knot.example/\u00e4", MetadataReason.PATH),
        ("https://knot.example/a/../b", MetadataReason.PATH),
        ("https://knot.example/./b", MetadataReason.PATH),
    ],
)
def test_addresses_that_are_refused(url, reason) -> None:
    assert refusal({**PUSH, "TANGLED_REPO_URL": url}) == ("TANGLED_REPO_URL", reason)
    assert refusal(LOCAL, local_url=url) == ("--url", reason)


@pytest.mark.parametrize("name", ["TANGLED_SHA", "TANGLED_COMMIT_SHA"])
@pytest.mark.parametrize(
    "sha", [SHA.upper(), SHA[:-1], f"{SHA}0", "main", f"{SHA}\n", f" {SHA}", "g" * 40]
)
def test_commits_that_are_refused(name, sha) -> None:
    assert refusal({**PUSH, name: sha}) == (name, MetadataReason.COMMIT_FORM)


def test_two_names_of_one_commit_agree() -> None:
    wrong = ("TANGLED_COMMIT_SHA", MetadataReason.TWO_COMMITS)
    assert refusal({**PUSH, "TANGLED_COMMIT_SHA": "f" * 40}) == wrong


def test_the_commit_is_the_one_that_is_checked_out() -> None:
    with pytest.raises(MetadataError) as caught:
        check_trigger(trigger_of(PUSH), "f" * 40)
    assert caught.value.variable == "TANGLED_SHA"
    assert caught.value.reason is MetadataReason.OTHER_COMMIT


def test_a_pull_request_is_refused() -> None:
    environ = {**PUSH, "TANGLED_PIPELINE_KIND": "pull_request"}
    assert refusal(environ) == ("TANGLED_PIPELINE_KIND", MetadataReason.PULL_REQUEST)


@pytest.mark.parametrize("kind", ["Push", "push ", "schedule", "pull-request", "push\n"])
def test_other_kinds_are_refused(kind) -> None:
    environ = {**PUSH, "TANGLED_PIPELINE_KIND": kind}
    assert refusal(environ) == ("TANGLED_PIPELINE_KIND", MetadataReason.KIND)


def test_what_must_be_set() -> None:
    def without(name):
        return {key: value for key, value in PUSH.items() if key != name}

    missing = MetadataReason.MISSING
    assert refusal(without("TANGLED_REPO_URL")) == ("TANGLED_REPO_URL", missing)
    assert refusal(without("LETTA_AGENT_ID")) == ("LETTA_AGENT_ID", missing)
    assert refusal({**PUSH, "LETTA_AGENT_ID": ""}) == ("LETTA_AGENT_ID", missing)
    # A pipeline that does not say its kind is not a local run.
    assert refusal(without("TANGLED_PIPELINE_KIND")) == ("TANGLED_PIPELINE_KIND", missing)
    assert refusal(LOCAL) == ("TANGLED_REPO_URL or --url", missing)


@pytest.mark.parametrize("agent", ["x", "agent-", "Agent-1", "agent-1 ", "agent-a/b", "agent-\n"])
def test_agents_that_are_refused(agent) -> None:
    environ = {**PUSH, "LETTA_AGENT_ID": agent}
    assert refusal(environ) == ("LETTA_AGENT_ID", MetadataReason.AGENT_FORM)


@pytest.mark.parametrize("name", ["LETTA_MODEL", "TANGLED_PIPELINE_ID"])
@pytest.mark.parametrize("value", ["a b", "a\nb", "\u00e4", "x" * 513, "\x1b[31m"])
def test_plain_texts_that_are_refused(name, value) -> None:
    assert refusal({**PUSH, name: value}) == (name, MetadataReason.FORM)


def test_a_pipeline_names_its_own_repository() -> None:
    assert refusal(PUSH, local_url=URL) == ("--url", MetadataReason.LOCAL_ONLY)


def test_no_refusal_shows_a_value() -> None:
    for name in PUSH:
        environ = {**PUSH, name: "secret \x00 value"}
        if name in ("CI", "TANGLED_REF"):
            continue
        with pytest.raises(MetadataError) as caught:
            trigger_of(environ)
        assert "secret" not in f"{caught.value}{caught.value!r}{caught.value.hint}"
        assert re.match(rf"{name}: .+", str(caught.value))


def test_every_rule_has_words() -> None:
    for reason in MetadataReason:
        assert str(MetadataError("X", reason)) == f"X: {MetadataError('X', reason).rule}"
