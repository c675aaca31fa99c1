"""The command line: `treedb`, and `python -m treedb`.

What a command needs is imported when it runs, so that one does not pay for the others' imports.
"""

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from treedb import __version__
from treedb.cli.indexes import indexes
from treedb.cli.mirrors import mirrors
from treedb.cli.rules import rules
from treedb.cli.settings import default_of, load_settings, option_of, variable_of
from treedb.config import Settings
from treedb.errors import SettingsError, TreeError, WrongUse

WRONG_USE: Final = 2  # as other commands end when they are called wrongly
FAILED: Final = 1

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="treedb: a self-hosted, durable, realtime JSON tree database.",
)
app.add_typer(rules, name="rules")
app.add_typer(indexes, name="indexes")
app.add_typer(mirrors, name="mirrors")


def main() -> None:
    """Run the command line; errors of ours end it with one sentence."""
    try:
        app()
    except (SettingsError, WrongUse) as error:
        _fail(error, WRONG_USE)
    except TreeError as error:
        _fail(error, FAILED)


def _fail(error: TreeError, code: int) -> None:
    print(f"treedb: {error.reason}", file=sys.stderr)
    sys.exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"treedb {__version__}")
        raise typer.Exit


@app.callback()
def treedb(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Tell the version and end."
        ),
    ] = False,
) -> None:
    """Hold the commands together, and the options they share."""


_TABLE: Final = {setting.name: setting for setting in fields(Settings)}


def _option(name: str) -> Any:
    """Make a setting's option of the command line from the table of settings."""
    setting = _TABLE[name]
    spelling = option_of(name)
    if setting.metadata["takes"] == "switch":
        spelling = f"{spelling}/{option_of('no_' + name)}"
    default = default_of(setting) or "none"
    about = f"{setting.metadata['about']} [{variable_of(name)}; default: {default}]"
    return typer.Option(spelling, help=about, show_default=False)


@app.command()
def serve(
    *,
    host: Annotated[str | None, _option("host")] = None,
    port: Annotated[int | None, _option("port")] = None,
    data: Annotated[Path | None, _option("data")] = None,
    dev: Annotated[bool | None, _option("dev")] = None,
    rules: Annotated[Path | None, _option("rules")] = None,
    mirror_backfill: Annotated[str | None, _option("mirror_backfill")] = None,
    recheck_listens: Annotated[bool | None, _option("recheck_listens")] = None,
    auth_audience: Annotated[str | None, _option("auth_audience")] = None,
    auth_issuer: Annotated[str | None, _option("auth_issuer")] = None,
    allowed_hosts: Annotated[list[str] | None, _option("allowed_hosts")] = None,
    allowed_origins: Annotated[list[str] | None, _option("allowed_origins")] = None,
    static: Annotated[Path | None, _option("static")] = None,
    jsonp: Annotated[bool | None, _option("jsonp")] = None,
    unsafe_no_fsync: Annotated[bool | None, _option("unsafe_no_fsync")] = None,
) -> None:
    """Serve a data folder over HTTP and websockets.

    Every option is also a variable of the environment and a key of treedb.toml in the working
    directory.
    """
    from treedb.cli.serve import run

    given = {
        "host": host,
        "port": port,
        "data": data,
        "dev": dev,
        "rules": rules,
        "mirror_backfill": mirror_backfill,
        "recheck_listens": recheck_listens,
        "auth_audience": auth_audience,
        "auth_issuer": auth_issuer,
        "allowed_hosts": allowed_hosts or None,
        "allowed_origins": allowed_origins or None,
        "static": static,
        "jsonp": jsonp,
        "unsafe_no_fsync": unsafe_no_fsync,
    }
    run(load_settings(given, os.environ, Path()))
