"""Things hung on places, one a place: those at, above and below a path are found by walking it."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from treedb.paths.path import Path

T = TypeVar("T")


class PathTrie(Generic[T]):
    """One item a path. Its iterators walk the live trie: list them before changing it."""

    __slots__ = ("_count", "_root")

    def __init__(self) -> None:
        self._root: _Place[T] = _Place()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, path: Path) -> T | None:
        """Return the item at the path itself, None when there is none."""
        place = self._place(path)
        return None if place is None or place.entry is None else place.entry[1]

    def set(self, path: Path, item: T) -> None:
        """Put the item at the path, in place of the one there."""
        place = self._root
        for key in path.keys:
            below = place.children.get(key)
            if below is None:
                below = place.children[key] = _Place()
            place = below
        self._count += place.entry is None
        place.entry = (path, item)

    def remove(self, path: Path) -> None:
        """Remove the item at the path and the places only it needed; without one do nothing."""
        trail: list[tuple[_Place[T], str]] = []
        place = self._root
        for key in path.keys:
            trail.append((place, key))
            below = place.children.get(key)
            if below is None:
                return
            place = below
        self._count -= place.entry is not None
        place.entry = None
        for above, key in reversed(trail):
            if place.is_needed():
                return
            del above.children[key]
            place = above

    def along(self, path: Path) -> Iterator[tuple[Path, T]]:
        """Find the items at the path and above it, the root's first."""
        place = self._root
        if place.entry is not None:
            yield place.entry
        for key in path.keys:
            below = place.children.get(key)
            if below is None:
                return
            place = below
            if place.entry is not None:
                yield place.entry

    def below(self, path: Path) -> Iterator[tuple[Path, T]]:
        """Find the items strictly below the path, in no particular order."""
        start = self._place(path)
        waiting = [] if start is None else list(start.children.values())
        while waiting:
            place = waiting.pop()
            waiting.extend(place.children.values())
            if place.entry is not None:
                yield place.entry

    def _place(self, path: Path) -> "_Place[T] | None":
        place = self._root
        for key in path.keys:
            below = place.children.get(key)
            if below is None:
                return None
            place = below
        return place


class _Place(Generic[T]):
    __slots__ = ("children", "entry")

    def __init__(self) -> None:
        self.children: dict[str, _Place[T]] = {}
        self.entry: tuple[Path, T] | None = None

    def is_needed(self) -> bool:
        return self.entry is not None or bool(self.children)
