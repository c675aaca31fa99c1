"""The floors: the same work with py-lmdb and a codec alone, no tree, no rules of place."""

from pathlib import Path

import lmdb
import msgpack
import orjson

MAP_BYTES = 1 << 36


def open_floor(directory: Path) -> lmdb.Environment:
    """Open an environment with the settings treedb uses."""
    directory.mkdir(parents=True, exist_ok=True)
    return lmdb.open(str(directory), map_size=MAP_BYTES, max_dbs=2, lib_version=0)


def load_records(environment: lmdb.Environment, body: bytes) -> None:
    """Parse JSON and store each record as one msgpack row, in one commit."""
    records = orjson.loads(body)
    with environment.begin(write=True) as transaction:
        for key, record in records.items():
            transaction.put(key.encode(), msgpack.packb(record))


def read_points(environment: lmdb.Environment, keys: list[str]) -> None:
    """Get and decode one row for each key, in one read transaction."""
    with environment.begin() as transaction:
        for key in keys:
            msgpack.unpackb(transaction.get(key.encode()))


def rewrite_points(environment: lmdb.Environment, keys: list[str], field: str) -> None:
    """Change one field of each row, in one commit."""
    with environment.begin(write=True) as transaction:
        for key in keys:
            record = msgpack.unpackb(transaction.get(key.encode()))
            transaction.put(key.encode(), msgpack.packb({**record, field: 7}))


def put_blob(environment: lmdb.Environment, value: object) -> None:
    """Store a whole value as one JSON text."""
    with environment.begin(write=True) as transaction:
        transaction.put(b"blob", orjson.dumps(value))


def read_blob(environment: lmdb.Environment) -> object:
    """Get one blob and decode it."""
    with environment.begin() as transaction:
        return orjson.loads(transaction.get(b"blob", b""))


def read_blob_as_json(environment: lmdb.Environment) -> bytes:
    """Get one blob, decode it and write it as JSON again."""
    return orjson.dumps(read_blob(environment))


def commit_batches(environment: lmdb.Environment, count: int, batch: int) -> None:
    """Put `count` small rows, `batch` to a durable commit."""
    value = msgpack.packb({"text": "hello", "n": 1})
    for start in range(0, count, batch):
        with environment.begin(write=True) as transaction:
            for index in range(start, start + batch):
                transaction.put(b"k%d" % index, value)
