"""What a process executes: whether that is Letta Code, which version, with which arguments.

Letta Code is the `letta.js` of the npm package `@letta-ai/letta-code`, or of the
PyPI package `letta`, which carries that npm package and its own Node (0.34.12).
What runs it is an executable file; `comm` and a rewritten title are not asked.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .facts import Script

_PACKAGE = "@letta-ai/letta-code"
_SCRIPT = "letta.js"
_TAILS = (f"/{_PACKAGE}/{_SCRIPT}", f"/letta_code/_payload/app/{_SCRIPT}")
_INTERPRETER = re.compile(r"(node|nodejs|bun)(-?[0-9][0-9.]*)?")
_DELETED = " (deleted)"

# Options of Node 18 to 24 and of Bun 1.x whose value may stand apart.
_WITH_VALUE = frozenset(
    """
    -C -c -d -l -r --build-snapshot-config --conditions --config --cpu-prof-dir --cpu-prof-interval
    --cpu-prof-name --cwd --debug-port --define --diagnostic-dir --disable-proto --disable-warning
    --dns-result-order --drop --env-file --env-file-if-exists --es-module-specifier-resolution
    --experimental-config-file --experimental-default-type --experimental-loader
    --experimental-policy --experimental-sea-config --experimental-specifier-resolution
    --extension-order --heap-prof-dir --heap-prof-interval --heap-prof-name
    --heapsnapshot-near-heap-limit --heapsnapshot-signal --icu-data-dir --import --input-type
    --inspect-port --inspect-publish-uid --loader --localstorage-file --main-fields
    --max-http-header-size --network-family-autoselection-attempt-timeout --openssl-config
    --policy-integrity --port --preload --redirect-warnings --report-dir --report-directory
    --report-filename --report-signal --require --secure-heap --secure-heap-min --snapshot-blob
    --stack-trace-limit --title --tls-cipher-list --tls-keylog --trace-event-categories
    --trace-event-file-pattern --trace-require-module --tsconfig-override --unhandled-rejections
    --use-largepages --v8-pool-size
    """.split()  # noqa: SIM905 - a list of words reads well as one text
)
# With these the script is not run by this process, or not at all.
_NO_SCRIPT = frozenset(
    "-e -p -pe --eval --print --check --run --test --watch --watch-path --prof-process".split()  # noqa: SIM905
)
# What these name can change the environment before Letta reads it. Node takes `_` for `-`.
_PRELOADS = re.compile(
    r"-r|-c$|--env-file"
    r"|--(require|import|preload|loader|experimental-loader|config|snapshot-blob"
    r"|experimental-config-file|experimental-default-config-file)(=|$)"
)
_MOST_LINKS = 40
_LEVELS = 4
"""How far above the script the root of its package is looked for."""
_LARGEST_PACKAGE = 1 << 20


@dataclass(frozen=True, slots=True)
class Launch:
    """How a process runs Letta Code."""

    script: Script
    arguments: tuple[str, ...]
    reads_env_files: bool
    """Whether what runs it may have added to the environment that it was given."""
    preloads: bool
    """Whether `argv` names a file that adds to the environment, or runs before the script."""


def runner_of(executable: str | None, argv: Sequence[str]) -> str | None:
    """`letta`, `node`, `nodejs` or `bun`; None where no Letta Code can run in such a process."""
    return runner_named(executable or argv[0]) if argv else None


def program_named(executable: str) -> str:
    """The name of the file at this path, which may have been replaced since."""
    return posixpath.basename(executable.removesuffix(_DELETED))


def runner_named(executable: str) -> str | None:
    """What `runner_of` answers for a file of this name."""
    name = program_named(executable)
    interpreter = _INTERPRETER.fullmatch(name)
    return name if name == "letta" else interpreter and interpreter[1]


def launch_of(
    executable: str | None, argv: Sequence[str], root: str, folders: Sequence[str]
) -> Launch | None:
    """How a process runs Letta Code; None where it runs something else.

    `executable` is the path of the file that runs (None: not known, and `argv`
    is believed), `root` is put before each path ("" for the root of this
    process), and `folders` are those in which a relative script may have been
    meant, the likeliest first. All paths are those of the process itself.
    """
    runner = runner_of(executable, argv)
    if runner is None:
        return None
    if runner == "letta":
        file = (executable or argv[0]).removesuffix(_DELETED)
        version, ctime = _package_of(root, file)
        script = Script(file, version, _newest(ctime, root, file))
        # Bun makes such executables, and what it makes reads `.env` files too.
        return Launch(script, tuple(argv[1:]), reads_env_files=True, preloads=False)
    bun = runner == "bun"
    at = _script_index(argv, bun=bun)
    if at is None:
        return None
    found = _letta_script(root, argv[at], folders)
    if found is None:
        return None
    early = any(_PRELOADS.match(flag.replace("_", "-")) for flag in argv[1:at])
    return Launch(found, tuple(argv[at + 1 :]), reads_env_files=bun, preloads=early)


def options_preload(environ: Mapping[str, str]) -> bool:
    """Whether the options in an environment name what `Launch.preloads` is about."""
    for name in ("NODE_OPTIONS", "BUN_OPTIONS"):
        # Quotes and backslashes are for values with spaces; without them none hides a flag.
        words = re.sub(r"""["'\\]""", "", environ.get(name, "")).replace("_", "-").split()
        if any(_PRELOADS.match(word) for word in words):
            return True
    return False


def _script_index(argv: Sequence[str], *, bun: bool) -> int | None:
    """Where in `argv` the script stands."""
    at = 1
    while at < len(argv):
        word = argv[at]
        if word == "--":
            return at + 1 if at + 1 < len(argv) else None
        if word in _NO_SCRIPT or (word == "-c" and not bun):
            return None
        if bun and word == "run":
            at += 1
        elif word.replace("_", "-") in _WITH_VALUE:
            at += 2
        elif word.startswith("-"):
            at += 1
        else:
            return at
    return None


def _letta_script(root: str, word: str, folders: Sequence[str]) -> Script | None:
    """The `letta.js` that `word` names, if it names one."""
    for folder in folders if not posixpath.isabs(word) else ("/",):
        typed = posixpath.join(folder, word)
        for path in (typed, f"{typed}.js"):
            real, changed = _resolved(root, path)
            if posixpath.basename(real) != _SCRIPT:
                continue
            version, ctime = _package_of(root, real)
            if ctime is not None or real.endswith(_TAILS):
                return Script(real, version, _newest(ctime, root, real, changed))
    return None


def _resolved(root: str, path: str) -> tuple[str, int]:
    """`path` without links, as a process with this `root` sees it, and their newest ctime.

    `realpath` would follow an absolute link in our own root. What is missing,
    or may not be looked at, is taken as it is written.
    """
    todo = path.split("/")[::-1]
    here: list[str] = []
    links = 0
    changed = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            del here[-1:]
            continue
        place = f"{root}/{'/'.join([*here, part])}"
        try:
            status = os.lstat(place)
            target = os.readlink(place) if stat.S_ISLNK(status.st_mode) else None
        except (OSError, ValueError):
            target = None
        if target is None or links == _MOST_LINKS:
            here.append(part)
            continue
        links += 1
        changed = max(changed, status.st_ctime_ns)
        if target.startswith("/"):
            here.clear()
        todo.extend(target.split("/")[::-1])
    return "/" + "/".join(here), changed


def _package_of(root: str, path: str) -> tuple[str | None, int | None]:
    """The version in Letta Code's `package.json` above `path`, and that file's ctime in ns."""
    folder = path
    for _ in range(_LEVELS):
        folder = posixpath.dirname(folder)
        try:
            text, ctime = _plain_file(f"{root}{folder.rstrip('/')}/package.json")
            said = json.loads(text)
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(said, dict) and said.get("name") == _PACKAGE:
            version = said.get("version")
            return (version if isinstance(version, str) else None), ctime
    return None, None


def _plain_file(path: str) -> tuple[bytes, int]:
    """The beginning of a regular file, and its ctime in ns; anyone may have put it there."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("no regular file")
        return os.read(fd, _LARGEST_PACKAGE), status.st_ctime_ns
    finally:
        os.close(fd)


def _newest(package: int | None, root: str, script: str, changed: int = 0) -> int | None:
    """The newest ctime of what says the version: the package, its script and the links to it."""
    if package is None:
        return None
    try:
        return max(package, changed, os.stat(f"{root}{script}").st_ctime_ns)
    except OSError:
        # The script is no longer there, so the package beside it may be another.
        return None
