"""Rules on the run itself: it is the one expected, and the runner said what the plan gives."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator
from typing import Any

from .judgement import MODES, Check, Expectation, Verdict, Wrong, rule
from .log import Log, Said
from .plan import KINDS, Plan, challenge_message, opening_message
from .replay import Replay
from .strict_json import same, strings_in

SESSIONS = ("cloud", "app-server")

_ONCE = ("begin", "challenge", "conversation", "end")
_FAILED = ("bad_frame", "deadline", "error")
_GONE = 404


def whole(log: Log) -> Check:
    """The log has a beginning, an end and nothing that failed in between."""
    return rule(
        "whole",
        "the log holds a whole run, in which nothing failed",
        _not_whole(log),
        f"{log.size} frames",
    )


def as_expected(log: Log, expectation: Expectation) -> Check:
    """The run looked at what the caller expects."""
    begin = log.one("begin")
    state = expectation.state
    expected: dict[str, Any] = {
        "version": 1,
        "agent_id": expectation.agent_id,
        "url": expectation.url,
        "commit": state.commit,
        "tree": state.tree,
        "names": list(state.names),
    }
    for name in ("kind", "profile", "session"):
        if getattr(expectation, name) is not None:
            expected[name] = getattr(expectation, name)
    wrong: list[Wrong] = [
        (Verdict.FAIL, f"another {name}")
        for name in expected
        if not same(begin.get(name), expected[name])
    ]
    for name, known in (("kind", KINDS), ("profile", tuple(MODES)), ("session", SESSIONS)):
        if begin.get(name) not in known:
            wrong.append((Verdict.FAIL, f"an unknown {name}"))
    if not begin:
        wrong = [(Verdict.INCOMPLETE, "the run does not say what it looked for")]
    return rule(
        "expected", "the run looked for the commit that is expected, with that agent", wrong
    )


def conversation(log: Log, run: Replay) -> Check:
    """The conversation is a new one of that agent, in the mode of the profile."""
    return rule(
        "conversation",
        "the session runs in a new conversation of that agent, in the mode of the profile",
        _not_new(log, run),
        run.session.conversation_id,
    )


def messages(run: Replay, plan: Plan, challenged: Plan | None) -> Check:
    """The agent was asked for what the plan says."""
    return rule(
        "messages",
        "the agent was sent the two messages of the plan, and no other",
        _other_messages(run, plan, challenged),
        f"{len(run.messages)} messages",
    )


def runner(log: Log, run: Replay) -> Check:
    """The runner sent nothing beyond its messages, its decisions and what reads state."""
    return rule(
        "runner",
        "the runner sent nothing that the plan and the gate do not give",
        [*_other_commands(log, run), *_other_answers(run)],
        f"{len(run.answers)} decisions",
    )


def challenge(log: Log, run: Replay) -> Check:
    """The challenge was revealed after the first turn, by the second message."""
    return rule(
        "challenge",
        "the challenge was not known before the second message",
        _early(log, run),
    )


def terminated(log: Log, run: Replay) -> Check:
    """The sandbox was new, is ended, and every socket lasted until then."""
    return rule(
        "terminated",
        "the sandbox was made for this run and its termination is acknowledged"
        if log.one("begin").get("session") == "cloud"
        else "the connection lasted until the history was read (there is no sandbox to end)",
        [*_not_terminated(log, run), *_closed_early(log, run)],
    )


def _not_whole(log: Log) -> Iterator[Wrong]:
    for sentence in log.unreadable:
        yield Verdict.INCOMPLETE, sentence
    for name in _ONCE:
        count = len(log.noted(name))
        if count != 1:
            yield Verdict.INCOMPLETE, f"{count} notes `{name}`"
    for name in _FAILED:
        for note in log.noted(name):
            detail = note.value.get(
                "message", note.value.get("waiting_for", note.value.get("reason"))
            )
            yield Verdict.INCOMPLETE, f"{name}: {detail}"
    ends = [note.index for note in (*log.noted("begin"), *log.noted("end"))]
    if ends != [0, log.size - 1]:
        yield Verdict.INCOMPLETE, "the log does not begin with its begin and end with its end"
    duration = log.one("end").get("duration_ms")
    if type(duration) is not int or duration < 0:
        yield Verdict.INCOMPLETE, "the run does not say how long it took"


def _not_new(log: Log, run: Replay) -> Iterator[Wrong]:
    session, begin = run.session, log.one("begin")
    if log.one("conversation").get("conversation_id") != session.conversation_id:
        yield Verdict.INCOMPLETE, "the run does not name its conversation"
    model = begin.get("model")
    if begin.get("session") == "cloud":
        which: dict[str, Any] = {"conversation_id": session.conversation_id}
        yield from _not_created(log, session.agent_id, session.conversation_id, model)
    else:
        body = {} if model is None else {"model": model}
        which = {"create_conversation": {"body": body}}
    starts = [said for said in run.commands if said.value.get("type") == "runtime_start"]
    if len(starts) != 1:
        yield Verdict.INCOMPLETE, f"the session was started {len(starts)} times"
        return
    expected = {
        "type": "runtime_start",
        "client_info": {"name": "lettafast"},
        "agent_id": session.agent_id,
        **which,
        "recover_approvals": False,
        "force_device_status": True,
        "mode": MODES.get(str(begin.get("profile"))),
        "skill_sources": [],
    }
    if not _is_command(starts[0].value, expected):
        yield Verdict.FAIL, "the session was started in another way"
    answer = _answer(run, starts[0])
    if not answer:
        yield Verdict.INCOMPLETE, "the start of the session was not answered"
        return
    created = answer.get("created")
    if answer.get("type") != "runtime_start_response" or answer.get("success") is not True:
        yield Verdict.INCOMPLETE, "the session did not start"
    if answer.get("runtime") != _runtime(run):
        yield Verdict.FAIL, "the session started for another agent or conversation"
    if "create_conversation" in which and not (
        isinstance(created, dict) and created.get("conversation") is True
    ):
        yield Verdict.FAIL, "the conversation is not a new one"


def _not_created(log: Log, agent: str, conversation_id: str, model: Any) -> Iterator[Wrong]:
    path = f"POST /v1/conversations/?agent_id={_part(agent)}"
    body = {} if model is None else {"model": model}
    asked = [said for said in log.asked if said.value.get("request") == path]
    answers = _ok(log, path)
    if len(asked) != 1 or len(answers) != 1:
        yield Verdict.INCOMPLETE, "the conversation was not created, or not once"
        return
    if not same(asked[0].value.get("body"), body):
        yield Verdict.FAIL, "another conversation was asked for"
    made = answers[0].value.get("body")
    if not isinstance(made, dict) or made.get("id") != conversation_id:
        yield Verdict.FAIL, "another conversation was created"
    elif made.get("agent_id", agent) != agent:
        yield Verdict.FAIL, "the conversation is another agent's"


def _other_messages(run: Replay, plan: Plan, challenged: Plan | None) -> Iterator[Wrong]:
    texts = [opening_message(plan)]
    if challenged is not None:
        texts.append(challenge_message(challenged))
    if len(run.messages) > len(texts):
        yield Verdict.FAIL, "more messages than those of the plan"
    if len(run.messages) < len(texts) or challenged is None:
        yield Verdict.INCOMPLETE, "not all messages of the plan"
    ids = run.client_message_ids
    if len(set(ids)) != len(ids):
        yield Verdict.FAIL, "two messages with one id"
    # Missing ids fail below, where the whole command is compared.
    for number, (said, text) in enumerate(zip(run.messages, texts, strict=False)):
        message = {
            "role": "user",
            "content": text,
            "client_message_id": ids[number] if number < len(ids) else None,
        }
        expected = {
            "type": "input",
            "runtime": _runtime(run),
            "payload": {
                "kind": "create_message",
                "messages": [message],
                "exclude_interactive_tools": True,
                "client_tool_allowlist": ["Bash"],
            },
        }
        if not _is_command(said.value, expected):
            yield Verdict.FAIL, f"message {number + 1} is another one"
        answer = _answer(run, said)
        if answer.get("type") != "input_accepted" or answer.get("accepted") is not True:
            yield Verdict.INCOMPLETE, f"message {number + 1} was not accepted"
        elif answer.get("runtime") != _runtime(run):
            yield Verdict.FAIL, f"message {number + 1} was accepted for another conversation"


def _other_commands(log: Log, run: Replay) -> Iterator[Wrong]:
    ids = [said.value.get("request_id") for said in (*run.commands, *run.messages)]
    if any(not isinstance(one, str) for one in ids) or len({str(one) for one in ids}) != len(ids):
        yield Verdict.FAIL, "two commands with one id, or one without"
    sync = {
        "type": "sync",
        "runtime": _runtime(run),
        "recover_approvals": False,
        "force_device_status": True,
    }
    for said in run.commands:
        kind = said.value.get("type")
        if kind == "sync":
            if not _is_command(said.value, sync):
                yield Verdict.FAIL, "another synchronization than the plan's"
        elif kind == "conversation_messages_list":
            if log.one("begin").get("session") != "app-server":
                yield Verdict.FAIL, "the history was read over the session itself"
            if said.value.keys() != {"type", "request_id", "conversation_id", "query"}:
                yield Verdict.FAIL, "another request for the history"
        elif kind != "runtime_start":
            yield Verdict.FAIL, f"a command that the runner never sends: {kind!r}"


def _other_answers(run: Replay) -> Iterator[Wrong]:
    given: set[str] = set()
    for said in run.answers:
        payload = said.value["payload"]
        request_id = payload.get("request_id")
        decided = run.decided.get(request_id) if isinstance(request_id, str) else None
        if decided is None or said.index < decided.index or decided.request_id in given:
            yield Verdict.FAIL, "a decision that nobody asked for"
            continue
        given.add(decided.request_id)
        if not same(said.value, decided.answer):
            yield Verdict.FAIL, "a decision that the gate does not give"
    for request_id in run.decided.keys() - given:
        yield Verdict.INCOMPLETE, f"no decision on {request_id!r}"


def _early(log: Log, run: Replay) -> Iterator[Wrong]:
    notes = log.noted("challenge")
    secret = log.one("challenge").get("challenge")
    if not isinstance(secret, str) or not re.fullmatch("[0-9a-f]{32}", secret):
        yield Verdict.INCOMPLETE, "there is no challenge"
        return
    if secret == log.one("begin").get("nonce"):
        yield Verdict.FAIL, "the challenge is the nonce"
    second = [said.index for said in run.messages[1:2]]
    between = [said for _, said in log.all if notes[0].index < said.index < (second or [0])[0]]
    if (
        not second
        or second[0] < notes[0].index
        or any(said.channel == "runner" for said in between)
    ):
        yield Verdict.INCOMPLETE, "the challenge does not stand right before the second message"
    everything = (*(said for _, said in log.all), *log.asked, *log.answered)
    for said in everything:
        if said.index < notes[0].index and any(secret in one for one in strings_in(said.value)):
            yield Verdict.FAIL, "the challenge was there before"
    first = [one.when.index for one in run.session.finished if one.when.turn == 1]
    if not first or first[0] > notes[0].index:
        yield Verdict.INCOMPLETE, "the first turn had not ended"


def _not_terminated(log: Log, run: Replay) -> Iterator[Wrong]:
    if log.one("begin").get("session") != "cloud":
        for unexpected in ("sandbox", "terminated"):
            if log.noted(unexpected):
                yield Verdict.FAIL, f"a note `{unexpected}` of a run without a sandbox"
        return
    sandbox = log.one("sandbox")
    name = sandbox.get("sandbox_id")
    if not isinstance(name, str) or not name:
        yield Verdict.INCOMPLETE, "there is no sandbox, or more than one"
        return
    if sandbox.get("resumed") is not False:
        yield Verdict.FAIL, "the sandbox is not a new one"
    path = f"POST /v1/agents/{_part(run.session.agent_id)}/sandboxes"
    made = [said.value.get("body") for said in _ok(log, path)]
    asked = [said.value.get("body") for said in log.asked if said.value.get("request") == path]
    conversation_id = run.session.conversation_id
    if (
        not same(asked, [{"conversationId": conversation_id}])
        or len(made) != 1
        or not isinstance(made[0], dict)
        or made[0].get("sandboxId") != name
        or made[0].get("deviceId") != sandbox.get("device_id")
        or made[0].get("conversationId", conversation_id) != conversation_id
    ):
        yield Verdict.FAIL, "the sandbox was not created, or another one was"
    elif made[0].get("resumed") is not False:
        yield Verdict.FAIL, "the sandbox is not a new one"
    path = f"POST /v1/sandboxes/{_part(name)}/terminate"
    answers = [
        said.value.get("status") for said in log.answered if said.value.get("request") == path
    ]
    if log.one("terminated").get("acknowledged") is not True or not any(
        type(status) is int and (status // 100 == 2 or status == _GONE)  # noqa: PLR2004 - HTTP's success
        for status in answers
    ):
        yield Verdict.INCOMPLETE, "the termination is not acknowledged"


def _closed_early(log: Log, run: Replay) -> Iterator[Wrong]:
    if log.one("begin").get("session") == "cloud":
        ends = [
            said.index
            for said in log.asked
            if str(said.value.get("request")).endswith("/terminate")
        ]
    else:
        ends = [
            index
            for answer, index in run.session.responses.values()
            if answer.get("type") == "conversation_messages_list_response"
        ]
    for note in log.noted("closed"):
        if not ends or note.index < ends[-1]:
            yield Verdict.INCOMPLETE, f"the {note.value.get('channel')} socket ended early"


def _part(text: str) -> str:
    """One part of a request's path or query."""
    return urllib.parse.quote(text, safe="")


def _ok(log: Log, request: str) -> list[Said]:
    return [
        said
        for said in log.answered
        if said.value.get("request") == request
        and type(said.value.get("status")) is int
        and said.value["status"] // 100 == 2  # noqa: PLR2004 - HTTP's success
    ]


def _runtime(run: Replay) -> dict[str, str]:
    return {"agent_id": run.session.agent_id, "conversation_id": run.session.conversation_id}


def _answer(run: Replay, said: Said) -> dict[str, Any]:
    """The answer to a command, which came after it; empty where there is none."""
    request_id = said.value.get("request_id")
    answer, index = run.session.responses.get(str(request_id), ({}, -1))
    return answer if index > said.index else {}


def _is_command(value: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a command is the expected one but for its id."""
    return same({name: v for name, v in value.items() if name != "request_id"}, expected)
