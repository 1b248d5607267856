"""Letta Cloud's status relay: two sockets with the same feed, acknowledgements and pings.

The rules are those of `@letta-ai/letta-agent-sdk` (src/cloud-status-transport.ts) and of its
reference "Remote client": a message with a `seq` is answered by an `ack` on the same socket before
anything else; `{"type":"ping"}` goes out on both sockets and is answered by a `pong`; when one
closes, so does the other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from websockets.asyncio.client import ClientConnection

from .deadlines import Deadlines
from .frames import Channel
from .secret import Secret
from .transport import Sockets, open_socket

_PING = json.dumps({"type": "ping"})
# What the relay says for itself; none of it is a frame of the session.
_OF_THE_RELAY = ("ping", "pong", "ack")


class RelaySockets(Sockets):
    """The two sockets of one session."""

    def __init__(
        self, connections: Mapping[Channel, ClientConnection], deadlines: Deadlines
    ) -> None:
        super().__init__(connections, self._acknowledge)
        self._deadlines = deadlines
        self._heard = dict.fromkeys(connections, 0.0)
        self._pinging = asyncio.create_task(self._ping())

    async def close(self) -> None:
        """As `Transport.close`."""
        self._pinging.cancel()
        await super().close()
        await asyncio.wait({self._pinging})

    async def _acknowledge(self, channel: Channel, data: bytes) -> bool:
        """What the relay says for itself goes no further."""
        self._heard[channel] = asyncio.get_running_loop().time()
        said = _peek(data)
        seq = said.get("seq")
        if isinstance(seq, int) and not isinstance(seq, bool):
            await self.send_on(channel, json.dumps({"type": "ack", "seq": seq}))
        return said.get("type") not in _OF_THE_RELAY

    async def _ping(self) -> None:
        """Closes both sockets when one of them has gone silent."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._deadlines.ping)
        while True:
            asked = loop.time()
            for channel in self._heard:
                await self.send_on(channel, _PING)
            await asyncio.sleep(self._deadlines.pong)
            if min(self._heard.values()) < asked:
                self.end("no pong")
                return
            await asyncio.sleep(self._deadlines.ping - self._deadlines.pong)


async def connect(
    addresses: Mapping[Channel, str], key: Secret, deadlines: Deadlines
) -> RelaySockets:
    """Both sockets of the relay (`urls.relay`), or none. Raises `SessionError`."""
    opening = {
        channel: asyncio.ensure_future(
            open_socket(
                address,
                f"the {channel} socket of the relay",
                deadlines.connect,
                key=key,
                keep_alive=None,
            )
        )
        for channel, address in addresses.items()
    }
    try:
        await asyncio.gather(*opening.values())
    except BaseException:
        for one in opening.values():
            one.cancel()
        for opened in await asyncio.gather(*opening.values(), return_exceptions=True):
            if isinstance(opened, ClientConnection):
                await opened.close()
        raise
    return RelaySockets({channel: one.result() for channel, one in opening.items()}, deadlines)


def _peek(data: bytes) -> dict[str, Any]:
    """The message's members, or none: whether it is one that counts is for the recorder to say."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
