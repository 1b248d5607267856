"""What a user got wrong in the command itself."""

from __future__ import annotations


class UsageError(Exception):
    """A command that cannot be carried out as it stands; `hint` says how to put it right."""

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        self.hint = hint
        super().__init__(message)
