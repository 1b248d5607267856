"""One App Server of Letta Code, directly: one socket, no REST, no key."""

from __future__ import annotations

from . import urls
from .deadlines import Deadlines
from .transport import Sockets, open_socket

_KEEP_ALIVE = 20.0


async def connect(url: str, deadlines: Deadlines) -> Sockets:
    """The connection to the App Server at `url`. Raises `SessionError`."""
    address = urls.app_server(url)
    connection = await open_socket(
        address, "the App Server", deadlines.connect, keep_alive=_KEEP_ALIVE
    )
    return Sockets({"control": connection})
