"""A place is at a row, inside one, or above rows, and reads the same in each state."""

from collections.abc import Iterator
from pathlib import Path as FilePath

import lmdb
import pytest

from treedb.paths.order import encode_key, encode_path
from treedb.paths.path import ROOT, Path
from treedb.store.cursor import RowCursor
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import OBJECT, Inner, StoredTree
from treedb.tree.order import SortKey, value_sort_key
from treedb.tree.query_order import PRIORITY, VALUE, OrderBy, by_child
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


@pytest.mark.parametrize("text", ["/", "/tall", "/record", "/leaf", "/none"])
@pytest.mark.parametrize("after", ["0", "big", "leaf", "lead", "name", "small", "z", "zz"])
def test_child_keys_behind_one_need_it_not_to_be_there(
    tree: StoredTree, text: str, after: str
) -> None:
    place = Path.parse(text)
    behind = [key for key in tree.keys(place) if encode_key(key) > encode_key(after)]
    assert list(tree.keys(place, after)) == behind


def test_only_a_place_above_rows_is_read_in_slices(tree: StoredTree) -> None:
    assert tree.slices_of(Path(("tall",)), 10) is not None
    for text in ("/record", "/record/name", "/none", "/tall/.priority"):
        assert tree.slices_of(Path.parse(text, allow_priority=True), 10) is None


@pytest.mark.parametrize(("text", "value"), [row[1:] for row in PLACES[:6]])
def test_a_node_is_assembled_only_where_it_is_asked_for(
    tree: StoredTree, text: str, value: Value
) -> None:
    node = tree.node(encode_path(Path.parse(text).keys))
    assert isinstance(node, Inner) == (text in ("/", "/tall"))
    assert tree.assembled(node) == value


SORT_KEYS: list[tuple[str, OrderBy, SortKey]] = [
    ("tall", VALUE, OBJECT),
    ("tall", PRIORITY, value_sort_key(5)),
    ("tall", by_child("big"), value_sort_key("y" * 50)),
    ("tall", by_child("small"), OBJECT),
    ("tall", by_child("small", "n"), value_sort_key(1)),
    ("tall", by_child("none"), value_sort_key(None)),
    ("record", VALUE, OBJECT),
    ("record", PRIORITY, value_sort_key(4)),
    ("record", by_child("name"), value_sort_key("Mary")),
    ("z", VALUE, value_sort_key(True)),
    ("z", PRIORITY, value_sort_key("p")),
    ("leaf", PRIORITY, value_sort_key(None)),
    ("leaf", by_child("name"), value_sort_key(None)),
]


@pytest.mark.parametrize(("key", "order_by", "expected"), SORT_KEYS)
def test_what_orders_a_child_is_found_without_assembling_it(
    tree: StoredTree, key: str, order_by: OrderBy, expected: SortKey
) -> None:
    assert tree.sort_key(order_by, tree.node(encode_path((key,)))) == expected
