"""What a terminal can show, and how it is shown there."""

import sys
from collections.abc import Sequence


def printable(text: str) -> str:
    """Return a text with what the terminal's encoding lacks, or no encoding has, written out."""
    encoding = sys.stdout.encoding
    return text.encode(encoding, "backslashreplace").decode(encoding)


def tell(line: str) -> None:
    """Print a line at once."""
    print(printable(line), flush=True)


def tell_progress(line: str) -> None:
    """Print at once how far something is, beside what the command prints."""
    print(printable(line), file=sys.stderr, flush=True)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
