"""The house stays tidy: sizes of files and functions, names, and nothing left lying about."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON_IN = ("treedb", "tests", "benchmarks")
JAVASCRIPT_IN = ("clients", "examples", "tests")

FILE_LINES = 400
FUNCTION_LINES = 50
POSITIONAL = 5
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
LEFT_LYING = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def files(folders: tuple[str, ...], *endings: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings and "node_modules" not in path.parts:
                yield path


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def functions_of(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def long_functions(source: str) -> list[str]:
    return [
        f"{function.name}: {length} lines"
        for function in functions_of(source)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    ]


def crowded_functions(source: str) -> list[str]:
    crowded = []
    for function in functions_of(source):
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > POSITIONAL:
            crowded.append(f"{function.name}: {count} positional parameters")
    return crowded


def swallowed_errors(source: str) -> list[str]:
    """Find handlers that catch everything and do nothing."""
    return [
        f"line {node.lineno}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        )
        and all(isinstance(each, ast.Pass | ast.Continue) for each in node.body)
    ]


def reminders(source: str) -> list[str]:
    """Find comments that put work off."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        f"line {token.start[0]}: {token.string}"
        for token in tokens
        if token.type == tokenize.COMMENT and LEFT_LYING.search(token.string)
    ]


def swallows_in_comments(source: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        f"line {token.start[0]}"
        for token in tokens
        if token.type == tokenize.COMMENT and re.search(r"except( Exception)?:", token.string)
    ]


Check = Callable[[str], list[str]]  # source -> offences
CHECKS: tuple[Check, ...] = (
    long_functions,
    crowded_functions,
    swallowed_errors,
    reminders,
    swallows_in_comments,
)


@pytest.mark.parametrize("check", CHECKS)
def test_no_python_file_offends(check: Check) -> None:
    offences = {
        str(path.relative_to(ROOT)): found
        for path in files(PYTHON_IN, ".py")
        if (found := check(path.read_text()))
    }
    assert offences == {}


def test_no_file_is_longer_than_its_subject() -> None:
    scripts = files(JAVASCRIPT_IN, ".js", ".mjs", ".ts")
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (*files(PYTHON_IN, ".py"), *scripts)
        if (lines := lines_of(path)) > FILE_LINES
    }
    assert long == {}


def test_no_file_has_the_name_of_a_drawer() -> None:
    every = (*files(PYTHON_IN, ".py"), *files(JAVASCRIPT_IN, ".js", ".mjs"))
    assert [path for path in every if path.stem.strip("_").lower() in BANNED_NAMES] == []


def test_no_script_puts_work_off() -> None:
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files(JAVASCRIPT_IN, ".js", ".mjs", ".ts", ".html")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if LEFT_LYING.search(line)
    ]
    assert left == []


def test_every_module_that_does_something_has_its_test_file() -> None:
    untested = [
        str(path.relative_to(ROOT))
        for path in files(("treedb",), ".py")
        if not path.stem.startswith("__")
        and does_something(path.read_text())
        and not file_testing(path).is_file()
    ]
    assert untested == []


def does_something(source: str) -> bool:
    """Tell a module with public functions from one that only declares: types, tables, protocols."""
    return any(
        not function.name.startswith("_") and not only_declares(function)
        for function in functions_of(source)
    )


def only_declares(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(
        isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        for each in function.body
    )


def file_testing(path: Path) -> Path:
    inside = path.relative_to(ROOT / "treedb")
    return ROOT / "tests" / inside.parent / f"test_{inside.name}"


# The checks themselves: each must catch a made-up offender.

OFFENDERS = [
    (long_functions, "def long():\n" + "    x = 1\n" * FUNCTION_LINES),
    (crowded_functions, "def crowded(a, b, c, d, e, f): ..."),
    (crowded_functions, "class A:\n    def crowded(self, a, b, c, d, e, f): ..."),
    (swallowed_errors, "try:\n    x = 1\nexcept Exception:\n    pass"),
    (swallowed_errors, "for x in y:\n    try:\n        z()\n    except:\n        continue"),
    (reminders, "x = 1  # TO" + "DO: later"),
    (swallows_in_comments, "# except Exception:\n#     pass"),
]
NEIGHBOURS = [
    (long_functions, "def short():\n" + "    x = 1\n" * (FUNCTION_LINES - 1)),
    (crowded_functions, "class A:\n    def full(self, a, b, c, d, e, *, f=1): ..."),
    (swallowed_errors, "try:\n    x = 1\nexcept KeyError:\n    pass"),
    (reminders, "x = 'TO" + "DO'  # a list"),
    (swallows_in_comments, "# all but one, except that"),
]


def test_a_module_of_declarations_needs_no_test_file() -> None:
    assert does_something("def one():\n    return 1")
    assert not does_something('class A(Protocol):\n    def one(self) -> int:\n        """Do."""')


@pytest.mark.parametrize(("check", "source"), OFFENDERS)
def test_an_offender_is_caught(check: Check, source: str) -> None:
    assert check(source)


@pytest.mark.parametrize(("check", "source"), NEIGHBOURS)
def test_its_neighbour_passes(check: Check, source: str) -> None:
    assert check(source) == []
