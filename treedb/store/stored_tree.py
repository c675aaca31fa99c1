"""Read the tree of one LMDB transaction: values, child keys, existence.

A place is in one of three states, told apart by at most two seeks. *At a row*: its subtree is one
row's value. *Inside a row*: the greatest row before it is an ancestor, and holds it. *Above rows*:
its children, or theirs, have rows, and its subtree is the run of rows that share its prefix. Rows
never nest, so no place is in two states.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from treedb.paths.order import decode_key, decode_path, encode_path
from treedb.paths.path import Path
from treedb.store.assembly import Assembly
from treedb.store.codec import FIRST_CHILD, PRIORITY, decode_row
from treedb.store.cursor import SLICE, Row, RowCursor
from treedb.tree.values import Value, children, priority_of, value_at


@dataclass(frozen=True, slots=True)
class Inner:
    """A child that is not one row but stands above rows: its full key prefix."""

    prefix: bytes


class StoredTree:
    """A Reader over the rows of one transaction; not to be used after the transaction ends."""

    def __init__(self, rows: RowCursor) -> None:
        self.rows = rows

    def get(self, path: Path) -> Value:
        """Return the value at a place in export form, None when there is nothing."""
        if path.is_priority:
            return self._priority(Path(path.keys[:-1]))
        full = encode_path(path.keys)
        found = self.rows.seek(full)
        if found is not None and found[0].startswith(full):
            if found[0] == full:
                return decode_row(found[1])
            return self._assemble(full)
        return self._inside_row(full)

    def exists(self, path: Path) -> bool:
        """Tell whether there is a value at a place, without reading its subtree."""
        if path.is_priority:
            return self._priority(Path(path.keys[:-1])) is not None
        full = encode_path(path.keys)
        found = self.rows.seek(full)
        if found is not None and found[0].startswith(full):
            return True
        return self._inside_row(full) is not None

    def keys(self, path: Path) -> Iterator[str]:
        """Yield the child keys of a place in key order."""
        for key, _ in self.children(path):
            yield key

    def children(self, path: Path) -> "Iterator[tuple[str, Value | Inner]]":
        """Yield the children of a place in key order, skipping from child to child.

        A child held by one row comes with its value, one that stands above rows as an Inner, so
        a shallow read of a million records costs a seek each and never reads below them.
        """
        full = encode_path(path.keys)
        found = self.rows.seek(full)
        if found is None or not found[0].startswith(full):
            yield from children(self._inside_row(full))
        elif found[0] == full:
            yield from children(decode_row(found[1]))
        else:
            yield from self._children_above_rows(full)

    def children_of(self, inner: Inner) -> "Iterator[tuple[str, Value | Inner]]":
        """Yield the children of a child that stands above rows."""
        return self._children_above_rows(inner.prefix)

    def slices_of(self, path: Path, size: int) -> Iterator[list[Row]] | None:
        """Return the rows below a place in slices, None when one row or none holds its value."""
        if path.is_priority:
            return None
        full = encode_path(path.keys)
        found = self.rows.seek(full)
        if found is None or found[0] == full or not found[0].startswith(full):
            return None
        return self.rows.slices(full, size)

    def row_above(self, full: bytes) -> Row | None:
        """Return the row at a strict ancestor of the place with this full key, if there is one."""
        found = self.rows.before(full)
        return found if found is not None and full.startswith(found[0]) else None

    def _inside_row(self, full: bytes) -> Value:
        above = self.row_above(full)
        if above is None:
            return None
        return value_at(decode_row(above[1]), decode_path(full[len(above[0]) :]))

    def _assemble(self, full: bytes) -> Value:
        assembly = Assembly(full)
        for rows in self.rows.slices(full, SLICE):
            assembly.add(rows)
        return assembly.value

    def _priority(self, owner: Path) -> Value:
        full = encode_path(owner.keys)
        found = self.rows.seek(full)
        if found is None or not found[0].startswith(full):
            return priority_of(self._inside_row(full))
        if found[0] == full:
            return priority_of(decode_row(found[1]))
        raw = self.rows.get(full + PRIORITY)
        return None if raw is None else decode_row(raw)

    def _children_above_rows(self, full: bytes) -> "Iterator[tuple[str, Value | Inner]]":
        found = self.rows.seek(full + FIRST_CHILD)
        while found is not None and found[0].startswith(full):
            key, end = decode_key(found[0], len(full))
            if end == len(found[0]):
                yield key, decode_row(found[1])
            else:
                yield key, Inner(found[0][:end])
            found = self.rows.seek(found[0][:end] + b"\xff")
