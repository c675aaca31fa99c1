"""Read the answer to a query in slices, so that nobody waits for a large list.

Where an index covers the order, about as much is read as is answered. Elsewhere all children of
the place are met once, and only the positions of those that may be chosen are remembered; the
chosen are then read. So an answer takes the memory that it needs itself, whatever the list holds.
"""

from treedb.config import Limits
from treedb.errors import TooBigToRead
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.store.assembly import Assembly
from treedb.store.index_reader import IndexReader
from treedb.store.ordered import Member, member_at, members_by_key, members_in_order
from treedb.store.reading import Steps
from treedb.store.stored_tree import Inner, StoredTree
from treedb.tree.query import Chosen, Query
from treedb.tree.query_order import Position
from treedb.tree.values import Value

# Positions remembered beyond twice the limit before they are sorted and cut.
SPARE = 500


def read_query(
    tree: StoredTree, indexes: IndexReader, place: Path, query: Query, limits: Limits
) -> Steps[Chosen]:
    """Read the children that a query chooses, in its order, as `Query.select` would.

    TooBigToRead when they are more or larger than the limits allow.
    """
    full = encode_path(place.keys)
    node = tree.node(full)
    answer = _Answer(tree, limits)
    if isinstance(node, Inner) and not indexes.covers(place, query.order_by):
        for key in (yield from _choose(tree, node, query, limits)):
            yield from answer.add(member_at(tree, full, key))
        return answer.chosen
    for member in members_in_order(tree, indexes, place, query):
        yield from answer.add(member)
        if len(answer.chosen) == query.limit:
            break
    return answer.chosen[::-1] if query.keeps_last else answer.chosen


def _choose(tree: StoredTree, inner: Inner, query: Query, limits: Limits) -> Steps[list[bytes]]:
    """Return the bytes of the keys of those children that are chosen, having met all."""
    best = _Best(query, limits)
    for turn, member in enumerate(members_by_key(tree, inner.prefix, inner), 1):
        position = tree.sort_key(query.order_by, member.node), member.key_bytes
        if query.admits(position):
            best.add(position)
        if turn % limits.slice_rows == 0:
            yield
    return [key for _, key in best.positions()]


class _Best:
    """The positions that a query's limit keeps, of those that were met so far."""

    def __init__(self, query: Query, limits: Limits) -> None:
        self._limit = query.limit
        self._keeps_last = query.keeps_last
        self._limits = limits
        self._positions: list[Position] = []
        self._size = 0

    def add(self, position: Position) -> None:
        self._positions.append(position)
        self._size += _size_of(position)
        if self._limit is None or self._limit > self._limits.query_results:
            _check_results(len(self._positions), self._limits)
        elif len(self._positions) >= 2 * self._limit + SPARE:
            self._cut()
        if self._size > self._limits.answer_bytes:
            self._cut()
            _check_size(self._size, self._limits)

    def positions(self) -> list[Position]:
        self._cut()
        return self._positions

    def _cut(self) -> None:
        self._positions.sort()
        if self._limit is not None:
            kept = slice(-self._limit, None) if self._keeps_last else slice(self._limit)
            self._positions = self._positions[kept]
        self._size = sum(map(_size_of, self._positions))


class _Answer:
    """The children read so far, and what they take."""

    def __init__(self, tree: StoredTree, limits: Limits) -> None:
        self._tree = tree
        self._limits = limits
        self._size = 0
        self._turns = 0
        self.chosen: Chosen = []

    def add(self, member: Member | None) -> Steps[None]:
        """Take the next child, or none for a turn without one."""
        self._turns += 1
        if self._turns % self._limits.slice_rows == 0:
            yield
        if member is None:
            return
        _check_results(len(self.chosen) + 1, self._limits)
        if isinstance(member.node, Inner):
            self.chosen.append((member.key, (yield from self._assemble(member.node))))
        else:
            self._count(len(member.key_bytes) + member.size_bytes)
            self.chosen.append((member.key, member.node))

    def _assemble(self, inner: Inner) -> Steps[Value]:
        assembly = Assembly(inner.prefix)
        for rows in self._tree.rows.slices(inner.prefix, self._limits.slice_rows):
            self._count(sum(len(full) - len(inner.prefix) + len(raw) for full, raw in rows))
            assembly.add(rows)
            yield
        return assembly.value

    def _count(self, size: int) -> None:
        self._size += size
        _check_size(self._size, self._limits)


def _size_of(position: Position) -> int:
    (_, _, text), key = position
    return len(text) + len(key)


def _check_results(count: int, limits: Limits) -> None:
    if count > limits.query_results:
        raise TooBigToRead(
            f"the query chooses {count} children or more, one answer holds at most "
            f"{limits.query_results}; add a limit or a narrower range"
        )


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.answer_bytes:
        raise TooBigToRead(
            f"what the query chooses takes {size} bytes or more, one answer holds at most "
            f"{limits.answer_bytes}; add a limit or a narrower range"
        )
