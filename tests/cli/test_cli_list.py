from __future__ import annotations

import os

from support import user

MEMBERS = ["agent", "conversation", "state", "size", "mtime", "reason"]


def store(make, root, tmp_path):
    one = make.conversation(root, "agent-1", "default", user())
    make.conversation(root, "agent-1", "local-conv-2")
    (root / "agent-1" / "local-conv-3").mkdir()
    linked = make.conversation(root, "agent-2", "default")
    (linked / "transcript.jsonl").unlink()
    (linked / "transcript.jsonl").symlink_to(one / "transcript.jsonl")
    os.utime(one / "transcript.jsonl", (1_800_000_000, 1_800_000_000.25))
    os.utime(root / "agent-1" / "local-conv-2" / "transcript.jsonl", (0, 0))
    return len(user())


def test_a_table_for_people(cli, make, tmp_path):
    size = store(make, cli.root, tmp_path)
    result = cli("list")
    assert (result.status, result.err) == (0, "")
    assert result.text.split("\n") == [
        "AGENT    CONVERSATION  STATE                 SIZE  MODIFIED",
        f"agent-1  default       present               {size} B  2027-01-15 08:00",
        "agent-1  local-conv-2  empty                  0 B  1970-01-01 00:00",
        "agent-1  local-conv-3  missing                  -  -",
        "agent-2  default       unreadable (symlink)     -  -",
        "",
    ]


def test_json_is_an_object_a_line(cli, make, tmp_path):
    size = store(make, cli.root, tmp_path)
    result = cli("list", "--json")
    assert (result.status, result.err) == (0, "")
    assert all(list(found) == MEMBERS for found in result.json)
    assert [tuple(found.values()) for found in result.json] == [
        ("agent-1", "default", "present", size, 1_800_000_000.25, None),
        ("agent-1", "local-conv-2", "empty", 0, 0, None),
        ("agent-1", "local-conv-3", "missing", None, None, "missing"),
        ("agent-2", "default", "unreadable", None, None, "symlink"),
    ]


def test_another_root(cli, make, tmp_path):
    make.conversation(tmp_path / "elsewhere", "a", "c", user())
    for root in ("elsewhere", tmp_path / "elsewhere"):
        (found,) = cli("list", "--root", root, "--json").json
        assert (found["agent"], found["conversation"]) == ("a", "c")
    moved = {"LETTA_TRANSCRIPT_ROOT": str(tmp_path / "elsewhere")}
    assert len(cli("list", "--json", env=moved).json) == 1


def test_a_root_that_is_missing_or_no_folder(cli, make, complaint):
    for command in (["list"], ["list", "--json"], ["list", "--root", "nowhere"]):
        result = cli(*command)
        assert (result.status, result.out) == (3, b"")
        complaint(result.err, ": missing$")
    make.file(name="file")
    complaint(cli("list", "--root", "file").err, "^file: not regular$")
    relative = cli("list", env={"LETTA_TRANSCRIPT_ROOT": "relative"})
    assert relative.status == 3
    complaint(relative.err, "relative: bad name")


def test_an_empty_store_says_so_on_standard_error(cli, tmp_path):
    (tmp_path / "root").mkdir()
    assert cli("list", "--root", "root") == (0, b"", "no conversation is beneath root\n")
    assert cli("list", "--root", "root", "--json") == (0, b"", "")


def test_names_that_are_no_utf_8_or_would_steer_a_terminal(cli, make, tmp_path):
    make.conversation(tmp_path / "root", os.fsdecode(b"a\xff"), "c\x1b[2J", user())
    assert r"a\xff  c\x1b[2J      present" in cli("list", "--root", "root").text
    (found,) = cli("list", "--root", "root", "--json").json
    assert (found["agent"], found["conversation"]) == (r"a\xff", "c\x1b[2J")
    in_c = {"LC_ALL": "C", "PYTHONUTF8": "0"}
    assert cli("list", "--root", "root", "--json", env=in_c).json == [found]


def test_a_clock_that_says_anything(cli, make, tmp_path):
    folder = make.conversation(tmp_path / "root", "a", "c", user())
    os.utime(folder / "transcript.jsonl", (2**33, 2**33))
    assert "2242-03-16" in cli("list", "--root", "root").text
    os.utime(folder / "transcript.jsonl", (-(2**31), -(2**31)))
    assert "1901-12-13" in cli("list", "--root", "root").text
