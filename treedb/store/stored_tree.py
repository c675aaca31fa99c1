"""Read the tree of one LMDB transaction: values, child keys, existence.

A place is in one of three states, told apart by at most two seeks. *At a row*: its subtree is one
row's value. *Inside a row*: the greatest row before it is an ancestor, and holds it. *Above rows*:
its children, or theirs, have rows, and its subtree is the run of rows that share its prefix. Rows
never nest, so no place is in two states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treedb.paths.order import decode_key, decode_path, encode_key, encode_path
from treedb.paths.path import Path
from treedb.store.assembly import Assembly
from treedb.store.codec import FIRST_CHILD, PRIORITY, decode_row
from treedb.store.cursor import SLICE, Row, RowCursor
from treedb.tree.order import SortKey, value_sort_key
from treedb.tree.query_order import BEHIND_KEYS, OrderBy
from treedb.tree.query_order import PRIORITY as BY_PRIORITY
from treedb.tree.reader import keys_behind
from treedb.tree.values import Priority, Value, child_keys, children, priority_of, value_at

# What orders any object: they are all equal.
OBJECT: Final[SortKey] = value_sort_key({"any": True})


@dataclass(frozen=True, slots=True)
class Inner:
    """A node that is not one row but stands above rows: its full key, which begins theirs."""

    prefix: bytes


class StoredTree:
    """A Reader over the rows of one transaction; not to be used after the transaction ends."""

    def __init__(self, rows: RowCursor) -> None:
        self.rows = rows

    def get(self, path: Path) -> Value:
        """Return the value at a place in export form, None when there is nothing."""
        if path.is_priority:
            return self.priority_at(encode_path(path.keys[:-1]))
        return self.assembled(self.node(encode_path(path.keys)))

    def exists(self, path: Path) -> bool:
        """Tell whether there is a value at a place, without reading its subtree."""
        if path.is_priority:
            return self.priority_at(encode_path(path.keys[:-1])) is not None
        full = encode_path(path.keys)
        found = self.rows.seek(full)
        if found is not None and found[0].startswith(full):
            return True
        return self._inside_row(full) is not None

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        """Yield the child keys of a place in key order; what is not behind `after` is not met."""
        node = self.node(encode_path(path.keys))
        if isinstance(node, Inner):
            for key, _ in self.children_of(node, after):
                yield key
        else:
            yield from keys_behind(child_keys(node), after)

    def children(self, path: Path) -> "Iterator[tuple[str, Value | Inner]]":
        """Yield the children of a place in key order, skipping from child to child.

        A child held by one row comes with its value, one that stands above rows as an Inner, so
        a shallow read of a million records costs a seek each and never reads below them.
        """
        node = self.node(encode_path(path.keys))
        if isinstance(node, Inner):
            yield from self.children_of(node)
        else:
            yield from children(node)

    def children_of(
        self, inner: Inner, after: str | None = None
    ) -> "Iterator[tuple[str, Value | Inner]]":
        """Yield the children of a node that stands above rows, those behind a key."""
        full = inner.prefix
        behind = FIRST_CHILD if after is None else encode_key(after) + BEHIND_KEYS
        found = self.rows.seek(full + behind)
        while found is not None and found[0].startswith(full):
            key, end = decode_key(found[0], len(full))
            if end == len(found[0]):
                yield key, decode_row(found[1])
            else:
                yield key, Inner(found[0][:end])
            found = self.rows.seek(found[0][:end] + BEHIND_KEYS)

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

    def node(self, full: bytes) -> "Value | Inner":
        """Return the value at a place, an Inner if it stands above rows: nothing is assembled."""
        found = self.rows.seek(full)
        if found is None or not found[0].startswith(full):
            return self._inside_row(full)
        return decode_row(found[1]) if found[0] == full else Inner(full)

    def priority_at(self, full: bytes) -> Priority | None:
        """Return the priority of a node, None when it has none."""
        return self.priority_of(self.node(full))

    def priority_of(self, node: "Value | Inner") -> Priority | None:
        """Return the priority of a node that was read."""
        if not isinstance(node, Inner):
            return priority_of(node)
        raw = self.rows.get(node.prefix + PRIORITY)
        return None if raw is None else priority_of({".priority": decode_row(raw)})

    def sort_key(self, order_by: OrderBy, node: "Value | Inner") -> SortKey:
        """Return what orders a child that was read, without assembling it."""
        if not isinstance(node, Inner):
            return order_by.sort_key(node)
        if order_by == BY_PRIORITY:
            return value_sort_key(self.priority_of(node))
        below = self.node(node.prefix + encode_path(order_by.keys)) if order_by.keys else node
        return OBJECT if isinstance(below, Inner) else value_sort_key(below)

    def assembled(self, node: "Value | Inner") -> Value:
        """Return the value of a node that was read."""
        return self._assemble(node.prefix) if isinstance(node, Inner) else node

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
