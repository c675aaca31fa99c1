"""`treedb indexes`: see the indexes of a namespace, hold them against its rows, build them anew."""

import typer

from treedb.cli.data_folder import Data, Namespace, data_folder
from treedb.cli.terminal import printable, tell, tell_progress

indexes = typer.Typer(
    no_args_is_help=True,
    help="See, check and rebuild the indexes in a data folder, whether a server runs or not.",
)


@indexes.command("list")
def list_indexes(*, data: Data = None, ns: Namespace = "default") -> None:
    """List the indexes: whose children, ordered by what, how far built, and of how many children."""
    from treedb.cli import stored_indexes, stored_namespace

    with stored_namespace.opened(data_folder(data), ns) as store:
        print(printable(stored_indexes.table(store)))


@indexes.command()
def check(*, data: Data = None, ns: Namespace = "default") -> None:
    """Compare every entry of every index with the rows, and list the faults.

    The exit code is 1 when there are faults.
    """
    from treedb.cli import stored_indexes, stored_namespace

    folder = data_folder(data)
    with stored_namespace.opened(folder, ns) as store:
        faults = stored_indexes.check(store, tell)
    if faults:
        print(stored_indexes.way_out(folder, ns))
        raise typer.Exit(1)


@indexes.command()
def rebuild(*, data: Data = None, ns: Namespace = "default") -> None:
    """Build every index anew from the rows; until one is complete, queries do without it.

    A build that is interrupted goes on where it was when a server opens the namespace.
    """
    from treedb.cli import stored_indexes, stored_namespace

    with stored_namespace.opened(data_folder(data), ns) as store:
        stored_indexes.rebuild(store, tell_progress)
        print(printable(stored_indexes.table(store)))
