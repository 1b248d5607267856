"""A store: the folder beneath which Letta Code keeps one folder an agent and conversation."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ._beneath import Root
from .errors import SourceError, SourceReason
from .records import ConversationRef, Limits, Mode
from .transcript import Transcript

TRANSCRIPT_NAME = "transcript.jsonl"


class Store:
    """The trusted folder `root`; nothing beneath it is reached through a link.

    The root is looked at only when a method is called, so a store may be made
    before Letta Code has made its folder.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fsdecode(root)

    def conversations(self) -> Iterator[ConversationRef]:
        """Every conversation folder, by agent and conversation name, in the order of the names.

        Looks at each transcript with `fstat` only and reads none. A folder that
        cannot be looked into is one ref with `conversation` "" and the state
        `unreadable`, and the listing goes on. Raises `SourceError` for the root.
        """
        with Root(self.root) as root:
            for agent in root.folders(""):
                try:
                    names = root.folders(agent)
                except SourceError as error:
                    yield ConversationRef(agent, "", "unreadable", reason=str(error.reason))
                    continue
                for conversation in names:
                    yield _look(root, agent, conversation)

    def transcript(
        self, agent: str, conversation: str, mode: Mode = "strict", limits: Limits | None = None
    ) -> Transcript:
        """Opens one conversation's transcript, as `open_transcript` does.

        `agent` and `conversation` are folder names beneath the root.
        """
        relative = f"{agent}/{conversation}/{TRANSCRIPT_NAME}"
        name = os.path.join(self.root, relative)
        if "/" in agent or "/" in conversation:
            raise SourceError(SourceReason.BAD_NAME, name)
        return Transcript(self.root, relative, name, mode, limits or Limits())


def _look(root: Root, agent: str, conversation: str) -> ConversationRef:
    try:
        found = root.status(f"{agent}/{conversation}/{TRANSCRIPT_NAME}")
    except SourceError as error:
        missing = error.reason is SourceReason.MISSING
        return ConversationRef(
            agent, conversation, "missing" if missing else "unreadable", reason=str(error.reason)
        )
    return ConversationRef(
        agent,
        conversation,
        "present" if found.st_size else "empty",
        size=found.st_size,
        mtime=found.st_mtime,
    )
