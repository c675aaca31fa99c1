import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from treedb import __version__
from treedb.cli.main import app
from treedb.cli.settings import option_of, variable_of
from treedb.config import Settings


def treedb(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m treedb` in a folder to its end."""
    root = Path(__file__).parent.parent.parent
    return subprocess.run(
        [sys.executable, "-m", "treedb", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_version_is_told(tmp_path: Path) -> None:
    ended = treedb(tmp_path, "--version")
    assert (ended.returncode, ended.stdout) == (0, f"treedb {__version__}\n")


def test_without_a_command_there_is_help() -> None:
    ended = CliRunner().invoke(app, [])
    assert "serve" in ended.output
    assert "--version" in ended.output


def test_every_setting_is_an_option_of_serve() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    options = {option.name: option for option in group.commands["serve"].params}
    for setting in fields(Settings):
        if setting.metadata["takes"] == "secret":  # every process can read a command line
            assert setting.name not in options
            continue
        option = options[setting.name]
        assert isinstance(option, typer.core.TyperOption)
        assert option.opts == [option_of(setting.name)]
        assert option.help is not None
        assert setting.metadata["about"] in option.help
        assert variable_of(setting.name) in option.help


@pytest.mark.parametrize(
    "arguments, code, sentence",
    [
        (["serve", "--rules", "absent.json"], 2, "rules: absent.json cannot be read"),
        (["serve", "--dev", "--host", "0.0.0.0"], 2, "0.0.0.0 is not a loopback address"),
        (["serve", "--dev", "--host", "::"], 2, ":: is not a loopback address"),
        (["serve", "--dev", "--port", "70000"], 2, "--port is 70000; allowed:"),
        (["serve", "--dev", "--static", "absent"], 2, "static: absent is not a folder."),
        (["serve", "--dev", "--data", "/proc/version"], 2, "/proc/version cannot be used"),
    ],
)
def test_a_start_that_cannot_be_is_refused_in_one_sentence(
    tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    ended = treedb(tmp_path, *arguments)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.startswith("treedb: ")
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name, secret, sentence",
    [
        ("TREEDB_ADMIN_TOKEN", "owner", "which everybody knows"),
        ("TREEDB_ADMIN_TOKEN", "", "TREEDB_ADMIN_TOKEN is empty or no text; allowed: text, from"),
        ("TREEDB_AUTH_SECRET", "hunter2", "auth_secret has 7 bytes, at least 32"),
    ],
)
def test_a_wrong_secret_stops_the_start_before_it_makes_anything(
    tmp_path: Path, name: str, secret: str, sentence: str
) -> None:
    ended = treedb(tmp_path, "serve", **{name: secret})
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.stderr
    assert "hunter2" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_rules_stop_the_start_with_every_place(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"rules": {\n  ".read": "nope",\n  ".write": 5\n}}')
    ended = treedb(tmp_path, "serve", "--rules", "r.json")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("treedb: rules: r.json is wrong.\nr.json:2:13: Unknown variable")
    assert "r.json:3:13: Invalid rule expression." in ended.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["r.json"]


def test_a_wrong_settings_file_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "treedb.toml").write_text("dev = true\nprot = 1\n")
    ended = treedb(tmp_path, "serve")
    assert ended.returncode == 2
    assert ended.stderr.startswith("treedb: treedb.toml: there is no setting 'prot'")


def test_help_starts_quickly_because_the_server_is_not_imported() -> None:
    program = "import sys, treedb.cli.main; print('starlette' in sys.modules)"
    root = Path(__file__).parent.parent.parent
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "False\n"
