from __future__ import annotations

import json

import pytest

import lettafast
from support import assistant, tool, user


def test_the_bytes_of_page_json_and_an_lf(cli, make):
    lines = [user("caf\u00e9 \u2028\x7f"), assistant("\x00\x1b[0m"), tool()]
    path = make.file(*lines, b"tail")
    with lettafast.open_transcript(path) as transcript:
        expected = transcript.page_json()
    result = cli("page", path)
    assert (result.status, result.err) == (0, "")
    assert result.out == expected + b"\n"


def test_the_same_bytes_on_a_terminal_and_in_the_c_locale(cli, make):
    path = make.file(user("caf\u00e9 \u05d0"))
    plain = cli("page", path).out
    assert cli("page", path, env={"LC_ALL": "C", "PYTHONUTF8": "0"}).out == plain
    assert cli.on_terminal("page", path).out == plain


def test_pages_joined_hold_every_entry_once(cli, make):
    path = make.file(*(user(str(number)) for number in range(7)))
    texts, cursor = [], None
    while True:
        before = [] if cursor is None else ["--before", cursor]
        (page,) = cli("page", path, "--limit", "3", *before).json
        texts[:0] = [turn["parts"][0]["text"] for turn in page["turns"]]
        cursor = page["older"]
        if cursor is None:
            break
    assert texts == [str(number) for number in range(7)]


def test_before_gives_the_bytes_of_the_library(cli, make):
    path = make.file(user("1"), user("2"), user("3"))
    with lettafast.open_transcript(path) as transcript:
        cursor = transcript.page(limit=1).older
        expected = transcript.page_json(cursor, 1)
    assert cli("page", "--before", cursor, "--limit=1", path).out == expected + b"\n"


def test_an_empty_transcript_is_a_page(cli, make):
    result = cli("page", make.file())
    assert (result.status, result.json[0]["state"]) == (0, "empty")


@pytest.mark.parametrize("cursor", ["", "v1-0123456789abcdef:01", b"\xff"])
def test_a_cursor_of_another_form_is_a_usage_error(cli, make, cursor):
    result = cli("page", make.file(user()), "--before", cursor)
    assert (result.status, result.out) == (2, b"")
    assert result.err.startswith("not a cursor")


def test_a_cursor_into_a_line_is_a_usage_error(cli, make):
    path = make.file(user())
    history = json.loads(cli("page", path).out)["history_id"]
    assert cli("page", path, "--before", f"{history}:5").status == 2


@pytest.mark.parametrize("where", ["v1-0123456789abcdef:0", "beyond"])
def test_a_cursor_of_another_history_is_the_answer_no(cli, make, complaint, where):
    path = make.file(user())
    if where == "beyond":
        where = f"{json.loads(cli('page', path).out)['history_id']}:100000"
    result = cli("page", path, "--before", where)
    assert (result.status, result.out) == (1, b"")
    complaint(result.err, "history changed", "newest page")


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "1_0", "\u0663"])
def test_a_bad_limit_is_a_usage_error(cli, make, limit):
    result = cli("page", make.file(user()), f"--limit={limit}")
    assert (result.status, result.out) == (2, b"")
    assert result.err


def test_lenient_reads_what_strict_refuses(cli, make):
    path = make.file(user(), b"x\n", assistant())
    assert cli("page", path).status == 1
    (page,) = cli("page", path, "--lenient").json
    assert (page["diagnostics_total"], len(page["turns"])) == (1, 2)
