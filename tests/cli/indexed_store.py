"""Stores with indexes in a data folder, and ways to break them."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path as FilePath

import lmdb

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT
from treedb.store.environment import SUBDATABASES
from treedb.store.index_definitions import IndexPlace
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value

BY_TIME = IndexPlace(("rooms", "$room"), "ts")
ENTRIES = b"index"


def make_store(
    data: FilePath, namespace: str, value: Value, wanted: Iterable[IndexPlace] = (BY_TIME,)
) -> None:
    """Make a store that keeps a value, with indexes declared and built."""
    store = Store.open(data / namespace, DEFAULT_LIMITS, fsync=False)
    with store.transaction() as transaction:
        transaction.apply(Commit(1, 0, Patch(((ROOT, value),)), None, None))
        transaction.commit()
    declare(store, wanted)
    build(store)
    store.close()


def declare(store: Store, wanted: Iterable[IndexPlace]) -> None:
    with store.transaction() as transaction:
        transaction.declare_indexes(wanted)
        transaction.commit()


def build(store: Store) -> None:
    is_last = False
    while not is_last:
        with store.transaction() as transaction:
            is_last = transaction.build_indexes(1000).is_last
            transaction.commit()


def delete_entries(data: FilePath, namespace: str, most: int) -> int:
    """Delete the first entries of a closed store's indexes; return how many it were."""
    environment = lmdb.open(str(data / namespace), max_dbs=SUBDATABASES, lib_version=0)
    entries = environment.open_db(ENTRIES, create=False)
    with environment.begin(entries, write=True) as transaction:
        found = list(islice(transaction.cursor().iternext(values=False), most))
        for key in found:
            assert transaction.delete(key)
    environment.close()
    return len(found)
