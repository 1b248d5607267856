"""The mod is put into a home folder, replaced and taken away; nothing else is touched."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from lettafast.binding.witness_file import FOLDER, VERSION
from lettafast.errors import LettafastError, WitnessError, WitnessReason
from lettafast.witness import (
    Found,
    Removed,
    State,
    check_place,
    install,
    installed,
    mod_path,
    uninstall,
)
from lettafast.witness.mod import NAME, recognized, text
from witness_host import MOD

NOTHING = Removed(Found(State.MISSING), 0, ())


def made(version: int, body: bytes) -> bytes:
    """What a lettafast with this version of the mod would install."""
    digest = hashlib.sha256(body).hexdigest()
    return f"// lettafast-witness {version} {digest}\n".encode() + body


def tree(home: Path) -> dict[str, bytes | None]:
    """Everything beneath, with the content of files."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None
        for path in home.rglob("*")
    }


def refused(call, *arguments) -> WitnessError:
    with pytest.raises(WitnessError) as caught:
        call(*arguments)
    assert isinstance(caught.value, LettafastError)
    return caught.value


@pytest.fixture
def mods(home: Path) -> Path:
    (home / ".letta" / "mods").mkdir()
    return home / ".letta" / "mods"


def test_install_and_uninstall(home):
    (home / ".letta" / "settings.json").write_text("{}")
    before = tree(home)
    assert installed(str(home)) == Found(State.MISSING)
    assert install(str(home)) == Found(State.MISSING)
    assert installed(str(home)) == Found(State.CURRENT, VERSION)
    path = Path(mod_path(str(home)))
    assert path == home / ".letta" / "mods" / NAME
    os.umask(mask := os.umask(0))
    assert stat.S_IMODE(path.stat().st_mode) == 0o644 & ~mask, "root may install it for another"
    assert path.stat().st_nlink == 1
    assert tree(home) == before | {".letta/mods": None, f".letta/mods/{NAME}": text()}
    assert uninstall(str(home), ()) == Removed(Found(State.CURRENT, VERSION), 0, ())
    assert tree(home) == before
    assert uninstall(str(home), ()) == NOTHING


def test_what_is_installed_is_the_mod_beneath_its_header(home):
    install(str(home))
    header, _, body = Path(mod_path(str(home))).read_bytes().partition(b"\n")
    assert body == MOD.read_bytes()
    assert header.split() == [
        b"//",
        b"lettafast-witness",
        str(VERSION).encode(),
        hashlib.sha256(body).hexdigest().encode(),
    ]
    assert f"\nconst VERSION = {VERSION};\n".encode() in body


def test_again_changes_nothing(home):
    install(str(home))
    path = Path(mod_path(str(home)))
    before = path.stat()
    assert install(str(home)) == Found(State.CURRENT, VERSION)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


@pytest.mark.parametrize("version", [VERSION - 1, VERSION, VERSION + 1, 999999999])
def test_another_version_is_replaced(home, mods, version):
    """Known by its own header, an older or a newer one alike."""
    (mods / NAME).write_bytes(made(version, b"export default () => {};\n"))
    assert installed(str(home)) == Found(State.OTHER, version)
    assert install(str(home)) == Found(State.OTHER, version)
    assert installed(str(home)) == Found(State.CURRENT, VERSION)
    assert os.listdir(mods) == [NAME]


def test_another_version_is_removed(home, mods):
    (mods / NAME).write_bytes(made(7, b"7"))
    assert uninstall(str(home), ()).mod == Found(State.OTHER, 7)
    assert not mods.exists()


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (b"", State.FOREIGN),
        (b"export default () => {};\n", State.FOREIGN),
        (b"\n" + text(), State.FOREIGN),
        (text().replace(b" 1 ", b" 1  "), State.FOREIGN),
        (MOD.read_bytes(), State.FOREIGN),
        (text() + b"\n", State.CHANGED),
        (text()[:-1], State.CHANGED),
        (text().replace(b"TOUCH_MS = 5000", b"TOUCH_MS = 5001"), State.CHANGED),
        (text().replace(b"\n", b"\r\n"), State.FOREIGN),
    ],
)
def test_what_is_not_ours_is_never_touched(home, mods, content, state):
    (mods / NAME).write_bytes(content)
    (home / FOLDER).mkdir(parents=True, mode=0o700)
    (home / FOLDER / "1.json").write_text("x")
    assert recognized(content).state is state
    assert installed(str(home)).state is state
    before = tree(home)
    for call in (lambda: install(str(home)), lambda: uninstall(str(home), ())):
        error = refused(call)
        assert (error.reason, error.exit_code) == (WitnessReason.NOT_OURS, 1)
        assert error.path == mod_path(str(home))
        assert tree(home) == before


@pytest.mark.parametrize("kind", ["folder", "fifo", "link", "broken link"])
def test_what_is_no_regular_file_is_not_ours(home, mods, kind, tmp_path):
    place = mods / NAME
    if kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / "aside")
        if kind == "link":
            (tmp_path / "aside").write_bytes(text())
    expected = WitnessReason.SYMLINK if "link" in kind else WitnessReason.NOT_OURS
    for call in (lambda: install(str(home)), lambda: uninstall(str(home), ())):
        assert refused(call).reason is expected
    assert os.path.lexists(place)
    if kind == "link":
        assert (tmp_path / "aside").read_bytes() == text()


def test_other_mods_are_left(home, mods):
    (mods / "mine.ts").write_text("1")
    (mods / "diagnostics").mkdir()
    before = tree(home)
    install(str(home))
    uninstall(str(home), ())
    assert tree(home) == before


def test_no_letta(home):
    (home / ".letta").rmdir()
    error = refused(install, str(home))
    assert (error.reason, error.exit_code) == (WitnessReason.NO_LETTA, 3)
    assert "start Letta Code once" in error.hint
    assert installed(str(home)) == Found(State.MISSING)
    assert uninstall(str(home), ()) == NOTHING
    assert tree(home) == {}
    assert refused(install, str(home / "nobody")).reason is WitnessReason.NO_LETTA


def test_lettas_folder_goes_away_meanwhile(home, tmp_path, monkeypatch):
    """Nothing is written wherever lettafast runs, instead."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lettafast.witness.installer.os.mkdir", lambda *_, **__: None)
    before = tree(tmp_path)
    assert refused(install, str(home)).reason is WitnessReason.NO_LETTA
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", [".letta", ".letta/mods"])
def test_a_link_in_the_way(home, tmp_path, name):
    (home / ".letta" / "mods").mkdir()
    (home / name).rename(tmp_path / "aside")
    (home / name).symlink_to(tmp_path / "aside")
    before = tree(tmp_path)
    for call in (lambda: install(str(home)), lambda: uninstall(str(home), ())):
        error = refused(call)
        assert (error.reason, error.exit_code) == (WitnessReason.SYMLINK, 3)
        assert error.path == str(home / name)
    assert tree(tmp_path) == before


def test_a_home_that_is_a_link(home, tmp_path):
    (tmp_path / "link").symlink_to(home)
    install(str(tmp_path / "link"))
    assert installed(str(home)).state is State.CURRENT


def test_a_file_in_the_way(home):
    (home / ".letta" / "mods").write_text("")
    error = refused(install, str(home))
    assert (error.reason, error.exit_code) == (WitnessReason.IO, 3)
    assert (home / ".letta" / "mods").read_text() == ""


def test_a_read_only_folder(home, mods):
    locked = subprocess.run(["chattr", "+i", mods], capture_output=True, check=False).returncode
    if os.geteuid() == 0 and locked:
        pytest.skip("as root only an attribute stops a write, and this file system has none")
    if locked:
        mods.chmod(0o500)
    try:
        error = refused(install, str(home))
        assert (error.reason, error.exit_code) == (WitnessReason.PERMISSION_DENIED, 3)
        assert os.listdir(mods) == []
    finally:
        subprocess.run(["chattr", "-i", mods], capture_output=True, check=False)
        mods.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk(home, mods):
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", mods]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this root may not mount")
    try:
        (mods / "filler").write_bytes(b"x" * 4096)
        error = refused(install, str(home))
        assert (error.reason, error.exit_code) == (WitnessReason.IO, 3)
        assert "No space" in str(error)
        assert os.listdir(mods) == ["filler"]
    finally:
        subprocess.run(["umount", mods], check=True)


def test_lettas_copies_are_removed_too(home):
    """Letta Code loads a copy, which it names by the SHA-256 of what it has copied."""
    install(str(home))
    cache = home / ".letta" / "mod-cache"
    cache.mkdir()
    ours = cache / f".letta-mod-lettafast-witness-{hashlib.sha256(text()).hexdigest()[:16]}.mjs"
    ours.write_bytes(text())
    older = cache / f".letta-mod-lettafast-witness-{'0' * 16}.mjs"
    older.write_bytes(made(7, b"7"))
    left = [
        cache / f".letta-mod-lettafast-witness-{'1' * 16}.mjs",
        cache / f".letta-mod-mine-{'0' * 16}.mjs",
    ]
    left[0].write_bytes(b"changed")
    left[1].write_bytes(text())
    uninstall(str(home), ())
    assert sorted(cache.iterdir()) == sorted(left)


def test_what_the_mod_has_written_is_removed(home):
    folder = home / FOLDER
    folder.mkdir(parents=True, mode=0o700)
    for name in ("1.json", "22.json", "22.new", "333.json"):
        (folder / name).write_text("{}")
    install(str(home))
    assert uninstall(str(home), (333, 4444)) == Removed(Found(State.CURRENT, VERSION), 3, (333,))
    assert os.listdir(folder) == ["333.json"]
    assert uninstall(str(home), ()) == Removed(Found(State.MISSING), 1, ())
    assert not (home / ".local" / "state" / "lettafast").exists()
    assert (home / ".local" / "state").exists()


def test_what_else_is_in_the_state_folder_is_left(home):
    folder = home / FOLDER
    folder.mkdir(parents=True, mode=0o700)
    others = [folder / "x.json", folder / "1.json.bak", folder.parent / "boot-1.json"]
    for path in others:
        path.write_text("")
    (folder / "1.json").write_text("")
    assert uninstall(str(home), ()).witnesses == 1
    assert all(path.exists() for path in others)
    shutil.rmtree(folder)
    uninstall(str(home), ())
    assert others[2].exists()


def test_nothing_is_removed_through_a_link(home, tmp_path):
    """The mod writes through none, so what lies behind one is not its own."""
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside" / "1.json").write_text("")
    (home / FOLDER).parent.mkdir(parents=True)
    (home / FOLDER).symlink_to(tmp_path / "aside")
    assert uninstall(str(home), ()) == NOTHING
    assert (tmp_path / "aside" / "1.json").exists()


def test_no_descriptor_is_kept(home):
    before = len(os.listdir("/proc/self/fd"))
    install(str(home))
    installed(str(home))
    uninstall(str(home), ())
    refused(install, str(home / "nobody"))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", [".local", ".local/state", FOLDER])
def test_a_place_that_the_mod_does_not_write_to(home, tmp_path, name):
    """Else each letta would be told to `/reload`, which changes nothing."""
    (tmp_path / "aside").mkdir()
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).symlink_to(tmp_path / "aside")
    before = tree(home)
    for call in (install, check_place):
        error = refused(call, str(home))
        assert (error.reason, error.path) == (WitnessReason.SYMLINK, str(home / name))
    assert tree(home) == before


def test_a_place_that_is_open_to_others(home):
    (home / FOLDER).mkdir(parents=True)
    (home / FOLDER).chmod(0o755)
    for call in (install, check_place):
        error = refused(call, str(home))
        assert (error.reason, error.path) == (WitnessReason.OPEN, str(home / FOLDER))
    (home / FOLDER).chmod(0o700)
    check_place(str(home))
    assert install(str(home)) == Found(State.MISSING)
