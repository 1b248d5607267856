"""What a letta's own arguments say of the conversation that it opened.

Source: the option table of Letta Code 0.34.12 (`CLI_FLAG_CATALOG`). An option that
is not known here might choose a conversation, and so contradicts every answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from .facts import Session
from .ids import LOCAL_AGENT

_CONVERSATION = {"--conversation", "--conv", "-C"}
_AGENT = {"--agent", "-a"}
_BACKEND = {"--backend"}
_NEUTRAL_WITH_VALUE = {
    "--model",
    "-m",
    "--embedding",
    "--system",
    "-s",
    "--system-custom",
    "--toolset",
    "--tools",
    "--allowedTools",
    "--disallowedTools",
    "--permission-mode",
    "--skills",
    "--skill-sources",
    "--reflection-trigger",
    "--reflection-step-count",
}
_NEUTRAL = {
    "--yolo",
    "--memfs",
    "--no-memfs",
    "--no-skills",
    "--no-bundled-skills",
    "--no-system-info-reminder",
    "--no-mods",
}
_WITH_VALUE = _CONVERSATION | _AGENT | _BACKEND | _NEUTRAL_WITH_VALUE


def contradiction(arguments: tuple[str, ...], answer: Session) -> str | None:
    """The first argument that fits no letta which opened `answer`; None where all fit."""
    local = answer.agent_id.startswith(LOCAL_AGENT)
    for name, value in _options(arguments):
        if name in _CONVERSATION:
            fits = value == answer.conversation_id
        elif name in _AGENT:
            fits = value == answer.agent_id
        elif name in _BACKEND:
            fits = value == ("local" if local else "cloud")
        else:
            fits = name in _NEUTRAL_WITH_VALUE or (name in _NEUTRAL and value is None)
        if not fits:
            return name if value is None else f"{name} {value}"
    return None


def _options(arguments: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    """Each option with its value, as `util.parseArgs` of Node reads them."""
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if name.startswith("--") and equals:
            yield name, value
        elif argument in _WITH_VALUE:
            yield argument, next(left, None)
        else:
            yield argument, None
