"""`treedb mirrors`: see the mirrors and counts of a namespace, hold them against its data, mend it."""

from pathlib import Path
from typing import Annotated

import typer

from treedb.cli.data_folder import Data, Namespace, data_folder
from treedb.cli.terminal import printable, tell, tell_progress

mirrors = typer.Typer(
    no_args_is_help=True,
    help="See, check and repair mirrors and counts in a data folder, whether a server runs or not.",
)

SIDES = "source|target|union"


@mirrors.command("list")
def list_mirrors(*, data: Data = None, ns: Namespace = "default") -> None:
    """List the mirrors and counts of the rules, and what the last check found of each."""
    from treedb.cli import stored_mirrors, stored_namespace

    with stored_namespace.opened(data_folder(data), ns) as store:
        print(printable(stored_mirrors.table(store)))


@mirrors.command()
def check(
    *,
    data: Data = None,
    ns: Namespace = "default",
    fix: Annotated[
        str | None, typer.Option("--fix", metavar=SIDES, help="Mend by the side that is right.")
    ] = None,
) -> None:
    """Compare both sides of every mirror, and every count with what it counts; list the faults.

    The exit code is 1 when there are faults. With --fix they are mended first, as by `repair`.
    """
    _check(data, ns, "--fix", fix)


@mirrors.command()
def repair(
    side: Annotated[str, typer.Argument(metavar=SIDES, help="The side that is right.")],
    *,
    data: Data = None,
    ns: Namespace = "default",
) -> None:
    """Bring both sides of every mirror to agree, count anew, and check.

    Where a side does not decide, what stands is left as it is and told; the exit code is then 1.
    """
    _check(data, ns, "SIDE", side)


def _check(data: Path | None, ns: str, option: str, text: str | None) -> None:
    from treedb.cli import stored_mirrors, stored_namespace

    side = None if text is None else stored_mirrors.parse_side(option, text)
    folder = data_folder(data)
    with stored_namespace.opened(folder, ns) as store:
        if side is not None:
            stored_mirrors.mend(store, side, tell, tell_progress)
        faults = stored_mirrors.check(store, tell)
    if faults:
        print(stored_mirrors.way_out(folder, ns, side))
        raise typer.Exit(1)
