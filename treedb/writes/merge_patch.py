"""JSON Merge Patch: an object that says what is to be different below a place.

    {"name": "Mary", "address": {"city": null}}     name is set, address/city is removed

Null removes, an object goes into the one that is there, everything else replaces. That is an
update of many places, but for one case: an object of which nothing is left, such as {"a": {}} or
{"a": {"b": null}}, takes the place of a leaf, and leaves nothing there. So whether a leaf stands
there is looked up in the transaction that writes.

Where it differs from the RFC: whole numbers as keys make no difference. In the tree arrays are
objects, so an object goes into what reads as an array too and leaves its other items alone; by the
letter it would replace the array, and {"users": {"7": {...}}} would remove all other users.
Source: RFC 7396.
"""

from dataclasses import dataclass, field

from treedb.config import Limits
from treedb.errors import InvalidData, PayloadTooLarge, TooDeep
from treedb.paths.keys import key_problem
from treedb.paths.path import PRIORITY_KEY, Path
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.values import Value
from treedb.writes.place_value import normal_at


@dataclass(frozen=True, slots=True)
class MergePatch:
    """What a merge patch sets and removes: disjoint places, server values unresolved.

    `emptied` are the places of objects that leave nothing; `nodes` counts all there is.
    """

    sets: tuple[tuple[Path, Value], ...]
    emptied: tuple[Path, ...] = ()
    has_server_values: bool = False
    nodes: int = 0

    def changes(self, reader: Reader) -> tuple[tuple[Path, Value], ...]:
        """Return what the patch comes to on a tree: disjoint changes, in order."""
        leaves = {path.keys for path in self.emptied if _is_leaf(reader, path)}
        if not leaves:
            return self.sets
        kept = [
            (path, value)
            for path, value in self.sets
            if not any(path.keys[:depth] in leaves for depth in range(len(path.keys) + 1))
        ]
        removed: list[tuple[Path, Value]] = [(Path(keys), None) for keys in leaves]
        return Patch.of([*kept, *removed]).changes


def parse_merge_patch(base: Path, raw: object, limits: Limits) -> MergePatch:
    """Read a merge patch of a place.

    Raises PayloadTooLarge for too many places, and what a set raises for a value that cannot be
    written.
    """
    walk = _Walk(limits)
    walk.merge(base, raw)
    return MergePatch(
        Patch.of(walk.sets).changes, tuple(walk.emptied), walk.has_server_values, walk.nodes
    )


@dataclass(slots=True)
class _Walk:
    """One walk over a merge patch, and what it found."""

    limits: Limits
    sets: list[tuple[Path, Value]] = field(default_factory=list)
    emptied: list[Path] = field(default_factory=list)
    has_server_values: bool = False
    nodes: int = 0

    def merge(self, path: Path, raw: object) -> bool:
        """Take what is to become of a place; tell whether something is set there."""
        if path.depth > self.limits.depth:
            raise TooDeep(
                f"{path} is {path.depth} levels below the root; at most {self.limits.depth} are "
                "allowed"
            )
        if not isinstance(raw, dict) or ".sv" in raw or ".value" in raw:
            return self._set(path, raw)
        leaves_something = False
        for key, member in raw.items():
            if key == PRIORITY_KEY:
                leaves_something |= self._set(path.child(key), member)
                continue
            problem = key_problem(key)
            if problem is not None:
                raise InvalidData(f"{problem} It is in the patch of {path}.")
            leaves_something |= self.merge(path.child(key), member)
        self._count(1)
        if not leaves_something:
            self.emptied.append(path)
        return leaves_something

    def _set(self, path: Path, raw: object) -> bool:
        normal = normal_at(path, raw, self.limits)
        self._count(normal.nodes)
        self.has_server_values |= normal.has_server_values
        self.sets.append((path, normal.value))
        if len(self.sets) > self.limits.paths_per_update:
            raise PayloadTooLarge(
                f"the patch names more than {self.limits.paths_per_update} places; send it in "
                "several patches, or set whole values (PUT)"
            )
        return normal.value is not None

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > self.limits.nodes_per_write:
            raise PayloadTooLarge(
                f"the patch holds more than {self.limits.nodes_per_write} nodes; send it in "
                "several patches"
            )


def _is_leaf(reader: Reader, path: Path) -> bool:
    return next(reader.keys(path), None) is None and reader.exists(path)
