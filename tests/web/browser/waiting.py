"""Waiting for a page and checking it, without the evaluation of text that its policy forbids."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import Page

SETTLED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))"
OPEN = """() => {
  for (const one of document.querySelectorAll('details')) one.open = true;
  for (const one of document.querySelectorAll('.page')) one.style.contentVisibility = 'visible';
}"""

AXE = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations.map(one => [one.id, ...one.nodes.map(node => node.html).slice(0, 4)]);
}"""


def violations(page: Page, axe: str) -> list[Any]:
    """What `axe`, the program, finds wrong for readers who do not see the page or use no mouse."""
    page.evaluate(axe)
    found: list[Any] = page.evaluate(AXE)
    return found


def open_all(page: Page) -> None:
    """Opens what is folded, and lays out all: else `innerText` and axe pass over it."""
    page.evaluate(OPEN)
    settle(page)


def until(page: Page, expression: str, argument: Any = None, seconds: float = 10) -> Any:
    """What the expression gives once that is true; it may be a function of `argument`."""
    end = time.monotonic() + seconds
    while True:
        found = page.evaluate(expression, argument)
        if found:
            return found
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(20)


def settle(page: Page) -> None:
    """Lets the page draw what it has."""
    page.evaluate(SETTLED)
