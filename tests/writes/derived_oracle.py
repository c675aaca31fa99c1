"""The oracle of mirrors and counts: what a write must come to, on a naive tree, by looking at all.

It knows no patches, no readers and nothing of which entries a write touches but by asking of every
entry there is. It is slow, and says what the documentation says.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.naive_tree import Keys, NaiveTree
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.writes.mend import Side

BAD = "bad"  # what the rules let no mirror's target be

Changes = Mapping[Keys, object]


class RefusedError(Exception):
    """The write contradicts what is kept."""


@dataclass(frozen=True)
class Kept:
    """The mirrors and counts of a file of rules."""

    mirrors: tuple[Mirror, ...] = ()
    counters: tuple[Counter, ...] = ()

    def __repr__(self) -> str:
        return f"Kept({self.text()})"

    def text(self) -> str:
        """Write the rules: whoever may write anything, but nobody may mirror what is bad."""
        root: dict[str, Any] = {".read": True, ".write": True}
        for mirror in self.mirrors:
            declared = {"to": mirror.target.format(), "value": mirror.value.value}
            _node(root, mirror.source)[".mirror"] = declared
            _node(root, mirror.target)[".validate"] = f"newData.val() !== '{BAD}'"
        for counter in self.counters:
            _node(root, counter.collection)[".count"] = counter.place.format()
        return json.dumps({"rules": root})

    def beyond(self, others: "Kept") -> "Kept":
        """Return what is kept by these rules and not by others."""
        return Kept(
            tuple(each for each in self.mirrors if each not in others.mirrors),
            tuple(each for each in self.counters if each not in others.counters),
        )


def _node(root: dict[str, Any], pattern: Pattern) -> dict[str, Any]:
    for key in pattern.keys:
        root = root.setdefault(key, {})
    return root


def copied(tree: NaiveTree) -> NaiveTree:
    copy = NaiveTree()
    copy.leaves, copy.priorities = dict(tree.leaves), dict(tree.priorities)
    return copy


def rebuilt(tree: NaiveTree, kept: Kept) -> NaiveTree:
    """Return the tree with every target and every count made anew of the rest."""
    derived: dict[Keys, object] = {}
    for mirror in kept.mirrors:
        for names in _bindings((mirror.source, mirror.target), (tree,)):
            source, target = _filled(mirror.source, names), _filled(mirror.target, names)
            derived[target] = _mirrored(mirror, tree.get(source))
    whole = copied(tree)
    whole.update((), derived)
    counts: dict[Keys, object] = {}
    for counter in kept.counters:
        for names in _bindings((counter.collection, counter.place), (whole,)):
            number = len(whole.keys(_filled(counter.collection, names)))
            counts[_filled(counter.place, names)] = number or None
    whole.update((), counts)
    return whole


def after(tree: NaiveTree, changes: Changes, kept: Kept, *, validates: bool = True) -> NaiveTree:
    """Return what a write makes of a tree in which all is right; RefusedError if it may not be."""
    for place, value in changes.items():
        if place[-1:] == (".priority",) and value is not None and not tree.exists(place[:-1]):
            raise RefusedError("the priority of nothing")
    for counter in kept.counters:
        if any(_is_at_or_below(place, counter.place) for place in changes):
            raise RefusedError("a count")
    write = _Write(tree, changes)
    for mirror in kept.mirrors:
        write.add_mirrored(mirror)
    mirrored = write.result()
    if validates and write.is_invalid(mirrored, kept):
        raise RefusedError("not valid")
    for counter in kept.counters:
        for names in _bindings((counter.collection, counter.place), (tree, mirrored)):
            number = len(mirrored.keys(_filled(counter.collection, names)))
            write.put(_filled(counter.place, names), number or None)
    return write.result()


class _Write:
    """The changes of one write, and what has to be put beside and into them."""

    def __init__(self, before: NaiveTree, changes: Changes) -> None:
        self.before = before
        self.changes = dict(changes)
        self.plain = copied(before)
        self.plain.update((), changes)
        self.beside: dict[Keys, object] = {}
        self.inside: dict[Keys, dict[Keys, object]] = {}

    def result(self) -> NaiveTree:
        tree = copied(self.before)
        tree.update(
            (),
            {**self.changes, **self.beside, **{place: self.filled(place) for place in self.inside}},
        )
        return tree

    def is_invalid(self, whole: NaiveTree, kept: Kept) -> bool:
        """Tell whether something bad comes to a target, or stays where something is changed."""
        places = [*self.changes, *self.beside]
        bad = (
            _filled(mirror.target, names)
            for mirror in kept.mirrors
            for names in _bindings((mirror.target,), (whole,))
        )
        return any(
            whole.leaves.get(target) == BAD and any(touch(target, place) for place in places)
            for target in bad
        )

    def put(self, place: Keys, value: object) -> None:
        """Let a place become a value: in the change above it where there is one."""
        above = self.above(place)
        if above is None:
            self.beside[place] = value
            return
        self.inside.setdefault(above, {})[place[len(above) :]] = value

    def filled(self, place: Keys) -> object:
        """Return what a change comes to, with what is put into it."""
        whole = NaiveTree()
        whole.set((), self.changes[place])
        whole.update((), self.inside[place])
        return whole.get(())

    def above(self, place: Keys) -> Keys | None:
        return next((each for each in self.changes if place[: len(each)] == each), None)

    def add_mirrored(self, mirror: Mirror) -> None:
        trees = (self.before, self.plain)
        for names in _bindings((mirror.source, mirror.target), trees):
            source, target = _filled(mirror.source, names), _filled(mirror.target, names)
            by_source, by_target = set(self.touching(source)), set(self.touching(target))
            there = self.plain.get(target)
            is_detail = there is not None and there is not True
            if by_target and mirror.value is MirrorValue.TRUE and is_detail:
                raise RefusedError(f"detail at {target}")
            if by_source and by_target:
                self.reconcile(mirror, source, target, is_one=bool(by_source & by_target))
            elif by_source:
                self.carry(source, target, _mirrored(mirror, self.plain.get(source)))
            elif (by_target and mirror.value is MirrorValue.COPY) or (
                by_target and self.plain.exists(target) != self.before.exists(source)
            ):
                self.carry(target, source, there)

    def touching(self, place: Keys) -> Iterator[Keys]:
        """Yield the changes at, below and above an entry; those above only where it was or is."""
        is_any = self.before.exists(place) or self.plain.exists(place)
        for each in self.changes:
            if each[: len(place)] == place or (place[: len(each)] == each and is_any):
                yield each

    def reconcile(self, mirror: Mirror, source: Keys, target: Keys, *, is_one: bool) -> None:
        here, there = self.plain.get(source), self.plain.get(target)
        wanted = _mirrored(mirror, here)
        if repr(wanted) == repr(there):
            return
        if is_one and there is None:
            self.carry(source, target, wanted)
        elif is_one and here is None:
            self.carry(target, source, there)
        else:
            raise RefusedError(f"{source} and {target} differ")

    def carry(self, here: Keys, there: Keys, value: object) -> None:
        """Put one side where the other is; not where another change says what is there."""
        if repr(self.plain.get(there)) == repr(value):
            return
        above = self.above(there)
        if above is not None:
            if here[: len(above)] != above:
                raise RefusedError(f"{above} leaves out {there}")
            if any(there[:depth] in self.plain.leaves for depth in range(len(there))):
                raise RefusedError(f"there is a leaf above {there}")
        self.put(there, value)


def mended(tree: NaiveTree, gained: Kept, side: Side, kept: Kept) -> NaiveTree:
    """Return a tree that is brought to agree with what rules gained; RefusedError if it cannot be.

    `kept` is what these rules keep altogether.
    """
    changes: dict[Keys, object] = {}
    for mirror in gained.mirrors:
        for names in _bindings((mirror.source, mirror.target), (tree,)):
            changes |= _mended_pair(mirror, names, tree, side)
    counts: dict[Keys, object] = {}
    for counter in gained.counters:
        for names in _bindings((counter.collection, counter.place), (tree,)):
            place = _filled(counter.place, names)
            found, number = tree.get(place), len(tree.keys(_filled(counter.collection, names)))
            if repr(found) != repr(number or None):
                bare = found.get(".value") if isinstance(found, dict) else found
                if found is not None and (isinstance(bare, bool) or not isinstance(bare, int)):
                    raise RefusedError(f"no number at {place}")
                counts[place] = number or None
    for place, value in (changes | counts).items():
        if value is not None and any(place[:depth] in tree.leaves for depth in range(len(place))):
            raise RefusedError(f"there is a leaf above {place}")
    whole = copied(tree)
    whole.update((), changes)
    return rebuilt(whole, kept)


def _mended_pair(
    mirror: Mirror, names: Mapping[str, str], tree: NaiveTree, side: Side
) -> dict[Keys, object]:
    source, target = _filled(mirror.source, names), _filled(mirror.target, names)
    here, there = tree.get(source), tree.get(target)
    is_true = mirror.value is MirrorValue.TRUE
    if repr(_mirrored(mirror, here)) == repr(there):
        return {}
    if side is Side.SOURCE:
        return {target: _mirrored(mirror, here)}
    if is_true and there is not None and there is not True:
        raise RefusedError(f"detail at {target}")
    if side is Side.TARGET:
        return {source: there}
    if here is not None and there is not None:
        raise RefusedError(f"{source} and {target} differ")
    return {source: there} if here is None else {target: _mirrored(mirror, here)}


def touch(one: Keys, other: Keys) -> bool:
    """Tell whether one place is the other, or lies above or below it."""
    return one[: len(other)] == other or other[: len(one)] == one


def _mirrored(mirror: Mirror, value: object) -> object:
    return True if value is not None and mirror.value is MirrorValue.TRUE else value


def _is_at_or_below(place: Keys, pattern: Pattern) -> bool:
    pairs = zip(place, pattern.keys, strict=False)
    return len(place) >= len(pattern.keys) and all(
        key == mine or (mine.startswith("$") and key != ".priority") for key, mine in pairs
    )


def _bindings(patterns: Sequence[Pattern], trees: Sequence[NaiveTree]) -> list[dict[str, str]]:
    """Return what the names of patterns stand for in every entry of some trees, each once."""
    found = {
        tuple(
            sorted((mine, key) for mine, key in zip(pattern.keys, at, strict=False) if mine != key)
        )
        for pattern in patterns
        for tree in trees
        for at in tree.leaves
        if _is_at_or_below(at, pattern)
    }
    return [dict(names) for names in sorted(found)]


def _filled(pattern: Pattern, names: Mapping[str, str]) -> Keys:
    return tuple(names.get(key, key) for key in pattern.keys)
