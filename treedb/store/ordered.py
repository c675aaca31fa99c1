"""The children of a place in a query's order, read one by one from the end that a limit keeps.

Nothing is read before it is needed, and about as much as is taken: by key each child is one seek
from the one before, by an index each child is the next entry and a seek to its row. So the last
fifty of a million cost what the last fifty of a hundred do.

By priority, children without one come first and have no entry: they are met in key order, and
those with a priority among them are passed over.

Whatever is read may be long without yielding a child: then None is yielded now and then, so that
others can have their turn.
"""

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Final, NamedTuple

from treedb.errors import TooBigToRead
from treedb.paths.order import decode_key, encode_key, encode_path
from treedb.paths.path import Path
from treedb.store.codec import FIRST_CHILD, decode_row, successor
from treedb.store.cursor import Row
from treedb.store.index_codec import (
    first_suffix,
    parse_suffix,
    place_prefix,
    reaches_into_group,
    value_bytes,
)
from treedb.store.index_definitions import Index
from treedb.store.index_reader import IndexReader
from treedb.store.stored_tree import Inner, StoredTree
from treedb.tree.order import SortKey, value_sort_key
from treedb.tree.query import Query
from treedb.tree.query_order import BEFORE_KEYS, BEHIND_KEYS, KEY, PRIORITY, Position
from treedb.tree.values import Value, children

NOTHING: Final[SortKey] = value_sort_key(None)
# Entries of one group read between two turns of others.
TURN: Final = 500


class Member(NamedTuple):
    """A child that was met: its key, twice, and what was read of it, with its bytes on disk."""

    key: str
    key_bytes: bytes
    node: "Value | Inner"
    size_bytes: int


Found = Iterator[Member | None]


def members_in_order(tree: StoredTree, indexes: IndexReader, place: Path, query: Query) -> Found:
    """Yield the children in a query's range, in its order, the last one first if it keeps those.

    None is yielded where others may have their turn. The caller stops at the limit. The order must
    be covered by the indexes.
    """
    full = encode_path(place.keys)
    node = tree.node(full)
    if not isinstance(node, Inner):
        chosen = replace(query, limit=None).select(children(node))
        for key, child in reversed(chosen) if query.keeps_last else chosen:
            yield Member(key, encode_key(key), child, 0)  # a row at most, and it was read
    elif query.order_by == KEY:
        low, high = _key_range(query)
        yield from members_by_key(tree, full, node, low, high, is_backward=query.keeps_last)
    else:
        index = indexes.index_of(place, query.order_by)
        assert index is not None, f"{query.order_by} is not indexed at {place}"
        scan = _EntryScan(tree, indexes, index, full, query)
        if query.order_by != PRIORITY:
            yield from scan.members()
        elif query.keeps_last:
            yield from scan.members()
            yield from _without_priority(tree, full, node, query)
        else:
            yield from _without_priority(tree, full, node, query)
            yield from scan.members()


def members_by_key(
    tree: StoredTree,
    full: bytes,
    node: "Value | Inner",
    low: bytes = BEFORE_KEYS,
    high: bytes = BEHIND_KEYS,
    *,
    is_backward: bool = False,
) -> Iterator[Member]:
    """Yield the children of a node whose keys' bytes are in the range low <= key < high."""
    if isinstance(node, Inner):
        yield from (_backward if is_backward else _forward)(tree, full, low, high)
        return
    members = list(children(node))
    for key, child in reversed(members) if is_backward else members:
        encoded = encode_key(key)
        if low <= encoded < high:
            yield Member(key, encoded, child, 0)


def member_at(tree: StoredTree, full: bytes, key: bytes) -> Member:
    """Return the child with this key of a place that stands above rows; it is there."""
    found = tree.rows.seek(full + key)
    assert found is not None, "the child has its row"
    assert found[0].startswith(full + key), "the child has its row"
    return _member(found, len(full))


def _forward(tree: StoredTree, full: bytes, low: bytes, high: bytes) -> Iterator[Member]:
    rows = tree.rows
    found = rows.seek(full + max(low, FIRST_CHILD))
    while found is not None and found[0].startswith(full):
        member = _member(found, len(full))
        if member.key_bytes >= high:
            return
        if member.key_bytes >= low:  # else the row lies inside a child before the range
            yield member
        found = rows.seek(full + member.key_bytes + BEHIND_KEYS)


def _backward(tree: StoredTree, full: bytes, low: bytes, high: bytes) -> Iterator[Member]:
    rows = tree.rows
    # A child right before the end of the range may have its rows behind that end.
    found = rows.seek(full + max(high, FIRST_CHILD))
    if found is None or not found[0].startswith(full) or _key_bytes(found, full) >= high:
        found = rows.before(full + high)
    while found is not None and found[0].startswith(full) and found[0] >= full + FIRST_CHILD:
        member = _member(found, len(full))
        if member.key_bytes < low:
            return
        yield member
        found = rows.before(full + member.key_bytes)


def _key_bytes(row: Row, full: bytes) -> bytes:
    _, end = decode_key(row[0], len(full))
    return row[0][len(full) : end]


def _member(row: Row, start: int) -> Member:
    full, raw = row
    key, end = decode_key(full, start)
    if end == len(full):
        return Member(key, full[start:], decode_row(raw), len(raw))
    return Member(key, full[start:end], Inner(full[:end]), 0)


def _key_range(query: Query) -> tuple[bytes, bytes]:
    low = BEFORE_KEYS if query.low is None else query.low[1]
    high = BEHIND_KEYS if query.high is None else query.high[1]
    return low, high


def _without_priority(tree: StoredTree, full: bytes, node: Inner, query: Query) -> Found:
    """Yield the children without a priority, and None for each that is passed over."""
    low, high = query.low, query.high
    if low is not None and low[0] > NOTHING:
        return
    low_key = BEFORE_KEYS if low is None else low[1]
    high_key = BEHIND_KEYS if high is None or high[0] > NOTHING else high[1]
    for member in members_by_key(tree, full, node, low_key, high_key, is_backward=query.keeps_last):
        yield member if tree.priority_of(member.node) is None else None


class _EntryScan:
    """The entries of one place in one index, in the order and the range of a query."""

    def __init__(
        self, tree: StoredTree, indexes: IndexReader, index: Index, full: bytes, query: Query
    ) -> None:
        self._tree = tree
        self._indexes = indexes
        self._order_by = index.order_by
        self._full = full
        self._prefix = place_prefix(index.number, full)
        self._low, self._high = query.low, query.high
        self._is_backward = query.keeps_last

    def members(self) -> Found:
        """Yield the children that the entries stand for."""
        low = b"" if self._low is None else _position_bytes(self._low)
        high = None if self._high is None else _position_bytes(self._high)
        for entry in self._in_order():
            if entry is None:
                yield None
                continue
            position, key = entry
            if position < low:
                if self._is_backward:
                    return
            elif high is not None and position >= high:
                if not self._is_backward:
                    return
            else:
                yield member_at(self._tree, self._full, key)

    def _in_order(self) -> Iterator[tuple[bytes, bytes] | None]:
        """Yield the whole position and the key of each entry, groups put in order."""
        open_group = b""
        group: list[tuple[bytes, bytes]] = []
        size = 0
        for suffix, data in self._suffixes():
            value, key, own_group = parse_suffix(suffix, data)
            if group and own_group != open_group:
                yield from self._sorted(group)
                group, size = [], 0
            if not own_group:
                assert value is not None, "an entry outside of groups is whole"
                yield suffix, key
                continue
            open_group = own_group
            position = (self._whole_value(key) if value is None else value) + key
            group.append((position, key))
            size += len(position) + len(key)
            if size > self._indexes.limits.answer_bytes:
                raise TooBigToRead(_too_long(size, self._indexes.limits.answer_bytes))
            if len(group) % TURN == 0:
                yield None
        yield from self._sorted(group)

    def _suffixes(self) -> Iterator[tuple[bytes, bytes]]:
        prefix, entries = self._prefix, self._indexes.entries
        if self._is_backward:
            found = entries.backward(prefix, self._end())
        else:
            start = b"" if self._low is None else _first(self._low)
            found = entries.forward(prefix, prefix + start)
        for entry, data in found:
            yield entry[len(prefix) :], data

    def _end(self) -> bytes:
        """Return where the entries of the range have surely ended."""
        if self._high is None:
            return successor(self._prefix)
        last = self._prefix + _first(self._high)
        value, key = value_bytes(self._high[0]), self._high[1]
        return successor(last) if reaches_into_group(value, key) else last

    def _sorted(self, group: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return sorted(group, key=itemgetter(0), reverse=self._is_backward)

    def _whole_value(self, key: bytes) -> bytes:
        child = self._tree.node(self._full + key)
        return value_bytes(self._tree.sort_key(self._order_by, child))


def _position_bytes(position: Position) -> bytes:
    return value_bytes(position[0]) + position[1]


def _first(position: Position) -> bytes:
    return first_suffix(value_bytes(position[0]), position[1])


def _too_long(found: int, most: int) -> str:
    return (
        f"values that begin with the same long text take {found} bytes to put in order, "
        f"one answer may take {most}; order by something shorter"
    )
