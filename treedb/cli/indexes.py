"""`treedb indexes`: see the indexes of a namespace, hold them against its rows, build them anew."""

import os
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from treedb.cli.terminal import printable

indexes = typer.Typer(
    no_args_is_help=True,
    help="See, check and rebuild the indexes in a data folder, whether a server runs or not.",
)

Data: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", help="The data folder; without it the one that the settings tell of."),
]
Namespace: TypeAlias = Annotated[str, typer.Option("--ns", help="The namespace.")]


@indexes.command("list")
def list_indexes(*, data: Data = None, ns: Namespace = "default") -> None:
    """List the indexes: whose children, ordered by what, how far built, and of how many children."""
    from treedb.cli import stored_indexes

    with stored_indexes.opened(_folder(data), ns) as store:
        print(printable(stored_indexes.table(store)))


@indexes.command()
def check(*, data: Data = None, ns: Namespace = "default") -> None:
    """Compare every entry of every index with the rows, and list the faults.

    The exit code is 1 when there are faults.
    """
    from treedb.cli import stored_indexes

    folder = _folder(data)
    with stored_indexes.opened(folder, ns) as store:
        faults = stored_indexes.check(store, _tell)
    if faults:
        print(stored_indexes.way_out(folder, ns))
        raise typer.Exit(1)


@indexes.command()
def rebuild(*, data: Data = None, ns: Namespace = "default") -> None:
    """Build every index anew from the rows; until one is complete, queries do without it.

    A build that is interrupted goes on where it was when a server opens the namespace.
    """
    from treedb.cli import stored_indexes

    with stored_indexes.opened(_folder(data), ns) as store:
        stored_indexes.rebuild(store, lambda line: print(line, file=sys.stderr, flush=True))
        print(printable(stored_indexes.table(store)))


def _folder(data: Path | None) -> Path:
    from treedb.cli.settings import load_settings

    return load_settings({"data": data}, os.environ, Path()).data


def _tell(line: str) -> None:
    print(printable(line), flush=True)
