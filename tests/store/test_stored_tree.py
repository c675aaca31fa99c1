"""A place is at a row, inside one, or above rows, and reads the same in each state."""

from collections.abc import Iterator
from pathlib import Path as FilePath

import lmdb
import pytest

from treedb.paths.path import ROOT, Path
from treedb.store.cursor import RowCursor
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import StoredTree
from treedb.tree.values import Value

TREE: dict[str, Value] = {
    "leaf": "x" * 50,
    "record": {".priority": 4, "name": "Mary"},
    "tall": {".priority": 5, "big": "y" * 50, "small": {"n": 1}},
    "z": {".value": True, ".priority": "p"},
}


@pytest.fixture
def tree(tmp_path: FilePath) -> Iterator[StoredTree]:
    with (
        lmdb.open(str(tmp_path), map_size=1 << 26, max_dbs=1, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        tree = StoredTree(RowCursor(transaction, environment.open_db(b"r", txn=transaction)))
        RowWriter(tree, 40).set(ROOT, TREE)
        yield tree


PLACES = [
    ("above rows", "/", TREE),
    ("above rows with a priority", "/tall", TREE["tall"]),
    ("at a row", "/record", TREE["record"]),
    ("at a leaf's row", "/leaf", TREE["leaf"]),
    ("inside a row", "/record/name", "Mary"),
    ("deeper inside a row", "/tall/small/n", 1),
    ("a priority above rows", "/tall/.priority", 5),
    ("a priority at a row", "/record/.priority", 4),
    ("a leaf's priority", "/z/.priority", "p"),
    ("a priority inside a row", "/record/name/.priority", None),
    ("the priority of nothing", "/none/.priority", None),
    ("nothing beside rows", "/none", None),
    ("nothing below a leaf", "/leaf/below", None),
    ("nothing inside a row", "/record/none/deeper", None),
    ("a key that another begins with", "/tal", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [row[1:] for row in PLACES], ids=[row[0] for row in PLACES])  # fmt: skip
def test_a_place_reads_as_it_was_written(tree: StoredTree, text: str, value: Value) -> None:
    path = Path.parse(text, allow_priority=True)
    assert tree.get(path) == value
    assert tree.exists(path) == (value is not None)


@pytest.mark.parametrize(
    ("text", "keys"),
    [("/", ["leaf", "record", "tall", "z"]), ("/tall", ["big", "small"]), ("/record", ["name"]), ("/leaf", []), ("/none", []), ("/tall/small", ["n"])],
)  # fmt: skip
def test_child_keys_come_in_order_without_the_priority(
    tree: StoredTree, text: str, keys: list[str]
) -> None:
    assert list(tree.keys(Path.parse(text))) == keys


def test_only_a_place_above_rows_is_read_in_slices(tree: StoredTree) -> None:
    assert tree.slices_of(Path(("tall",)), 10) is not None
    for text in ("/record", "/record/name", "/none", "/tall/.priority"):
        assert tree.slices_of(Path.parse(text, allow_priority=True), 10) is None
