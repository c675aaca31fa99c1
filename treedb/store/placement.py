"""Decide which row a value lives in, and change the rows of one write transaction.

A row is a subtree whose msgpack is at most `row_bytes`, stored at its path; a leaf is a row at any
size. Rows never nest. Writing inside a row rewrites it; a row that outgrows the limit is split
into rows for its children, and the node's priority, if any, gets a row of its own. Writing where
nothing is makes one row at the highest absent place, so that a record written field by field is
one row. Worked example with a small limit:

    set /users/mchen/name "Mary"     row /                 {"users": {"mchen": {"name": "Mary"}}}
    ... until it outgrows ...        row /users/mchen      {"name": "Mary", "age": 30}
                                     row /users/hmadi      {"name": "Hamadi"}
    set /users/ann/name "Ann"        row /users/ann        {"name": "Ann"}
"""

from itertools import accumulate
from typing import NamedTuple

from treedb.paths.order import decode_path, encode_key, encode_path
from treedb.paths.path import Path
from treedb.store.codec import FIRST_CHILD, PRIORITY, decode_row, encode_row, encode_value
from treedb.store.cursor import Row
from treedb.store.stored_tree import StoredTree
from treedb.tree.values import Value, children, is_object, priority_of, with_value_at

# A member of a packed object takes at least this: a key of one character and a value of one byte.
LEAST_MEMBER_BYTES = 3


class Surroundings(NamedTuple):
    """What stands at and around a place before it is written: two seeks, for all who need them.

    `ends` are the lengths of the full keys of the root, of the place's first key, and so on.
    `row_value` is the value of the row that the place lies at or below, if `is_inside` one.
    """

    path: Path
    full: bytes
    ends: tuple[int, ...]
    before: Row | None
    found: Row | None
    row_value: Value

    @property
    def is_inside(self) -> bool:
        """Tell whether an ancestor of the place is a row."""
        return self.before is not None and self.full.startswith(self.before[0])

    @property
    def has_rows(self) -> bool:
        """Tell whether there are rows at the place or below it."""
        return self.found is not None and self.found[0].startswith(self.full)


class RowWriter:
    """Apply values at places to the rows of one write transaction.

    `met_priority` is set when a row was written that may hold a priority.
    """

    def __init__(self, tree: StoredTree, row_bytes: int) -> None:
        self._tree = tree
        self._rows = tree.rows
        self._row_bytes = row_bytes
        self.met_priority = False

    def set(self, path: Path, value: Value) -> None:
        """Make `value`, in normal form, the value at a place; None removes what is there.

        A path ending in ".priority" sets the priority of the node there, if there is one.
        """
        if path.is_priority:
            self._set_priority(Path(path.keys[:-1]), value)
        else:
            self.set_within(self.surroundings(path), value)

    def surroundings(self, path: Path) -> Surroundings:
        """Return what stands around a place, no priority's."""
        encoded = [encode_key(key) for key in path.keys]
        full = b"".join(encoded)
        ends = (0, *accumulate(map(len, encoded)))
        before, found = self._rows.before(full), self._rows.seek(full)
        is_inside = before is not None and full.startswith(before[0])
        row_value = decode_row(before[1]) if before is not None and is_inside else None
        return Surroundings(path, full, ends, before, found, row_value)

    def set_within(self, around: Surroundings, value: Value) -> None:
        """Make `value` the value at the place whose surroundings are these."""
        full, before, found = around.full, around.before, around.found
        if before is not None and full.startswith(before[0]):
            self._rewrite(before[0], around, value)
        elif found is not None and found[0].startswith(full):
            self._clear(full, found)
            self._place(full, value)
            if value is None:
                self._drop_orphaned_priorities(around.path)
        elif value is not None:
            self._place_at_highest_absent(around, value)

    def _set_priority(self, owner: Path, priority: Value) -> None:
        full = encode_path(owner.keys)
        found = self._rows.seek(full)
        if found is not None and found[0].startswith(full) and found[0] != full:
            if priority is None:
                self._rows.delete(full + PRIORITY)
            else:
                self._put(full + PRIORITY, priority, encode_value(priority))
            return
        row = found if found is not None and found[0] == full else self._tree.row_above(full)
        if row is not None:
            old = decode_row(row[1])
            below = (*decode_path(full[len(row[0]) :]), ".priority")
            self._replace(row[0], with_value_at(old, below, priority))

    def _rewrite(self, row: bytes, around: Surroundings, value: Value) -> None:
        depth = around.ends.index(len(row))
        new = with_value_at(around.row_value, around.path.keys[depth:], value)
        self._replace(row, new)
        if new is None:
            self._drop_orphaned_priorities(Path(around.path.keys[:depth]))

    def _replace(self, full: bytes, value: Value) -> None:
        """Change the value of the row at `full`, splitting or removing the row as need be."""
        packed = self._row_of(value)
        if packed is not None:
            self._put(full, value, packed)
            return
        self._rows.delete(full)
        self._place(full, value)

    def _clear(self, full: bytes, first: Row) -> None:
        """Remove the rows at and below a place, of which `first` is the first."""
        if first[0] == full:
            self._rows.delete(full)
        else:
            self._rows.delete_subtree(full)

    def _place(self, full: bytes, value: Value) -> None:
        """Put the rows of a value where there are none at, above or below."""
        packed = self._row_of(value)
        if packed is not None:
            self._put(full, value, packed)
            return
        priority = priority_of(value)
        if priority is not None:
            self._put(full + PRIORITY, priority, encode_value(priority))
        for key, child in children(value):
            self._place(full + encode_key(key), child)

    def _place_at_highest_absent(self, around: Surroundings, value: Value) -> None:
        """Put the value, wrapped in its absent ancestors, in one row below what is there.

        The ancestors that exist stand above rows, and the nearest of them shares its prefix with
        a neighbour of the place in key order.
        """
        full, ends = around.full, around.ends
        depth = 0
        for row in filter(None, (around.before, around.found)):
            while row[0].startswith(full[: ends[depth]]):
                depth += 1
        for key in reversed(around.path.keys[depth:]):
            value = {key: value}
        self._place(full[: ends[depth]], value)

    def _drop_orphaned_priorities(self, removed: Path) -> None:
        """Remove the priority rows of ancestors that lost their last child."""
        ancestor = removed.parent
        while ancestor is not None:
            full = encode_path(ancestor.keys)
            found = self._rows.seek(full + FIRST_CHILD)
            if found is not None and found[0].startswith(full):
                return
            self._rows.delete(full + PRIORITY)
            ancestor = ancestor.parent

    def _row_of(self, value: Value) -> bytes | None:
        """Return the value packed for one row, None when it is nothing or needs several."""
        if value is None:
            return None
        if not is_object(value):
            return encode_value(value)
        if _surely_outgrows(value, self._row_bytes):
            return None
        packed = encode_value(value)
        return packed if len(packed) <= self._row_bytes else None

    def _put(self, full: bytes, value: Value, packed: bytes) -> None:
        if b".priority" in packed or full.endswith(PRIORITY):
            self.met_priority = True
        self._rows.put(full, encode_row(full, value, packed))


def _surely_outgrows(value: Value, limit: int) -> bool:
    """Tell cheaply, from a lower bound, that a big object cannot be one row.

    Spares packing the whole of a large subtree again at every level above its rows.
    """
    size = 0
    inner = [value]
    while inner:
        node = inner.pop()
        if isinstance(node, dict):
            size += LEAST_MEMBER_BYTES * len(node)
            inner.extend(node.values())
        elif isinstance(node, str):
            size += len(node)  # beside the one byte that is counted as its member's
        if size > limit:
            return True
    return False
