"""Where herdr's sessions listen."""

from __future__ import annotations

import os
import pathlib
import socket
from collections.abc import Callable, Iterator

import pytest

from lettafast import HerdrUnavailable
from lettafast.herdr.sockets import find_sockets, socket_path


@pytest.fixture
def bound(tmp_path) -> Iterator[Callable[[str], str]]:
    """Makes sockets beneath `tmp_path`."""
    made = []

    def bound(relative: str) -> str:
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        made.append(socket.socket(socket.AF_UNIX))
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            made[-1].bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
        return str(path)

    yield bound
    for one in made:
        one.close()


@pytest.fixture
def config(tmp_path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("session", "environ", "path"),
    [
        (None, {"HOME": "/h"}, "/h/.config/herdr/herdr.sock"),
        (None, {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/herdr/herdr.sock"),
        (None, {"XDG_RUNTIME_DIR": "/run", "HOME": "/h"}, "/h/.config/herdr/herdr.sock"),
        (None, {}, "/tmp/herdr/herdr.sock"),
        (None, {"TMPDIR": "/t"}, "/t/herdr/herdr.sock"),
        (None, {"HOME": "/h", "HERDR_SESSION": "a"}, "/h/.config/herdr/sessions/a/herdr.sock"),
        (None, {"HOME": "/h", "HERDR_SESSION": "default"}, "/h/.config/herdr/herdr.sock"),
        *(
            (None, {"HOME": "/h", "HERDR_SESSION": name}, "/h/.config/herdr/herdr.sock")
            for name in ("", ".", "..", "a/b", "a b", "ä", "x" * 65)
        ),
        (None, {"HOME": "/h", "HERDR_SESSION": "a", "HERDR_SOCKET_PATH": "s"}, "s"),
        ("default", {"HOME": "/h", "HERDR_SOCKET_PATH": "s"}, "/h/.config/herdr/herdr.sock"),
        ("b", {"HOME": "/h", "HERDR_SESSION": "a"}, "/h/.config/herdr/sessions/b/herdr.sock"),
        ("..x", {"HOME": "/h"}, "/h/.config/herdr/sessions/..x/herdr.sock"),
        ("x" * 64, {"HOME": "/h"}, f"/h/.config/herdr/sessions/{'x' * 64}/herdr.sock"),
    ],
)
def test_the_socket_that_herdr_would_use(session, environ, path) -> None:
    assert socket_path(session, environ) == path


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\n", "ä", "x" * 65])
def test_names_of_no_session(name) -> None:
    with pytest.raises(HerdrUnavailable) as caught:
        socket_path(name, {"HOME": "/h"})
    assert str(caught.value.reason) == "bad_name"


def test_every_session_is_found(bound, config, tmp_path) -> None:
    default = bound("herdr/herdr.sock")
    sessions = [bound(f"herdr/sessions/{name}/herdr.sock") for name in ("a", "b.c", "z")]
    debug = bound("herdr-dev/herdr.sock")
    bound("herdr/herdr-client.sock")
    bound("herdr/sessions/a/herdr-client.sock")
    bound("herdr/sessions/no name/herdr.sock")
    (tmp_path / "herdr" / "sessions" / "empty").mkdir()
    plain = tmp_path / "herdr" / "sessions" / "plain"
    plain.mkdir()
    (plain / "herdr.sock").write_bytes(b"")
    assert find_sockets(config) == (default, *sessions, debug)
    named = bound("elsewhere/x.sock")
    assert find_sockets({**config, "HERDR_SOCKET_PATH": named}) == (
        named,
        default,
        *sessions,
        debug,
    )
    assert find_sockets({**config, "HERDR_SESSION": "z"})[0] == sessions[2]


def test_each_is_found_once_as_the_environment_spells_it(bound, config, tmp_path) -> None:
    bound("herdr/herdr.sock")
    (tmp_path / "link").symlink_to("herdr")
    other = str(tmp_path / "link" / "herdr.sock")
    assert find_sockets({**config, "HERDR_SOCKET_PATH": other}) == (other,)


def test_the_terminal_clients_socket_is_never_found(bound, config, tmp_path) -> None:
    client = bound("herdr/herdr-client.sock")
    assert find_sockets({**config, "HERDR_SOCKET_PATH": client}) == ()
    (tmp_path / "herdr" / "herdr.sock").symlink_to("herdr-client.sock")
    assert find_sockets(config) == ()


def test_nothing_is_there(config, tmp_path) -> None:
    assert find_sockets(config) == ()
    assert find_sockets({**config, "HERDR_SOCKET_PATH": str(tmp_path / "gone")}) == ()
    assert find_sockets({**config, "HERDR_SOCKET_PATH": "a\0b"}) == ()
    assert find_sockets({**config, "HERDR_SOCKET_PATH": ""}) == ()


def test_a_long_path_is_found(bound, config, tmp_path) -> None:
    deep = f"{'d' * 150}/herdr/herdr.sock"
    bound(deep)
    found = find_sockets({"XDG_CONFIG_HOME": str(tmp_path / ("d" * 150))})
    assert found == (str(pathlib.Path(tmp_path, deep)),)
