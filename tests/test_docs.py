"""The docs tell the truth: what they show runs, and what exists is in them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from tests.server_process import ServerProcess, StartServer
from treedb import errors
from treedb.auth.authenticator import build_authenticator
from treedb.auth.claims import Binding
from treedb.auth.identity import Auth
from treedb.cli.main import app
from treedb.cli.settings import load_settings, settings_reference
from treedb.clock import SystemClock
from treedb.config import GIB, KIB, MIB, TIB, Limits
from treedb.errors import RulesError
from treedb.rules.loader import _DOT_KEYS, parse_rules
from treedb.rules.parser import LEVELS, SAME_AS
from treedb.rules.regex import _CLASSES
from treedb.rules.signatures import (
    LENGTH,
    OPERATORS,
    QUERY_MEMBERS,
    SNAPSHOT_METHODS,
    STRING_METHODS,
    VARIABLES,
    Method,
    Type,
)
from treedb.server.metrics import metrics_text
from treedb.server.parameters import _KNOWN
from treedb.server.reserved import _ENDPOINTS

ROOT = Path(__file__).parent.parent
ADDRESS = "127.0.0.1:9000"  # of the server, wherever a page shows one
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README_LINES = 150
MAKEFILE_LINES = 25
DAY_MS = 24 * 3600 * 1000


def page(name: str) -> str:
    return (ROOT / name).read_text()


# What the pages show is run.


@dataclass(frozen=True)
class Shown:
    """One command of a page, and what the page says that it prints ("…" stands for anything)."""

    command: str
    output: str


def blocks(text: str, language: str) -> Iterator[str]:
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield match[1]


def shown_in(text: str) -> list[Shown]:
    found = []
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Shown(command, output))
    return found


def saved_in(text: str) -> dict[str, str]:
    """Find the files that the page tells to save, each named right before its block."""
    pattern = r"Save this as `([a-z.]+)`:\n\n```jsonc?\n(.*?)^```$"
    return dict(re.findall(pattern, text, re.MULTILINE | re.DOTALL))


def run(command: str, server: ServerProcess, folder: Path) -> str:
    """Run a page's command where its files are; `treedb` finds the server by its settings."""
    name, *arguments = shlex.split(command.replace(ADDRESS, server.address))
    assert name in {"curl", "treedb"}, command
    starts = {
        "curl": ["curl", "--silent", "--show-error"],
        "treedb": [sys.executable, "-m", "treedb"],
    }
    settings = {"TREEDB_PORT": str(server.port), "TREEDB_DATA": str(server.data)}
    done = subprocess.run(
        [*starts[name], *arguments],
        cwd=folder,
        env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout.replace(server.address, ADDRESS)


def as_pattern(output: str) -> str:
    return ".*".join(re.escape(part) for part in output.strip().split("…"))


PAGES_WITH_COMMANDS = [path for path in PAGES if shown_in(path.read_text())]


@pytest.mark.parametrize("path", PAGES_WITH_COMMANDS, ids=lambda path: path.name)
def test_commands_print_what_the_page_shows(
    path: Path, start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server()
    for name, content in saved_in(path.read_text()).items():
        (tmp_path / name).write_text(content)
    for shown in shown_in(path.read_text()):
        printed = run(shown.command, server, tmp_path).strip()
        assert re.fullmatch(as_pattern(shown.output), printed, re.DOTALL), (shown, printed)


def test_some_pages_have_commands() -> None:
    expected = {"README.md", "start.md", "rest.md", "guide.md", "users-and-groups.md"}
    assert expected <= {path.name for path in PAGES_WITH_COMMANDS}


RULES_SHOWN = [
    (path.name, block)
    for path in PAGES
    for block in blocks(path.read_text(), "jsonc?")
    if '"rules": {' in block
]


@pytest.mark.parametrize("page_name, block", RULES_SHOWN, ids=lambda text: text[:20])
def test_rules_that_a_page_shows_load_or_are_wrong_on_purpose(page_name: str, block: str) -> None:
    on_purpose = saved_in(page("docs/rules/guide.md"))["mistakes.json"]
    assert has_no_mistakes(block) is (block != on_purpose), page_name


def has_no_mistakes(rules: str) -> bool:
    try:
        parse_rules(rules)
    except RulesError:
        return False
    return True


def test_the_guide_shows_rules() -> None:
    assert sum(page_name == "guide.md" for page_name, _ in RULES_SHOWN) > 5


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_shell_blocks_name_targets_that_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", page("Makefile"), re.MULTILINE))
    for block in blocks(path.read_text(), "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "make":
                assert words[1] in targets, line


def test_the_token_that_a_page_makes_is_taken() -> None:
    secret = "0123456789abcdef0123456789abcdef"
    [block] = blocks(page("docs/operating.md"), "python")
    made: dict[str, Any] = {"secret": secret}
    exec(block, made)
    authenticator = build_authenticator(
        admin_token=None,
        auth_secret=secret,
        binding=Binding(),
        is_dev=False,
        now_ms=SystemClock().now_ms,
    )
    assert authenticator.authenticate(made["token"]).uid == "mchen"


def test_the_settings_file_that_a_page_shows_is_taken(tmp_path: Path) -> None:
    [block] = blocks(page("docs/reference/settings.md"), "toml")
    (tmp_path / "treedb.toml").write_text(block)
    assert load_settings({}, {}, tmp_path).port == 9001


# What exists is in the pages.


@pytest.mark.parametrize(
    "error",
    [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.TreeError)
    ],
    ids=lambda each: each.__name__,
)
def test_every_error_is_in_the_errors_page(error: type[errors.TreeError]) -> None:
    row = f"| `{error.text}` | {error.http_status} | `{error.status}` |"
    assert row in page("docs/reference/errors.md")


def written(name: str, value: int) -> str:
    """Write a limit's number as a person would."""
    if name.endswith("_ms"):
        return f"{value // DAY_MS} days" if value % DAY_MS == 0 else f"{value // 1000} s"
    if name.endswith("_bytes"):
        for unit, size in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
            if value % size == 0:
                return f"{value // size} {unit}"
    return f"{value:,}"


@pytest.mark.parametrize("field", fields(Limits), ids=lambda field: field.name)
def test_every_limit_is_in_the_limits_page(field: Field[int]) -> None:
    assert isinstance(field.default, int)
    row = f"| `{field.name}` | {written(field.name, field.default)} |"
    assert row in page("docs/reference/limits.md")


def test_every_setting_is_in_the_settings_page() -> None:
    assert settings_reference() in page("docs/reference/settings.md")


@pytest.mark.parametrize("name", sorted(_KNOWN))
def test_every_parameter_is_in_the_rest_page(name: str) -> None:
    assert f"`{name}`" in page("docs/reference/rest.md")


@pytest.mark.parametrize("path", sorted(_ENDPOINTS))
def test_every_reserved_url_is_in_the_command_line_page(path: str) -> None:
    assert f"`{path}`" in page("docs/reference/cli.md")


def test_every_measure_is_in_the_operating_page() -> None:
    families = re.findall(r"^# TYPE (treedb_\w+) ", metrics_text([]).decode(), re.MULTILINE)
    assert families
    for name in families:
        assert f"| `{name}` | " in page("docs/operating.md")


# The language of the rules, held against the tables that the checker refuses by.


def rule_rows() -> list[str]:
    return page("docs/reference/rules.md").splitlines()


def escaped(text: str) -> str:
    """Write a text as it stands in a cell of a table."""
    return text.replace("|", "\\|")


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_of_rules_is_in_the_reference(name: str) -> None:
    variable = VARIABLES[name]
    assert f"| `{name}` | {variable.type.value} | {variable.about} |" in rule_rows()


@pytest.mark.parametrize(
    "name, method",
    [*SNAPSHOT_METHODS.items(), *STRING_METHODS.items()],
    ids=[*SNAPSHOT_METHODS, *STRING_METHODS],
)
def test_every_method_of_rules_is_in_the_reference(name: str, method: Method) -> None:
    row = f"| `{name}()` | {method.takes.value} | {method.gives.value} | {method.about} |"
    assert row in rule_rows()


@pytest.mark.parametrize("name", QUERY_MEMBERS)
def test_every_member_of_query_is_in_the_reference(name: str) -> None:
    start = f"| `query.{name}` | {QUERY_MEMBERS[name].value} | "
    assert sum(row.startswith(start) for row in rule_rows()) == 1


@pytest.mark.parametrize("name", [*Auth("zoe", {}, False, None).seen_by_rules])
def test_every_member_of_auth_is_in_the_reference(name: str) -> None:
    assert any(row.startswith(f"| `auth.{name}` | ") for row in rule_rows())


@pytest.mark.parametrize("sign", OPERATORS)
def test_every_operator_of_rules_is_in_the_reference(sign: str) -> None:
    operator = OPERATORS[sign]
    takes = ", ".join(
        kind.value for kind in Type if kind in operator.operands and kind is not Type.ANY
    )
    gives = "String, Number or Value, by its operands" if sign == "+" else operator.gives.value
    assert f"| `{sign}` | {takes} | {gives} |" in rule_rows()


def test_the_order_of_operators_is_in_the_reference() -> None:
    loosest_row = 9
    for level in set(LEVELS.values()):
        signs = " ".join(f"`{escaped(sign)}`" for sign, own in LEVELS.items() if own == level)
        assert f"| {loosest_row - level} | {signs} | from left to right |" in rule_rows()
    for sign, same in SAME_AS.items():
        assert f"`{sign}` is `{same}`" in page("docs/reference/rules.md")


@pytest.mark.parametrize(
    "start",
    [
        *(f"| {kind.value} | " for kind in Type if kind is not Type.ANY),
        *(f"| `{member}` | " for member in _DOT_KEYS),
        *(rf"| `\{name}` `\{name.upper()}` | " for name in _CLASSES),
        f"| `{LENGTH}` | a property",
    ],
)
def test_the_rest_of_the_language_is_in_the_reference(start: str) -> None:
    assert sum(row.startswith(start) for row in rule_rows()) == 1


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    if isinstance(command, TyperGroup):
        for below, each in command.commands.items():
            yield from commands(each, f"{name} {below}")


def test_every_command_and_option_is_in_the_command_line_page() -> None:
    text = page("docs/reference/cli.md")
    for name, command in commands(typer.main.get_command(app), "treedb"):
        assert f"`{name}" in text, name
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or f"`{option}" in text, (name, option)


# The pages hold together.


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_files_that_the_tour_names_exist() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|js))`", page("ARCHITECTURE.md"))
    assert [
        each for each in named if not ((ROOT / each).exists() or (ROOT / "treedb" / each).exists())
    ] == []
    assert len(named) > 10


def test_the_readme_is_no_manual() -> None:
    assert len(page("README.md").splitlines()) <= README_LINES


def test_the_makefile_stays_short() -> None:
    assert len(page("Makefile").splitlines()) <= MAKEFILE_LINES
