"""Against a real herdr, where `LETTAFAST_REAL_HERDR` names its socket. Nothing is changed there."""

from __future__ import annotations

import os

import pytest

from lettafast import HerdrRefused

SOCKET = os.environ.get("LETTAFAST_REAL_HERDR", "")

pytestmark = pytest.mark.skipif(not SOCKET, reason="LETTAFAST_REAL_HERDR names no herdr socket")


def test_every_call(connect) -> None:
    herdr = connect(SOCKET, 10.0)
    version = herdr.call("ping")
    assert version.version
    snapshot = herdr.call("snapshot")
    assert (snapshot.version, snapshot.protocol) == (version.version, version.protocol)
    assert snapshot.workspaces
    assert herdr.call("peer_pid") is not None
    for pane in snapshot.panes:
        assert herdr.call("pane", pane.pane_id).terminal_id == pane.terminal_id
        try:
            assert herdr.call("process_info", pane.pane_id).pane_id == pane.pane_id
            assert "\x1b" not in herdr.call("read", pane.pane_id).text
        except HerdrRefused as error:
            assert error.code == "pane_not_found"  # noqa: PT017 - it was not started yet
    with herdr.subscribe() as subscription:
        subscription.wait(0.5)
    with pytest.raises(HerdrRefused):
        herdr.call("pane", "no such pane")
    changes = herdr.changes(1.0)
    assert next(changes).protocol == version.protocol
    changes.close()
