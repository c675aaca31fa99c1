"""Find among many spans of an order those that hold a position.

A span is the part of a list's order that one window knows all about. It has an end that stays, its
*anchor*, and one that moves with the window's horizon, its *reach*. Spans are sorted by their
anchors, and a tree over them knows the farthest reach of every run of 1, 2, 4... neighbours (a
segment tree). So finding k spans among n costs about k log n, and moving a reach costs log n.

Worked example, windows on the first two children from d, from f and from m on:

    spans            [d, h)   [f, i)   [m, z)
    farthest reach        i               z
                                  z
    position "g"     anchors up to it: d and f, and both reach beyond it
    position "j"     anchors up to it: d and f, and the farther of them ends at i: none

Windows on last children are the mirror image: their anchor is the high end.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from treedb.tree.query_order import Position

# Before and behind every position that a child can have.
BEFORE_ALL: Final[Position] = ((-1, 0, b""), b"")
BEHIND_ALL: Final[Position] = ((9, 0, b""), b"")

Owner = TypeVar("Owner")


class Spans(Generic[Owner]):
    """Spans low <= position < high, each with its owner; with `from_high` the low ends move."""

    def __init__(self, *, from_high: bool) -> None:
        self._from_high = from_high
        # Any: the built-in functions' overloads have no common type.
        self._farther: Callable[..., Any] = min if from_high else max
        self._ends: dict[Owner, tuple[Position, Position]] = {}
        self._is_stale = False
        self._owners: list[Owner] = []
        self._anchors: list[Position] = []
        self._slots: dict[Owner, int] = {}
        self._tree: list[Position] = []

    def __len__(self) -> int:
        return len(self._ends)

    def put(self, owner: Owner, low: Position | None, high: Position | None) -> None:
        """Add an owner's span, or move it; None is an open end."""
        low, high = low or BEFORE_ALL, high or BEHIND_ALL
        anchor, reach = (high, low) if self._from_high else (low, high)
        known = self._ends.get(owner)
        self._ends[owner] = anchor, reach
        if known is None or known[0] != anchor:
            self._is_stale = True
        elif known[1] != reach and not self._is_stale:
            self._move(self._slots[owner], reach)

    def remove(self, owner: Owner) -> None:
        """Forget an owner's span; nothing happens when there is none."""
        if self._ends.pop(owner, None) is not None:
            self._is_stale = True

    def holding(self, position: Position) -> list[Owner]:
        """Return the owners of the spans that hold a position."""
        if self._is_stale:
            self._build()
        slot = bisect_right(self._anchors, position)
        first, last = (slot, len(self._owners)) if self._from_high else (0, slot)
        return [self._owners[found] for found in self._reaching(position, first, last)]

    def _reaching(self, position: Position, first: int, last: int) -> Iterator[int]:
        """Yield those slots from `first` to before `last` whose reach goes beyond a position."""
        size = len(self._tree) // 2
        waiting = [(1, 0, size)] if first < last else []
        while waiting:
            node, start, end = waiting.pop()
            if end <= first or last <= start or not self._reaches(self._tree[node], position):
                continue
            if end - start == 1:
                yield start
                continue
            middle = (start + end) // 2
            waiting += [(2 * node, start, middle), (2 * node + 1, middle, end)]

    def _reaches(self, reach: Position, position: Position) -> bool:
        return reach <= position if self._from_high else position < reach

    def _build(self) -> None:
        self._is_stale = False
        ordered = sorted(self._ends.items(), key=lambda item: item[1][0])
        self._owners = [owner for owner, _ in ordered]
        self._anchors = [anchor for _, (anchor, _) in ordered]
        self._slots = {owner: slot for slot, owner in enumerate(self._owners)}
        size = 1 << max(0, len(ordered) - 1).bit_length()
        nearest = BEHIND_ALL if self._from_high else BEFORE_ALL
        leaves = [reach for _, (_, reach) in ordered]
        self._tree = [nearest] * size + leaves + [nearest] * (size - len(leaves))
        for node in range(size - 1, 0, -1):
            self._tree[node] = self._farther(self._tree[2 * node], self._tree[2 * node + 1])

    def _move(self, slot: int, reach: Position) -> None:
        node = len(self._tree) // 2 + slot
        self._tree[node] = reach
        while node > 1:
            node //= 2
            self._tree[node] = self._farther(self._tree[2 * node], self._tree[2 * node + 1])
