"""What can go wrong: one class for each thing that a caller would do differently.

Each error has a `reason` from a closed enumeration, a `hint` for people (or
None) and the `exit_code` that the command line ends with.
"""

from __future__ import annotations

import os
from enum import Enum


class _Reason(str, Enum):
    """`enum.StrEnum`, which Python 3.10 lacks."""

    def __str__(self) -> str:
        return str(self.value)


class SourceReason(_Reason):
    """Why a file could not be opened or read."""

    MISSING = "missing"
    PERMISSION_DENIED = "permission_denied"
    SYMLINK = "symlink"
    NOT_REGULAR = "not_regular"
    BAD_NAME = "bad_name"
    CHANGED = "changed"
    IO = "io"


class RefusedReason(_Reason):
    """Why a line was refused; `docs/FORMAT.md` says when each is given."""

    BOM = "bom"
    LINE_TOO_LONG = "line_too_long"
    NUL_PADDING = "nul_padding"
    BLANK_LINE = "blank_line"
    NOT_AN_OBJECT = "not_an_object"
    MALFORMED_JSON = "malformed_json"
    INVALID_UTF8 = "invalid_utf8"
    CONTROL_CHARACTER = "control_character"
    DUPLICATE_KEY = "duplicate_key"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_KIND = "unknown_kind"
    BAD_TIMESTAMP = "bad_timestamp"
    MISSING_FIELD = "missing_field"
    TRAILING_DATA = "trailing_data"


class HistoryReason(_Reason):
    """How a transcript stopped being the history that was read."""

    TRUNCATED = "truncated"
    REPLACED = "replaced"
    REWRITTEN = "rewritten"
    OTHER_HISTORY = "other_history"
    BEYOND_END = "beyond_end"


class CursorReason(_Reason):
    """Why a cursor, an offset or a limit is no place in a transcript."""

    FORM = "form"
    NOT_A_LINE = "not_a_line"
    NOT_A_ROW = "not_a_row"
    LIMIT = "limit"


class RefReason(_Reason):
    """Why a ref or a bare id names no text."""

    FORM = "form"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    NO_SUCH_PART = "no_such_part"


class HerdrUnavailableReason(_Reason):
    """Why herdr could not be reached, or did not answer."""

    UNSUPPORTED_PLATFORM = "unsupported_platform"
    BAD_NAME = "bad_name"
    PATH_TOO_LONG = "path_too_long"
    MISSING = "missing"
    NOT_LISTENING = "not_listening"
    PERMISSION_DENIED = "permission_denied"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    SHUTTING_DOWN = "shutting_down"
    IO = "io"


class HerdrProtocolReason(_Reason):
    """Why an answer is not one that herdr's protocol knows."""

    TOO_LONG = "too_long"
    INVALID_UTF8 = "invalid_utf8"
    MALFORMED_JSON = "malformed_json"
    NOT_AN_OBJECT = "not_an_object"
    UNEXPECTED_RESULT = "unexpected_result"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"


class HerdrRefusedReason(_Reason):
    """What herdr answered instead of a result: its own code where lettafast knows it."""

    INVALID_REQUEST = "invalid_request"
    PANE_NOT_FOUND = "pane_not_found"
    EVENTS_LOST = "events_lost"
    OTHER = "other"


class TmuxReason(_Reason):
    """Why a tmux server gave no answer."""

    NOT_INSTALLED = "not_installed"
    NO_SERVER = "no_server"
    PERMISSION_DENIED = "permission_denied"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    ANSWER = "answer"
    IO = "io"


class WitnessReason(_Reason):
    """Why lettafast's mod for Letta Code could not be installed or removed."""

    NO_LETTA = "no_letta"
    NOT_OURS = "not_ours"
    SYMLINK = "symlink"
    OPEN = "open"
    PERMISSION_DENIED = "permission_denied"
    IO = "io"


class SessionReason(_Reason):
    """Why a run with an agent could not begin, or ended before its evidence was whole."""

    NO_KEY = "no_key"
    INSECURE_URL = "insecure_url"
    UNREACHABLE = "unreachable"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    REFUSED = "refused"
    RESUMED = "resumed"
    NOT_ONLINE = "not_online"
    EXPIRED = "expired"
    OTHER_MODE = "other_mode"
    PROTOCOL = "protocol"
    CLOSED = "closed"
    DEADLINE = "deadline"
    STOPPED = "stopped"


class ExpectedReason(_Reason):
    """Why the runner's own checkout says nothing that could be expected of a sandbox."""

    NO_GIT = "no_git"
    NOT_A_REPOSITORY = "not_a_repository"
    NO_CHECKOUT = "no_checkout"
    COMMIT_FORM = "commit_form"
    NO_COMMIT = "no_commit"
    DIRTY = "dirty"
    UNTRACKED = "untracked"
    HIDDEN = "hidden"
    BAD_NAME = "bad_name"
    CHANGED = "changed"
    TIMEOUT = "timeout"
    GIT = "git"


class MetadataReason(_Reason):
    """Which rule a variable of the pipeline breaks."""

    MISSING = "missing"
    NOT_HTTPS = "not_https"
    CREDENTIALS = "credentials"
    QUERY = "query"
    FRAGMENT = "fragment"
    HOST = "host"
    PATH = "path"
    COMMIT_FORM = "commit_form"
    TWO_COMMITS = "two_commits"
    OTHER_COMMIT = "other_commit"
    KIND = "kind"
    PULL_REQUEST = "pull_request"
    AGENT_FORM = "agent_form"
    FORM = "form"
    LOCAL_ONLY = "local_only"
    HOLDS_KEY = "holds_key"


class SigningKeyReason(_Reason):
    """Why a key can neither sign nor verify."""

    UNREADABLE = "unreadable"
    NOT_PEM = "not_pem"
    PROTECTED = "protected"
    NOT_ED25519 = "not_ed25519"


class EnvelopeReason(_Reason):
    """Why a file is no receipt."""

    TOO_LONG = "too_long"
    LINES = "lines"
    NOT_CANONICAL = "not_canonical"
    MEMBERS = "members"
    PAYLOAD_TYPE = "payload_type"
    PAYLOAD = "payload"
    SIGNATURES = "signatures"
    BAD_SIGNATURE = "bad_signature"


class BackendReason(_Reason):
    """Why the backend that was asked for does not run."""

    UNKNOWN = "unknown"
    NOT_LOADABLE = "not_loadable"
    ABI = "abi"


class InternalReason(_Reason):
    """A bug in lettafast."""

    PANIC = "panic"


class LettafastError(Exception):
    """Base of all errors of lettafast."""

    reason: _Reason
    hint: str | None = None
    exit_code: int = 1


class SourceError(LettafastError):
    """A file could not be opened or read. `errno` is set for `io` (else 0)."""

    exit_code = 3
    _HINTS = {
        SourceReason.MISSING: "no transcript is there: Letta Code writes one when the first turn is complete",
        SourceReason.PERMISSION_DENIED: "check the permissions of the file and of each folder above it",
        SourceReason.SYMLINK: "nothing beneath the root may be a link: name the real place, or make the link part of the root",
        SourceReason.NOT_REGULAR: "a transcript is a regular file",
        SourceReason.BAD_NAME: "name a place beneath the root, without `..`, `.` or empty parts",
        SourceReason.CHANGED: "the file shrank while it was read: open it again",
        SourceReason.IO: None,
    }

    def __init__(self, reason: SourceReason, name: str, errno: int = 0) -> None:
        self.reason = reason
        self.name = name
        self.errno = errno
        self.hint = self._HINTS[reason]
        words = reason.value.replace("_", " ")
        detail = f" ({os.strerror(errno)})" if errno else ""
        super().__init__(f"{name}: {words}{detail}")


class TranscriptRefused(LettafastError, ValueError):
    r"""A strict reading met a fault; the transcript is refused as a whole.

    `line` counts from 1; `line_offset` and `offset` are bytes from the start of
    the file; `field` is the member concerned (at most 64 characters) or None;
    `excerpt` is printable ASCII around `offset`, other bytes as `\xNN`.
    """

    hint = "nothing was read: mend the line, or read leniently to skip and count what is damaged"

    def __init__(
        self,
        reason: RefusedReason,
        name: str,
        *,
        line: int,
        line_offset: int,
        offset: int,
        field: str | None,
        excerpt: str,
    ) -> None:
        self.reason = reason
        self.name = name
        self.line = line
        self.line_offset = line_offset
        self.offset = offset
        self.field = field
        self.excerpt = excerpt
        quoted = f' "{_printable(field)}"' if field is not None else ""
        super().__init__(
            f"{name}:{line}: {reason.value.replace('_', ' ')}{quoted} at byte {offset}"
        )


class HistoryChanged(LettafastError):
    """The history that a cursor, a ref or an open transcript knew is gone: start over."""

    hint = "reopen the transcript and start from its newest page"
    _WORDS = {
        HistoryReason.TRUNCATED: "the file is shorter than what was read",
        HistoryReason.REPLACED: "another file, or none, is at its place",
        HistoryReason.REWRITTEN: "what was read is no longer what the file holds",
        HistoryReason.OTHER_HISTORY: "the cursor or ref belongs to another history",
        HistoryReason.BEYOND_END: "the cursor or ref lies beyond the end",
    }

    def __init__(self, reason: HistoryReason, name: str) -> None:
        self.reason = reason
        self.name = name
        super().__init__(f"{name}: history changed: {self._WORDS[reason]}")


class CursorError(LettafastError, ValueError):
    """A cursor of another form, an offset that begins no line or row, or a limit out of bounds."""

    exit_code = 2
    _WORDS = {
        CursorReason.FORM: "not a cursor: it is `<history_id>:<offset>`, as a page gave it",
        CursorReason.NOT_A_LINE: "the cursor's offset begins no line",
        CursorReason.NOT_A_ROW: "the offset begins no row",
        CursorReason.LIMIT: "the limit must be from 1 to 1,000 units",
    }

    def __init__(self, reason: CursorReason) -> None:
        self.reason = reason
        super().__init__(self._WORDS[reason])


class RefError(LettafastError, ValueError):
    """A ref or bare id that names no text, or more than one."""

    exit_code = 2
    _WORDS = {
        RefReason.FORM: "not a ref: it is `at:<history_id>:<offset>` or the id of one tool call",
        RefReason.NOT_FOUND: "no entry is there",
        RefReason.AMBIGUOUS: "several tool calls have this id: use a ref of the form `at:<history_id>:<offset>`",
        RefReason.NO_SUCH_PART: "an entry of this kind has no such part",
    }

    def __init__(self, reason: RefReason) -> None:
        self.reason = reason
        super().__init__(self._WORDS[reason])


class ProviderError(LettafastError):
    """What shows panes gave no answer that can be used. `socket` is the path that was asked."""

    exit_code = 3
    socket: str


class HerdrError(ProviderError):
    """herdr gave no answer that can be used."""


class HerdrUnavailable(HerdrError):
    """herdr could not be reached, or did not answer in time. `errno` is set for `io` (else 0)."""

    _WORDS = {
        HerdrUnavailableReason.UNSUPPORTED_PLATFORM: "herdr's socket cannot be used on this platform",
        HerdrUnavailableReason.BAD_NAME: "not the name of a herdr socket",
        HerdrUnavailableReason.PATH_TOO_LONG: "the socket's path is too long to connect to",
        HerdrUnavailableReason.MISSING: "no socket is there",
        HerdrUnavailableReason.NOT_LISTENING: "nothing listens at the socket",
        HerdrUnavailableReason.PERMISSION_DENIED: "permission denied",
        HerdrUnavailableReason.TIMEOUT: "no whole answer came in time",
        HerdrUnavailableReason.CLOSED: "the connection was closed before a whole answer",
        HerdrUnavailableReason.SHUTTING_DOWN: "herdr is shutting down",
        HerdrUnavailableReason.IO: "the connection failed",
    }
    _HINTS = {
        HerdrUnavailableReason.UNSUPPORTED_PLATFORM: "herdr on Windows listens at a named pipe, which lettafast does not speak",
        HerdrUnavailableReason.BAD_NAME: "name a session of 1 to 64 of `A-Z a-z 0-9 . _ -`, or a path ending in `herdr.sock`",
        HerdrUnavailableReason.PATH_TOO_LONG: "set XDG_CONFIG_HOME or HERDR_SOCKET_PATH to a shorter path and restart herdr",
        HerdrUnavailableReason.MISSING: "start herdr, or name its session or its socket (HERDR_SESSION, HERDR_SOCKET_PATH)",
        HerdrUnavailableReason.NOT_LISTENING: "herdr ended without removing its socket: start it again",
        HerdrUnavailableReason.PERMISSION_DENIED: "the socket belongs to another user: run as the user that runs herdr",
        HerdrUnavailableReason.TIMEOUT: "herdr is busy or stopped: try again",
        HerdrUnavailableReason.CLOSED: "herdr may be restarting: try again",
        HerdrUnavailableReason.SHUTTING_DOWN: "start herdr again",
        HerdrUnavailableReason.IO: None,
    }

    def __init__(self, reason: HerdrUnavailableReason, socket: str, errno: int = 0) -> None:
        self.reason = reason
        self.socket = socket
        self.errno = errno
        self.hint = self._HINTS[reason]
        detail = f" ({os.strerror(errno)})" if errno else ""
        super().__init__(f"{socket}: {self._WORDS[reason]}{detail}")


class HerdrProtocolError(HerdrError):
    """An answer that herdr's protocol does not know. `field` is the member concerned, or None."""

    hint = "is this herdr's API socket? If so, this herdr is newer or older than lettafast knows: please report it"

    def __init__(self, reason: HerdrProtocolReason, socket: str, field: str | None = None) -> None:
        self.reason = reason
        self.socket = socket
        self.field = field
        quoted = f' "{_printable(field)}"' if field is not None else ""
        super().__init__(
            f"{socket}: answer not understood: {reason.value.replace('_', ' ')}{quoted}"
        )


class HerdrRefused(HerdrError):
    """herdr's own error reply: its `code`, and its `message` (at most 500 characters)."""

    _HINTS = {
        HerdrRefusedReason.INVALID_REQUEST: "this herdr does not know the call: it may be too old",
        HerdrRefusedReason.PANE_NOT_FOUND: "no such pane, or nothing was started in it yet",
        HerdrRefusedReason.EVENTS_LOST: "events came faster than they were read: subscribe again",
        HerdrRefusedReason.OTHER: None,
    }

    def __init__(self, socket: str, code: str, message: str) -> None:
        known = {str(reason): reason for reason in HerdrRefusedReason}
        self.reason = known.get(code, HerdrRefusedReason.OTHER)
        self.socket = socket
        self.code = code
        self.message = message[:500]
        self.hint = self._HINTS[self.reason]
        super().__init__(f"{socket}: herdr refused: {_printable(self.message or code)}")


class TmuxError(ProviderError):
    """A tmux server gave no answer that can be used. `said` is what tmux printed, or ""."""

    _WORDS = {
        TmuxReason.NOT_INSTALLED: "tmux cannot be run",
        TmuxReason.NO_SERVER: "no tmux server listens at the socket",
        TmuxReason.PERMISSION_DENIED: "permission denied",
        TmuxReason.TIMEOUT: "no whole answer came in time",
        TmuxReason.REFUSED: "tmux refused",
        TmuxReason.ANSWER: "answer not understood",
        TmuxReason.IO: "the connection failed",
    }
    _HINTS = {
        TmuxReason.NOT_INSTALLED: "install tmux where PATH finds it",
        TmuxReason.NO_SERVER: "start tmux, or name another socket",
        TmuxReason.PERMISSION_DENIED: "the socket belongs to another user: run as the user that runs tmux",
        TmuxReason.TIMEOUT: "tmux is busy or stopped: try again",
        TmuxReason.REFUSED: "the tmux that runs may be older or newer than the one that is installed",
        TmuxReason.ANSWER: "this tmux is newer or older than lettafast knows: please report it",
        TmuxReason.IO: None,
    }

    def __init__(self, reason: TmuxReason, socket: str, said: str = "") -> None:
        self.reason = reason
        self.socket = socket
        self.said = said[:500]
        self.hint = self._HINTS[reason]
        detail = f": {_printable(self.said)}" if said else ""
        super().__init__(f"{socket}: {self._WORDS[reason]}{detail}")


class WitnessError(LettafastError):
    """lettafast's mod for Letta Code could not be installed or removed. `path` is what was in the way.

    `errno` is set for `permission_denied` and `io` (else 0).
    """

    exit_code = 3
    _WORDS = {
        WitnessReason.NO_LETTA: "there is no such folder, so no Letta Code has run here",
        WitnessReason.NOT_OURS: "not as lettafast has installed it, so it is left as it is",
        WitnessReason.SYMLINK: "a link is in the way",
        WitnessReason.OPEN: "open to others, so the mod writes nothing there",
        WitnessReason.PERMISSION_DENIED: "permission denied",
        WitnessReason.IO: "it could not be read or written",
    }
    _HINTS = {
        WitnessReason.NO_LETTA: "start Letta Code once as this user, or name its home folder with --home",
        WitnessReason.NOT_OURS: "move it away, or remove it if it is not needed, and try again",
        WitnessReason.SYMLINK: "nothing is written through a link: put a real folder or file there",
        WitnessReason.OPEN: "let only its user in: `chmod 700`",
        WitnessReason.PERMISSION_DENIED: "run as the user that runs Letta Code, and check the permissions of the folder",
        WitnessReason.IO: None,
    }

    def __init__(self, reason: WitnessReason, path: str, errno: int = 0) -> None:
        self.reason = reason
        self.path = path
        self.errno = errno
        self.hint = self._HINTS[reason]
        if reason is WitnessReason.NOT_OURS:
            self.exit_code = 1
        detail = f" ({os.strerror(errno)})" if errno else ""
        super().__init__(f"{path}: {self._WORDS[reason]}{detail}")


class ReceiptError(LettafastError):
    """A receipt could not be made or checked."""

    exit_code = 2


class SessionError(ReceiptError):
    """The session with the agent failed.

    `detail` says at what, and never holds the key; `status` is that of an HTTP answer, or None.
    """

    _WORDS = {
        SessionReason.NO_KEY: "no API key that can be used",
        SessionReason.INSECURE_URL: "the address is not one that may be used",
        SessionReason.UNREACHABLE: "not reachable",
        SessionReason.UNAUTHORIZED: "the API key was refused",
        SessionReason.NOT_FOUND: "not found",
        SessionReason.REFUSED: "refused",
        SessionReason.RESUMED: "the sandbox is not a new one",
        SessionReason.NOT_ONLINE: "the sandbox did not come online in time",
        SessionReason.EXPIRED: "the sandbox has expired",
        SessionReason.OTHER_MODE: "the session does not run in the mode that was asked for",
        SessionReason.PROTOCOL: "answer not understood",
        SessionReason.CLOSED: "the connection was closed",
        SessionReason.DEADLINE: "not done in time",
        SessionReason.STOPPED: "stopped",
    }
    _HINTS = {
        SessionReason.NO_KEY: "set LETTA_API_KEY to a key of printable ASCII without spaces",
        SessionReason.INSECURE_URL: "use https (plain http and ws on loopback only), without credentials, query or fragment",
        SessionReason.UNREACHABLE: "check LETTA_BASE_URL or --app-server, and the network",
        SessionReason.UNAUTHORIZED: "is LETTA_API_KEY right, and may it use this agent?",
        SessionReason.NOT_FOUND: "is LETTA_AGENT_ID an agent of this account?",
        SessionReason.RESUMED: "nothing is said about a sandbox that ran before: run again",
        SessionReason.NOT_ONLINE: "Letta Cloud may be busy: run again",
        SessionReason.OTHER_MODE: "the Letta Code in the sandbox may be too old for the strict mode",
        SessionReason.PROTOCOL: "this Letta Code is newer or older than lettafast knows: please report it",
    }

    def __init__(self, reason: SessionReason, detail: str, status: int | None = None) -> None:
        self.reason = reason
        self.detail = _printable(detail[:500])
        self.status = status
        self.hint = self._HINTS.get(reason)
        usage = reason in (SessionReason.NO_KEY, SessionReason.INSECURE_URL)
        self.exit_code = 2 if usage else 3
        answer = "" if status is None else f" (HTTP {status})"
        super().__init__(f"{self.detail}: {self._WORDS[reason]}{answer}")


class ExpectedStateError(ReceiptError):
    """The runner's own checkout is not one to compare a sandbox with.

    `folder` is where it was looked for; `detail` is a name in it, what git said, or "".
    """

    exit_code = 2
    _WORDS = {
        ExpectedReason.NO_GIT: "git cannot be run",
        ExpectedReason.NOT_A_REPOSITORY: "not a git repository that may be read",
        ExpectedReason.NO_CHECKOUT: "nothing is checked out there",
        ExpectedReason.COMMIT_FORM: "a commit is 40 or 64 lower-case hex digits",
        ExpectedReason.NO_COMMIT: "no such commit is there",
        ExpectedReason.DIRTY: "the checkout is not clean: changed",
        ExpectedReason.UNTRACKED: "the checkout is not clean: untracked and not ignored",
        ExpectedReason.HIDDEN: "the index hides changes of",
        ExpectedReason.BAD_NAME: "a top-level name holds a control character or a comma and a space",
        ExpectedReason.CHANGED: "another commit was checked out meanwhile",
        ExpectedReason.TIMEOUT: "git did not answer in time",
        ExpectedReason.GIT: "git said no",
    }
    _HINTS = {
        ExpectedReason.NO_GIT: "install git where PATH finds it",
        ExpectedReason.NOT_A_REPOSITORY: "name a checkout of your own user with --repo",
        ExpectedReason.NO_CHECKOUT: "name the folder of the checkout with --repo, not its `.git`",
        ExpectedReason.COMMIT_FORM: "name the whole commit: `git rev-parse HEAD` prints one",
        ExpectedReason.NO_COMMIT: "fetch the commit first, and name the commit itself, not a tag",
        ExpectedReason.DIRTY: "commit it or take it back: the agent can only see what is committed",
        ExpectedReason.UNTRACKED: "add it to .gitignore, or write it outside the checkout",
        ExpectedReason.HIDDEN: "`git update-index --no-assume-unchanged --no-skip-worktree` shows them again",
        ExpectedReason.BAD_NAME: "rename it: a list of names could not be read in one way only",
        ExpectedReason.CHANGED: "leave the checkout alone while it is read",
        ExpectedReason.TIMEOUT: None,
        ExpectedReason.GIT: None,
    }

    def __init__(self, reason: ExpectedReason, folder: str, detail: str = "") -> None:
        self.reason = reason
        self.folder = folder
        self.detail = detail
        self.hint = self._HINTS[reason]
        if reason in (ExpectedReason.DIRTY, ExpectedReason.UNTRACKED, ExpectedReason.HIDDEN):
            said = f" `{_printable(detail)}`"
        else:
            said = f" ({_printable(detail)})" if detail else ""
        super().__init__(f"{_printable(folder)}: {self._WORDS[reason]}{said}")


class MetadataError(ReceiptError):
    """A variable of the pipeline breaks a rule. `variable` is its name; its value is never shown."""

    exit_code = 2
    _RULES = {
        MetadataReason.MISSING: "it must be set",
        MetadataReason.NOT_HTTPS: "the address must begin with `https://`",
        MetadataReason.CREDENTIALS: "the address must hold no credentials",
        MetadataReason.QUERY: "the address must have no query",
        MetadataReason.FRAGMENT: "the address must have no fragment",
        MetadataReason.HOST: "the address must name a host of `A-Z a-z 0-9 . -`, with or without a port",
        MetadataReason.PATH: "the address must have a path of `A-Z a-z 0-9 . _ ~ : / @ -`, without `.` and `..` as parts",
        MetadataReason.COMMIT_FORM: "it must be 40 or 64 lower-case hex digits",
        MetadataReason.TWO_COMMITS: "it must be the same commit as TANGLED_SHA",
        MetadataReason.OTHER_COMMIT: "it must be the commit that is checked out",
        MetadataReason.KIND: "it must be `push`, `manual` or `local`",
        MetadataReason.PULL_REQUEST: "a pull request brings code that nobody has looked at beside a key",
        MetadataReason.AGENT_FORM: "it must be an agent's id, `agent-` and 1 to 128 of `A-Z a-z 0-9 _ -`",
        MetadataReason.FORM: "it must be at most 512 printable ASCII characters without spaces",
        MetadataReason.LOCAL_ONLY: "it is for local runs: in a pipeline TANGLED_REPO_URL names the repository",
        MetadataReason.HOLDS_KEY: "it must not hold the API key",
    }
    _HINTS = {
        MetadataReason.MISSING: "Tangled sets the TANGLED_ variables; the LETTA_ ones are secrets or variables of yours",
        MetadataReason.PULL_REQUEST: "let the workflow run on `push` and `manual` only",
        MetadataReason.OTHER_COMMIT: "check out the commit that the pipeline was started for",
    }

    def __init__(self, variable: str, reason: MetadataReason) -> None:
        self.variable = variable
        self.reason = reason
        self.rule = self._RULES[reason]
        self.hint = self._HINTS.get(reason)
        super().__init__(f"{variable}: {self.rule}")


class SigningKeyError(ReceiptError):
    """A key can neither sign nor verify. `name` says where it came from; it is never shown."""

    exit_code = 2
    _WORDS = {
        SigningKeyReason.UNREADABLE: "the key could not be read",
        SigningKeyReason.NOT_PEM: "not a key in PEM of the kind that is needed here",
        SigningKeyReason.PROTECTED: "the key is protected by a password",
        SigningKeyReason.NOT_ED25519: "the key is not one for Ed25519",
    }
    _HINTS = {
        SigningKeyReason.UNREADABLE: None,
        SigningKeyReason.NOT_PEM: "signing needs the private key, verifying the public one: `openssl pkey -pubout` writes it",
        SigningKeyReason.PROTECTED: "write it without one, and keep it as a secret of the pipeline",
        SigningKeyReason.NOT_ED25519: "`openssl genpkey -algorithm ed25519` makes one",
    }

    def __init__(self, reason: SigningKeyReason, name: str) -> None:
        self.reason = reason
        self.name = name
        self.hint = self._HINTS[reason]
        super().__init__(f"{_printable(name)}: {self._WORDS[reason]}")


class EnvelopeError(ReceiptError, ValueError):
    """A file is no receipt, or was altered. `line` counts from 1; 0 is the file as a whole."""

    exit_code = 10
    hint = "it is not as `lettafast receipt run` wrote it: take the file from the run again"
    _WORDS = {
        EnvelopeReason.TOO_LONG: "longer than a receipt may be",
        EnvelopeReason.LINES: "not two lines, each ended by a line feed",
        EnvelopeReason.NOT_CANONICAL: "not the canonical JSON of RFC 8785",
        EnvelopeReason.MEMBERS: "other members than those of a DSSE envelope",
        EnvelopeReason.PAYLOAD_TYPE: "a payload of another type",
        EnvelopeReason.PAYLOAD: "the payload is no canonical base64 of canonical JSON",
        EnvelopeReason.SIGNATURES: "not one signature on each envelope, or none on both",
        EnvelopeReason.BAD_SIGNATURE: "the signature is not one of this key over this payload",
    }

    def __init__(self, reason: EnvelopeReason, line: int) -> None:
        self.reason = reason
        self.line = line
        where = f"envelope {line}: " if line else ""
        super().__init__(f"{where}{self._WORDS[reason]}")


class BackendError(LettafastError, ImportError):
    """The backend that `LETTAFAST_BACKEND` asks for cannot run; there is no silent downgrade."""

    exit_code = 2
    hint = "set LETTAFAST_BACKEND to `auto`, `native` or `pure`"

    def __init__(self, reason: BackendReason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class InternalError(LettafastError):
    """A bug in lettafast; nothing was changed. Please report it with its message."""

    exit_code = 70
    hint = "this is a bug in lettafast: please report it"

    def __init__(self, message: str) -> None:
        self.reason = InternalReason.PANIC
        super().__init__(message)


def _printable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
