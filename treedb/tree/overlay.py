"""A tree as a patch would make it, without making it.

Places are looked up by their bytes (`place_bytes`). The changes are disjoint, so of a place's
neighbours in byte order the one before it is the only change that can lie above it, and the
changes below it are the run that starts with its bytes.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from treedb.paths.order import encode_key, sort_keys
from treedb.paths.path import Path
from treedb.tree.patch import PRIORITY_BYTE, VALUE, Patch, application_rank, place_bytes
from treedb.tree.reader import Reader, keys_behind
from treedb.tree.values import Value, child_keys, value_at, with_value_at


class Overlay:
    """A Reader of `base` as it is after `patch`; only what is asked for is read from base."""

    def __init__(self, base: Reader, patch: Patch) -> None:
        self._base = base
        placed = sorted(
            ((place_bytes(path), path, value) for path, value in patch.changes),
            key=lambda change: change[0],
        )
        self._places = [place for place, _, _ in placed]
        self._changes = [(path, value) for _, path, value in placed]

    def get(self, path: Path) -> Value:
        """Return the value at a place after the patch."""
        if path.is_priority:
            return self._priority(path)
        above = self._at_or_above(path)
        if above is not None:
            return value_at(above[1], above[0].relative(path))
        value = self._base.get(path)
        below = (self._changes[index] for index in self._below(path))
        for place, new in sorted(below, key=application_rank):
            value = with_value_at(value, path.relative(place), new)
        return value

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        """Yield the child keys of a place after the patch, in key order, behind a key."""
        if path.is_priority:
            return iter(())
        above = self._at_or_above(path)
        if above is not None:
            return keys_behind(child_keys(value_at(above[1], above[0].relative(path))), after)
        touched = {self._changes[index][0].keys[path.depth] for index in self._below(path)}
        touched.discard(".priority")
        if not touched:
            return self._base.keys(path, after)
        untouched = (key for key in self._base.keys(path, after) if key not in touched)
        brought = sort_keys(key for key in touched if self.exists(path.child(key)))
        standing = keys_behind(brought, after)
        return heapq.merge(untouched, standing, key=encode_key)

    def exists(self, path: Path) -> bool:
        """Tell whether there is a value at a place after the patch."""
        if path.is_priority or self._at_or_above(path) is not None:
            return self.get(path) is not None
        below = self._below(path)
        if any(application_rank(self._changes[index]) == VALUE for index in below):
            return True
        if not below or not self._base.exists(path):
            return self._base.exists(path)
        # Children are removed: a leaf has none, and an object stands while it has one left.
        return not _has_any(self._base.keys(path)) or _has_any(self.keys(path))

    def _priority(self, path: Path) -> Value:
        owner = path.parent
        assert owner is not None, "a priority has an owner"
        above = self._at_or_above(path)
        if above is not None and not above[0].is_priority:
            return value_at(above[1], above[0].relative(path))
        # No change replaces the owner: it keeps its priority, or gets one, while it stands.
        priority = self._base.get(path) if above is None else above[1]
        return priority if priority is not None and self.exists(owner) else None

    def _at_or_above(self, path: Path) -> tuple[Path, Value] | None:
        place = place_bytes(path)
        index = bisect_right(self._places, place) - 1
        if index < 0 or not place.startswith(self._places[index]):
            return None
        return self._changes[index]

    def _below(self, path: Path) -> range:
        """Return where the changes below a place stand, its priority's included."""
        place = place_bytes(path)
        start = bisect_left(self._places, place)
        # The place's own priority sorts after all else below it.
        return range(start, bisect_right(self._places, place + PRIORITY_BYTE, lo=start))


def _has_any(keys: Iterator[str]) -> bool:
    return next(keys, None) is not None
