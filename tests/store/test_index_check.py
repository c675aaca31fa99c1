"""Entries that are missing, wrong or nobody's are all found, and named."""

from collections.abc import Callable
from pathlib import Path as FilePath

import pytest

from tests.store.indexed_histories import declare, faults, open_store, write
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.index_entries import IndexEntries

LIST, A = b"list\x00", b"a\x00"

Damage = Callable[[IndexEntries], None]
CASES: list[tuple[str, Damage, list[str]]] = [
    ("none", lambda entries: None, []),
    (
        "gone",
        lambda entries: entries.delete_subtree(1, LIST),
        [
            "/list/a: an entry is missing in the index ts on /list",
            "/list/b: an entry is missing in the index ts on /list",
        ],
    ),
    (
        "one too many",
        lambda entries: entries.put(1, LIST, b"\x01", A),
        ["/list/a: an entry is wrong in the index ts on /list"],
    ),
    (
        "of no child",
        lambda entries: entries.put(1, LIST, b"\x00", b"c\x00"),
        ["/list/c: an entry is wrong in the index ts on /list"],
    ),
    (
        "of another place",
        lambda entries: entries.put(1, b"other\x00", b"\x00", A),
        ["/other/a: an entry does not belong in the index ts on /list"],
    ),
    (
        "of no index",
        lambda entries: entries.put(9, LIST, b"\x00", A),
        ["/list/a: an entry belongs to no index"],
    ),
    (
        "of no priority",
        lambda entries: entries.put(0, LIST, b"\x00", A),
        ["/list/a: an entry is wrong in the index .priority on /"],
    ),
    (
        "a priority gone",
        lambda entries: entries.delete_subtree(0, LIST),
        ["/list/b: an entry is missing in the index .priority on /"],
    ),
]


@pytest.mark.parametrize("name, damage, expected", CASES, ids=[name for name, _, _ in CASES])
def test_each_fault_is_told(
    tmp_path: FilePath, name: str, damage: Damage, expected: list[str]
) -> None:
    store = open_store(tmp_path)
    declare(store, [IndexPlace(("list",), "ts")])
    write(store, [(Path(("list",)), {"a": {"ts": 0}, "b": {".priority": 1, "ts": 1}})])
    with store.transaction() as transaction:
        damage(IndexEntries(transaction._transaction, store.index))
        transaction.commit()
    assert faults(store) == expected
    store.close()


def test_an_index_that_is_built_may_lack_entries_and_one_that_is_dropped_may_hold_any(
    tmp_path: FilePath,
) -> None:
    store = open_store(tmp_path)
    declare(store, [IndexPlace(("list",), "ts")])
    write(store, [(Path(("list",)), {"a": {"ts": 0}})])
    declare(store, [IndexPlace(("list",), "at")])
    assert faults(store) == []
    store.close()
