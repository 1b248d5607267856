from __future__ import annotations

import os
import time

import pytest

from support import user

ONE_PATH = ["page", "show", "follow"]


def texts(result):
    return [part["text"] for turn in result.json[0]["turns"] for part in turn["parts"]]


def test_a_file_a_folder_and_a_place_in_the_store(cli, make):
    folder = make.conversation(cli.root, "agent-1", "default", user("stored"))
    for path in (folder / "transcript.jsonl", folder, f"{folder}/", "agent-1/default"):
        result = cli("page", path)
        assert (result.status, texts(result)) == (0, ["stored"])


def test_the_store_moves_with_its_variable(cli, make, tmp_path):
    make.conversation(tmp_path / "other", "a", "c", user("moved"))
    result = cli("page", "a/c", env={"LETTA_TRANSCRIPT_ROOT": f" {tmp_path}/other "})
    assert texts(result) == ["moved"]


def test_an_existing_path_wins_over_the_store(cli, make, tmp_path):
    make.conversation(cli.root, "a", "c", user("stored"))
    make.conversation(tmp_path, "a", "c", user("here"))
    assert texts(cli("page", "a/c")) == ["here"]
    assert texts(cli("page", cli.root / "a" / "c")) == ["stored"]


def test_an_existing_path_wins_even_when_it_cannot_be_read(cli, make, tmp_path):
    make.conversation(cli.root, "a", "c", user("stored"))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c").symlink_to("leads-nowhere")
    result = cli("check", "--json", "a/c")
    assert result.json[0]["error"] == {"reason": "symlink"}


def test_a_folder_without_a_transcript_is_missing(cli, tmp_path, complaint):
    (tmp_path / "folder").mkdir()
    result = cli("page", "folder")
    assert (result.status, result.out) == (3, b"")
    complaint(result.err, "^folder/transcript.jsonl: missing$")


def test_missing_in_the_store_says_where_it_looked(cli, complaint):
    result = cli("page", "agent-9/default")
    assert (result.status, result.out) == (3, b"")
    complaint(result.err, "^agent-9/default: missing$", str(cli.root))


def test_other_forms_are_no_place_in_the_store(cli, make):
    make.conversation(cli.root, "a", "b", user())
    verdicts = cli("check", "--json", "./a", "../a", "a/..", "a/", "/a", "a/b/c", "a", "").json
    assert {verdict["state"] for verdict in verdicts} <= {"missing", "unreadable"}


def test_a_store_without_an_absolute_root_is_explained(cli, complaint):
    result = cli("page", "a/c", env={"LETTA_TRANSCRIPT_ROOT": "relative"})
    assert result.status == 3
    complaint(result.err, "^a/c: missing$", "relative")


@pytest.mark.parametrize("command", ["check", *ONE_PATH, "content"])
def test_standard_input_is_refused_with_a_reason(cli, complaint, command):
    more = ["ref"] if command == "content" else []
    result = cli(command, "-", *more)
    assert (result.status, result.out) == (2, b"")
    complaint(result.err, "`-` is refused: .*standard input", "--help")


def test_standard_input_among_other_paths_stops_check_at_once(cli, make):
    assert cli("check", make.file(user()), "-").out == b""


@pytest.mark.parametrize("command", ONE_PATH)
def test_what_is_no_regular_file_is_refused_at_once(cli, tmp_path, complaint, command):
    os.mkfifo(tmp_path / "fifo")
    began = time.monotonic()
    result = cli(command, "fifo")
    assert time.monotonic() - began < 5
    assert (result.status, result.out) == (3, b"")
    complaint(result.err, "^fifo: not regular$")


@pytest.mark.parametrize("command", ONE_PATH)
def test_a_refused_transcript_ends_with_1(cli, make, complaint, command):
    result = cli(command, make.file(b'{"kind":"user"}\n'))
    assert (result.status, result.out) == (1, b"")
    complaint(result.err, r'transcript.jsonl:1: missing field "text" at byte 14$', "leniently")


def test_a_file_name_that_is_no_utf_8(cli, make, tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9\xff"
    with open(name, "wb") as file:
        file.write(user())
    (verdict,) = cli("check", "--json", name).json
    assert verdict["state"] == "ok"
    assert verdict["path"].endswith(r"/caf\xe9\xff")
    assert cli("check", name).text.startswith(f"{tmp_path}/caf\\xe9\\xff: ok: ")
    assert "nothing\\xff: missing" in cli("page", b"nothing\xff").err


def test_a_file_name_cannot_steer_the_terminal(cli, make):
    name = "a\x1b[2J\n\u202eb"
    make.file(user(), name=name)
    assert cli("check", name).text.startswith(r"a\x1b[2J\n\u202eb: ok: ")
    error = cli("page", f"{name}-gone").err
    assert error.startswith(r"a\x1b[2J\n\u202eb-gone: missing")
    assert cli("check", "--json", name).json[0]["path"] == name


@pytest.mark.parametrize("utf8", ["0", "1"])
def test_the_locale_changes_nothing_about_names(cli, make, utf8):
    make.file(user("caf\u00e9 \u05d0"), name="\u00e9\u05d0.jsonl")
    env = {"LC_ALL": "C", "PYTHONUTF8": utf8}
    assert cli("check", "--json", "\u00e9\u05d0.jsonl".encode(), env=env).json[0]["path"] == (
        "\u00e9\u05d0.jsonl"
    )
