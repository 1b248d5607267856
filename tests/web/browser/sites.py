"""A served store, and the windows that look at it."""

from __future__ import annotations

import pathlib
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

import talks
from served import Served

DESK = {"width": 1100, "height": 800}


class Site:
    """A store, the server that shows it, and windows on it."""

    def __init__(self, root: pathlib.Path, server: Served, browser: Browser) -> None:
        self.root = root
        self.server = server
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.faults: list[str] = []
        self.requests: list[str] = []

    def context(self, **options: Any) -> BrowserContext:
        """A browser that was let in, as by the address that the server prints."""
        options.setdefault("viewport", DESK)
        context = self._browser.new_context(extra_http_headers=self.server.headers, **options)
        context.set_default_timeout(10_000)
        context.on("request", lambda request: self.requests.append(request.url))
        self._contexts.append(context)
        return context

    def window(self, context: BrowserContext | None = None, **options: Any) -> Page:
        page = (context or self.context(**options)).new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        return page

    def open(self, path: str, **options: Any) -> Page:
        """A page that is ready; `path` may be the name of a conversation."""
        page = self.window(**options)
        self.go(page, path, scripted=options.get("java_script_enabled", True))
        return page

    def go(self, page: Page, path: str, *, scripted: bool = True) -> None:
        page.goto(self.server.origin + self.path(path))
        if scripted:
            page.wait_for_selector("html[data-ready]")

    def path(self, name: str) -> str:
        return name if name.startswith("/") else f"/conversations/{talks.AGENT}/{name}"

    def forgive(self, text: str) -> None:
        """Passes over what a browser says of an answer that the test brought about."""
        self.faults = [fault for fault in self.faults if text not in fault]

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)
