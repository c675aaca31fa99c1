"""What commands share that work on a data folder itself: their options, and which folder it is."""

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Data: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", help="The data folder; without it the one that the settings tell of."),
]
Namespace: TypeAlias = Annotated[str, typer.Option("--ns", help="The namespace.")]


def data_folder(data: Path | None) -> Path:
    """Return the folder that was named, else the one that the settings tell of."""
    from treedb.cli.settings import load_settings

    return load_settings({"data": data}, os.environ, Path()).data
