"""The real application on a loopback port of its own, in a thread."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lettafast.web import Access, WebLimits, create_app
from lettafast.web.serving import Server, listen


@dataclass(frozen=True)
class Served:
    """A running server, and who it lets in."""

    origin: str
    access: Access

    @property
    def headers(self) -> dict[str, str]:
        """What lets a request in."""
        return {"authorization": f"Bearer {self.access.token}"}


@contextlib.contextmanager
def served(root: os.PathLike[str], again: Served | None = None, **options: Any) -> Iterator[Served]:
    """Serves the store at `root` until the block ends; `again` at the place of an earlier one."""
    limits = WebLimits(verdicts=0.3)
    with listen("127.0.0.1", again.access.port if again else 0, limits) as listener:
        access = again.access if again else Access(listener.getsockname()[1])
        app = create_app(os.fspath(root), access=access, limits=limits, **options)
        server = Server(app, limits)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            until = time.monotonic() + 10
            while not server.started and time.monotonic() < until:
                time.sleep(0.01)
            assert server.started
            yield Served(f"http://127.0.0.1:{access.port}", access)
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()
