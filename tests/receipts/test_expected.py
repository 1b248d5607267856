"""The expected state: real git, real repositories, and what must not steer either."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from checkouts import Checkout
from lettafast.errors import ExpectedReason, ExpectedStateError
from lettafast.receipts import git as git_module
from lettafast.receipts.expected import expected_state


@pytest.fixture
def checkout(tmp_path):
    made = Checkout(tmp_path / "repo")
    made.commit("README.md", "src/a.txt", "src.txt", ".gitignore")
    return made


def refusal(folder, commit="HEAD"):
    with pytest.raises(ExpectedStateError) as caught:
        expected_state(str(folder), commit)
    assert caught.value.exit_code == 2
    return caught.value


def test_a_clean_checkout(checkout) -> None:
    state = expected_state(str(checkout))
    assert state.commit == checkout.head
    assert state.tree == checkout.git("rev-parse", "HEAD^{tree}").strip()
    assert state.names == (".gitignore", "README.md", "src", "src.txt")
    printed = checkout.git("-c", "core.quotePath=true", "ls-tree", "--name-only", "HEAD")
    assert "".join(f"{name}\n" for name in state.printed) == printed
    # Git sorts a folder as if its name ended in `/`, which comes after `.`.
    assert state.printed == (".gitignore", "README.md", "src.txt", "src")
    listing = checkout.git("ls-tree", "-r", "-z", "--full-tree", "HEAD")
    assert state.listing == listing.encode("utf-8", "surrogateescape")


def test_from_a_folder_in_the_checkout(checkout) -> None:
    assert expected_state(str(checkout.folder / "src")) == expected_state(str(checkout))
    checkout.write("README.md", "changed\n")
    assert refusal(checkout.folder / "src").reason is ExpectedReason.DIRTY


def test_an_older_commit_needs_no_checkout(checkout) -> None:
    before, state = checkout.head, expected_state(str(checkout))
    checkout.commit("more.txt")
    checkout.write("untracked")
    assert expected_state(str(checkout), before) == state
    checkout.git("clone", "-q", "--bare", ".", "../bare.git")
    assert expected_state(str(checkout.folder.parent / "bare.git"), before) == state
    assert refusal(checkout.folder.parent / "bare.git").reason is ExpectedReason.NO_CHECKOUT


@pytest.mark.parametrize(
    "commit", ["main", "HEAD~0", "", "-x", "ABCDEF" + "0" * 34, "0" * 39, "0" * 40 + "\n"]
)
def test_a_commit_that_is_not_named_in_full(checkout, commit) -> None:
    assert refusal(checkout, commit).reason is ExpectedReason.COMMIT_FORM


def test_what_is_no_commit_of_the_repository(checkout) -> None:
    assert refusal(checkout, "0" * 40).reason is ExpectedReason.NO_COMMIT
    assert refusal(checkout, "0" * 64).reason is ExpectedReason.NO_COMMIT
    tree = checkout.git("rev-parse", "HEAD^{tree}").strip()
    assert refusal(checkout, tree).reason is ExpectedReason.NO_COMMIT
    checkout.git("tag", "-a", "v1", "-m", "a tag")
    tag = checkout.git("rev-parse", "v1").strip()
    assert refusal(checkout, tag).reason is ExpectedReason.NO_COMMIT


def test_detached_and_shallow(checkout, tmp_path) -> None:
    checkout.commit("second.txt")
    state = expected_state(str(checkout))
    checkout.git("checkout", "-q", "--detach", "HEAD")
    assert expected_state(str(checkout)) == state
    # As a pipeline makes it: one commit, detached.
    shallow = Checkout(tmp_path / "shallow")
    shallow.git("fetch", "-q", "--depth=1", f"file://{checkout}", state.commit)
    shallow.git("checkout", "-q", "FETCH_HEAD")
    assert (shallow.folder / ".git" / "shallow").exists()
    assert expected_state(str(shallow)) == state


def test_a_sha256_repository(tmp_path) -> None:
    made = Checkout(tmp_path / "repo", object_format="sha256")
    made.commit("a.txt")
    state = expected_state(str(made))
    assert (len(state.commit), len(state.tree)) == (64, 64)
    assert expected_state(str(made), state.commit) == state
    assert refusal(made, "0" * 40).reason is ExpectedReason.NO_COMMIT


def test_an_empty_tree(tmp_path) -> None:
    made = Checkout(tmp_path / "repo")
    made.commit()
    state = expected_state(str(made))
    assert (state.names, state.printed, state.listing) == ((), (), b"")
    assert state.tree == hashlib.sha1(b"tree 0\0").hexdigest()


def test_no_commit_yet_and_no_repository(tmp_path) -> None:
    made = Checkout(tmp_path / "repo")
    assert refusal(made).reason is ExpectedReason.NO_COMMIT
    os.mkdir(tmp_path / "plain")
    assert refusal(tmp_path / "plain").reason is ExpectedReason.NOT_A_REPOSITORY
    assert refusal(tmp_path / "missing").reason is ExpectedReason.NOT_A_REPOSITORY
    assert refusal("a\0b").reason is ExpectedReason.GIT


def test_what_is_not_clean(checkout) -> None:
    checkout.write("README.md", "changed\n")
    error = refusal(checkout)
    assert (error.reason, error.detail) == (ExpectedReason.DIRTY, "README.md")
    assert "`README.md`" in str(error)
    checkout.git("add", "README.md")
    assert refusal(checkout).reason is ExpectedReason.DIRTY
    checkout.git("reset", "-q", "--hard")
    (checkout.folder / "src.txt").unlink()
    assert refusal(checkout).reason is ExpectedReason.DIRTY
    checkout.git("reset", "-q", "--hard")
    os.chmod(checkout.folder / "src.txt", 0o755)
    assert refusal(checkout).reason is ExpectedReason.DIRTY


def test_what_is_untracked(checkout) -> None:
    checkout.write("new/deep/file.txt")
    error = refusal(checkout)
    assert (error.reason, error.detail) == (ExpectedReason.UNTRACKED, "new/deep/file.txt")
    checkout.git("config", "status.showUntrackedFiles", "no")
    assert refusal(checkout).reason is ExpectedReason.UNTRACKED
    checkout.write(".gitignore", "new/\n")
    checkout.commit()
    assert expected_state(str(checkout)).commit == checkout.head


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_changes_that_the_index_hides(checkout, flag) -> None:
    checkout.git("update-index", flag, "src.txt")
    checkout.write("src.txt", "changed\n")
    assert checkout.git("status", "--porcelain") == ""
    error = refusal(checkout)
    assert (error.reason, error.detail) == (ExpectedReason.HIDDEN, "src.txt")


def test_submodules(checkout, tmp_path) -> None:
    inner = Checkout(tmp_path / "inner")
    inner.commit("inner.txt")
    checkout.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", f"{inner}", "sub")
    checkout.git("commit", "-q", "-m", "with a submodule")
    state = expected_state(str(checkout))
    assert "sub" in state.names
    assert f"160000 commit {inner.head}\tsub".encode() in state.listing
    checkout.git("config", "submodule.sub.ignore", "all")
    # No one asks a submodule for its own files, and no git starts in it.
    (checkout.folder / "sub" / "inner.txt").write_text("changed\n")
    assert expected_state(str(checkout)) == state
    checkout.git("-C", "sub", "commit", "-q", "-a", "-m", "another commit")
    assert refusal(checkout).detail == "sub"
    # Not initialized, as a pipeline leaves it, is clean.
    fresh = tmp_path / "fresh"
    checkout.git("clone", "-q", ".", str(fresh))
    assert expected_state(str(fresh)) == state


def test_odd_names_are_shown_in_gits_quoting(tmp_path) -> None:
    made = Checkout(tmp_path / "repo")
    names = ["ä.txt", "with space", 'a"b', "back\\slash", "z", "日本", ",", "a,b"]
    made.commit(*names)
    # A name that is no UTF-8.
    with open(os.fsencode(made.folder) + b"/\xff\xfe", "wb") as file:
        file.write(b"x")
    made.commit()
    state = expected_state(str(made))
    assert sorted(state.names) == sorted(state.printed)
    raw = sorted([*(name.encode() for name in names), b"\xff\xfe"])
    assert len(state.names) == len(raw)
    assert state.names[:2] == (",", '"a\\"b"')
    assert state.names[-3:] == (
        '"\\303\\244.txt"',
        '"\\346\\227\\245\\346\\234\\254"',
        '"\\377\\376"',
    )
    assert all(name.isascii() for name in state.names)
    printed = made.git("-c", "core.quotePath=true", "ls-tree", "--name-only", "HEAD")
    assert "".join(f"{name}\n" for name in state.printed) == printed
    # The user's own setting does not matter.
    made.git("config", "core.quotePath", "false")
    assert expected_state(str(made)) == state


@pytest.mark.parametrize("name", ["a, b", "tab\there", "line\nfeed", "bell\a", "del\x7f", "c1\x85"])
def test_names_that_a_list_could_not_hold(tmp_path, name) -> None:
    made = Checkout(tmp_path / "repo")
    made.commit(name)
    error = refusal(made)
    assert error.reason is ExpectedReason.BAD_NAME
    assert str(error).isprintable()


def test_such_a_name_below_the_top_does_no_harm(tmp_path) -> None:
    made = Checkout(tmp_path / "repo")
    made.commit("folder/a, b", "folder/tab\there")
    assert expected_state(str(made)).names == ("folder",)


def test_replace_objects_are_shut_out(checkout) -> None:
    state = expected_state(str(checkout))
    checkout.git("checkout", "-q", "-b", "other")
    other = checkout.commit("other.txt")
    checkout.git("checkout", "-q", "main")
    checkout.git("replace", state.commit, other)
    assert "other.txt" in checkout.git("ls-tree", "--name-only", "HEAD")
    assert expected_state(str(checkout), state.commit) == state


def test_the_callers_git_environment_is_shut_out(checkout, tmp_path, monkeypatch) -> None:
    state = expected_state(str(checkout))
    other = Checkout(tmp_path / "other")
    other.commit("other.txt")
    for name, value in {
        "GIT_DIR": f"{other}/.git",
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": f"{other}/.git/index",
        "GIT_OBJECT_DIRECTORY": f"{other}/.git/objects",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.quotePath",
        "GIT_CONFIG_VALUE_0": "false",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_NAMESPACE": "x",
        "GIT_TRACE": str(tmp_path / "trace"),
    }.items():
        monkeypatch.setenv(name, value)
    assert expected_state(str(checkout)) == state
    assert not (tmp_path / "trace").exists()


def test_the_users_configuration_is_shut_out(checkout, tmp_path, monkeypatch) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".gitconfig").write_text("[core]\n\tworktree = /\n\texcludesFile = /x\n[broken\n")
    (home / ".config" / "git" / "ignore").write_text("*\n")
    monkeypatch.setenv("HOME", str(home))
    checkout.write("new.txt")
    assert refusal(checkout).reason is ExpectedReason.UNTRACKED


def test_no_program_of_the_repository_runs(checkout, tmp_path) -> None:
    """Hooks, a file-system monitor and a configured list of what to ignore."""
    trap, marker = tmp_path / "trap", tmp_path / "it-ran"
    trap.write_text(f"#!/bin/sh\ntouch {marker}\n")
    trap.chmod(0o755)
    checkout.git("config", "core.fsmonitor", str(trap))
    checkout.git("config", "core.pager", str(trap))
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).symlink_to(trap)
    checkout.git("config", "core.hooksPath", str(hooks))
    ignored = tmp_path / "ignored"
    ignored.write_text("*\n")
    checkout.git("config", "core.excludesFile", str(ignored))
    # `git` itself would run it now: the trap is set.
    checkout.git("status")
    assert marker.exists()
    marker.unlink()
    expected_state(str(checkout))
    checkout.write("new.txt")
    assert refusal(checkout).reason is ExpectedReason.UNTRACKED
    assert not marker.exists()


def test_no_filter_of_the_repository_runs(checkout, tmp_path) -> None:
    """Its own code may have set one, in a step before; nor does one in a submodule."""
    inner = Checkout(tmp_path / "inner")
    inner.commit("inner.txt")
    checkout.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", f"{inner}", "sub")
    checkout.git("commit", "-q", "-m", "with a submodule")
    marker = tmp_path / "it-ran"
    trap = f"touch {marker}; cat"
    later = time.time() + 60
    for place in (".", "sub"):
        git_folder = checkout.git("-C", place, "rev-parse", "--absolute-git-dir").strip()
        (Path(git_folder) / "info" / "attributes").write_text("a* -text\n* filter=a=b\n")
        for name in ("clean", "process"):
            checkout.git("-C", place, "config", f"filter.a=b.{name}", trap)
        checkout.git("-C", place, "config", "filter.a=b.required", "true")
    for name in ("README.md", "sub/inner.txt"):
        os.utime(checkout.folder / name, (later, later))
    assert expected_state(str(checkout)).commit == checkout.head
    checkout.write("README.md", "# other\n")
    assert refusal(checkout).reason is ExpectedReason.DIRTY
    assert not marker.exists()
    # `git` itself would run it now: the trap is set.
    checkout.git("-C", "sub", "config", "--unset", "filter.a=b.process")
    checkout.git("-C", "sub", "status")
    assert marker.exists()


def test_git_gets_no_secret_and_changes_nothing(checkout, tmp_path, monkeypatch) -> None:
    key = "sk-let-0123456789abcdef"
    monkeypatch.setenv("LETTA_API_KEY", key)
    monkeypatch.setenv("LETTAFAST_SIGNING_KEY", key)
    seen = tmp_path / "seen"
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "git"
    real = next(
        os.path.join(place, "git")
        for place in os.environ["PATH"].split(":")
        if os.access(os.path.join(place, "git"), os.X_OK)
    )
    wrapper.write_text(f'#!/bin/sh\nenv >>{seen}\necho "$@" >>{seen}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    index = (checkout.folder / ".git" / "index").read_bytes()
    expected_state(str(checkout))
    said = seen.read_text()
    assert key not in said
    assert "LETTA" not in said
    for setting in (
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_NO_REPLACE_OBJECTS=1",
    ):
        assert said.count(setting) >= 6
    assert (checkout.folder / ".git" / "index").read_bytes() == index


def test_git_has_a_deadline(checkout, tmp_path, monkeypatch) -> None:
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "git"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(git_module, "SECONDS", 0.3)
    begun = time.monotonic()
    assert refusal(checkout).reason is ExpectedReason.TIMEOUT
    assert time.monotonic() - begun < 10


def test_no_git_at_all(checkout, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(checkout).reason is ExpectedReason.NO_GIT
