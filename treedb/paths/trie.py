"""Things hung on places and on patterns, found by walking a path once.

`PathTrie` keeps one item a path and finds those at, above and below a path without looking at the
others. `PatternTrie` keeps one item a pattern and finds the one that governs a path.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from treedb.errors import InvalidPath
from treedb.paths.path import PRIORITY_KEY, ROOT, Path
from treedb.paths.pattern import Pattern, is_name

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


class PatternTrie(Generic[T]):
    """One item a pattern. At each place a literal key goes before the `$name` beside it.

    As in Firebase's rules a literal key shadows the `$name` with all below it: where patterns
    have `/users/admin/x` and `/users/$uid/y`, nothing is found for the path `/users/admin/y`.
    """

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: _Level[T] = _Level()

    def set(self, pattern: Pattern, item: T) -> None:
        """Put the item at the pattern, in place of the one there.

        Raises InvalidPath, changing nothing, when a place would get a second `$name`.
        """
        self._check_names(pattern)
        level = self._root
        for key in pattern.keys:
            if is_name(key):
                level.name = key
                if level.any_child is None:
                    level.any_child = _Level()
                level = level.any_child
            else:
                level = level.children.setdefault(key, _Level())
        level.item = (item,)

    def find(self, path: Path) -> list[tuple[T, dict[str, str]]]:
        """Find the items whose pattern matches the whole path, each with its bindings.

        With shadowing there is one at most. A `$name` never stands for `.priority`.
        """
        level = self._root
        bindings: dict[str, str] = {}
        for key in path.keys:
            below = level.children.get(key)
            if below is None:
                below = level.any_child
                if below is None or key == PRIORITY_KEY:
                    return []
                bindings[level.name] = key
            level = below
        return [(item, bindings) for item in level.item]

    def _check_names(self, pattern: Pattern) -> None:
        level: _Level[T] | None = self._root
        place = ROOT
        for key in pattern.keys:
            if level is None:
                return
            if not is_name(key):
                level = level.children.get(key)
            elif level.name in ("", key):
                level = level.any_child
            else:
                raise InvalidPath(
                    f"Below {place} stand {level.name} and {key}: a place has one $name at most."
                )
            place = place.child(key)


class _Place(Generic[T]):
    __slots__ = ("children", "entry")

    def __init__(self) -> None:
        self.children: dict[str, _Place[T]] = {}
        self.entry: tuple[Path, T] | None = None

    def is_needed(self) -> bool:
        return self.entry is not None or bool(self.children)


class _Level(Generic[T]):
    __slots__ = ("any_child", "children", "item", "name")

    def __init__(self) -> None:
        self.children: dict[str, _Level[T]] = {}
        self.name = ""  # of the child standing for any key; "" without one
        self.any_child: _Level[T] | None = None
        self.item: tuple[T, ...] = ()  # one or none, so that None may be an item
