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
# What the pure modules of `binding` may import of the package; they decide and read nothing.
DECIDES = {
    "arguments": {"binding.facts", "binding.ids"},
    "decide": {
        "binding.facts",
        "binding.proof",
        "binding.rules",
        "binding.verdict",
        "binding.witnessed",
    },
    "facts": {"binding.verdict", "herdr.records", "records"},
    "ids": set(),
    "places": {"binding.facts", "binding.verdict", "paths"},
    "proof": {"binding.facts", "binding.verdict"},
    "rules": {
        "binding.arguments",
        "binding.facts",
        "binding.ids",
        "binding.proof",
        "binding.verdict",
        "herdr.records",
    },
    "verdict": {"errors", "records", "store", "transcript"},
    "witnessed": {
        "binding.facts",
        "binding.ids",
        "binding.proof",
        "binding.rules",
        "binding.verdict",
    },
}
# Likewise for `receipts`: what the verdict follows from. Of `expected` they take the type alone.
JUDGES = {
    "accumulator": {"calls", "fragments", "reports", "strict_json"},
    "calls": {"fragments", "strict_json"},
    "checks_answers": {"history", "judgement", "log", "plan", "replay", "strict_json"},
    "checks_calls": {"calls", "gate", "judgement", "plan", "replay", "strict_json"},
    "checks_run": {"judgement", "log", "plan", "replay", "strict_json"},
    "checks_seed": {"checks_calls", "judgement", "plan", "replay"},
    "checks_session": {"accumulator", "judgement", "replay", "reports"},
    "fragments": {"strict_json"},
    "frame": {"strict_json"},
    "gate": {"fragments", "plan", "strict_json"},
    "history": {"accumulator", "fragments", "log", "replay", "strict_json"},
    "judgement": {"expected"},
    "junit": {"judgement"},
    "log": {"frame", "strict_json"},
    "metadata": set(),
    "plan": {"expected"},
    "published": {"judgement"},
    "replay": {"accumulator", "gate", "log", "plan"},
    "statement": {"expected", "frame", "judgement", "plan", "strict_json"},
    "reports": {"calls"},
    "strict_json": set(),
    "verify": {
        "accumulator",
        "checks_answers",
        "checks_calls",
        "checks_run",
        "checks_seed",
        "checks_session",
        "frame",
        "judgement",
        "log",
        "plan",
        "replay",
    },
}
# What reads the world: none of it is for what only decides.
WORLD = {"os", "socket", "psutil", "subprocess", "pathlib", "io", "time", "sys", "asyncio"}
FRONT_ENDS = ("cli", "web")
HEAVY = {"cffi", "orjson", "psutil", "platformdirs", "starlette", "letta_client", "httpx", "jinja2"}
STANDARD_LIBRARY_ONLY = {"records", "errors", "paths", "_beneath", "_backend", *PURE}


def module_name(path: pathlib.Path) -> str:
    return ".".join(path.with_suffix("").parts)


def tree(path: pathlib.Path) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text("utf-8"))


def imports(path: pathlib.Path) -> set[str]:
    """Absolute names of all that a file imports, wherever in it."""
    package = ["lettafast", *path.parts[:-1]]
    found = set()
    for node in ast.walk(tree(path)):
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


def modules(path: pathlib.Path) -> set[str]:
    """As `ours`, with the modules of packages: `binding.facts`."""
    found = set()
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "lettafast":
            while len(parts) > 1 and not PACKAGE.joinpath(*parts[1:]).with_suffix(".py").exists():
                parts.pop()
            found.add(".".join(parts[1:]) or "__init__")
    return found - {"__init__"}


def test_what_decides_on_panes_reads_nothing() -> None:
    for name, allowed in DECIDES.items():
        path = pathlib.Path("binding", f"{name}.py")
        assert modules(path) - allowed == set(), path
        assert_reads_nothing(path)


def test_what_judges_runs_reads_nothing() -> None:
    for name, siblings in JUDGES.items():
        path = pathlib.Path("receipts", f"{name}.py")
        everywhere = {"strict_json", "errors", "visible"}
        allowed = {*everywhere, *(f"receipts.{sibling}" for sibling in siblings)}
        assert modules(path) - allowed == set(), path
        assert_reads_nothing(path)
        for node in tree(path).body:
            if isinstance(node, ast.ImportFrom):  # a type is imported for the type checker alone
                assert node.module != "expected", path


def assert_reads_nothing(path: pathlib.Path) -> None:
    assert not WORLD & {found.split(".")[0] for found in imports(path)}, path
    calls = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    called = {call.id for call in calls if isinstance(call, ast.Name)}
    assert not called & {"open", "__import__", "exec", "eval", "import_module"}, path


def test_facts_go_one_way() -> None:
    """Nothing that is read from the world needs the rules, but for what puts facts together."""
    rules = {"binding.rules", "binding.witnessed"}
    assert rules < modules(pathlib.Path("binding/gather.py"))
    needs = {"__init__", "bind", "decide", "gather", "witnessed"}
    for path in FILES:
        if path.parts[0] == "binding" and path.stem not in needs:
            assert not rules & modules(path), path
        if path.parts[0] == "herdr":
            assert "binding" not in ours(path), path


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
