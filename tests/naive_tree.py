"""The oracle: a Firebase tree in the plainest way, slow and obviously right.

It holds no tree at all: the leaves by their paths, the priorities by theirs. An object is what has
leaves below it, so nothing empty can exist, and a priority without a leaf at or below it goes.
"""

import re
from collections.abc import Mapping

Keys = tuple[str, ...]
Leaf = bool | int | float | str


class NaiveTree:
    """A tree of JSON values in export form; places are tuples of keys, the root is ()."""

    def __init__(self) -> None:
        self.leaves: dict[Keys, Leaf] = {}
        self.priorities: dict[Keys, Leaf] = {}

    def set(self, place: Keys, value: object) -> None:
        """Replace the value at a place, its children and its priority."""
        self.update((), {place: value})

    def update(self, base: Keys, changes: Mapping[Keys, object]) -> None:
        """Replace several disjoint places below base at once; one may end in ".priority"."""
        places = {(*base, *place): value for place, value in changes.items()}
        for place in places:
            self.leaves = {at: leaf for at, leaf in self.leaves.items() if not _in(at, place)}
            self.priorities = {at: p for at, p in self.priorities.items() if not _in(at, place)}
        for place, value in places.items():
            if place[-1:] != (".priority",):
                self._add(place, value)
        # A place with something below it is no leaf.
        inner = {at[:depth] for at in self.leaves for depth in range(len(at))}
        self.leaves = {at: leaf for at, leaf in self.leaves.items() if at not in inner}
        for place, value in places.items():
            if place[-1:] == (".priority",):
                self.priorities.pop(place[:-1], None)
                self._add_priority(place[:-1], value)
        self.priorities = {at: p for at, p in self.priorities.items() if self.exists(at)}

    def exists(self, place: Keys) -> bool:
        return any(_in(at, place) for at in self.leaves)

    def get(self, place: Keys) -> object:
        """Return the value at a place in export form, children in key order; None for nothing."""
        if place[-1:] == (".priority",):
            return self.priorities.get(place[:-1])
        priority = {} if place not in self.priorities else {".priority": self.priorities[place]}
        if place in self.leaves:
            leaf = self.leaves[place]
            return {".value": leaf, **priority} if priority else leaf
        return {**priority, **{key: self.get((*place, key)) for key in self.keys(place)}} or None

    def keys(self, place: Keys) -> list[str]:
        """Return the child keys of a place in Firebase's key order."""
        below = {at[len(place)] for at in self.leaves if _in(at, place) and at != place}
        return sorted(below, key=_key_order)

    def shallow(self, place: Keys) -> object:
        """Return the value at a place with True for every child that is an object."""
        if place in self.leaves:
            return self.leaves[place]
        return {key: self.leaves.get((*place, key), True) for key in self.keys(place)} or None

    def _add(self, place: Keys, value: object) -> None:
        if isinstance(value, list):
            value = {str(index): item for index, item in enumerate(value)}
        if isinstance(value, dict):
            self._add_priority(place, value.get(".priority"))
            for key, child in value.items():
                if key != ".priority":
                    self._add(place if key == ".value" else (*place, key), child)
        elif isinstance(value, Leaf):
            self.leaves[place] = value

    def _add_priority(self, place: Keys, priority: object) -> None:
        if isinstance(priority, int | float | str):
            self.priorities[place] = priority


def _in(at: Keys, place: Keys) -> bool:
    return at[: len(place)] == place


def _key_order(key: str) -> tuple[int, int, int, bytes]:
    if re.fullmatch("-?0*[0-9]{1,10}", key) and -(2**31) <= int(key) < 2**31:
        return (0, int(key), len(key), b"-" if key == "-" + "0" * (len(key) - 1) else b"")
    return (1, 0, 0, key.encode("utf-16-be"))
