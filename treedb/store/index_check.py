"""Hold the entries of all indexes against the rows, both ways, with little memory.

An index that is still being built may lack entries; one that is being dropped may hold anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from treedb.paths.order import decode_key, decode_path
from treedb.paths.path import Path
from treedb.paths.pattern import is_name
from treedb.store.index_codec import (
    NUMBER_BYTES,
    entry_data,
    entry_key,
    entry_value,
    parse_suffix,
    place_of,
    place_prefix,
)
from treedb.store.index_definitions import PRIORITIES, Index, IndexPlace, IndexState
from treedb.store.index_reader import IndexReader
from treedb.store.index_walk import walk
from treedb.store.stored_tree import StoredTree
from treedb.tree.order import value_sort_key

# Children or entries compared between two turns of others.
TURN = 500


@dataclass(frozen=True, slots=True)
class IndexFault:
    """One entry that is not as the rows say; `child` is whose entry it is or should be.

    `index` is None where no index has the entry's number.
    """

    index: IndexPlace | None
    child: Path
    problem: str

    def __str__(self) -> str:
        if self.index is None:
            return f"{self.child}: {self.problem}"
        return f"{self.child}: {self.problem} in the index {self.index}"


def check_indexes(tree: StoredTree, indexes: IndexReader) -> Iterator[IndexFault | None]:
    """Yield every fault, and None now and then so that others can have their turn."""
    for index in indexes.definitions.indexes:
        if index.state is IndexState.COMPLETE:
            yield from _missing(tree, indexes, index)
    yield from _wrong(tree, indexes)


def _missing(tree: StoredTree, indexes: IndexReader, index: Index) -> Iterator[IndexFault | None]:
    for count, (_, wanted) in enumerate(walk(tree, index, ()), 1):
        for each in wanted:
            prefix = place_prefix(index.number, each.place)
            entry = entry_key(prefix, entry_value(each.sort_key), each.key)
            if indexes.entries.get(entry) != entry_data(each.place, each.key):
                child = Path(decode_path(each.place + each.key))
                yield IndexFault(index.place, child, "an entry is missing")
        if count % TURN == 0:
            yield None


def _wrong(tree: StoredTree, indexes: IndexReader) -> Iterator[IndexFault | None]:
    by_number = {index.number: index for index in indexes.definitions.indexes}
    for count, (entry, data) in enumerate(indexes.entries.forward(b"", b""), 1):
        if count % TURN == 0:
            yield None
        index = by_number.get(int.from_bytes(entry[:NUMBER_BYTES], "big"))
        if index is not None and not index.is_kept:
            continue
        place, end = place_of(entry, data)
        _, key, _ = parse_suffix(entry[end:], data)
        child = Path((*decode_path(place), decode_key(key, 0)[0]))
        if index is None:
            yield IndexFault(None, child, "an entry belongs to no index")
        elif not _matches(index, child):
            yield IndexFault(index.place, child, "an entry does not belong")
        elif not _is_true(tree, index, (place, key), entry):
            yield IndexFault(index.place, child, "an entry is wrong")


def _matches(index: Index, child: Path) -> bool:
    if index.place == PRIORITIES:
        return True
    pattern = index.place.keys
    return len(child.keys) == len(pattern) + 1 and all(
        is_name(mine) or mine == key for mine, key in zip(pattern, child.keys, strict=False)
    )


def _is_true(tree: StoredTree, index: Index, child: tuple[bytes, bytes], entry: bytes) -> bool:
    place, key = child
    node = tree.node(place + key)
    if node is None:
        return False
    sort_key = tree.sort_key(index.order_by, node)
    if index.place == PRIORITIES and sort_key == value_sort_key(None):
        return False
    return entry == entry_key(place_prefix(index.number, place), entry_value(sort_key), key)
