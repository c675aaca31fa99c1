"""Complete a write: bring the other side of every mirror along, in the same patch.

A mirror binds two patterns: an entry stands at the one exactly when it stands at the other. A write
may meet entries from three sides, and each is a case of the same question, which entries does this
change touch:

    at the entry      /users/mchen/groups/alpha = true
    below it          /users/mchen/groups/alpha/since = 2021
    above it          /users/mchen = null, or /groups = {...}, or the root

For a change above, the entries are those that stood there and those that the new value brings. So
completing costs the entries that are touched, whatever the tree holds. An entry that is touched on
one side only is carried to the other. Touched on both, the sides have to agree; but where one
change replaces a place above both, a side it does not mention is filled in.

Worked example, `/users/$uid/groups/$gid` mirrored at `/groups/$gid/members/$uid`:

    /users/mchen = {"name": "Mary", "groups": {"beta": true}}, she was in alpha
    adds  /groups/alpha/members/mchen = null
          /groups/beta/members/mchen = true

Everything here is pure. What a patch comes to is right if the tree was: mirrors that are new are
held against the tree before they come into force.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from treedb.config import Limits
from treedb.errors import ConflictingPaths, InvalidData, PayloadTooLarge, TooDeep
from treedb.paths.path import Path
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.tree.json_equality import same_json
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.values import Value, children, value_at
from treedb.writes.fill_in import Additions, has_leaf_above
from treedb.writes.touched_entries import Names, touched_entries

# What the names of a mirror stand for, in the order its source has them.
Bindings: TypeAlias = tuple[str, ...]
Change: TypeAlias = tuple[Path, Value]

_DETAIL: Final = "the side of a mirror that holds `true` can hold nothing else"


@dataclass(slots=True)
class _Entry:
    """An entry that is touched: by which changes on its source's side, and on its target's."""

    names: Names
    by_source: list[int] = field(default_factory=list)
    by_target: list[int] = field(default_factory=list)


def complete(patch: Patch, reader: Reader, mirrors: Sequence[Mirror], limits: Limits) -> Patch:
    """Return the patch with the other sides of what it touches.

    The given changes stay as they are, but for the values of those that replace both sides. Raises
    ConflictingPaths when a write contradicts itself, InvalidData for detail where only `true` may
    be, TooDeep and PayloadTooLarge when the other sides go beyond the limits.
    """
    if not mirrors:
        return patch
    completion = _Completion(list(patch.changes), reader, limits)
    for mirror in mirrors:
        completion.add(mirror)
    return completion.result(patch)


class _Completion:
    """The changes of one write, and what is derived of them so far."""

    def __init__(self, changes: list[Change], reader: Reader, limits: Limits) -> None:
        self.changes = changes
        self._derived: list[Change] = []
        self._additions = Additions(changes)
        self._added = 0
        self._reader = reader
        self._limits = limits
        self._overlay: Overlay | None = None

    def add(self, mirror: Mirror) -> None:
        """Carry what the changes do to one mirror's entries to their other sides."""
        for entry in self._touched(mirror).values():
            source, target = mirror.source.fill(entry.names), mirror.target.fill(entry.names)
            if entry.by_source and entry.by_target:
                self._reconcile(mirror, source, target, entry)
            elif entry.by_source:
                self._carry(source, target, entry.by_source, to_true=_holds_true(mirror))
            elif _holds_true(mirror):
                self._carry_back(source, target)
            else:
                self._carry(target, source, entry.by_target, to_true=False)

    def result(self, patch: Patch) -> Patch:
        """Return the patch with all that was derived, itself if that is nothing."""
        if not self._added:
            return patch
        return Patch.of([*self._additions.changes(), *self._derived])

    def _touched(self, mirror: Mirror) -> dict[Bindings, _Entry]:
        touched: dict[Bindings, _Entry] = {}
        order = mirror.source.names
        for number, (path, value) in enumerate(self.changes):
            for names in touched_entries(mirror.source, path, value, self._reader):
                _noted(_entry(touched, names, order).by_source, number)
            for names in touched_entries(mirror.target, path, value, self._reader):
                _noted(_entry(touched, names, order).by_target, number)
        return touched

    def _became(self, path: Path) -> Value:
        """Return the value at a place after the changes; most are told by a change of all of it."""
        number = self._additions.number_above(path)
        if number is not None:
            place, value = self.changes[number]
            return value_at(value, place.relative(path))
        if self._overlay is None:
            self._overlay = Overlay(self._reader, Patch(tuple(self.changes)))
        return self._overlay.get(path)

    # One side is touched

    def _carry(self, here: Path, there: Path, numbers: list[int], *, to_true: bool) -> None:
        """Let the other side become what this one is after the changes."""
        if to_true:
            self._derive(there, None if self._became(here) is None else True, of=here)
            return
        path, value = self.changes[numbers[0]]
        if path == here:
            # What a client names is written whatever stands there, and so is its other side: to
            # look there would cost a third of planning the write.
            self._add(there, value, of=here)
            return
        if any(self.changes[number][0].contains(here) for number in numbers):
            self._derive(there, self._became(here), of=here)
            return
        for number in numbers:
            path, value = self.changes[number]
            self._add(there.join(here.relative(path)), value, of=path)

    def _carry_back(self, source: Path, target: Path) -> None:
        """Let the side with detail come or go with the one that holds `true`."""
        value = self._became(target)
        if value is not None and value is not True:
            raise InvalidData(f"{target} is mirrored at {source}: {_DETAIL}")
        if value is None or not self._reader.exists(source):
            self._derive(source, value, of=target)

    def _derive(self, path: Path, value: Value, of: Path) -> None:
        if not same_json(self._reader.get(path), value):
            self._add(path, value, of)

    def _add(self, path: Path, value: Value, of: Path) -> None:
        """Change a place with the one that it is mirrored at.

        Where a change replaces a place above both, it is put into that change's value.
        """
        number = self._additions.number_above(path)
        if number is not None and value is None:
            return  # it is gone with what that change replaces
        self._check_limits(path, value)
        self._added += 1
        if number is None:
            self._derived.append((path, value))
            return
        place, given = self.changes[number]
        keys = place.relative(path)
        if not place.contains(of) or has_leaf_above(given, keys):
            raise ConflictingPaths(
                f"{of} is mirrored at {path}, and the write of {place} leaves that out; write one "
                "of them, or both alike"
            )
        self._additions.put(number, keys, value)

    def _check_limits(self, path: Path, value: Value) -> None:
        most = self._limits.fan_out
        if self._added >= most:
            raise PayloadTooLarge(
                f"the write changes more than {most} mirrored places; write fewer at once"
            )
        deepest = path.depth + depth_of(value)
        if deepest > self._limits.depth:
            raise TooDeep(
                f"the mirrored place {path} would reach {deepest} levels below the root; at most "
                f"{self._limits.depth} are allowed"
            )

    # Both sides are touched

    def _reconcile(self, mirror: Mirror, source: Path, target: Path, entry: _Entry) -> None:
        here, there = self._became(source), self._became(target)
        if _holds_true(mirror):
            if there is not None and there is not True:
                raise InvalidData(f"{target} is mirrored at {source}: {_DETAIL}")
            wanted: Value = None if here is None else True
        else:
            wanted = here
        if same_json(wanted, there):
            return
        covering = [number for number in entry.by_source if number in entry.by_target]
        if covering and there is None:
            self._add(target, wanted, of=source)
        elif covering and here is None:
            self._add(source, there, of=target)
        else:
            one, other = self.changes[entry.by_source[0]][0], self.changes[entry.by_target[0]][0]
            raise ConflictingPaths(
                f"{source} and {target} are mirrored, and the write of {one} and {other} makes "
                "them differ; write one of them, or both alike"
            )


def _holds_true(mirror: Mirror) -> bool:
    return mirror.value is MirrorValue.TRUE


def _entry(touched: dict[Bindings, _Entry], names: Names, order: tuple[str, ...]) -> _Entry:
    bindings = tuple([names[name] for name in order])
    entry = touched.get(bindings)
    if entry is None:
        entry = touched[bindings] = _Entry(names)
    return entry


def _noted(numbers: list[int], number: int) -> None:
    if not numbers or numbers[-1] != number:
        numbers.append(number)


def depth_of(value: Value) -> int:
    """Count the levels of objects in a value."""
    deepest = 0
    waiting = [(value, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for _, child in children(node))
    return deepest
