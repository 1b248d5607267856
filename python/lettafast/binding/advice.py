"""What a user can do about each reason."""

from __future__ import annotations

from collections.abc import Mapping

from .verdict import Reason, Terminal

_RESTART = (
    "Quit this letta, wait two seconds, and start `letta` again in the folder: "
    "it resumes the conversation that the folder's record names."
)

_INSTALL = (
    "On Linux, run `lettafast witness install` once, then `/reload` in this letta: "
    "from then on it says itself which conversation it shows."
)

ADVICE: Mapping[Reason, str] = {
    Reason.NOT_LETTA: "Start `letta` in the pane.",
    Reason.NO_REPORT: (
        "In herdr, run `herdr integration install letta` once, then restart letta in the pane; "
        "the integration needs python3."
    ),
    Reason.BARE_DEFAULT: "Update herdr's Letta integration: `herdr integration install letta`.",
    Reason.DUPLICATE_REPORT: "Quit letta in all but one of the panes, and restart it in that one.",
    Reason.NO_PROCESS: "Start `letta` in the pane itself, not beneath tmux or ssh in it.",
    Reason.SEVERAL_PROCESSES: "Leave only one letta in the pane's foreground.",
    Reason.UNSUPPORTED_PLATFORM: "Use Linux or macOS.",
    Reason.OTHER_USER: "Run lettafast as the user that runs letta.",
    Reason.OTHER_NAMESPACE: "Run lettafast inside the container that letta runs in.",
    Reason.OTHER_PANE: "Start letta from this pane's own shell.",
    Reason.ENVIRONMENT_UNREADABLE: (
        "Run lettafast as the user that runs letta, and start letta without files that are loaded "
        "before it (NODE_OPTIONS, --require, --env-file)."
    ),
    Reason.NO_HOME: "Start letta with HOME set.",
    Reason.STORE_UNKNOWN: (
        "Set HOME, LETTA_TRANSCRIPT_ROOT and LETTA_LOCAL_BACKEND_DIR to absolute paths, "
        "or leave the last two unset, and restart letta."
    ),
    Reason.START_FOLDER_UNKNOWN: "Start letta from a shell, which sets PWD.",
    Reason.LEFT_START_FOLDER: _RESTART,
    Reason.MEMORY_UNAVAILABLE: (
        "Make the state folder writable, or name another one in LETTAFAST_STATE_DIR; "
        "then restart letta."
    ),
    Reason.FOLDER_CHANGED: _RESTART,
    Reason.HOME_FOLDER: "Start letta in a project's folder.",
    Reason.PEER_IN_FOLDER: "Give each letta a folder of its own, such as a git worktree.",
    Reason.PERSISTENCE_OFF: (
        "Start letta without LETTA_DISABLE_SESSION_PERSIST and LETTA_CODE_AGENT_ROLE."
    ),
    Reason.RECORD_MISSING: _RESTART,
    Reason.RECORD_INVALID: (
        "Move `.letta/settings.local.json` away or mend it, start letta, quit it, "
        "and start it again."
    ),
    Reason.RECORD_UNWRITABLE: "Make `.letta/settings.local.json` writable; restart letta twice.",
    Reason.RECORD_CHANGED: "Look again: the record is being written.",
    Reason.RECORD_NAMES_ANOTHER: _RESTART,
    Reason.RECORD_NEWER_THAN_PROCESS: _RESTART,
    Reason.RECORD_UNTRUSTED_FILESYSTEM: "Keep the project on a local disk.",
    Reason.CLOCK_STEPPED: "Restart letta once the clock is right, and lettafast's watch with it.",
    Reason.STORE_NAMES_ANOTHER: _RESTART,
    Reason.STORE_MISSING: (
        "Look at the file that the evidence names; where the conversation was deleted, "
        "start a new one."
    ),
    Reason.STORE_CHANGED: "Look again: the store is being written.",
    Reason.ID_REUSED: "Move the old transcript's folder away, or start a new conversation.",
    Reason.WITNESS_MISSING: _INSTALL,
    Reason.WITNESS_STALE: (
        "Look again; where it stays so, run `lettafast witness install`, "
        "then `/reload` in this letta."
    ),
    Reason.WITNESS_INVALID: (
        "Run `lettafast witness install`, then `/reload` in this letta; where it stays so, "
        "see what is wrong with the file that the evidence names."
    ),
    Reason.TRANSCRIPT_MISSING: "Complete a turn: Letta writes it when it ends.",
    Reason.TRANSCRIPT_UNSAFE: (
        "Make the transcript a regular, readable file, with no link beneath the transcript root."
    ),
    Reason.TRANSCRIPT_REFUSED: "Run `lettafast check` on the transcript, and mend the line.",
    Reason.CONFLICT: _RESTART,
    Reason.HERDR_UNAVAILABLE: (
        "See that every herdr session answers; start herdr, or set HERDR_SESSION "
        "or HERDR_SOCKET_PATH."
    ),
    Reason.HERDR_PROTOCOL: "Update herdr or lettafast: they do not understand each other.",
    Reason.TMUX_UNAVAILABLE: "See that the tmux server answers; restart tmux, or update it.",
    Reason.CHANGED_WHILE_READING: "Look again.",
}

_BEYOND_A_WITNESS = ("store", "transcript", "unchanged")
"""Rules that no witness helps to hold."""


def advice_on(verdict: Terminal) -> str:
    """What to do about a verdict; with it what makes the witness speak, where that would help."""
    advice, silent = ADVICE[verdict.reason], silent_witness(verdict)
    return advice if silent is None else f"{advice} Or with a witness: {ADVICE[silent]}"


def silent_witness(verdict: Terminal) -> Reason | None:
    """Why the letta's witness says nothing, where the pane could be bound if it spoke."""
    if verdict.evidence[-1].rule in _BEYOND_A_WITNESS:
        return None
    reasons = (found.reason for found in verdict.evidence if found.rule == "witness")
    return next(reasons, None)
