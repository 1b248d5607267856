"""A verdict: which conversation a pane shows, or why it shows its terminal's text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from lettafast.errors import HistoryChanged, HistoryReason
from lettafast.records import FileId, Limits, Mode
from lettafast.store import Store
from lettafast.transcript import Transcript


class Reason(str, Enum):
    """Why nothing proves which conversation a pane shows; `docs/BINDING.md` explains each."""

    NOT_LETTA = "not_letta"
    NO_REPORT = "no_report"
    BARE_DEFAULT = "bare_default"
    DUPLICATE_REPORT = "duplicate_report"
    NO_PROCESS = "no_process"
    SEVERAL_PROCESSES = "several_processes"
    UNSUPPORTED_PLATFORM = "unsupported_platform"
    OTHER_USER = "other_user"
    OTHER_NAMESPACE = "other_namespace"
    OTHER_PANE = "other_pane"
    ENVIRONMENT_UNREADABLE = "environment_unreadable"
    NO_HOME = "no_home"
    STORE_UNKNOWN = "store_unknown"
    START_FOLDER_UNKNOWN = "start_folder_unknown"
    LEFT_START_FOLDER = "left_start_folder"
    MEMORY_UNAVAILABLE = "memory_unavailable"
    FOLDER_CHANGED = "folder_changed"
    HOME_FOLDER = "home_folder"
    PEER_IN_FOLDER = "peer_in_folder"
    PERSISTENCE_OFF = "persistence_off"
    RECORD_MISSING = "record_missing"
    RECORD_INVALID = "record_invalid"
    RECORD_UNWRITABLE = "record_unwritable"
    RECORD_CHANGED = "record_changed"
    RECORD_NAMES_ANOTHER = "record_names_another"
    RECORD_NEWER_THAN_PROCESS = "record_newer_than_process"
    RECORD_UNTRUSTED_FILESYSTEM = "record_untrusted_filesystem"
    CLOCK_STEPPED = "clock_stepped"
    STORE_NAMES_ANOTHER = "store_names_another"
    STORE_MISSING = "store_missing"
    STORE_CHANGED = "store_changed"
    ID_REUSED = "id_reused"
    WITNESS_MISSING = "witness_missing"
    WITNESS_STALE = "witness_stale"
    WITNESS_INVALID = "witness_invalid"
    TRANSCRIPT_MISSING = "transcript_missing"
    TRANSCRIPT_UNSAFE = "transcript_unsafe"
    TRANSCRIPT_REFUSED = "transcript_refused"
    CONFLICT = "conflict"
    HERDR_UNAVAILABLE = "herdr_unavailable"
    HERDR_PROTOCOL = "herdr_protocol"
    TMUX_UNAVAILABLE = "tmux_unavailable"
    CHANGED_WHILE_READING = "changed_while_reading"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Evidence:
    """One rule that was looked at: what it gave, the fact it saw, and that in a sentence."""

    proof: str
    """Whose rule it is."""
    rule: str
    reason: Reason | None
    """Why it does not hold; None where it does."""
    saw: str
    sentence: str

    @property
    def held(self) -> bool:
        """Whether the rule holds."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Bound:
    """The pane shows this conversation, proven at `checked_at` (Unix seconds)."""

    agent_id: str
    conversation_id: str
    root: str
    """The transcript root of the pane's letta: the transcript is opened beneath it."""
    file: FileId
    """The transcript that was judged."""
    proof: str
    """Which proof holds: `witnessed` or `recorded`."""
    evidence: tuple[Evidence, ...]
    checked_at: float

    def open(self, mode: Mode = "strict", limits: Limits | None = None) -> Transcript:
        """The transcript, opened by the safe reader from the root and the two ids.

        Raises what `Store.transcript` raises, and `HistoryChanged` when another
        file is at that place than the one that was judged.
        """
        transcript = Store(self.root).transcript(self.agent_id, self.conversation_id, mode, limits)
        if transcript.file_id != self.file:
            transcript.close()
            raise HistoryChanged(HistoryReason.REPLACED, transcript.name)
        return transcript


@dataclass(frozen=True, slots=True)
class Terminal:
    """Nothing proves which conversation the pane shows: show its terminal's text."""

    reason: Reason
    evidence: tuple[Evidence, ...]
    """What was looked at; the last is what decided."""
    checked_at: float
    agent_id: str | None = None
    """With `transcript_missing`, where the letta's witness names the conversation: its agent."""
    conversation_id: str | None = None
    """Likewise: the pane shows this conversation, in which no turn was completed yet."""


Verdict: TypeAlias = Bound | Terminal
