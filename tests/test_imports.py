"""Who may import whom: reading goes one way, and front-ends stand at its end."""

from __future__ import annotations

import ast
import pathlib
import sys

import lettafast
from support import run_python

PACKAGE = pathlib.Path(lettafast.__file__).parent
FILES = sorted(
    path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "_native_lib" not in path.parts
)
PURE = {str(path)[:-3] for path in FILES if path.name.startswith("_pure")}

# What each module of the package may import of the package.
ALLOWED = {
    "records": set(),
    "errors": set(),
    "paths": {"errors"},
    "_beneath": {"errors"},
    "_native": {"records", "errors", "_native_lib"},
    **{name: {"records", "errors", "_beneath", *PURE} for name in PURE},
    "_backend": {"records", "errors", "_native", "_pure"},
    "transcript": {"records", "errors", "_backend"},
    "store": {"records", "errors", "_beneath", "transcript"},
    "__init__": {"records", "errors", "store", "transcript", "_backend"},
}
FRONT_ENDS = ("cli", "web")
HEAVY = {"cffi", "orjson", "psutil", "platformdirs", "starlette", "letta_client", "httpx", "jinja2"}
STANDARD_LIBRARY_ONLY = {"records", "errors", "paths", "_beneath", "_backend", *PURE}


def module_name(path: pathlib.Path) -> str:
    return ".".join(path.with_suffix("").parts)


def imports(path: pathlib.Path) -> set[str]:
    """Absolute names of all that a file imports, wherever in it."""
    package = ["lettafast", *path.parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            if node.module:
                base = [*base, *node.module.split(".")]
                found.add(".".join(base))
                # `from . import x` names a module, `from .x import y` what is in it.
                found |= {
                    f"{'.'.join(base)}.{alias.name}"
                    for alias in node.names
                    if PACKAGE.joinpath(*base[1:], f"{alias.name}.py").exists()
                    and base[0] == "lettafast"
                }
            else:
                found |= {".".join([*base, alias.name]) for alias in node.names}
    return found


def ours(path: pathlib.Path) -> set[str]:
    """The package's own modules among them, without `lettafast.`."""
    return {
        name.partition(".")[2].split(".")[0] or "__init__"
        for name in imports(path)
        if name.split(".")[0] == "lettafast"
    }


def test_the_walk_finds_imports() -> None:
    """Else the tests below would hold of anything."""
    assert {"records", "errors", "_backend"} <= ours(pathlib.Path("transcript.py"))
    assert "_beneath" in ours(pathlib.Path("store.py"))
    assert {"_native", "_pure"} <= ours(pathlib.Path("_backend.py"))
    assert "time" in imports(pathlib.Path("transcript.py"))
    assert len(FILES) > 8


def test_the_reading_pipeline_goes_one_way() -> None:
    wrong = {}
    for path in FILES:
        name = module_name(path)
        if name in ALLOWED:
            extra = ours(path) - ALLOWED[name]
            if extra:
                wrong[name] = extra
    assert wrong == {}


def test_every_module_of_the_reading_pipeline_is_in_the_table() -> None:
    there = {module_name(path) for path in FILES if len(path.parts) == 1}
    assert set(ALLOWED) - {"_native"} <= there
    # Others stand to the right of it: they may import all, and are imported by none of it.
    for name in there - set(ALLOWED):
        for path in FILES:
            if module_name(path) in ALLOWED:
                assert name not in ours(path)


def test_nothing_imports_a_front_end() -> None:
    for path in FILES:
        if path.parts[0] not in FRONT_ENDS and path.name != "__main__.py":
            assert not ours(path) & set(FRONT_ENDS), path


def test_reading_needs_only_the_standard_library() -> None:
    for path in FILES:
        if module_name(path) in STANDARD_LIBRARY_ONLY:
            others = {name.split(".")[0] for name in imports(path)} - {"lettafast"}
            assert others <= set(sys.stdlib_module_names), path


def test_import_stays_light() -> None:
    """`import lettafast` loads nothing heavy, and no backend before one is needed."""
    loaded = run_python(
        "import json, sys, lettafast; print(json.dumps(sorted(sys.modules)))",
        LETTAFAST_BACKEND="there is no such backend",
    )
    assert not HEAVY & {name.split(".")[0] for name in loaded}
    assert not [
        name for name in loaded if name.startswith(("lettafast._pure", "lettafast._native"))
    ]
    for name in ("asyncio", "hypothesis", "typing_extensions", "argparse", "http", "socket"):
        assert name not in loaded
