"""Rules on what the agent said in the end, and on what is stored of the conversation."""

from __future__ import annotations

from collections.abc import Iterator

from .history import History, HistoryError, history_of_app_server, history_of_cloud
from .judgement import Check, Verdict, Wrong, rule
from .log import Log
from .plan import Plan
from .replay import Replay, payload_of
from .strict_json import canonical, parse_object

_LAST_TURN = 2


def final_text_of(run: Replay) -> str | None:
    """All text of the second turn after the last result; None where there is none."""
    done = [call.done.seq for call in run.session.calls.values() if call.done is not None]
    after = max(done, default=0)
    rows = [
        row for row in run.session.texts if row.first.turn == _LAST_TURN and row.last.seq > after
    ]
    return "".join(row.text for row in rows) if rows else None


def final_text(run: Replay, plan: Plan) -> Check:
    """B11: a summary of the evidence, and never evidence itself."""
    said = final_text_of(run)
    wrong: list[Wrong] = []
    if said is None:
        wrong.append((Verdict.INCOMPLETE, "the agent said nothing after the last call"))
    elif said != plan.final_text:
        wrong.append((Verdict.FAIL, repr(said)))
    return rule("final_text", "the agent's last words are exactly the four lines", wrong)


def stored(log: Log, run: Replay) -> Check:
    """B9: the stored history holds the same calls, and no other message of a user."""
    wrong: list[Wrong]
    try:
        if log.one("begin").get("session") == "cloud":
            history = history_of_cloud(log, run.session)
        else:
            history = history_of_app_server(run)
    except HistoryError as error:
        wrong = [(Verdict.INCOMPLETE, str(error))]
    else:
        wrong = [
            *_other_calls(history, run),
            *_other_users(history, run),
            *_other_words(history, run),
        ]
    return rule(
        "stored", "the stored conversation holds the same calls and our messages alone", wrong
    )


def _other_calls(history: History, run: Replay) -> Iterator[Wrong]:
    calls = run.session.calls
    for call_id in history.calls.keys() - calls.keys():
        yield Verdict.POLICY, f"a stored call was not streamed: {call_id}"
    for call_id in history.returns.keys() - history.calls.keys():
        yield Verdict.INCOMPLETE, f"a stored result has no call: {call_id}"
    for call in calls.values():
        part, result = history.calls.get(call.call_id), history.returns.get(call.call_id)
        if part is None or result is None:
            yield Verdict.INCOMPLETE, f"a call or its result is not stored: {call.call_id}"
            continue
        try:
            arguments = canonical(parse_object(part.arguments or ""))
        except ValueError:
            arguments = b""
        if part.name != call.name or arguments != canonical(call.arguments):
            yield Verdict.FAIL, f"another call is stored: {call.call_id}"
        if call.final is None:
            continue  # P11 has said it
        # The App Server's store calls a failed command a success; its text says that it failed.
        if result.text != call.final.text or (
            result.status != call.final.status
            and (result.status, call.final.status) != ("success", "error")
        ):
            yield Verdict.FAIL, f"another result is stored: {call.call_id}"


def _other_users(history: History, run: Replay) -> Iterator[Wrong]:
    """The harness puts reminders before a message, as parts or text of their own."""
    sent = [
        (message.get("content"), message.get("client_message_id"))
        for said in run.messages
        for message in _messages(payload_of(said.value).get("messages"))
    ]
    if len(history.users) > len(sent):
        yield Verdict.POLICY, "a stored message of a user that is none of ours"
    if len(history.users) < len(sent):
        yield Verdict.INCOMPLETE, "a message of ours is not stored"
        return
    for (texts, otid), (content, message_id) in zip(history.users, sent, strict=False):
        if not texts or not isinstance(content, str) or not texts[-1].endswith(content):
            yield Verdict.FAIL, "another message is stored than the one that was sent"
        if otid is not None and otid != message_id and run.session.first_seq is not None:
            yield Verdict.FAIL, "a stored message has another id"


def _other_words(history: History, run: Replay) -> Iterator[Wrong]:
    said = final_text_of(run)
    if said is not None and history.last_text != said:
        yield Verdict.FAIL, "other last words are stored"
    ends = [one.when.index for one in run.session.finished]
    if history.asked_at < max(ends, default=0):
        yield Verdict.INCOMPLETE, "the history was read before the last turn had ended"


def _messages(value: object) -> list[dict[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
