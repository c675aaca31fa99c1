"""The order of values, and of priorities, for indexes.

Nothing < false < true < numbers < strings < objects; numbers by size, strings by UTF-16 code unit,
objects all equal; ties are for the key order to break. A value's own priority does not count.
Source: Firebase's "How query data is ordered" and its JavaScript SDK.
"""

from typing import TypeAlias

from treedb.tree.values import Leaf, Value, is_object, leaf_of, priority_of

# A rank, and what orders values of the same rank: a number, or text as bytes.
SortKey: TypeAlias = tuple[int, float, bytes]


def value_sort_key(value: Value) -> SortKey:
    """Return a tuple that sorts as the value does under an index."""
    return (5, 0, b"") if is_object(value) else _leaf_sort_key(leaf_of(value))


def priority_sort_key(value: Value) -> SortKey:
    """Return a tuple that sorts as the value does by its priority: none, numbers, strings."""
    return _leaf_sort_key(priority_of(value))


def _leaf_sort_key(leaf: Leaf | None) -> SortKey:
    if leaf is None:
        return (0, 0, b"")
    if isinstance(leaf, bool):
        return (1 + leaf, 0, b"")
    if isinstance(leaf, str):
        # Big-endian pairs of bytes sort as code units do.
        return (4, 0, leaf.encode("utf-16-be"))
    return (3, leaf, b"")
