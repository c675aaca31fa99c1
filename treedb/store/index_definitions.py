"""Which indexes there are: their places, numbers and states, as kept in `meta`.

An index is for all places that match a pattern, and orders their children by what its name says.
Its number is what its entries begin with. Numbers are never used again, so an index that is
dropped and declared again never meets entries of its former life.

    building  --every child indexed-->  complete       entries are kept true in both
    either    --no longer wanted----->  dropping       entries are no longer kept, only removed

The index of priorities is one of them, with a name of its own and for all places. It holds entries
only for children that have a priority, and is there always.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Final

import lmdb
import msgpack

from treedb.paths.pattern import is_name
from treedb.tree.query_order import PRIORITY, VALUE, OrderBy, by_child

_DEFINITIONS: Final = b"indexes"
_PROGRESS: Final = b"index progress "

Position = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """What is indexed: the children of the places that match a pattern, by `.value` or a path.

    `keys` is the pattern of the parents, with `$names`; what these are called makes no difference.
    """

    keys: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return f"{self.name} on /{'/'.join(self.keys)}"

    @property
    def order_by(self) -> OrderBy:
        """Return the order that the index holds."""
        if self.name in _NAMED:
            return _NAMED[self.name]
        return by_child(*filter(None, self.name.split("/")))


PRIORITIES: Final = IndexPlace((), PRIORITY.name)
_NAMED: Final = {VALUE.name: VALUE, PRIORITY.name: PRIORITY}


class IndexState(Enum):
    """How far an index is."""

    BUILDING = "building"
    COMPLETE = "complete"
    DROPPING = "dropping"


@dataclass(frozen=True, slots=True)
class Index:
    """One index; `order_by` follows from its place."""

    number: int
    place: IndexPlace
    state: IndexState
    order_by: OrderBy = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order_by", self.place.order_by)

    @property
    def is_kept(self) -> bool:
        """Tell whether writes keep the entries true."""
        return self.state is not IndexState.DROPPING


class Level:
    """The kept indexes by their patterns, key by key; unlike rules, no key shadows a `$name`."""

    __slots__ = ("any_child", "children", "indexes")

    def __init__(self) -> None:
        self.children: dict[str, Level] = {}
        self.any_child: Level | None = None
        self.indexes: list[Index] = []

    def below(self, key: str) -> "list[Level]":
        """Return the levels that a key leads to."""
        return [level for level in (self.children.get(key), self.any_child) if level is not None]

    def all_indexes(self) -> list[Index]:
        """Return the indexes at this level and below."""
        found = list(self.indexes)
        deeper = list(self.children.values())
        if self.any_child is not None:
            deeper.append(self.any_child)
        for level in deeper:
            found += level.all_indexes()
        return found


@dataclass(frozen=True, slots=True)
class Definitions:
    """All indexes of a store, by number, and the number for the next one."""

    next_number: int
    indexes: tuple[Index, ...]
    root: Level = field(init=False, repr=False, compare=False)
    priorities: Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kept = [index for index in self.indexes if index.is_kept]
        [priorities] = [index for index in kept if index.place == PRIORITIES]
        object.__setattr__(self, "priorities", priorities)
        object.__setattr__(self, "root", _levels(kept))

    @classmethod
    def first(cls, state: IndexState) -> "Definitions":
        """Return what a store begins with: the index of priorities."""
        return cls(1, (Index(0, PRIORITIES, state),))

    def at(self, keys: Sequence[str]) -> list[Index]:
        """Return the kept indexes for the children of a place, but that of priorities."""
        levels = [self.root]
        for key in keys:
            levels = [below for level in levels for below in level.below(key)]
        return [index for level in levels for index in level.indexes]

    def declared(self, wanted: Iterable[IndexPlace], *, is_empty: bool) -> "Definitions":
        """Return the definitions with exactly these indexes; new ones of an empty store are done.

        What is there already stays as it is, but for the names in its pattern.
        """
        missing = {_identity(place): place for place in wanted}
        there: list[Index] = []
        for index in self.indexes:
            identity = _identity(index.place)
            if not index.is_kept or index.place == PRIORITIES:
                there.append(index)
            elif identity in missing:
                there.append(replace(index, place=missing.pop(identity)))
            else:
                there.append(replace(index, state=IndexState.DROPPING))
        state = IndexState.COMPLETE if is_empty else IndexState.BUILDING
        new = [
            Index(number, place, state)
            for number, place in enumerate(missing.values(), self.next_number)
        ]
        return Definitions(self.next_number + len(new), (*there, *new))

    def rebuilt(self) -> "Definitions":
        """Return the definitions with every index begun anew, under a new number."""
        kept = [index for index in self.indexes if index.is_kept]
        dropped = [replace(index, state=IndexState.DROPPING) for index in self.indexes]
        new = [
            Index(number, index.place, IndexState.BUILDING)
            for number, index in enumerate(kept, self.next_number)
        ]
        return Definitions(self.next_number + len(new), (*dropped, *new))

    def completed(self, number: int) -> "Definitions":
        """Return the definitions with an index no longer being built."""
        indexes = [
            replace(index, state=IndexState.COMPLETE) if index.number == number else index
            for index in self.indexes
        ]
        return replace(self, indexes=tuple(indexes))

    def without(self, number: int) -> "Definitions":
        """Return the definitions without an index whose entries are gone."""
        return replace(
            self, indexes=tuple(index for index in self.indexes if index.number != number)
        )


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far an index is: `children` were indexed by its build so far."""

    place: IndexPlace
    state: IndexState
    children: int


@dataclass(frozen=True, slots=True)
class DefinitionStore:
    """The definitions, and how far builds are, in the `meta` of one transaction."""

    transaction: "lmdb.Transaction[bytes]"
    meta: "lmdb._Database"

    def exists(self) -> bool:
        """Tell whether the store has definitions; one of an older format has none."""
        return self.transaction.get(_DEFINITIONS, db=self.meta) is not None

    def read(self) -> Definitions:
        """Return the definitions."""
        raw = self.transaction.get(_DEFINITIONS, db=self.meta)
        assert raw is not None, "an opened store has definitions"
        return _decode(raw)

    def put(self, definitions: Definitions) -> None:
        """Keep other definitions; how far the build of an index came is forgotten with it."""
        before = self.read().indexes if self.exists() else ()
        gone = {index.number for index in before} - {index.number for index in definitions.indexes}
        for number in gone:
            self.transaction.delete(_progress_key(number), db=self.meta)
        self.transaction.put(_DEFINITIONS, _encode(definitions), db=self.meta)

    def position(self, number: int) -> tuple[Position, int]:
        """Return where the build of an index goes on, and how many children it has indexed."""
        raw = self.transaction.get(_progress_key(number), db=self.meta)
        if raw is None:
            return (), 0
        position, children = msgpack.unpackb(raw)
        return tuple(position), children

    def put_position(self, number: int, position: Position, children: int) -> None:
        """Remember how far the build of an index is."""
        raw = msgpack.packb([position, children])
        self.transaction.put(_progress_key(number), raw, db=self.meta)

    def progress(self) -> tuple[IndexProgress, ...]:
        """Return how far each index is."""
        return tuple(
            IndexProgress(index.place, index.state, self.position(index.number)[1])
            for index in self.read().indexes
        )


def _identity(place: IndexPlace) -> tuple[tuple[str, ...], OrderBy]:
    return tuple("$" if is_name(key) else key for key in place.keys), place.order_by


def _levels(kept: list[Index]) -> Level:
    root = Level()
    for index in kept:
        level = root
        if index.place == PRIORITIES:
            continue
        for key in index.place.keys:
            if not is_name(key):
                level = level.children.setdefault(key, Level())
                continue
            if level.any_child is None:
                level.any_child = Level()
            level = level.any_child
        level.indexes.append(index)
    return root


def _progress_key(number: int) -> bytes:
    return _PROGRESS + number.to_bytes(4, "big")


def _encode(definitions: Definitions) -> bytes:
    indexes = [
        [index.number, index.place.keys, index.place.name, index.state.value]
        for index in definitions.indexes
    ]
    raw: bytes = msgpack.packb([definitions.next_number, indexes])
    return raw


@lru_cache(maxsize=64)
def _decode(raw: bytes) -> Definitions:
    """Decode definitions; every transaction asks, and they hardly ever change."""
    next_number, indexes = msgpack.unpackb(raw)
    return Definitions(
        next_number,
        tuple(
            Index(number, IndexPlace(tuple(keys), name), IndexState(state))
            for number, keys, name, state in indexes
        ),
    )
