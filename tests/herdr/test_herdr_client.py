"""What the client asks, what it makes of the answers, and where it connects."""

from __future__ import annotations

import copy
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from double import CONVERSATION, SCENARIO, HerdrDouble
from lettafast import (
    HerdrError,
    HerdrProtocolError,
    HerdrRefused,
    HerdrRefusedReason,
    HerdrUnavailable,
    HerdrUnavailableReason,
    LettafastError,
)
from lettafast.herdr.client import Herdr
from lettafast.herdr.records import (
    DescribedProcess,
    PaneInfo,
    ProcessInfo,
    Report,
    Screen,
    Tab,
    Version,
    Workspace,
)
from support import descriptors, run_python

REPORT = Report("herdr:letta", "letta", "id", CONVERSATION)


def unavailable(face, name: str = "ping", *arguments) -> str:
    with pytest.raises(HerdrUnavailable) as caught:
        face.call(name, *arguments)
    assert caught.value.exit_code == 3
    assert isinstance(caught.value, HerdrError)
    assert isinstance(caught.value, LettafastError)
    assert isinstance(caught.value.reason, HerdrUnavailableReason)
    assert str(caught.value).startswith(caught.value.socket)
    return str(caught.value.reason)


def asked(double: HerdrDouble) -> list[str]:
    return [request["method"] for request in double.requests]


def test_ping(double, herdr) -> None:
    assert herdr.call("ping") == Version("0.9.3", 22)
    assert double.requests == [{"id": "lettafast", "method": "ping", "params": {}}]


@pytest.mark.parametrize("protocol", [1, 14, 19, 23, 1 << 40])
def test_any_protocol_number_is_fine(socket_file, connect, protocol: int) -> None:
    with HerdrDouble(socket_file, {**SCENARIO, "protocol": protocol}):
        assert connect(socket_file).call("ping").protocol == protocol
        assert connect(socket_file).call("snapshot").protocol == protocol


def test_a_snapshot(double, herdr) -> None:
    found = herdr.call("snapshot")
    assert asked(double) == ["session.snapshot"]
    assert (found.version, found.protocol) == ("0.9.3", 22)
    assert found.workspaces == (Workspace("w1", "shop", focused=True),)
    assert found.tabs == (
        Tab("w1:t1", "w1", "1", focused=True),
        Tab("w1:t2", "w1", "review", focused=False),
    )
    assert [pane.pane_id for pane in found.panes] == ["w1:p1", "w1:p2", "w1:p3"]
    assert found.panes[0] == PaneInfo(
        socket=double.path,
        pane_id="w1:p1",
        terminal_id=double.pane("w1:p1")["terminal_id"],
        workspace_id="w1",
        tab_id="w1:t1",
        cwd="/srv/shop",
        foreground_cwd="/srv/shop",
        label=None,
        agent="letta",
        title="Ada",
        agent_status="idle",
        report=REPORT,
        focused=True,
    )
    assert (found.panes[2].agent, found.panes[2].report, found.panes[2].title) == (None,) * 3
    assert herdr.call("snapshot") == found


def test_an_older_herdr_is_asked_for_its_lists(socket_file, connect) -> None:
    with HerdrDouble(socket_file) as double:
        whole = connect(socket_file).call("snapshot")
        for echo in (False, True):
            double.lacking, double.echo_error_ids = {"session.snapshot"}, echo
            double.requests.clear()
            assert connect(socket_file).call("snapshot") == whole
            assert sorted(asked(double)) == [
                "pane.list",
                "ping",
                "session.snapshot",
                "tab.list",
                "workspace.list",
            ]


def test_only_an_unknown_method_leads_to_the_lists(double, herdr) -> None:
    double.fault("error", method="session.snapshot", code="internal_error", message="no")
    with pytest.raises(HerdrRefused) as caught:
        herdr.call("snapshot")
    assert asked(double) == ["session.snapshot"]
    assert (caught.value.code, caught.value.message) == ("internal_error", "no")
    assert caught.value.reason is HerdrRefusedReason.OTHER
    assert caught.value.exit_code == 3


def test_a_pane(double, herdr) -> None:
    assert herdr.call("pane", "w1:p1") == herdr.call("snapshot").panes[0]
    assert double.requests[0]["params"] == {"pane_id": "w1:p1"}
    with pytest.raises(HerdrRefused) as caught:
        herdr.call("pane", "w1:p9")
    assert caught.value.reason is HerdrRefusedReason.PANE_NOT_FOUND
    assert caught.value.code == "pane_not_found"
    assert "w1:p9" in str(caught.value)


def test_a_moved_pane_answers_to_its_older_id(double, herdr) -> None:
    double.set_pane("w1:p1", aliases=["w7:p1"])
    assert herdr.call("pane", "w7:p1") == herdr.call("pane", "w1:p1")


def test_process_info(double, herdr) -> None:
    letta = DescribedProcess(4188, ("node", "/usr/local/bin/letta"), "/srv/shop")
    assert herdr.call("process_info", "w1:p1") == ProcessInfo("w1:p1", 4100, 4188, (letta,))
    assert double.requests[0]["params"] == {"pane_id": "w1:p1"}
    assert herdr.call("process_info", "w1:p3") == ProcessInfo("w1:p3", 1, None, ())
    double.set_pane("w1:p3", processes=[{"pid": 5, "name": "x", "cwd": "/"}])
    double.fault("drop_fields", fields=["cwd"])
    found = herdr.call("process_info", "w1:p3").processes
    assert found == (DescribedProcess(5, None, None),)


def test_a_pane_that_was_not_started_yet(double, herdr) -> None:
    double.cold_restart(pending=True)
    assert herdr.call("pane", "w1:p1").agent == "letta"
    for name in ("process_info", "read"):
        with pytest.raises(HerdrRefused) as caught:
            herdr.call(name, "w1:p1")
        assert caught.value.reason is HerdrRefusedReason.PANE_NOT_FOUND


def test_read_asks_for_ansi_and_gives_plain_text(double, herdr) -> None:
    double.set_pane(
        "w1:p1", ansi_text="\x1b[1;31mred\x1b[0m\x1b]8;;http://x/\x07 link\x1b]8;;\x1b\\\r\n"
    )
    assert herdr.call("read", "w1:p1") == Screen("w1:p1", "red link\n", truncated=False)
    assert double.requests[0]["params"] == {
        "pane_id": "w1:p1",
        "source": "recent",
        "lines": 1000,
        "format": "ansi",
    }


def test_read_never_scrolls_the_pane(double, herdr) -> None:
    double.set_pane("w1:p1", alt_screen=True)
    for source in ("recent", "recent_unwrapped", "visible", "detection"):
        assert "3 tests" in herdr.call("read", "w1:p1", 1000, source).text
    assert double.harvests == {}


def test_read_a_thousand_rows_of_more(double, herdr) -> None:
    double.set_pane("w1:p3", text="".join(f"{row}\n" for row in range(1200)))
    found = herdr.call("read", "w1:p3")
    assert found.text.split("\n")[0] == "200"
    assert found.truncated
    assert herdr.call("read", "w1:p3", 2).text == "1198\n1199\n"
    assert herdr.call("read", "w1:p3", 0) == Screen("w1:p3", "", truncated=True)


def test_reports_come_and_go(double, herdr) -> None:
    assert herdr.call("pane", "w1:p1").report == REPORT
    assert not double.report("w1:p1", "conv-2")
    assert herdr.call("pane", "w1:p1").report == REPORT
    double.exit_process("w1:p1")
    assert herdr.call("pane", "w1:p1").report is None
    double.start_letta("w1:p1", 77)
    assert double.report("w1:p1", "conv-2")
    assert herdr.call("pane", "w1:p1").report.value == "conv-2"
    before = herdr.call("pane", "w1:p1")
    double.cold_restart(resume=False)
    after = herdr.call("pane", "w1:p1")
    assert (after.agent, after.report.value) == (None, "conv-2")
    assert after.terminal_id != before.terminal_id


def test_a_report_with_another_form(double, herdr) -> None:
    """It is an error only where it may be Letta's; else it is no report."""
    session = {"source": "herdr:pi", "agent": "pi", "kind": "path", "value": "/x"}
    double.set_pane("w1:p2", agent_session=session)
    assert herdr.call("pane", "w1:p2").report == Report("herdr:pi", "pi", "path", "/x")
    for odd in ({**session, "value": {"new": 1}}, {"agent": "pi"}, "text", [1], 5, True):
        double.set_pane("w1:p2", agent=None, agent_session=odd)
        assert herdr.call("pane", "w1:p2").report is None
        assert len(herdr.call("snapshot").panes) == 3
        double.set_pane("w1:p2", agent="letta")
        with pytest.raises(HerdrProtocolError):
            herdr.call("pane", "w1:p2")
        with pytest.raises(HerdrProtocolError):
            herdr.call("snapshot")
    double.set_pane("w1:p2", agent=None, agent_session={"source": "herdr:letta", "kind": "id"})
    with pytest.raises(HerdrProtocolError) as caught:
        herdr.call("pane", "w1:p2")
    assert caught.value.field == "result.pane.agent_session.agent"


def test_strings_without_surrogates(double, herdr) -> None:
    double.set_pane("w1:p2", cwd="/a\ud83d\u20ac", label="\ud83d\ude00")
    found = herdr.call("pane", "w1:p2")
    assert (found.cwd, found.label) == ("/a\ufffd\u20ac", "\U0001f600")


def test_two_sessions(tmp_path, connect) -> None:
    """Both have a `w1:p1`; only the socket tells them apart."""
    other = copy.deepcopy(SCENARIO)
    other["workspaces"][0]["tabs"][0]["panes"][0]["agent_session"]["value"] = "conv-2"
    with (
        HerdrDouble(tmp_path / "herdr.sock") as one,
        HerdrDouble(tmp_path / "sessions" / "b" / "herdr.sock", other) as two,
    ):
        first = connect(one.path).call("pane", "w1:p1")
        second = connect(two.path).call("pane", "w1:p1")
    assert (first.report.value, second.report.value) == (CONVERSATION, "conv-2")
    assert (first.socket, second.socket) == (one.path, two.path)
    assert first.pane_id == second.pane_id


def test_the_whole_request_comes_at_once(connect, socket_file) -> None:
    """herdr looks for more of a request only every 100 ms."""
    got = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_file)
        server.listen()
        server.settimeout(5)

        def serve() -> None:
            with server.accept()[0] as connection:
                got.append(connection.recv(1 << 20))
                connection.sendall(b'{"result":{"type":"pong","version":"1","protocol":1}}\n')

        thread = threading.Thread(target=serve)
        thread.start()
        assert connect(socket_file).call("ping").version == "1"
        thread.join(5)
    assert got == [b'{"id":"lettafast","method":"ping","params":{}}\n']


def test_the_peer(double, herdr, connect, socket_file) -> None:
    assert herdr.call("peer_pid") == os.getpid()  # of a connection of its own
    herdr.call("ping")
    assert herdr.call("peer_pid") == os.getpid()


def test_the_peer_is_another_process(connect, socket_file) -> None:
    code = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"
        "print('ready', flush=True)\n"
        "c, _ = s.accept(); c.recv(999)\n"
        """c.sendall(b'{"result":{"type":"pong","version":"1","protocol":1}}\\n'); c.close()"""
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, socket_file], stdout=subprocess.PIPE
    ) as server:
        assert server.stdout.readline() == b"ready\n"
        face = connect(socket_file)
        face.call("ping")
        assert face.call("peer_pid") == server.pid
        assert server.wait(10) == 0


def test_a_path_of_any_length(tmp_path, connect) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 200)
    before = descriptors()
    with HerdrDouble(deep / "herdr.sock") as double:
        assert connect(double.path).call("snapshot").panes[0].socket == double.path
    assert unavailable(connect(double.path)) == "missing"
    assert set(descriptors().values()) >= set(before.values())
    assert not [name for name in descriptors().values() if "herdr.sock" in name]


def test_a_long_path_where_the_system_knows_no_way(tmp_path, connect, monkeypatch) -> None:
    monkeypatch.delattr(os, "O_PATH")
    assert unavailable(connect(str(tmp_path / ("d" * 100) / "herdr.sock"))) == "path_too_long"


def test_names_that_no_socket_has(connect, tmp_path) -> None:
    assert unavailable(connect("")) == "bad_name"
    assert unavailable(connect("a\0b")) == "bad_name"


def test_the_terminal_clients_socket_is_never_touched(connect, tmp_path) -> None:
    with HerdrDouble(tmp_path / "herdr-client.sock") as double:
        (tmp_path / "herdr.sock").symlink_to("herdr-client.sock")
        assert unavailable(connect(double.path)) == "bad_name"
        assert unavailable(connect(str(tmp_path / "herdr.sock"))) == "bad_name"
        time.sleep(0.1)
        assert double.requests == []


def test_nobody_there(connect, socket_file) -> None:
    face = connect(socket_file)
    assert unavailable(face) == "missing"
    assert unavailable(face, "subscribe") == "missing"
    assert unavailable(face, "peer_pid") == "missing"
    assert unavailable(connect(socket_file + "/under")) == "missing"
    pathlib.Path(socket_file).write_bytes(b"")
    assert unavailable(face) == "not_listening"
    assert unavailable(connect(socket_file + "/under")) == "missing"


def test_another_kind_of_socket(connect, socket_file) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(socket_file)
        face = connect(socket_file)
        assert unavailable(face) == "io"
        with pytest.raises(HerdrUnavailable, match="wrong type for socket"):
            face.call("ping")


def test_a_crash_and_a_restart(connect, socket_file) -> None:
    double = HerdrDouble(socket_file).start()
    face = connect(socket_file)
    try:
        assert face.call("ping").version == "0.9.3"
        double.stop(unlink=False)
        assert unavailable(face) == "not_listening"
        assert unavailable(face, "snapshot") == "not_listening"
        double.start()
        assert face.call("ping").version == "0.9.3"
    finally:
        double.stop()
    assert unavailable(face) == "missing"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user here")
def test_a_socket_of_another_user(socket_file) -> None:
    code = """
import json, os, sys
from lettafast import HerdrUnavailable
from lettafast.herdr.client import Herdr
os.setgid(65534); os.setuid(65534)
try:
    Herdr(sys.argv[1]).ping()
except HerdrUnavailable as error:
    print(json.dumps(str(error.reason)))
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with HerdrDouble(f"{folder}/herdr.sock") as double:
            assert run_python(code, double.path) == "permission_denied"


def test_a_platform_without_unix_sockets(connect, socket_file, monkeypatch) -> None:
    face = connect(socket_file)
    monkeypatch.delattr(socket, "AF_UNIX")
    assert unavailable(face) == "unsupported_platform"


def test_a_system_that_does_not_say_who_listens(connect, double, monkeypatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    assert connect(double.path).call("peer_pid") is None


def test_a_full_queue_is_waited_for(connect, socket_file) -> None:
    """A connection that finds no room is neither made nor refused."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(socket_file)
        server.listen(0)
        waiting = []
        try:
            while True:
                one = socket.socket(socket.AF_UNIX)
                waiting.append(one)
                one.setblocking(False)
                try:
                    one.connect(socket_file)
                except BlockingIOError:
                    break
            start = time.monotonic()
            assert unavailable(connect(socket_file, 0.3)) == "timeout"
            assert 0.25 < time.monotonic() - start < 2

            def serve() -> None:
                time.sleep(0.2)
                for _ in range(len(waiting)):
                    connection = server.accept()[0]
                    with connection:
                        if connection.recv(999):
                            connection.sendall(
                                b'{"result":{"type":"pong","version":"1","protocol":1}}\n'
                            )

            thread = threading.Thread(target=serve)
            thread.start()
            for one in waiting:
                one.close()
            assert connect(socket_file).call("ping").version == "1"
            thread.join(5)
            assert not thread.is_alive()
        finally:
            for one in waiting:
                one.close()


def test_a_thousand_requests_leave_nothing_open(double, herdr) -> None:
    double.fault("garbage", times=50, after=100)
    double.fault("close", times=50, after=100)
    before = set(descriptors())
    errors = 0
    for at in range(1000):
        try:
            herdr.call(("ping", "snapshot")[at % 2])
        except HerdrError:
            errors += 1
    assert errors == 100
    until = time.monotonic() + 5
    while set(descriptors()) != before and time.monotonic() < until:
        time.sleep(0.01)  # the double's threads close theirs
    assert set(descriptors()) == before
    assert len(double.requests) == 1000


def test_many_threads_at_once(double) -> None:
    herdr = Herdr(double.path)
    found = []

    def call() -> None:
        found.extend(herdr.pane("w1:p1").pane_id for _ in range(20))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == ["w1:p1"] * 160


def test_nothing_heavy_is_loaded_by_the_records() -> None:
    code = "import json, sys, lettafast.herdr.records; print(json.dumps(sorted(sys.modules)))"
    assert not {"socket", "asyncio"} & set(run_python(code))
    code = "import json, sys, lettafast.herdr.watch; print(json.dumps(sorted(sys.modules)))"
    loaded = run_python(code)
    assert "asyncio" not in loaded
    assert not [name for name in loaded if name.startswith(("lettafast.binding", "lettafast.cli"))]
