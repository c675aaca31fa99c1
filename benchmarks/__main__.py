"""Run the benchmarks: `python -m benchmarks [NAME ...]`; prints Markdown tables."""

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvloop

from benchmarks import mirrors, queries, rest, rooms, rules
from benchmarks.measure import Row, table
from benchmarks.store import measure_all
from treedb.config import DEFAULT_LIMITS


def _rules(directory: Path) -> list[Row]:
    return asyncio.run(rules.checks(directory, DEFAULT_LIMITS)) + rules.writes(directory)


def _queries(directory: Path) -> list[Row]:
    rows = asyncio.run(queries.measure_queries(directory, DEFAULT_LIMITS))
    rows += asyncio.run(queries.measure_writes(directory, DEFAULT_LIMITS))
    rows += rooms.hot_room(directory / "rooms") + rooms.many_windows()
    return rows + rooms.stuck_client(directory / "stuck")


def _mirrors(directory: Path) -> list[Row]:
    return asyncio.run(mirrors.measure_mirrors(directory, DEFAULT_LIMITS))


def _rest(directory: Path) -> list[Row]:
    rows = rest.long_reads(directory / "reads") + rest.large_writes(directory / "writes")
    return rows + rest.small_reads(directory / "small")


# What there is to measure beside the store, by name: its heading, and what measures it in a folder.
SECTIONS: Final[dict[str, tuple[str, Callable[[Path], list[Row]]]]] = {
    "rules": ("Rules", _rules),
    "queries": ("Queries and indexes", _queries),
    "mirrors": ("Mirrors", _mirrors),
    "rest": ("REST", _rest),
}


def main() -> None:
    """Measure what is named, or all; the store with each of the row sizes given."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ("store", *SECTIONS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; all without")
    parser.add_argument("--row-bytes", default=str(DEFAULT_LIMITS.row_bytes))
    parser.add_argument("--directory", default=None, help="a folder on the disk to measure")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))} is none of {', '.join(names)}")
    chosen = arguments.names or names
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    if "store" in chosen:
        for text in arguments.row_bytes.split(","):
            with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
                rows = asyncio.run(measure_all(Path(directory), int(text)))
            print(f"\nROW_MAX {text} bytes\n\n{table(rows)}", flush=True)
    for name in chosen:
        if name in SECTIONS:
            heading, measure = SECTIONS[name]
            with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
                rows = measure(Path(directory))
            print(f"\n{heading}\n\n{table(rows)}", flush=True)


if __name__ == "__main__":
    main()
