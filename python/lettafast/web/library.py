"""The conversations of one root: the list, their titles, and their pages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lettafast.errors import SourceError
from lettafast.records import ConversationRef
from lettafast.store import Store
from lettafast.visible import file_name

from .places import Place, quoted
from .titles import Titles
from .workers import Workers

_LIST_SECONDS = 1.0
"""How long a list is kept: folders are looked through for each."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is beneath the root, newest first."""

    total: int
    conversations: Sequence[dict[str, Any]]


class Library:
    """Lists conversations in a thread of its own."""

    def __init__(self, root: str, local_store: str | None) -> None:
        self.root = root
        self._store = Store(root)
        self._titles = Titles(root, local_store)
        self._worker = Workers(1, "lettafast-list")
        self._refs: tuple[float, list[ConversationRef]] | None = None

    async def newest(self, most: int) -> Listing:
        """At most `most` conversations."""
        return await self._worker.run(self._newest, most)

    async def title(self, place: Place) -> str:
        """What to call one conversation."""
        return await self._worker.run(self._title, place.root, place.agent, place.conversation)

    def close(self, until: float) -> None:
        """Ends the thread by `until`."""
        self._worker.close(until)

    def _newest(self, most: int) -> Listing:
        now = time.monotonic()
        if self._refs is None or now - self._refs[0] > _LIST_SECONDS:
            self._refs = now, sorted(self._found(), key=_age)
        refs = self._refs[1]
        return Listing(len(refs), [self._item(ref) for ref in refs[:most]])

    def _found(self) -> list[ConversationRef]:
        try:
            return list(self._store.conversations())
        except SourceError:  # there is no root yet, or it cannot be looked into
            return []

    def _item(self, ref: ConversationRef) -> dict[str, Any]:
        href = None
        if ref.conversation:
            href = f"/conversations/{quoted(ref.agent)}/{quoted(ref.conversation)}"
        return {
            "agent": file_name(ref.agent),
            "conversation": file_name(ref.conversation),
            "title": file_name(self._title(self.root, ref.agent, ref.conversation)),
            "state": ref.state,
            "reason": ref.reason,
            "size": ref.size,
            "mtime": ref.mtime,
            "href": href,
        }

    def _title(self, root: str, agent: str, conversation: str) -> str:
        return self._titles.title(root, agent, conversation) or conversation


def _age(ref: ConversationRef) -> tuple[float, str, str]:
    """Newest first; what has no time last, by its name."""
    return (-(ref.mtime or 0.0), ref.agent, ref.conversation)
