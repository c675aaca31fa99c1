"""What a write comes to: disjoint places and what each becomes.

A patch is one change of the tree, without states in between: a node that stands before and after
it keeps its priority, even when all its children are exchanged. `Patch.of` orders the changes so
that applying them one by one comes to the same: values first, then removals, which thus empty only
what is empty in the end, and then priorities, which a node must exist to have.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from treedb.errors import ConflictingPaths
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.tree.values import Value, value_at

# Sorts after every key's bytes, none of which begins with it.
PRIORITY_BYTE = b"\xff"

VALUE, REMOVAL, PRIORITY = range(3)


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes at disjoint paths, in the order to apply them.

    A path may end in ".priority", then the change is that node's priority. Values are in normal
    form; None removes.
    """

    changes: tuple[tuple[Path, Value], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Path, Value]]) -> "Patch":
        """Make a patch; ConflictingPaths when two paths are equal or one lies above the other."""
        placed = sorted(
            ((place_bytes(path), path, value) for path, value in pairs),
            key=lambda change: change[0],
        )
        # Sorted as bytes, a place is followed at once by what lies below it, if anything does.
        for (upper_bytes, upper, _), (lower_bytes, lower, _) in pairwise(placed):
            if lower_bytes.startswith(upper_bytes):
                raise ConflictingPaths(_conflict(upper, lower))
        changes = [(path, value) for _, path, value in placed]
        changes.sort(key=application_rank)
        return cls(tuple(changes))


def cut(patch: Patch, place: Path) -> list[tuple[Path, Value]]:
    """Return the changes as seen at a place.

    That is one change of the place itself when the patch has one at or above it, else those
    below it, which may be none.
    """
    below = []
    for path, value in patch.changes:
        if path.contains(place):
            return [(place, value_at(value, path.relative(place)))]
        if place.contains(path):
            below.append((path, value))
    return below


def application_rank(change: tuple[Path, Value]) -> int:
    """Return VALUE, REMOVAL or PRIORITY: changes are applied in this order."""
    path, value = change
    if path.is_priority:
        return PRIORITY
    return REMOVAL if value is None else VALUE


def place_bytes(path: Path) -> bytes:
    """Return bytes of which one place's are a prefix of another's exactly if it lies above.

    They sort in key order, a node's priority after its children.
    """
    if path.is_priority:
        return encode_path(path.keys[:-1]) + PRIORITY_BYTE
    return encode_path(path.keys)


def _conflict(upper: Path, lower: Path) -> str:
    if upper == lower:
        return f"the update names {upper} twice; name each place once"
    return f"the update names {upper} and also {lower}, which lies below it; name one of them"
