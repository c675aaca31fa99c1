"""A value kept in rows of a test's own, cut at a size of its choice."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import lmdb

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.store.cursor import RowCursor
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import StoredTree
from treedb.tree.values import Value, normal_form


@contextmanager
def stored_value(
    place: Path, raw: object, row_bytes: int, map_bytes: int = 1 << 28
) -> Iterator[tuple[StoredTree, Value]]:
    """Keep a value at a place; gives the tree, and the value in normal form."""
    value = normal_form(raw, 0, DEFAULT_LIMITS).value
    with (
        TemporaryDirectory() as directory,
        lmdb.open(
            directory, map_size=map_bytes, max_dbs=1, sync=False, lib_version=0
        ) as environment,
        environment.begin(write=True) as transaction,
    ):
        tree = StoredTree(RowCursor(transaction, environment.open_db(b"r", txn=transaction)))
        RowWriter(tree, row_bytes).set(place, value)
        yield tree, value
