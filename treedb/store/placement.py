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

from treedb.paths.order import decode_path, encode_key, encode_path
from treedb.paths.path import Path
from treedb.store.codec import FIRST_CHILD, PRIORITY, decode_row, encode_row, encode_value
from treedb.store.cursor import Row
from treedb.store.stored_tree import StoredTree
from treedb.tree.values import Value, children, is_object, priority_of, with_value_at

# A member of a packed object takes at least this: a key of one character and a value of one byte.
LEAST_MEMBER_BYTES = 3


class RowWriter:
    """Apply values at places to the rows of one write transaction."""

    def __init__(self, tree: StoredTree, row_bytes: int) -> None:
        self._tree = tree
        self._rows = tree.rows
        self._row_bytes = row_bytes

    def set(self, path: Path, value: Value) -> None:
        """Make `value`, in normal form, the value at a place; None removes what is there.

        A path ending in ".priority" sets the priority of the node there, if there is one.
        """
        if path.is_priority:
            self._set_priority(Path(path.keys[:-1]), value)
            return
        full = encode_path(path.keys)
        before, found = self._rows.before(full), self._rows.seek(full)
        if before is not None and full.startswith(before[0]):
            self._rewrite(before, full, value)
        elif found is not None and found[0].startswith(full):
            self._clear(full, found)
            self._place(full, value)
            if value is None:
                self._drop_orphaned_priorities(path)
        elif value is not None:
            self._place_at_highest_absent(path, value, (before, found))

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

    def _rewrite(self, above: Row, full: bytes, value: Value) -> None:
        old = decode_row(above[1])
        new = with_value_at(old, decode_path(full[len(above[0]) :]), value)
        self._replace(above[0], new)
        if new is None:
            self._drop_orphaned_priorities(Path(decode_path(above[0])))

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

    def _place_at_highest_absent(
        self, path: Path, value: Value, neighbours: tuple[Row | None, Row | None]
    ) -> None:
        """Put the value, wrapped in its absent ancestors, in one row below what is there.

        The ancestors that exist stand above rows, and the nearest of them shares its prefix with
        a neighbour of the place in key order.
        """
        ends = [0, *accumulate(len(encode_key(key)) for key in path.keys)]
        full = encode_path(path.keys)
        depth = 0
        for row in filter(None, neighbours):
            while row[0].startswith(full[: ends[depth]]):
                depth += 1
        for key in reversed(path.keys[depth:]):
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
            if size > limit:
                return True
            inner.extend(node.values())
    return False
