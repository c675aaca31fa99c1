"""The entries that the rows call for, found in an order that can be left and taken up again.

What builds an index and what checks one walk the same way. A *position* says how far a walk came;
everything up to it in key order is done. For an index with a pattern it is the path of the last
child or place that was finished, as the bytes of its keys. For the index of priorities, which is
for all places, it is the full key of the last row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treedb.paths.order import decode_key, encode_key
from treedb.paths.pattern import is_name
from treedb.store.codec import PRIORITY, decode_row, row_is_plain
from treedb.store.cursor import Row
from treedb.store.index_definitions import PRIORITIES, Index, Position
from treedb.store.ordered import members_by_key
from treedb.store.stored_tree import Inner, StoredTree
from treedb.tree.order import SortKey, value_sort_key
from treedb.tree.values import Priority, Value, children, priority_of, value_at

# The least bytes behind everything that begins with a key's bytes and is no other key's.
_BEHIND: Final = b"\x00"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An entry that there must be: of a child with this key, at a place, ordered by this."""

    place: bytes
    sort_key: SortKey
    key: bytes


Visit = tuple[Position, tuple[Wanted, ...]]


def walk(tree: StoredTree, index: Index, after: Position) -> Iterator[Visit]:
    """Yield what is behind a position, step by step: each position, and the entries it adds."""
    if index.place == PRIORITIES:
        yield from _walk_rows(tree, after)
        return
    for position, node in _walk_pattern(tree, tree.node(b""), b"", index.place.keys, after):
        if node is None:
            yield position, ()
            continue
        place = b"".join(position[:-1])
        yield position, (Wanted(place, tree.sort_key(index.order_by, node), position[-1]),)


def priorities_below(full: bytes, value: Value) -> Iterator[tuple[bytes, Priority, bytes]]:
    """Yield the priorities inside a value but its own: the place, the priority and the key."""
    for key, child in children(value):
        if isinstance(child, dict):
            encoded = encode_key(key)
            priority = priority_of(child)
            if priority is not None:
                yield full, priority, encoded
            yield from priorities_below(full + encoded, child)


def _walk_pattern(
    tree: StoredTree,
    node: "Value | Inner",
    full: bytes,
    pattern: tuple[str, ...],
    after: Position,
) -> "Iterator[tuple[Position, Value | Inner]]":
    """Yield the children of the places that match, and, without a node, each such place."""
    if not pattern:
        low = after[0] + _BEHIND if after else b""
        for member in members_by_key(tree, full, node, low):
            yield (member.key_bytes,), member.node
        return
    if not is_name(pattern[0]):
        key = encode_key(pattern[0])
        if after and key < after[0]:
            return
        rest = after[1:] if after and key == after[0] else ()
        for position, found in _walk_pattern(
            tree, _below(tree, node, full, pattern[0]), full + key, pattern[1:], rest
        ):
            yield (key, *position), found
        return
    for member in members_by_key(tree, full, node, after[0] if after else b""):
        key = member.key_bytes
        if (key,) == after:
            continue
        rest = after[1:] if after and key == after[0] else ()
        for position, found in _walk_pattern(tree, member.node, full + key, pattern[1:], rest):
            yield (key, *position), found
        yield (key,), None


def _below(tree: StoredTree, node: "Value | Inner", full: bytes, key: str) -> "Value | Inner":
    if isinstance(node, Inner):
        return tree.node(full + encode_key(key))
    return value_at(node, (key,))


def _walk_rows(tree: StoredTree, after: Position) -> Iterator[Visit]:
    found = _row_after(tree, after[0]) if after else tree.rows.seek(b"")
    while found is not None:
        yield (found[0],), tuple(_priorities_of(found))
        found = _row_after(tree, found[0])


def _row_after(tree: StoredTree, full: bytes) -> Row | None:
    # A row of the root is stored under a key that is not its full key; it is the only row.
    return tree.rows.seek(full + _BEHIND) if full else tree.rows.seek(PRIORITY)


def _priorities_of(row: Row) -> Iterator[Wanted]:
    full, raw = row
    if row_is_plain(raw) and not full.endswith(PRIORITY):
        return
    start = end = 0
    while end < len(full) and full[end:] != PRIORITY:
        start = end
        _, end = decode_key(full, start)
    value = decode_row(raw)
    priority = priority_of({".priority": value}) if end < len(full) else priority_of(value)
    if priority is not None and end:
        yield Wanted(full[:start], value_sort_key(priority), full[start:end])
    if end == len(full):
        for place, inner, key in priorities_below(full, value):
            yield Wanted(place, value_sort_key(inner), key)
