from __future__ import annotations

import os

import pytest

from support import assistant, reasoning, tool, user

MEMBERS = [
    "path",
    "state",
    "entries",
    "user_entries",
    "turns",
    "kinds",
    "bytes",
    "tail_bytes",
    "replaced_surrogates",
    "refused",
    "error",
    "diagnostics",
    "diagnostics_total",
]
KINDS = ["user", "assistant", "reasoning", "error", "tool_call"]
FAULT = ["reason", "line", "line_offset", "offset", "field", "excerpt"]
NULL_WHEN_UNREAD = MEMBERS[2:9]


def test_ok_has_every_member_in_order(cli, make):
    lines = (user(), reasoning(), tool(), assistant(), user("again"))
    path = make.file(*lines, b'{"kind')
    result = cli("check", "--json", path)
    assert (result.status, result.err) == (0, "")
    (verdict,) = result.json
    assert list(verdict) == MEMBERS
    assert list(verdict["kinds"]) == KINDS
    assert verdict == {
        "path": str(path),
        "state": "ok",
        "entries": 5,
        "user_entries": 2,
        "turns": 3,
        "kinds": {"user": 2, "assistant": 1, "reasoning": 1, "error": 0, "tool_call": 1},
        "bytes": path.stat().st_size,
        "tail_bytes": 6,
        "replaced_surrogates": 0,
        "refused": None,
        "error": None,
        "diagnostics": [],
        "diagnostics_total": 0,
    }


def test_the_json_is_compact_and_one_line(cli, make):
    out = cli("check", "--json", make.file(user())).out
    assert out.startswith(b'{"path":"')
    assert b'","state":"ok","entries":1,"user_entries":1,"turns":1,"kinds":{"user":1,' in out
    assert out.count(b"\n") == 1


def test_replaced_surrogates_are_counted(cli, make):
    line = user("x").replace(b'"x"', b'"\\ud83d"')
    (verdict,) = cli("check", "--json", make.file(line)).json
    assert verdict["replaced_surrogates"] == 1


@pytest.mark.parametrize("tail", [b"", b'{"kind":"us'])
def test_empty_has_counts(cli, make, tail):
    result = cli("check", "--json", make.file(tail))
    (verdict,) = result.json
    assert result.status == 0
    assert list(verdict) == MEMBERS
    assert verdict["state"] == "empty"
    assert (verdict["entries"], verdict["turns"]) == (0, 0)
    assert (verdict["bytes"], verdict["tail_bytes"]) == (len(tail), len(tail))
    assert verdict["kinds"] == dict.fromkeys(KINDS, 0)


def test_refused_says_where_and_counts_nothing(cli, make):
    good = user()
    path = make.file(good, b'{"kind":"user","text":"a","text":"b"}\n')
    result = cli("check", "--json", path)
    (verdict,) = result.json
    assert (result.status, result.err) == (1, "")
    assert list(verdict) == MEMBERS
    assert verdict["state"] == "refused"
    assert list(verdict["refused"]) == FAULT
    assert verdict["refused"] == {
        "reason": "duplicate_key",
        "line": 2,
        "line_offset": len(good),
        "offset": len(good) + 26,
        "field": "text",
        "excerpt": '{"kind":"user","text":"a","text":"b"}',
    }
    assert all(verdict[name] is None for name in NULL_WHEN_UNREAD)
    assert (verdict["error"], verdict["diagnostics"], verdict["diagnostics_total"]) == (None, [], 0)


def test_missing(cli):
    result = cli("check", "--json", "nowhere.jsonl")
    (verdict,) = result.json
    assert result.status == 3
    assert list(verdict) == MEMBERS
    assert (verdict["state"], verdict["error"]) == ("missing", {"reason": "missing"})
    assert all(verdict[name] is None for name in [*NULL_WHEN_UNREAD, "refused"])


def test_unreadable_says_why(cli, make, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(make.file(user()))
    os.mkfifo(tmp_path / "fifo.jsonl")
    result = cli("check", "--json", "link.jsonl", "fifo.jsonl")
    assert result.status == 3
    assert [(v["state"], v["error"]) for v in result.json] == [
        ("unreadable", {"reason": "symlink"}),
        ("unreadable", {"reason": "not_regular"}),
    ]
    for verdict in result.json:
        assert list(verdict) == MEMBERS
        assert all(verdict[name] is None for name in [*NULL_WHEN_UNREAD, "refused"])


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["good", "empty"], 0),
        (["bad", "good"], 1),
        (["gone", "bad", "good"], 3),
        (["good", "bad", "gone"], 3),
    ],
)
def test_the_highest_status_of_all_paths(cli, make, names, status):
    make.file(user(), name="good")
    make.file(name="empty")
    make.file(b"x\n", name="bad")
    result = cli("check", "--json", *names)
    assert result.status == status
    assert [verdict["path"] for verdict in result.json] == names


def test_lenient_lists_a_hundred_diagnostics_and_counts_all(cli, make):
    path = make.file(user(), b"x\n" * 123, assistant(model="m"))
    assert cli("check", "--json", path).status == 1
    result = cli("check", "--lenient", "--json", path)
    (verdict,) = result.json
    assert result.status == 0
    assert list(verdict) == MEMBERS
    assert (verdict["state"], verdict["entries"]) == ("ok", 2)
    assert (len(verdict["diagnostics"]), verdict["diagnostics_total"]) == (100, 124)
    assert list(verdict["diagnostics"][0]) == FAULT
    assert verdict["diagnostics"][0]["reason"] == "not_an_object"
    assert verdict["refused"] is None


def test_the_path_is_as_it_was_given(cli, make):
    make.conversation(cli.root, "agent-1", "default", user())
    make.file(user(), name="here/transcript.jsonl")
    result = cli("check", "--json", "agent-1/default", "here", "./here/../here")
    assert [verdict["path"] for verdict in result.json] == [
        "agent-1/default",
        "here",
        "./here/../here",
    ]
    assert {verdict["state"] for verdict in result.json} == {"ok"}


def test_for_people_a_line_for_each_path(cli, make, complaint):
    make.file(user(), tool(), tool(), b"{", name="good")
    make.file(name="empty")
    make.file(b'{"kind":"user","text":\t"\xff"}\n', name="bad")
    result = cli("check", "good", "empty", "bad", "gone")
    size, tail = (cli.folder / "good").stat().st_size, "1 byte of an unfinished line"
    assert result.text.split("\n") == [
        f"good: ok: {size} bytes, 3 entries (1 user, 2 tool_call), 2 turns, {tail}",
        "empty: empty: 0 bytes",
        "bad: refused: invalid_utf8",
        r'    {"kind":"user","text":\x09"\xff"}',
        "                               ^",
        "gone: missing",
        "",
    ]
    first, second = result.err.split("gone: ")
    complaint(first, r'^bad:1: invalid utf8 "text" at byte 24$', "leniently")
    complaint(f"gone: {second}", "^gone: missing$")


def test_for_people_the_diagnostics_of_a_lenient_reading(cli, make):
    path = make.file(user(), b"x\n" * 101)
    result = cli("check", "--lenient", path)
    assert (result.status, result.err) == (0, "")
    lines = result.text.split("\n")
    assert lines[0].endswith(", 1 turn, 101 diagnostics")
    first = len(user())
    assert lines[1:4] == [f"  line 2: not an object at byte {first}", "    x", "    ^"]
    assert lines[-2:] == ["  and 1 more", ""]


def test_json_keeps_standard_error_quiet(cli):
    assert cli("check", "--json", "gone").err == ""
