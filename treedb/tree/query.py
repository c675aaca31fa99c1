"""What is asked of a place's children: an order, a range of it, and how many at one end.

The answer to a query, its *window*, is an object of the children chosen, whole, in key order like
every object; the order only decides which they are. A leaf has no children, so nothing of it is
chosen; and a window has no priority of its own. A query that chooses nothing but only orders is
answered with the place as it is.

`select` and `window` are the plain way: sort everything, cut. They serve whatever is in memory
already, and tests hold the quick ways (the store's indexes, the kept windows) against them.

Source: Firebase's "Work with lists of data", and its JavaScript SDK.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final, TypeAlias

from treedb.paths.order import sort_keys
from treedb.tree.query_order import (
    PRIORITY,
    Bound,
    OrderBy,
    Position,
    high_position,
    low_position,
)
from treedb.tree.values import Value, children

# The children that a query chooses, in its order.
Chosen: TypeAlias = list[tuple[str, Value]]


@dataclass(frozen=True, slots=True)
class Query:
    """An order, the bounds of a range, and a limit on its first children or its last.

    `low` and `high` are the range, low <= position < high, made of the bounds or given. Queries that choose the same children
    in the same way are equal, however it was put (and 1 is not true, as it is for Python), so a
    query is the key of what is shared by those who ask it.
    """

    order_by: OrderBy = PRIORITY
    start: Bound | None = field(default=None, compare=False)
    end: Bound | None = field(default=None, compare=False)
    limit: int | None = None
    keeps_last: bool = False
    low: Position | None = field(default=None, repr=False)
    high: Position | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert self.limit is None or self.limit > 0, "a limit is positive"
        if self.start is not None and self.low is None:
            object.__setattr__(self, "low", low_position(self.order_by, self.start))
        if self.end is not None and self.high is None:
            object.__setattr__(self, "high", high_position(self.order_by, self.end))

    @property
    def is_filtering(self) -> bool:
        """Tell whether children are chosen; else the place is answered as it is."""
        return self.low is not None or self.high is not None or self.limit is not None

    def within(self, low: Position | None, high: Position | None, limit: int | None) -> "Query":
        """Return the query with another range and limit, from the same end."""
        return replace(self, start=None, end=None, low=low, high=high, limit=limit)

    def position(self, key: str, child: Value) -> Position:
        """Return where a child stands in the query's order."""
        return self.order_by.position(key, child)

    def admits(self, position: Position) -> bool:
        """Tell whether a position lies in the range."""
        if self.low is not None and position < self.low:
            return False
        return self.high is None or position < self.high

    def select(self, members: Iterable[tuple[str, Value]]) -> Chosen:
        """Return those of a place's children that are chosen, in the query's order."""
        placed = [(self.position(key, child), key, child) for key, child in members]
        placed = [member for member in placed if self.admits(member[0])]
        placed.sort(key=itemgetter(0))
        if self.limit is not None:
            placed = placed[-self.limit :] if self.keeps_last else placed[: self.limit]
        return [(key, child) for _, key, child in placed]

    def window(self, value: Value) -> Value:
        """Return the answer to the query where the value at its place is `value`."""
        if not self.is_filtering:
            return value
        return as_window(self.select(children(value)))


def as_window(chosen: Iterable[tuple[str, Value]]) -> Value:
    """Return chosen children, in whatever order, as an object in normal form; None without any."""
    members = dict(chosen)
    return {key: members[key] for key in sort_keys(members)} or None


# What a listen or a read without a query asks for.
EVERYTHING: Final = Query()
