"""Measure queries and indexes: a query on a long list and a short one, a write with an index.

Everything is a ratio of two of our own: here the floor is the short list, or no index.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path as FilePath

from benchmarks.measure import Row, durations, in_turns, rates
from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.database import Database
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.query_reading import read_query
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, OrderBy, by_child
from treedb.tree.values import Value
from treedb.writes.request import set_write

LONG_LIST = 1_000_000
SHORT_LIST = 10_000
RECORDS_AT_ONCE = 50_000
RECORDS = Path(("records",))
BY_TS = IndexPlace(("records",), "ts")
BARE = '{"rules": {".read": true, ".write": true}}'
INDEXED = '{"rules": {".read": true, ".write": true, "records": {".indexOn": "ts"}}}'
SCATTER = 7_919  # prime: every `ts` differs, and neighbours in time are none by key
LIMIT = 50
QUERIES = 200
QUERY_RUNS = 15
WRITES = 3_200
WRITE_RUNS = 9


async def measure_queries(directory: FilePath, limits: Limits) -> list[Row]:
    """Ask both lists for their last records, by a child and by key."""
    long_list, short_list = (
        _loaded(directory / name, limits, count)
        for name, count in (("long", LONG_LIST), ("short", SHORT_LIST))
    )
    rows = []
    for name, order_by in (("ts", by_child("ts")), ("$key", KEY)):
        times = await in_turns(
            _as_async(partial(_ask, long_list, order_by, limits)),
            partial(_ask, short_list, order_by, limits),
            QUERY_RUNS,
        )
        each = times[0] / QUERIES, times[1] / QUERIES
        remark = f"{LONG_LIST:,} records; floor: {SHORT_LIST:,}"
        rows.append(durations(f"orderBy {name}, limitToLast {LIMIT}", each, remark))
    long_list.close()
    short_list.close()
    return rows


async def measure_writes(directory: FilePath, limits: Limits) -> list[Row]:
    """Write records to a list with an index on `ts` and to one without, by the whole database."""
    indexed = await _database(directory / "indexed", limits, INDEXED)
    bare = await _database(directory / "bare", limits, BARE)
    rows = []
    for in_flight, count in ((1, WRITES // 8), (64, WRITES)):
        for what, key in (("a new record", "n{0}"), ("a record in its place", "p{1}")):
            format_key = f"{in_flight}{key}".format
            runs = [
                partial(_write, database, in_flight, count, format_key)
                for database in (indexed, bare)
            ]
            times = await _medians(runs)
            name = f"write {what}, {in_flight} in flight, one index"
            rows.append(rates(name, count, "writes", times, "durable; floor: no index"))
    await indexed.close()
    await bare.close()
    return rows


async def _medians(runs: Sequence[Callable[[int], Awaitable[None]]]) -> tuple[float, float]:
    """Return the median seconds of each of two, run alternately; each is told where it begins."""
    seconds: list[list[float]] = [[], []]
    for number in range(WRITE_RUNS):
        for run, own in zip(runs, seconds, strict=True):
            start = time.perf_counter()
            await run(number * WRITES)
            own.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


async def _write(
    database: Database, in_flight: int, count: int, key: Callable[[int, int], str], first: int
) -> None:
    """Write so many records; `key` makes the key of one of its number, and of that in this run."""
    numbers = iter(range(first, first + count))

    async def sender() -> None:
        for number in numbers:
            path = RECORDS.child(key(number, number - first))
            await database.write(set_write(path, _record(number), database.limits))

    await asyncio.gather(*(sender() for _ in range(in_flight)))


async def _database(directory: FilePath, limits: Limits, rules: str) -> Database:
    database = Database.open(directory, "bench", limits, SystemClock(), Access(rules))
    await database.start()
    return database


def _loaded(directory: FilePath, limits: Limits, count: int) -> Store:
    """Return a store with so many records and a complete index."""
    store = Store.open(directory, limits, fsync=False)
    _declare(store)
    for start in range(0, count, RECORDS_AT_ONCE):
        numbers = range(start, min(start + RECORDS_AT_ONCE, count))
        changes = tuple((RECORDS.child(f"r{each:09d}"), _record(each)) for each in numbers)
        with store.transaction() as transaction:
            transaction.apply(Commit(transaction.revision + 1, 0, Patch(changes), None, None))
            transaction.commit()
    return store


def _declare(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.declare_indexes([BY_TS])
        transaction.commit()


def _record(number: int) -> Value:
    return {"text": f"hello {number}", "ts": number * SCATTER % LONG_LIST, "uid": "mchen"}


def _ask(store: Store, order_by: OrderBy, limits: Limits) -> None:
    query = Query(order_by, limit=LIMIT, keeps_last=True)
    for _ in range(QUERIES):
        with store.snapshot() as snapshot:
            steps = read_query(snapshot.tree, snapshot.indexes, RECORDS, query, limits)
            for _ in steps:
                pass


def _as_async(action: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        action()

    return run
