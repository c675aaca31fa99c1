"""The house keeps its plan: who may import whom, what stays pure, who alone may ask the machine."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "treedb"

# From the bottom up: a name imports only from rows below its own, and within its own package.
ROWS = (
    ("__init__",),  # the version, and nothing else
    ("errors", "config", "clock"),
    ("paths", "auth"),
    ("tree",),
    ("store", "rules", "wire"),
    ("writes", "sync"),
    (
        "access",
        "window_upkeep",
        "index_advice",
        "unpublished",
        "first_value",
        "schedule",
        "reads",
        "background_backfill",
        "resumption",
    ),
    ("slow_reads", "doubts"),
    ("follower",),
    ("listening",),
    ("database", "cluster"),
    ("server", "workers"),
    ("cli",),
    ("__main__",),
)
ROW_OF = {name: number for number, row in enumerate(ROWS) for name in row}

PURE_PACKAGES = ("paths", "tree", "rules", "sync", "wire", "auth", "writes")
IMPURE_MODULES = ("treedb.writes.writer",)  # the one queue and thread beside the planning half
IMPURE = (
    "asyncio", "concurrent", "http", "io", "lmdb", "logging", "multiprocessing", "os", "pathlib",
    "queue", "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl",
    "starlette", "subprocess", "tempfile", "threading", "time", "urllib", "uvicorn", "uvloop",
    "websockets",
)  # fmt: skip

# Modules that only some names may import, each with the reason the plan gives.
ALLOWED_ONLY_IN = {
    "lmdb": ("store",),  # rules, writes and server see a Reader, never a file
    "time": ("clock",),  # time and randomness come in as arguments
    "random": ("clock",),
    "secrets": ("clock",),
    "uuid": ("clock",),
    "datetime": ("clock",),
    "starlette": ("server",),
    "uvicorn": ("server", "workers", "cli"),
    "websockets": ("server",),
    "typer": ("cli",),
    "re2": ("rules",),
}
LATE_IMPORTS_IN = ("cli",)  # so that one command does not pay for the imports of all
ASYNC_IN = (
    "server", "cluster", "database", "first_value", "listening", "reads", "cli", "workers",
    "writes.writer",
)  # fmt: skip


@dataclass(frozen=True)
class Import:
    """One import statement's target: `module`, and `name` for `from module import name`."""

    module: str
    name: str | None
    line: int
    nested: bool


def imports_of(source: str) -> Iterator[Import]:
    tree = ast.parse(source)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        nested = id(node) in inside
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno, nested)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, nested)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def house_name(module: str) -> str:
    """Name the row entry a module belongs to: treedb.paths.keys -> paths, treedb -> __init__."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def modules() -> list[Path]:
    return sorted((ROOT / PACKAGE).rglob("*.py"))


def is_package(module: str) -> bool:
    return (ROOT / Path(*module.split("."))).is_dir()


def target_of(found: Import) -> str:
    """Name the module an import reaches: `from treedb.paths import keys` reaches keys."""
    if found.name is None:
        return found.module
    below = f"{found.module}.{found.name}"
    file = ROOT / Path(*below.split("."))
    return below if file.with_suffix(".py").is_file() or file.is_dir() else found.module


def row_offences(module: str, source: str) -> list[str]:
    own = house_name(module)
    offences = []
    for found in imports_of(source):
        if found.module.split(".")[0] != PACKAGE:
            continue
        other = house_name(target_of(found))
        if other != own and ROW_OF[other] >= ROW_OF[own]:
            offences.append(f"{module}:{found.line} {own} may not import {other}")
    return offences


def purity_offences(module: str, source: str) -> list[str]:
    if house_name(module) not in PURE_PACKAGES or module in IMPURE_MODULES:
        return []
    return [
        f"{module}:{found.line} is pure and imports {found.module}"
        for found in imports_of(source)
        if found.module.split(".")[0] in IMPURE
    ]


def keeper_offences(module: str, source: str) -> list[str]:
    own = house_name(module)
    return [
        f"{module}:{found.line} only {allowed} may import {found.module}"
        for found in imports_of(source)
        if (allowed := ALLOWED_ONLY_IN.get(found.module.split(".")[0])) and own not in allowed
    ]


def source_offences(module: str, source: str) -> list[str]:
    """Find names taken from elsewhere than the module that defines them."""
    offences = []
    for found in imports_of(source):
        at = f"{module}:{found.line}"
        if found.module.startswith("."):
            offences.append(f"{at} a relative import")
        elif found.name == "*":
            offences.append(f"{at} a star import")
        elif found.module.split(".")[0] != PACKAGE or found.name == "__version__":
            continue
        elif is_package(target_of(found)):
            offences.append(f"{at} {found.name} does not come from its defining module")
    return offences


def nested_offences(module: str, source: str) -> list[str]:
    if house_name(module) in LATE_IMPORTS_IN:
        return []
    return [
        f"{module}:{found.line} imports {found.module} inside a function"
        for found in imports_of(source)
        if found.nested
    ]


def async_offences(module: str, source: str) -> list[str]:
    if module.removeprefix("treedb.").startswith(ASYNC_IN):
        return []
    return [
        f"{module}:{node.lineno} is async"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncWith | ast.AsyncFor | ast.Await)
    ]


Check = Callable[[str, str], list[str]]  # module, source -> offences
CHECKS: tuple[Check, ...] = (
    row_offences,
    purity_offences,
    keeper_offences,
    source_offences,
    nested_offences,
    async_offences,
)


@pytest.mark.parametrize("check", CHECKS)
def test_no_module_offends(check: Check) -> None:
    offences = [
        offence for path in modules() for offence in check(module_name(path), path.read_text())
    ]
    assert offences == []


def test_every_module_has_its_row() -> None:
    assert {house_name(module_name(path)) for path in modules()} <= set(ROW_OF)


def test_package_files_hold_a_docstring_only() -> None:
    for path in modules():
        if path.name == "__init__.py" and path.parent.name != PACKAGE:
            body = ast.parse(path.read_text()).body
            assert len(body) == 1, path
            assert isinstance(body[0], ast.Expr), path


def test_modules_import_each_other_in_no_cycle() -> None:
    graph = {
        module_name(path): {
            target_of(found)
            for found in imports_of(path.read_text())
            if found.module.split(".")[0] == PACKAGE
        }
        for path in modules()
    }
    assert cycle_in(graph) == []


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Remove modules without imports until none is left; what stays is in or above a cycle."""
    left = {name: {other for other in others if other in graph} for name, others in graph.items()}
    while leaves := [name for name, others in left.items() if not others & left.keys()]:
        for name in leaves:
            del left[name]
    return sorted(left)


# The checks themselves: each must catch a made-up offender, and let its neighbour pass.

OFFENDERS = [
    (row_offences, "treedb.paths.keys", "from treedb.tree.values import Value"),
    (row_offences, "treedb.tree.values", "import treedb.store.codec"),
    (row_offences, "treedb.errors", "from treedb.config import Limits"),
    (row_offences, "treedb.database", "from treedb.server.app import build_app"),
    (row_offences, "treedb.sync.hub", "def late():\n    from treedb.writes.request import Write"),
    (purity_offences, "treedb.paths.keys", "import os"),
    (purity_offences, "treedb.wire.frames", "from asyncio import Queue"),
    (purity_offences, "treedb.writes.plan", "import time"),
    (purity_offences, "treedb.auth.identity", "import os.path"),
    (keeper_offences, "treedb.server.app", "import lmdb"),
    (keeper_offences, "treedb.store.journal", "from time import time_ns"),
    (keeper_offences, "treedb.database", "from starlette.requests import Request"),
    (source_offences, "treedb.tree.values", "from ..paths.keys import check_key"),
    (source_offences, "treedb.tree.values", "from treedb.paths import check_key"),
    (source_offences, "treedb.tree.values", "from treedb.paths.keys import *"),
    (nested_offences, "treedb.server.app", "def late():\n    import json"),
    (async_offences, "treedb.sync.hub", "async def publish(): ..."),
]
NEIGHBOURS = [
    (row_offences, "treedb.tree.values", "from treedb.paths.keys import check_key"),
    (row_offences, "treedb.tree.values", "from treedb.tree.forms import Form"),
    (row_offences, "treedb.server.app", "from treedb import __version__"),
    (purity_offences, "treedb.writes.writer", "import asyncio"),
    (purity_offences, "treedb.paths.keys", "import re"),
    (keeper_offences, "treedb.store.environment", "import lmdb"),
    (keeper_offences, "treedb.clock", "import time"),
    (source_offences, "treedb.tree.values", "from treedb.paths.keys import check_key"),
    (nested_offences, "treedb.cli.main", "def late():\n    import json"),
    (async_offences, "treedb.server.rest", "async def get(): ..."),
]


@pytest.mark.parametrize(("check", "module", "source"), OFFENDERS)
def test_an_offender_is_caught(check: Check, module: str, source: str) -> None:
    assert check(module, source)


@pytest.mark.parametrize(("check", "module", "source"), NEIGHBOURS)
def test_its_neighbour_passes(check: Check, module: str, source: str) -> None:
    assert check(module, source) == []


def test_a_cycle_is_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"a"}, "c": set()}) == ["a", "b"]
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
