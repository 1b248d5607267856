"""The API key, kept where nothing shows it."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import NoReturn

from lettafast.errors import SessionError, SessionReason

# What an HTTP header's value may hold without being quoted or folded.
_KEY = re.compile(r"[!-~]+")
_SHOWN = "[the API key]"


class Secret:
    """A key that only `reveal` gives out: no repr, comparison or pickle of it tells.

    Raises `SessionError` (`no_key`) for an empty one, or one that no header can hold.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        if not _KEY.fullmatch(value):
            raise SessionError(SessionReason.NO_KEY, "LETTA_API_KEY")
        self.__value = value

    def reveal(self) -> str:
        """The key itself, for the one header that it belongs in."""
        return self.__value

    def is_in(self, text: str) -> bool:
        """Whether `text` holds the key."""
        return self.__value in text

    def beginning_in(self, text: str) -> str:
        """The end of `text` that the key may begin in, and go on in what follows."""
        return text[1 - len(self.__value) :] if len(self.__value) > 1 else ""

    def out_of_environment(self, environ: MutableMapping[str, str]) -> None:
        """Takes out every variable that is the key: what is started later would inherit it."""
        for name in [name for name, value in environ.items() if value == self.__value]:
            del environ[name]

    def out_of(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self.__value, _SHOWN)

    def __repr__(self) -> str:
        return "Secret()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be copied or written")
