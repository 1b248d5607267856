"""Where one letta keeps its files, from its own environment; nothing is read here.

Source: Letta Code 0.34.12, `getSettingsPath`, `getLocalBackendStorageDir`,
`getTranscriptRoot`, `getLocalBackendSettingsKey`, `getApiServerKey` and
`LOG_BASE_DIR` of its chunk log.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from lettafast.paths import JS_WHITE_SPACE

from .facts import Places, Problem
from .verdict import Reason

_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})")
_LAST_WITHOUT_CONFIG_DIR = (0, 34, 12)
_FIRST_WITH_CONFIG_DIR = (0, 34, 27)
_SCHEME = re.compile(r"^https?://")
_CLOUD = "https://api.letta.com"
_BASE_URLS = ("LETTA_SETTINGS_BASE_URL", "LETTA_BASE_URL")


def places_of(
    environ: Mapping[str, str],
    version: str | None,
    version_trusted: bool,
    settings_env: Mapping[str, str],
) -> Places | Problem:
    """The places of a letta of this `version` that runs with `environ`.

    `version_trusted` says whether the version was written before the process
    started; `settings_env` is the `env` of its settings (`settings.settings_env`
    of the folder that `config_of` gives).
    """
    config = config_of(environ, version, version_trusted)
    if isinstance(config, Problem):
        return config
    # An empty LETTA_LOCAL_BACKEND_DIR counts: it is the folder that Letta is in.
    store = environ.get("LETTA_LOCAL_BACKEND_DIR", f"{config}/lc-local-backend")
    root = environ.get("LETTA_TRANSCRIPT_ROOT", "").strip(JS_WHITE_SPACE)
    root = root or f"{config}/transcripts"
    for name, path in (("LETTA_LOCAL_BACKEND_DIR", store), ("LETTA_TRANSCRIPT_ROOT", root)):
        if not _is_plain(path):
            return Problem(Reason.STORE_UNKNOWN, f"{name} is {path!r}")
    store = _resolved(store)
    return Places(
        home=_resolved(environ["HOME"]),
        config=config,
        store=store,
        transcripts=_resolved(root),
        chunk_logs=f"{config}/logs/chunk-logs",
        local_key=f"local:{store}",
        cloud_key=_cloud_key(environ, settings_env),
    )


def config_of(
    environ: Mapping[str, str], version: str | None, version_trusted: bool
) -> str | Problem:
    """The folder of Letta's settings: `<home>/.letta` or, for a newer Letta, `LETTA_CONFIG_DIR`.

    Letta Code 0.34.12 knows no such variable, and 0.34.27 keeps its files
    there; of the versions between nothing is known.
    """
    home = environ.get("HOME")
    if not home:
        return Problem(Reason.NO_HOME, "HOME is empty" if home == "" else "HOME is not set")
    if not _is_plain(home):
        return Problem(Reason.STORE_UNKNOWN, f"HOME is {home!r}")
    default = posixpath.join(_resolved(home), ".letta")
    chosen = environ.get("LETTA_CONFIG_DIR")
    if chosen is None:
        return default
    numbers = _VERSION.fullmatch(version or "") if version_trusted else None
    known = tuple(int(number) for number in numbers.groups()) if numbers else None
    if known is not None and known <= _LAST_WITHOUT_CONFIG_DIR:
        return default
    if known is None or known < _FIRST_WITH_CONFIG_DIR:
        return Problem(
            Reason.STORE_UNKNOWN,
            f"LETTA_CONFIG_DIR is {chosen!r}, and whether Letta Code"
            f" {version or 'of this version'} heeds it is not known",
        )
    # Whether it trims the value is not known, so only one without such spaces is clear.
    if not _is_plain(chosen) or chosen != chosen.strip(JS_WHITE_SPACE):
        return Problem(Reason.STORE_UNKNOWN, f"LETTA_CONFIG_DIR is {chosen!r}")
    return _resolved(chosen)


def _cloud_key(environ: Mapping[str, str], settings_env: Mapping[str, str]) -> str:
    """The API host: without scheme and one trailing slash. An empty value is as none."""
    url = _CLOUD
    for name in reversed(_BASE_URLS):
        url = environ.get(name) or settings_env.get(name) or url
    return _SCHEME.sub("", url).removesuffix("/")


def _is_plain(path: str) -> bool:
    """Whether Node reads `path` as it stands, in whichever folder it is.

    Bytes that are no UTF-8 (surrogates here) become others in Node.
    """
    return path.startswith("/") and not any("\ud800" <= letter <= "\udfff" for letter in path)


def _resolved(path: str) -> str:
    """An absolute path as Node's `path.resolve` and `path.join` leave it: links are kept."""
    # POSIX keeps two slashes in front, Node does not.
    return "/" + posixpath.normpath(path).lstrip("/")
