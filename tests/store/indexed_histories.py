"""Random trees, writes, indexes and queries, and what holds of a store after each step.

Few keys and few values, so that what is written, indexed and asked meets.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path as FilePath

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.store.index_check import check_indexes
from treedb.store.index_definitions import IndexPlace
from treedb.store.ordered import members_in_order
from treedb.store.query_reading import read_query
from treedb.store.reading import end_of
from treedb.store.store import Snapshot, Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, OrderBy, by_child
from treedb.tree.values import Leaf, Value, children, is_object, leaf_of, normal_form, value_at

# Rows are tiny, so that every value is met at a row, inside one and above rows.
LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28, row_bytes=40, slice_rows=3)

LONG = "k" * 130
LONGER = "p" * 300
TEXT = "t" * 250
NAMES = ["a", "b", "x"]
KEYS = ["c", "1", "02", "-3", "é", "😀", "\ue000", LONG, LONG + "x", LONGER + "y", LONGER + "z"]
BOUND_KEYS = [*NAMES, *KEYS, "[MIN_NAME]", "[MAX_NAME]", "aa", "0", LONG + "w"]
NUMBERS = [0, 1, -1, 1.5, -1.5, 1e300, -1e300, 5e-324, 2**53, -(2**53), 10]
TEXTS = ["", "a", "ab", "\x00", "\x01", "a\x00b", "é", "😀", "\ue000", "\uffff"]
CUT_TEXTS = [
    *(TEXT, TEXT + "a", TEXT + "b", TEXT * 4, TEXT * 4 + "a"),
    *("t" * 198, "t" * 199, "t" * 200, "😀" * 80, "😀" * 80 + "a", "é😀" * 120),
]
PRIORITIES: list[int | float | str] = [1, 1.5, -2, 10, "p", "", TEXT + "a", TEXT + "b"]
ORDERS = [PRIORITY, VALUE, by_child("a"), by_child("b"), by_child("a", "b"), by_child("x")]
INDEX_NAMES = [".value", "a", "b", "x", "a/b", "x/a", LONG]

Change = tuple[Path, Value]


class Chance:
    """Draw what a history is made of."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def often(self, of_ten: int) -> bool:
        return self.source.random() * 10 < of_ten

    def key(self) -> str:
        return self.source.choice(NAMES if self.often(7) else KEYS)

    def leaf(self) -> Leaf:
        kinds: Sequence[Sequence[Leaf]] = ((True, False), NUMBERS, TEXTS, CUT_TEXTS)
        return self.source.choice(self.source.choice(kinds))

    def value(self, levels: int) -> Value:
        """Draw a value of some levels at most, with priorities here and there."""
        if not levels or self.often(4):
            leaf = self.leaf()
            return {".value": leaf, ".priority": self.priority()} if self.often(2) else leaf
        drawn: dict[str, Value] = {
            self.key(): self.value(levels - 1) for _ in range(self.source.randint(1, 6))
        }
        return {".priority": self.priority(), **drawn} if self.often(2) else drawn

    def priority(self) -> int | float | str:
        return self.source.choice(PRIORITIES)

    def path(self, tree: Value) -> Path:
        """Draw a place, mostly one that is there, or one below or beside it."""
        path = Path(())
        while self.often(8) and len(path.keys) < 5:
            below = [key for key, _ in children(value_at(tree, path.keys))]
            if below and self.often(8):
                path = path.child(self.source.choice(below))
            else:
                path = path.child(self.key())
        return path

    def change(self, tree: Value) -> Change:
        path = self.path(tree)
        if self.often(2):
            return path.child(".priority"), None if self.often(3) else self.priority()
        if self.often(3) and path.keys:
            return path, None
        return path, self.value(max(0, 4 - len(path.keys)))

    def indexes(self) -> list[IndexPlace]:
        return [
            IndexPlace(self._pattern(), self.source.choice(INDEX_NAMES))
            for _ in range(self.source.randint(0, 5))
        ]

    def _pattern(self) -> tuple[str, ...]:
        length = self.source.choice((0, 1, 1, 2, 3))
        return tuple(f"${level}" if self.often(6) else self.key() for level in range(length))

    def question(self, tree: Value) -> tuple[Path, Query]:
        place = self.path(tree)
        order_by = self.source.choice((KEY, *ORDERS))
        there = list(children(value_at(tree, place.keys)))
        limit = self.source.randint(1, 4) if self.often(6) else None
        return place, Query(
            order_by,
            self._bound(order_by, there) if self.often(5) else None,
            self._bound(order_by, there) if self.often(5) else None,
            limit,
            keeps_last=self.often(5),
        )

    def _bound(self, order_by: OrderBy, there: list[tuple[str, Value]]) -> Bound:
        is_inclusive = self.often(5)
        key, child = self.source.choice(there) if there else ("a", 1)
        if self.often(3):
            key = self.source.choice(BOUND_KEYS)
        if order_by == KEY:
            return Bound(key, None, is_inclusive)
        if order_by == PRIORITY:
            value = value_at(child, (".priority",))
        else:
            value = value_at(child, order_by.keys)
        leaf = None if is_object(value) else leaf_of(value)
        if self.often(2):
            leaf = self.leaf()
        return Bound(leaf, key if self.often(6) else None, is_inclusive)


def open_store(directory: FilePath) -> Store:
    return Store.open(directory, LIMITS, fsync=False)


def write(store: Store, changes: Iterable[Change]) -> None:
    with store.transaction() as transaction:
        for path, raw in changes:
            value = raw if path.is_priority else normal_form(raw, 0, LIMITS).value
            patch = Patch(((path, value),))
            transaction.apply(Commit(transaction.revision + 1, 0, patch, None, None))
        transaction.commit()


def declare(store: Store, wanted: Iterable[IndexPlace]) -> None:
    with store.transaction() as transaction:
        transaction.declare_indexes(wanted)
        transaction.commit()


def rebuild(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.rebuild_indexes()
        transaction.commit()


def build(store: Store, most: int, steps: int | None = None) -> None:
    """Take some steps of building, or all that there are to take."""
    while steps is None or steps > 0:
        with store.transaction() as transaction:
            step = transaction.build_indexes(most)
            transaction.commit()
        if step.is_last:
            return
        steps = None if steps is None else steps - 1


def faults(store: Store) -> list[str]:
    with store.snapshot() as snapshot:
        found = check_indexes(snapshot.tree, snapshot.indexes)
        return [str(fault) for fault in found if fault is not None]


def tree_of(store: Store) -> Value:
    with store.snapshot() as snapshot:
        return snapshot.tree.get(Path(()))


def answer(store: Store, place: Path, query: Query) -> list[tuple[str, Value]]:
    with store.snapshot() as snapshot:
        return end_of(read_query(snapshot.tree, snapshot.indexes, place, query, LIMITS))


def children_in_order(snapshot: Snapshot, place: Path, query: Query) -> Iterator[tuple[str, Value]]:
    """Yield the children in a query's range whole, the last one first if it keeps those."""
    for member in members_in_order(snapshot.tree, snapshot.indexes, place, query):
        if member is not None:
            yield member.key, snapshot.tree.assembled(member.node)


def in_order(store: Store, place: Path, query: Query) -> list[tuple[str, Value]] | None:
    """Return all children in a query's range in its order, None when that is not covered."""
    with store.snapshot() as snapshot:
        if not snapshot.indexes.covers(place, query.order_by):
            return None
        found = list(children_in_order(snapshot, place, query))
        return found[::-1] if query.keeps_last else found
