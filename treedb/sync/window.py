"""The live window of one query at one place: which children it shows, kept commit by commit.

A window holds the keys of the children its query chooses, and where they stand; no values. What
enters comes with the commit or from a read, what stays changes as the commit says, and what
leaves is null. So a window costs the same whatever its children hold, and a commit costs the
children it touches, each some steps of bisection.

Invariants, at the window's revision:

1. What is held is exactly what the query chooses.
2. A window is *full* when it holds as many as the limit. Its last member in the direction of the
   limit is then the *horizon*: every other child of the range lies beyond it.
3. A window that is not full, or has no limit, holds every child of the range: nothing is beyond.

A commit can thus be judged up to the horizon without looking at the tree. What it leaves up to the
horizon is *inside*. If that fills the window again, the first of it are the new window. If not,
the missing ones are next beyond the horizon, and have to be read.

Worked example: the last two of a (1), b (2), c (3), d (4), so c and d, and the horizon is c.

    e = 5          inside: c, d, e       the last two are d and e: e enters, c leaves
    b = 2.5        inside: c, d          b is beyond the horizon: nothing to tell
    c = 1.5        inside: d             one is missing, next below 3: read, and b is found
    d = null       inside: c             likewise
    c/text = null  was that all of c?    read c

What cannot be judged becomes a `Need`, and the window stays where it was until it is filled. A
snapshot that serves may be newer than the commit if nobody touched what is read since, and any
newer one serves to `reset` the window, which is always right.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypeAlias

from treedb.paths.order import encode_key
from treedb.paths.path import PRIORITY_KEY
from treedb.sync.window_fates import fates_of
from treedb.tree.order import SortKey
from treedb.tree.query import Query, as_window
from treedb.tree.query_order import KEY, Position
from treedb.tree.values import Value, children, with_value_at

Keys: TypeAlias = tuple[str, ...]
Child: TypeAlias = tuple[str, Value]
# What is learnt of one commit, as keys below the place.
Learnt: TypeAlias = Sequence[tuple[Keys, Value]]
# What listeners are told of one commit, as keys below the place: one place, or several merged.
Changes: TypeAlias = tuple[tuple[Keys, Value], ...]

_BEHIND = b"\x00"  # no key's bytes begin with another's: nothing comes before this


class Read(NamedTuple):
    """A child that was read: what orders it, and its value where it is needed, else None."""

    sort_key: SortKey
    value: Value


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known so far of a commit's effect.

    `touched`: the changes of each child. `inside`: where each touched child stands, None for one
    that is not inside. `values`: whole children, as far as they are known.
    """

    revision: int
    touched: Mapping[str, list[tuple[Keys, Value]]]
    inside: Mapping[str, Position | None]
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Need:
    """What has to be read of the place at a commit's revision.

    Either whole children, by `keys`, or what the query `refill` chooses.
    """

    revision: int
    keys: tuple[str, ...]
    refill: Query | None
    draft: Draft = field(repr=False)

    def is_answered_after(self, touched: AbstractSet[str] | None) -> bool:
        """Tell whether a newer snapshot answers it, given which children were touched since.

        `touched` is None when the place itself was.
        """
        if touched is None:
            return False
        return not touched if self.refill is not None else touched.isdisjoint(self.keys)


def touched_keys(changes: Iterable[tuple[Keys, Value]]) -> frozenset[str] | None:
    """Return which children the changes of a place touch, None when they replace the place."""
    heads = frozenset(keys[:1] for keys, _ in changes)
    if () in heads:
        return None
    return frozenset(key for (key,) in heads if key != PRIORITY_KEY)


def touched_by_either(
    one: frozenset[str] | None, other: frozenset[str] | None
) -> frozenset[str] | None:
    """Return which children two commits touch, None when one of them replaces the place."""
    return None if one is None or other is None else one | other


class Window:
    """The children that a query chooses at one place, as of a revision."""

    __slots__ = ("_moved", "_order", "_positions", "query", "revision")

    def __init__(self, query: Query, revision: int) -> None:
        self.query = query
        self.revision = revision
        self._positions: dict[str, Position] = {}
        self._order: list[tuple[Position, str]] = []
        self._moved: set[str] = set()

    @classmethod
    def start(cls, query: Query, chosen: Iterable[Child], revision: int) -> Self:
        """Make the window of a snapshot; `chosen` is the answer to the query there."""
        assert query.is_filtering, "a query that chooses nothing has no window"
        window = cls(query, revision)
        window._hold(chosen)
        return window

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def keys(self) -> AbstractSet[str]:
        """Return the keys of the children held."""
        return self._positions.keys()

    @property
    def span(self) -> tuple[Position | None, Position | None]:
        """Return the part of the order the window knows all about: from, and to before; None: open.

        A child that is not held and stands outside it does not concern the window.
        """
        horizon = self._horizon
        if horizon is None:
            return self.query.low, self.query.high
        if self.query.keeps_last:
            return horizon, self.query.high
        return self.query.low, (horizon[0], horizon[1] + _BEHIND)

    def take_moves(self) -> AbstractSet[str]:
        """Return the keys that came to be held, or are no more, since this was asked last."""
        moved, self._moved = self._moved, set()
        return moved

    def apply(self, changes: Learnt, revision: int) -> Changes | Need:
        """Take a commit's changes, cut to the place; return what to tell, or what to read first.

        A commit that the window has seen already changes nothing.
        """
        if revision <= self.revision:
            return ()
        if changes and changes[0][0] == ():
            return self.reset(self.query.select(children(changes[0][1])), revision, None)
        touched: dict[str, list[tuple[Keys, Value]]] = {}
        for keys, value in changes:
            if keys != (PRIORITY_KEY,):  # a window has none
                touched.setdefault(keys[0], []).append((keys[1:], value))
        inside: dict[str, Position | None] = {}
        values: dict[str, Value] = {}
        for key, below in touched.items():
            self._judge(key, below, inside, values)
        return self._settle(Draft(revision, touched, inside, values))

    def enters(self, key: str, sort_key: SortKey) -> bool:
        """Tell whether a child comes to be shown, and its value is needed, if it stands there."""
        return key not in self._positions and self._is_inside((sort_key, encode_key(key)))

    def fill(
        self, need: Need, answer: Mapping[str, Read | None], more: Iterable[Child] = ()
    ) -> Changes | Need:
        """Go on with what was read: each key needed, None for one that is not there, or the refill.

        A key is read as what orders the child and, if it `enters`, its value.
        """
        assert need.revision > self.revision, "a need is filled before the window goes on"
        draft = need.draft
        if need.refill is not None:
            return self._commit(draft, dict(more))
        inside, values = {**draft.inside}, {**draft.values}
        for key in need.keys:
            read = answer.get(key)
            position = None if read is None else (read.sort_key, encode_key(key))
            inside[key] = position if self._is_inside(position) else None
            values[key] = None if read is None else read.value
        return self._settle(replace(draft, inside=inside, values=values))

    def reset(
        self, chosen: Iterable[Child], revision: int, touched: AbstractSet[str] | None
    ) -> Changes:
        """Become the window of a snapshot that is not older; return what to tell.

        `touched` are the children that commits touched since the window's revision, None when
        the place itself was, or when that is not known: then the window is told whole.
        """
        assert revision >= self.revision, "a window does not go back"
        before = self._positions
        members = dict(chosen)
        self._hold(members.items())
        self.revision = revision
        if touched is None:
            return (((), as_window(members.items())),) if before or members else ()
        told = [(key, v) for key, v in members.items() if key not in before or key in touched]
        left = [(key, None) for key in before if key not in members]
        return tuple(((key,), value) for key, value in [*told, *left])

    def _hold(self, chosen: Iterable[Child]) -> None:
        self._moved.update(self._positions)
        self._positions = {key: self.query.position(key, child) for key, child in chosen}
        self._order = sorted((position, key) for key, position in self._positions.items())
        self._moved.update(self._positions)

    @property
    def _horizon(self) -> Position | None:
        """Return the last position the window knows all about, None when it knows all."""
        if len(self._order) != self.query.limit:
            return None
        return self._order[0 if self.query.keeps_last else -1][0]

    def _is_inside(self, position: Position | None) -> bool:
        if position is None or not self.query.admits(position):
            return False
        horizon = self._horizon
        if horizon is None:
            return True
        return position >= horizon if self.query.keeps_last else position <= horizon

    def _judge(
        self,
        key: str,
        below: list[tuple[Keys, Value]],
        inside: dict[str, Position | None],
        values: dict[str, Value],
    ) -> None:
        """Note what is certain about a touched child; what is not noted has to be read."""
        held = self._positions.get(key)
        fates = fates_of(self.query.order_by, None if held is None else held[0], below)
        stands: set[Position | None] = set()
        for fate in fates:
            position = None if fate is None else (fate, encode_key(key))
            stands.add(position if self._is_inside(position) else None)
        if len(stands) > 1:
            return
        (position,) = stands
        if held is None and position is not None:
            if below[0][0] == ():
                values[key] = below[0][1]
            elif self.query.order_by == KEY:
                values[key] = _made_by(below)  # inside and not held: there was nothing
            else:
                return
        inside[key] = position

    def _settle(self, draft: Draft) -> Changes | Need:
        """Commit a draft if nothing is left to read."""
        unknown = tuple(key for key in draft.touched if key not in draft.inside)
        if unknown:
            return Need(draft.revision, unknown, None, draft)
        horizon = self._horizon
        missing = 0 if horizon is None else self._missing(draft)
        if missing > 0:
            assert horizon is not None, "a full window has a horizon"
            return Need(draft.revision, (), self._refill(horizon, missing), draft)
        return self._commit(draft, {})

    def _missing(self, draft: Draft) -> int:
        """Count how many more a full window loses than it gains."""
        losses = 0
        for key, position in draft.inside.items():
            losses += (key in self._positions) - (position is not None)
        return losses

    def _refill(self, horizon: Position, missing: int) -> Query:
        if self.query.keeps_last:
            return self.query.within(self.query.low, horizon, missing)
        sort_key, key = horizon
        return self.query.within((sort_key, key + _BEHIND), self.query.high, missing)

    def _commit(self, draft: Draft, more: Mapping[str, Value]) -> Changes:
        """Move children to where they stand now, keep the limit, and tell the difference."""
        positions = {key: self.query.position(key, child) for key, child in more.items()}
        moved = {**draft.inside, **positions}
        before = {key for key in moved if key in self._positions}
        for key, position in moved.items():
            self._place(key, position)
        cut = self._cut()
        before.update(key for key in cut if key not in moved)
        self.revision = draft.revision
        return self._told(draft, {**draft.values, **more}, before, (*moved, *cut))

    def _told(
        self,
        draft: Draft,
        values: Mapping[str, Value],
        before: AbstractSet[str],
        concerned: Iterable[str],
    ) -> Changes:
        """Put the changes of the children concerned as what to tell, values before removals."""
        told: list[tuple[Keys, Value]] = []
        left: list[tuple[Keys, Value]] = []
        for key in dict.fromkeys(concerned):
            if key not in self._positions:
                if key in before:
                    left.append(((key,), None))
            elif key in before:
                told.extend(((key, *keys), value) for keys, value in draft.touched[key])
            else:
                told.append(((key,), values[key]))
        return (*told, *left)

    def _place(self, key: str, position: Position | None) -> None:
        """Let a child stand somewhere, or nowhere."""
        old = self._positions.get(key)
        if old == position:
            return
        if (old is None) != (position is None):
            self._moved.add(key)
        if old is not None:
            del self._positions[key]
            del self._order[bisect_left(self._order, (old, key))]
        if position is not None:
            self._positions[key] = position
            insort(self._order, (position, key))

    def _cut(self) -> list[str]:
        """Let go of what is over the limit, and return it."""
        over = 0 if self.query.limit is None else len(self._order) - self.query.limit
        if over <= 0:
            return []
        far_end = slice(over) if self.query.keeps_last else slice(-over, None)
        gone = [key for _, key in self._order[far_end]]
        del self._order[far_end]
        for key in gone:
            del self._positions[key]
        self._moved.update(gone)
        return gone


def _made_by(below: Iterable[tuple[Keys, Value]]) -> Value:
    """Return the child that changes make of nothing."""
    value: Value = None
    for keys, new in below:
        value = with_value_at(value, keys, new)
    return value
