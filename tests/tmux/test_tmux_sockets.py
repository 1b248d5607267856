"""Which sockets are asked: only those that nobody else can have put there."""

from __future__ import annotations

import os
import pathlib
import socket
from contextlib import closing

import pytest

from lettafast.tmux.sockets import find_sockets


@pytest.fixture
def folder(short: pathlib.Path) -> pathlib.Path:
    own = short / f"tmux-{os.geteuid()}"
    own.mkdir(mode=0o700)
    return own


def listener(path: pathlib.Path) -> str:
    """A socket file that nobody listens at any more."""
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(path))
    return str(path)


def found(folder: pathlib.Path, **more: str) -> tuple[str, ...]:
    return find_sockets({"TMUX_TMPDIR": str(folder), **more})


def test_every_socket_of_the_folder(short: pathlib.Path, folder: pathlib.Path) -> None:
    assert found(short) == ()
    one, other = listener(folder / "default"), listener(folder / "a b;$(x)")
    (folder / "file").write_text("")
    (folder / "inner").mkdir()
    assert set(found(short)) == {one, other}


def test_the_folder_that_tmux_would_use(short: pathlib.Path) -> None:
    """One that is not there is passed over for /tmp, as an empty or a relative one."""
    usual = find_sockets({})
    for named in ("", "relative", str(short / "missing"), "/\0"):
        assert find_sockets({"TMUX_TMPDIR": named}) == usual


def test_the_server_that_one_runs_in(short: pathlib.Path, folder: pathlib.Path) -> None:
    place = short / "elsewhere"
    place.mkdir(mode=0o700)
    named, usual = listener(place / "s"), listener(folder / "default")
    assert found(short, TMUX=f"{named},4711,0") == (named, usual)
    assert found(short, TMUX=f"{usual},4711,0") == (usual,)
    for strange in ("", ",1,2", "relative,1,0", f"{short}/missing,1,0", "/\0,1,0"):
        assert found(short, TMUX=strange) == (usual,)


def test_links_lead_to_one_socket(short: pathlib.Path, folder: pathlib.Path) -> None:
    usual = listener(folder / "default")
    (folder / "link").symlink_to("default")
    (short / "way").symlink_to(short)
    assert found(short / "way", TMUX=f"{short}/way/tmux-{os.geteuid()}/link,1,0") == (usual,)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_can_write(
    short: pathlib.Path, folder: pathlib.Path, mode: int
) -> None:
    """Whoever can put a socket there can have a client run what they like."""
    listener(folder / "default")
    folder.chmod(mode)
    assert found(short) == ()
    folder.chmod(0o755)
    assert len(found(short)) == 1


def test_a_folder_that_others_can_exchange(short: pathlib.Path, folder: pathlib.Path) -> None:
    listener(folder / "default")
    short.chmod(0o777)
    assert found(short) == ()
    short.chmod(0o1777)
    assert len(found(short)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give away a file")
def test_what_belongs_to_another(short: pathlib.Path, folder: pathlib.Path) -> None:
    path = listener(folder / "default")
    for given in (path, folder, short):
        os.chown(given, 65534, -1)
        assert found(short) == ()
        os.chown(given, 0, -1)
        assert found(short) == (path,)
