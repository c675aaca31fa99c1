"""The docs tell the truth: what they show runs, and what exists is in them."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from tests.server_process import ServerProcess, StartServer
from treedb import errors
from treedb.cli.main import app
from treedb.cli.settings import settings_reference
from treedb.config import GIB, KIB, MIB, TIB, Limits
from treedb.server.parameters import _KNOWN

ROOT = Path(__file__).parent.parent
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


def run(command: str, server: ServerProcess) -> str:
    arguments = shlex.split(command.replace("127.0.0.1:9000", server.address))
    assert arguments[0] == "curl", command
    return subprocess.run(
        ["curl", "--silent", "--show-error", *arguments[1:]],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout


def as_pattern(output: str) -> str:
    return ".*".join(re.escape(part) for part in output.strip().split("…"))


PAGES_WITH_COMMANDS = [path for path in PAGES if shown_in(path.read_text())]


@pytest.mark.parametrize("path", PAGES_WITH_COMMANDS, ids=lambda path: path.name)
def test_commands_print_what_the_page_shows(path: Path, start_server: StartServer) -> None:
    server = start_server()
    for shown in shown_in(path.read_text()):
        assert re.fullmatch(as_pattern(shown.output), run(shown.command, server).strip()), shown


def test_some_pages_have_commands() -> None:
    assert {"README.md", "start.md", "rest.md"} <= {path.name for path in PAGES_WITH_COMMANDS}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_shell_blocks_name_targets_that_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", page("Makefile"), re.MULTILINE))
    for block in blocks(path.read_text(), "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "make":
                assert words[1] in targets, line


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
