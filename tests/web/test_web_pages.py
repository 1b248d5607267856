"""Pages from views: what stands on them whatever the routes gather."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lettafast.web import pages
from lettafast.web.assets import FOLDER, static_url
from lettafast.web.views import ConversationView, IndexView, PaneView

OFFER = {
    "home": "/home/<u>",
    "command": "lettafast witness install --home '/home/<u>'",
    "file": "/home/<u>/.letta/mods/lettafast-witness.js",
    "folder": "/home/<u>/.local/state/lettafast/witness",
}
TERMINAL = {
    "provider": "herdr",
    "offer": None,
    "socket": "/run/herdr.sock",
    "session": "herdr-0123456789abcdef",
    "terminal": "dA",
    "href": "/panes/herdr-0123456789abcdef/dA",
    "pane_id": "w1:p1",
    "label": None,
    "title": None,
    "cwd": None,
    "agent": None,
    "agent_status": "unknown",
    "verdict": "terminal",
    "reason": "not_letta",
    "sentence": "No Letta Code is seen in front of this pane.",
    "advice": "Start `letta` in the pane.",
    "evidence": [
        {"proof": "recorded", "rule": "report", "held": False, "saw": "<none>", "sentence": "No."}
    ],
    "checked_at": 1.8e9,
}


def index(**more: Any) -> str:
    given: dict[str, Any] = {"panes": [], "unreachable": [], "conversations": []}
    given |= {"note": None, "offers": []}
    return pages.index_page(IndexView(**{**given, "root": "/home/u/.letta/transcripts", **more}))


def conversation(**more: Any) -> ConversationView:
    given: dict[str, Any] = {
        "agent": "a", "conversation": "c", "title": "t", "mode": "strict", "state": "ok",
        "page": None, "problem": None, "diagnostics": (), "api": "/api/conversations/a/c",
        "turns": "/conversations/a/c/turns", "here": "/conversations/a/c",
        "watch": "conversation:a/c", "end": None, "at_end": True,
    }  # fmt: skip
    return ConversationView(**{**given, **more})


def pane(**more: Any) -> str:
    given: dict[str, Any] = {"pane": TERMINAL, "conversation": None, "scrollback": "$ ls\n"}
    where = {"session": "s", "terminal": "t", "api": "/a", "here": "/h", "turns": "/h/turns"}
    return pages.pane_page(PaneView(**{**given, **where, "watch": "pane:s/t", **more}))


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_an_empty_store_says_what_to_do() -> None:
    shown = text_of(index())
    assert "No conversation yet" in shown
    assert "/home/u/.letta/transcripts" in shown


def test_the_start_page_names_what_it_could_not_ask() -> None:
    gone = {"session": "x", "socket": "/run/<x>.sock", "reason": "timeout", "saw": "no answer"}
    away = [{"provider": provider, **gone} for provider in ("herdr", "tmux")]
    shown = text_of(index(unreachable=away, note="This is a recording.", panes=[TERMINAL]))
    assert "A herdr session could not be asked /run/&lt;x&gt;.sock no answer" in shown
    assert "A tmux server could not be asked /run/&lt;x&gt;.sock no answer" in shown
    assert "This is a recording." in shown
    assert "w1:p1 Terminal herdr w1:p1" in shown
    assert "No Letta Code is seen" in shown


def test_a_folder_that_cannot_be_looked_into_has_no_link() -> None:
    found = {"agent": "secret", "conversation": "", "title": "", "state": "unreadable"}
    html = index(conversations=[{**found, "size": None, "mtime": None, "href": None}])
    assert "Unreadable" in html
    assert 'class="row"' in html
    assert "<a href=" not in html.split('class="row"')[1]


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (99_949, "99.9 kB"), (999_999, "1.0 MB"),
     (500_000_000, "500 MB"), (4_000_000_000_000, "4000 GB")],
)  # fmt: skip
def test_sizes_are_for_people(size: int, shown: str) -> None:
    found = {"agent": "a", "conversation": "c", "title": "t", "state": "present", "href": "/x"}
    html = index(conversations=[{**found, "size": size, "mtime": 1e18}])
    assert f"<span>{shown}</span>" in html


def test_a_terminal_says_why_and_what_to_do() -> None:
    shown = text_of(pane())
    assert "Terminal No Letta Code is seen in front of this pane." in shown
    assert "Start letta in the pane." in shown
    assert "fails report No. &lt;none&gt;" in shown
    assert "$ ls" in shown
    assert "could not be read" in text_of(pane(scrollback=None))
    assert "The terminal is empty" in text_of(pane(scrollback="\n \n"))


def test_an_unreadable_transcript_says_so() -> None:
    problem = {"title": "x", "detail": "permission <denied>", "hint": "check it"}
    shown = text_of(pages.conversation_page(conversation(state="unreadable", problem=problem)))
    assert "could not be read permission &lt;denied&gt; check it" in shown


def test_a_problem_is_a_page() -> None:
    shown = text_of(pages.problem_page({"status": 401, "title": "No <token>", "detail": "d"}))
    assert "401 · No &lt;token&gt; d" in shown
    assert "Problem" in text_of(pages.problem_page({}))


def test_a_fragment_says_where_it_lies() -> None:
    page = {
        "state": "ok", "history_id": "v1-0", "cursor": "v1-0:5", "older": "v1-0:5", "turns": [],
        "starts_mid_turn": True, "ends_mid_turn": False, "replaced_surrogates": 0,
        "diagnostics_total": None,
    }  # fmt: skip
    html = pages.turns_fragment(conversation(page=page, end="v1-0:9", at_end=False))
    for said in (
        'data-history="v1-0"', 'data-older="v1-0:5"', 'data-cursor="v1-0:5"', 'data-end="v1-0:9"',
        'data-at-end="no"', 'data-starts-mid-turn="yes"', 'data-ends-mid-turn="no"',
    ):  # fmt: skip
        assert said in html
    assert "<html" not in html


def test_no_page_holds_a_script_or_a_style_of_its_own() -> None:
    for html in (index(panes=[TERMINAL]), pane(), pages.problem_page({})):
        assert re.findall(r"<script[^>]*>(.*?)</script>", html) == [""]
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", html)


def test_the_address_of_a_file_changes_with_its_bytes() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert {"app.js", "style.css", "icon.svg"} <= names
    assert len({static_url(name) for name in names}) == len(names)
    assert re.fullmatch(r"/static/app\.js\?v=[0-9a-f]{16}", static_url("app.js"))


def test_the_offer_says_exactly_what_it_does() -> None:
    """The command, the file, the folder, what undoes it; once for the lettas of one home."""
    command = "lettafast witness install --home &#39;/home/&lt;u&gt;&#39;"
    both = [{"offer": OFFER, "lettas": 2}, {"offer": {**OFFER, "command": "x"}, "lettas": 1}]
    for html, heading in (
        (index(offers=both), "2 lettas do not say which conversation they show"),
        (
            pane(pane={**TERMINAL, "offer": OFFER}),
            "This letta does not say which conversation it shows",
        ),
    ):
        shown = text_of(html)
        assert heading in shown
        assert f"<code>{command}</code>" in html
        assert command.replace("install", "uninstall") in shown
        assert "/home/&lt;u&gt;/.letta/mods/lettafast-witness.js" in shown
        assert "/home/&lt;u&gt;/.local/state/lettafast/witness" in shown
        assert "it installs nothing itself" in shown
        assert "/reload" in shown
        assert " action=" not in html
    assert index(offers=both).count('class="command"') == 2
    assert "witness" not in text_of(pane())


def test_a_conversation_without_a_turn() -> None:
    """It is named, and what is shown is the terminal's text."""
    named = {"agent_id": "agent-<1>", "conversation_id": "local-conv-7"}
    waiting = {**TERMINAL, **named, "reason": "transcript_missing"}
    shown = text_of(pane(pane=waiting))
    assert "No completed turn yet" in shown
    assert "the conversation local-conv-7 of agent-&lt;1&gt;" in shown
    assert "Letta writes a turn when it ends" in shown
    assert "$ ls" in shown
    listed = text_of(index(panes=[waiting]))
    assert "No completed turn yet" in listed
    assert "local-conv-7 agent-&lt;1&gt;" in listed


def test_the_evidence_of_two_proofs() -> None:
    """Each is named, and only the rules of the one that holds are counted."""
    found = {"saw": "x", "sentence": "S.", "reason": None}
    evidence = [
        {"proof": "recorded", "rule": "report", "held": False, **found},
        {"proof": "witnessed", "rule": "process", "held": True, **found},
        {"proof": "witnessed", "rule": "witness", "held": True, **found},
    ]
    bound = {**TERMINAL, "verdict": "bound", "proof": "witnessed", "evidence": evidence}
    named = {"agent_id": "a", "conversation_id": "c"}
    shown = text_of(pane(pane={**bound, **named}, conversation=conversation()))
    assert "the letta itself says so, and 2 rules held" in shown
    assert "What herdr&#39;s report and the folder&#39;s record say fails report" in shown
    assert "What the letta itself says holds process" in shown
    assert shown.index("What the letta itself says") < shown.index("What herdr&#39;s report")
