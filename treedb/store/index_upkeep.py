"""Keep the entries of indexes true while rows are written, in the same transaction.

A write at a place P can move three kinds of children, and each is looked for only where an index's
pattern matches:

    at P and below   P is or holds indexed places: their entries are one range, removed and made anew
    at and above P   P is an indexed child, or lies in one: its entry moves if what orders it is at
                     or below P, or above P on the way there, or if the child comes into being
    above P, gone    a removal takes ancestors along that lose their last child

What stands at P is known from the two seeks that writing the row needs anyway. Worked example,
/rooms indexed by `ts` and by `name`:

    set /rooms/one/ts 5          the entry of "one" moves in `ts`; `name` is not looked at
    set /rooms/two/x/y 1         where "two" was not: both get an entry, for nothing
    remove /rooms/one/ts         its entry moves to nothing; or goes, if `ts` was all of "one"

Priorities are indexed for all places, but nearly no store has any. So two cheap questions come
first: has the index an entry at all, and did a row that was written hold a priority.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from treedb.paths.order import encode_key, encode_path
from treedb.paths.path import Path
from treedb.store.codec import decode_row
from treedb.store.index_codec import entry_value, entry_value_of
from treedb.store.index_definitions import Definitions, Index, Level
from treedb.store.index_entries import IndexEntries
from treedb.store.index_walk import priorities_below
from treedb.store.placement import RowWriter, Surroundings
from treedb.store.stored_tree import OBJECT, Inner, StoredTree
from treedb.tree.values import Priority, Value, children, priority_of, value_at

_NOTHING: Final = entry_value_of(None)
_OBJECT: Final = entry_value(OBJECT)


class _Touched(NamedTuple):
    """An indexed child at or above a written place, and what ordered it before, if it was there."""

    in_index: Index
    depth: int  # of the indexed place; the child is one key below
    old: bytes | None  # as it stands in an entry


class IndexUpkeep:
    """Write values to the rows of one transaction, and keep the entries of the indexes true."""

    def __init__(
        self,
        tree: StoredTree,
        writer: RowWriter,
        entries: IndexEntries,
        definitions: Definitions,
    ) -> None:
        self._tree = tree
        self._writer = writer
        self._entries = entries
        self._root = definitions.root
        self._priorities = definitions.priorities.number
        self._has_priorities: bool | None = None  # None until somebody needs to know

    def set(self, path: Path, value: Value) -> None:
        """Make `value`, in normal form, the value at a place; None removes what is there.

        A path ending in ".priority" sets the priority of the node there, if there is one.
        """
        if path.is_priority:
            self._set_priority(path, value)
            return
        around = self._writer.surroundings(path)
        if not (around.is_inside or around.has_rows or value is not None):
            return
        touched, levels = self._touched(around, value)
        self._forget_below(levels, around)
        self._forget_priorities(around, value)
        self._writer.met_priority = False
        self._writer.set_within(around, value)
        for each in touched:
            self._move(each, around, value)
        for level in levels:
            self._add_below(level, around.full, value)
        if self._writer.met_priority:
            self._add_priorities(around, value)

    # Children at and above the place.

    def _touched(self, around: Surroundings, value: Value) -> tuple[list[_Touched], list[Level]]:
        """Return the children whose entries may move, and the patterns' levels at the place."""
        touched: list[_Touched] = []
        levels = [self._root]
        for depth, key in enumerate(around.path.keys):
            for level in levels:
                for index in level.indexes:
                    each = self._touch(index, depth, around, value)
                    if each is not None:
                        touched.append(each)
            levels = [below for level in levels for below in level.below(key)]
            if not levels:
                break
        return touched, levels

    def _touch(
        self, index: Index, depth: int, around: Surroundings, value: Value
    ) -> _Touched | None:
        """Return the child below an indexed place, None when its entry surely stays."""
        if not _exists(around, depth + 1):
            return _Touched(index, depth, None)
        below = around.path.keys[depth + 1 :]
        if below and value is not None and not _meet(below, index.order_by.keys):
            return None
        return _Touched(index, depth, self._old(index, around, depth + 1))

    def _old(self, index: Index, around: Surroundings, depth: int) -> bytes:
        """Return what orders a child at some depth of the place, before the write."""
        name = index.order_by.keys
        keys, ends = around.path.keys, around.ends
        if around.before is not None and around.is_inside:
            row_depth = ends.index(len(around.before[0]))
            if row_depth <= depth:
                return entry_value_of(value_at(around.row_value, keys[row_depth:depth] + name))
        full = around.full[: ends[depth]]
        if around.found is not None and around.found[0] == full:
            return entry_value_of(value_at(decode_row(around.found[1]), name))
        return _entry_value_of_node(self._tree.node(full + encode_path(name)))

    def _move(self, touched: _Touched, around: Surroundings, value: Value) -> None:
        new = self._new(touched, around, value)
        if new == touched.old:
            return
        start, end = around.ends[touched.depth : touched.depth + 2]
        place, key = around.full[:start], around.full[start:end]
        if touched.old is not None:
            self._entries.delete(touched.in_index.number, place, touched.old, key)
        if new is not None:
            self._entries.put(touched.in_index.number, place, new, key)

    def _new(self, touched: _Touched, around: Surroundings, value: Value) -> bytes | None:
        """Return what orders a child after the write, None when it is no longer there."""
        below = around.path.keys[touched.depth + 1 :]
        name = touched.in_index.order_by.keys
        if value is not None:
            if below and not _meet(below, name):
                return _NOTHING  # the child came into being, without what it is ordered by
            if len(below) > len(name):
                return _OBJECT
            return entry_value_of(value_at(value, name[len(below) :]))
        child = around.path.keys[: touched.depth + 1]
        if not below or not self._tree.exists(Path(child)):
            return None
        if not _meet(below, name):
            return touched.old
        if len(below) <= len(name):
            return _NOTHING
        return _entry_value_of_node(self._tree.node(encode_path((*child, *name))))

    # Indexed places at the place and below it.

    def _forget_below(self, levels: list[Level], around: Surroundings) -> None:
        if not around.full:
            self._entries.delete_all()
            self._has_priorities = False
            return
        for level in levels:
            for index in level.all_indexes():
                self._entries.delete_subtree(index.number, around.full)

    def _add_below(self, level: Level, full: bytes, value: Value) -> None:
        for index in level.indexes:
            for key, child in children(value):
                ordering = entry_value_of(value_at(child, index.order_by.keys))
                self._entries.put(index.number, full, ordering, encode_key(key))
        for key, below in level.children.items():
            self._add_below(below, full + encode_key(key), value_at(value, (key,)))
        if level.any_child is not None:
            for key, child in children(value):
                self._add_below(level.any_child, full + encode_key(key), child)

    # Priorities.

    def _set_priority(self, path: Path, value: Value) -> None:
        place, full = encode_path(path.keys[:-2]), encode_path(path.keys[:-1])
        old = self._tree.priority_at(full)
        self._writer.set(path, value)
        new = self._tree.priority_at(full)
        if full and old != new:
            self._remove_priority(place, old, full[len(place) :])
            self._add_priority(place, new, full[len(place) :])

    def _forget_priorities(self, around: Surroundings, value: Value) -> None:
        """Remove the entries of the place, of all below it and of ancestors that will vanish."""
        if self._has_priorities is None:
            self._has_priorities = self._entries.any(self._priorities)
        keys, ends = around.path.keys, around.ends
        if not (self._has_priorities and keys and _exists(around, len(keys))):
            return
        self._entries.delete_subtree(self._priorities, around.full)
        for depth in (len(keys), *(self._vanishing(keys) if value is None else ())):
            place, full = around.full[: ends[depth - 1]], around.full[: ends[depth]]
            self._remove_priority(place, self._tree.priority_at(full), full[len(place) :])

    def _vanishing(self, keys: Sequence[str]) -> Iterator[int]:
        """Yield the depths of the ancestors that a removal takes along."""
        for depth in range(len(keys) - 1, 0, -1):
            if len(list(islice(self._tree.keys(Path(tuple(keys[:depth]))), 2))) > 1:
                return
            yield depth

    def _add_priorities(self, around: Surroundings, value: Value) -> None:
        place = around.full[: around.ends[-2]] if around.full else b""
        if around.full:
            self._add_priority(place, priority_of(value), around.full[len(place) :])
        for owner, priority, key in priorities_below(around.full, value):
            self._add_priority(owner, priority, key)

    def _add_priority(self, place: bytes, priority: Priority | None, key: bytes) -> None:
        if priority is not None:
            value = entry_value_of(priority)
            self._entries.put(self._priorities, place, value, key)
            self._has_priorities = True

    def _remove_priority(self, place: bytes, priority: Priority | None, key: bytes) -> None:
        if priority is not None:
            value = entry_value_of(priority)
            self._entries.delete(self._priorities, place, value, key)


def _entry_value_of_node(node: "Value | Inner") -> bytes:
    return _OBJECT if isinstance(node, Inner) else entry_value_of(node)


def _exists(around: Surroundings, depth: int) -> bool:
    """Tell whether there was a value at some depth of a place."""
    full = around.full[: around.ends[depth]]
    if around.found is not None and around.found[0].startswith(full):
        return True
    if around.before is None:
        return False
    if around.before[0].startswith(full):
        return True
    if not around.is_inside:
        return False
    row_depth = around.ends.index(len(around.before[0]))
    return value_at(around.row_value, around.path.keys[row_depth:depth]) is not None


def _meet(below: Sequence[str], name: Sequence[str]) -> bool:
    """Tell whether one of two places below a child is the other, or lies above it."""
    length = min(len(below), len(name))
    return tuple(below[:length]) == tuple(name[:length])
