"""Run the benchmarks: `python -m benchmarks [--row-bytes N,N,...]`; prints Markdown tables."""

import argparse
import asyncio
import tempfile
from pathlib import Path

import uvloop

from benchmarks import queries, rooms, rules
from benchmarks.measure import table
from benchmarks.store import measure_all
from treedb.config import DEFAULT_LIMITS


def main() -> None:
    """Measure with the default row size, or with each of those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row-bytes", default=str(DEFAULT_LIMITS.row_bytes))
    parser.add_argument("--directory", default=None, help="a folder on the disk to measure")
    arguments = parser.parse_args()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    for text in arguments.row_bytes.split(","):
        with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
            rows = asyncio.run(measure_all(Path(directory), int(text)))
        print(f"\nROW_MAX {text} bytes\n\n{table(rows)}", flush=True)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        rows = asyncio.run(rules.checks(Path(directory), DEFAULT_LIMITS))
        rows += rules.writes(Path(directory))
    print(f"\nRules\n\n{table(rows)}", flush=True)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        rows = asyncio.run(queries.measure_queries(Path(directory), DEFAULT_LIMITS))
        rows += asyncio.run(queries.measure_writes(Path(directory), DEFAULT_LIMITS))
        rows += rooms.hot_room(Path(directory) / "rooms") + rooms.many_windows()
        rows += rooms.stuck_client(Path(directory) / "stuck")
    print(f"\nQueries and indexes\n\n{table(rows)}", flush=True)


if __name__ == "__main__":
    main()
