from __future__ import annotations

import platform

import lettafast
from support import user


def test_everything_is_told(cli, make):
    folder = make.conversation(cli.root, "a", "ok", user())
    make.conversation(cli.root, "a", "empty")
    (cli.root / "a" / "gone").mkdir()
    (cli.root / "b" / "linked").mkdir(parents=True)
    (cli.root / "b" / "linked" / "transcript.jsonl").symlink_to(folder / "transcript.jsonl")
    result = cli("doctor", "--json")
    assert (result.status, result.err) == (0, "")
    (report,) = result.json
    assert list(report) == ["lettafast", "python", "platform", "backend", "roots", "packages"]
    assert report["lettafast"] == lettafast.__version__
    assert report["python"].endswith(platform.python_version())
    assert report["backend"]["runs"] == lettafast.backend
    assert report["roots"] == [
        {
            "path": str(cli.root),
            "from": "the home folder",
            "error": None,
            "conversations": {"present": 1, "empty": 1, "missing": 1, "unreadable": 1},
            "unreadable": [{"agent": "b", "conversation": "linked", "reason": "symlink"}],
        }
    ]


def test_the_same_for_people(cli, make):
    make.conversation(cli.root, "a", "ok", user())
    (cli.root / "b" / "linked").mkdir(parents=True)
    (cli.root / "b" / "linked" / "transcript.jsonl").symlink_to("x")
    text = cli("doctor").text
    assert text.startswith(f"lettafast {lettafast.__version__}, ")
    assert f"\nbackend: {lettafast.backend} (LETTAFAST_BACKEND is " in text
    assert "\nnative library: " in text
    assert f"\nstore: {cli.root} (from the home folder)\n" in text
    assert "\n  2 conversations: 1 present, 0 empty, 0 missing, 1 unreadable\n" in text
    assert "\n  unreadable: b/linked: symlink\n" in text


def test_pure_is_told_as_it_was_asked_for(cli):
    (report,) = cli("doctor", "--json", env={"LETTAFAST_BACKEND": "pure"}).json
    assert (report["backend"]["runs"], report["backend"]["asked"]) == ("pure", "pure")
    assert report["backend"]["error"] is None


def test_a_root_that_cannot_be_read_is_told(cli, make, tmp_path):
    (report,) = cli("doctor", "--json").json
    assert report["roots"][0]["error"]["reason"] == "missing"
    assert f"store: {cli.root} (from the home folder): missing\n" in cli("doctor").text
    relative = {"LETTA_TRANSCRIPT_ROOT": "relative"}
    (report,) = cli("doctor", "--json", env=relative).json
    (root,) = report["roots"]
    assert (root["path"], root["from"]) == (None, "LETTA_TRANSCRIPT_ROOT")
    assert root["error"]["reason"] == "bad_name"
    assert "store: no absolute path (from LETTA_TRANSCRIPT_ROOT): bad name\n" in (
        cli("doctor", env=relative).text
    )


def test_a_backend_that_cannot_run_ends_with_2_and_says_why(cli):
    env = {"LETTAFAST_BACKEND": "quick"}
    result = cli("doctor", "--json", env=env)
    (report,) = result.json
    assert result.status == 2
    assert report["backend"]["runs"] is None
    assert "`quick`" in report["backend"]["error"]
    assert "backend: none (LETTAFAST_BACKEND is quick): " in cli("doctor", env=env).text
