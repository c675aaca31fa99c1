"""Measure the store and the writer: load, point reads, subtree reads, writes, restart."""

import asyncio
import random
from dataclasses import replace
from functools import partial
from pathlib import Path as FilePath

import orjson

from benchmarks import floor
from benchmarks.measure import Row, durations, in_turns, rates, rss_mib
from treedb.access import Access
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.database import Database
from treedb.paths.path import Path
from treedb.rules.authority import NOBODY
from treedb.store.store import Store
from treedb.tree.forms import Form
from treedb.tree.json_text import parse_json
from treedb.writes.request import set_write

SEED = 1
RECORDS = 100_000
FIELDS = 10
POINTS = 50_000
SUBTREE_RECORDS = 10_000
LARGE_RECORDS = 500
LARGE_FIELDS = (25, 50, 100, 200)
WRITES = 3_200


def record_body(records: int, fields: int) -> bytes:
    """Make the JSON of many records: half strings, half numbers, about 20 bytes a leaf."""
    source = random.Random(SEED)
    return orjson.dumps(
        {
            f"record{number:07d}": {
                f"field{field}": source.randrange(10**9) if field % 2 else f"text {number:08d}"
                for field in range(fields)
            }
            for number in range(records)
        }
    )


async def bulk_load(directory: FilePath, limits: Limits) -> list[Row]:
    """Load a million leaves by one PUT; then RSS and file size."""
    body = record_body(RECORDS, FIELDS)
    bare = floor.open_floor(directory / "floor-bulk")
    database = await _database(directory / "bulk", limits)

    async def ours() -> None:
        await database.write(set_write(Path(("records",)), parse_json(body), limits))

    times = await in_turns(ours, lambda: floor.load_records(bare, body), runs=1)
    size = (directory / "bulk" / "data.mdb").stat().st_size / 2**20
    bare_size = (directory / "floor-bulk" / "data.mdb").stat().st_size / 2**20
    await database.close()
    bare.close()
    remark = f"{RECORDS:,} records of {FIELDS} fields, {len(body) / 2**20:.0f} MiB of JSON, one run"
    return [
        rates("bulk load", RECORDS * FIELDS, "leaves", times, remark),
        Row("file after it", f"{size:.0f} MiB", f"{bare_size:.0f} MiB", f"{size / bare_size:.2f}"),
        Row("peak RSS after it", f"{rss_mib():.0f} MiB", remark="one process for both"),
    ]


async def point_reads(directory: FilePath, limits: Limits) -> list[Row]:
    """Read single leaves and single records at random from the loaded store."""
    source = random.Random(SEED)
    keys = [f"record{source.randrange(RECORDS):07d}" for _ in range(POINTS)]
    bare = floor.open_floor(directory / "floor-bulk")
    store = Store.open(directory / "bulk", limits)
    rows = []
    for name, below in (("a leaf", ("field3",)), ("a record", ())):
        paths = [Path(("records", key, *below)) for key in keys]
        times = await in_turns(partial(_read, store, paths), partial(floor.read_points, bare, keys))
        rows.append(rates(f"point read, {name}", POINTS, "reads", times))
    store.close()
    bare.close()
    return rows


async def subtree_reads(directory: FilePath, limits: Limits) -> list[Row]:
    """Read a subtree of about 1 MB from disk, as a value and as JSON text."""
    value = orjson.loads(record_body(SUBTREE_RECORDS, 3))
    bare = floor.open_floor(directory / "floor-subtree")
    floor.put_blob(bare, value)
    database = await _database(directory / "subtree", limits)
    place = Path(("big", "list"))
    await database.write(set_write(place, value, limits))
    size = sum(map(len, await database.get_json(place, Form.PLAIN, NOBODY))) / 1e6
    remark = f"{SUBTREE_RECORDS:,} records of 3 fields, {size:.2f} MB of JSON"
    as_value = await in_turns(
        partial(database.get, place, NOBODY), partial(floor.read_blob, bare), 15
    )
    as_text = await in_turns(
        partial(database.get_json, place, Form.PLAIN, NOBODY),
        partial(floor.read_blob_as_json, bare),
        15,
    )
    await database.close()
    bare.close()
    return [
        durations("subtree to a value", as_value, remark),
        durations("subtree to JSON text", as_text, remark),
    ]


async def large_records(directory: FilePath, limits: Limits) -> list[Row]:
    """Read records near and past ROW_MAX whole, and change one leaf of each."""
    rows = []
    bare = floor.open_floor(directory / "floor-large")
    for fields in LARGE_FIELDS:
        body = record_body(LARGE_RECORDS, fields)
        floor.load_records(bare, body)
        database = await _database(directory / f"large-{fields}", limits, fsync=False)
        await database.write(set_write(Path(("records",)), parse_json(body), limits))
        keys = [f"record{number:07d}" for number in range(LARGE_RECORDS)]
        whole = await in_turns(
            partial(_get_all, database, [Path(("records", key)) for key in keys]),
            partial(floor.read_points, bare, keys),
        )
        change = await in_turns(
            partial(_set_all, database, [Path(("records", key, "field3")) for key in keys]),
            partial(floor.rewrite_points, bare, keys, "field3"),
        )
        await database.close()
        size = f"{len(body) / LARGE_RECORDS / 1024:.1f} KiB, {fields} fields"
        rows.append(rates(f"read a record of {size}", LARGE_RECORDS, "reads", whole))
        remark = "no fsync, one batch in flight"
        rows.append(rates(f"change a leaf in {size}", LARGE_RECORDS, "writes", change, remark))
    bare.close()
    return rows


async def writes(directory: FilePath, limits: Limits) -> list[Row]:
    """Acknowledged small writes, one and 64 in flight."""
    rows = []
    database = await _database(directory / "writes", limits)
    bare = floor.open_floor(directory / "floor-writes")
    for in_flight in (1, 64):
        times = await in_turns(
            partial(_write_all, database, WRITES, in_flight),
            partial(floor.commit_batches, bare, WRITES, in_flight),
        )
        rows.append(rates(f"durable writes, {in_flight} in flight", WRITES, "writes", times))
    await database.close()
    bare.close()
    return rows


async def restart(directory: FilePath, limits: Limits) -> list[Row]:
    """Open the loaded store and read one leaf."""
    path = Path(("records", "record0050000", "field3"))

    async def ours() -> None:
        store = Store.open(directory / "bulk", limits)
        await _read(store, [path])
        store.close()

    def below() -> None:
        environment = floor.open_floor(directory / "floor-bulk")
        floor.read_points(environment, ["record0050000"])
        environment.close()

    times = await in_turns(ours, below)
    return [durations("restart to first read", times, "the store; starting Python not counted")]


async def measure_all(directory: FilePath, row_bytes: int | None = None) -> list[Row]:
    """Run everything in one directory, with another ROW_MAX if given."""
    limits = DEFAULT_LIMITS
    if row_bytes is not None:
        limits = replace(limits, row_bytes=row_bytes)
    rows = await bulk_load(directory, limits)
    rows += await point_reads(directory, limits)
    rows += await subtree_reads(directory, limits)
    rows += await large_records(directory, limits)
    rows += await writes(directory, limits)
    rows += await restart(directory, limits)
    return rows


async def _database(directory: FilePath, limits: Limits, *, fsync: bool = True) -> Database:
    access = Access('{"rules": {".read": true, ".write": true}}')
    database = Database.open(directory, "bench", limits, SystemClock(), access, fsync=fsync)
    await database.start()
    return database


async def _read(store: Store, paths: list[Path]) -> None:
    with store.snapshot() as snapshot:
        for path in paths:
            assert snapshot.tree.get(path) is not None, "the benchmark reads what it wrote"


async def _get_all(database: Database, paths: list[Path]) -> None:
    for path in paths:
        await database.get(path, NOBODY)


async def _set_all(database: Database, paths: list[Path]) -> None:
    writes = (set_write(path, 7, database.limits) for path in paths)
    await asyncio.gather(*map(database.submit, writes))


async def _write_all(database: Database, count: int, in_flight: int) -> None:
    async def sender() -> None:
        for _ in range(count // in_flight):
            path = Path(("list", database.push_id()))
            await database.write(set_write(path, {"text": "hello", "n": 1}, database.limits))

    await asyncio.gather(*(sender() for _ in range(in_flight)))
