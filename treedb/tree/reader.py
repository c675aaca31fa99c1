"""Something to ask about a tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from treedb.paths.path import Path
from treedb.tree.values import Value, child_keys, value_at


class Reader(Protocol):
    """A tree as it stands: the stored one at a revision, or as a patch would make it.

    `get` returns the value at a place in export form, None when there is none; a path may end in
    ".priority". `keys` yields the children's keys in key order, none for a leaf. `exists` tells
    whether there is a value, without reading it where that can be helped.
    """

    def get(self, path: Path) -> Value: ...

    def keys(self, path: Path) -> Iterator[str]: ...

    def exists(self, path: Path) -> bool: ...


@dataclass(frozen=True, slots=True)
class ValueReader:
    """A Reader of one value in memory."""

    value: Value

    def get(self, path: Path) -> Value:
        return value_at(self.value, path.keys)

    def keys(self, path: Path) -> Iterator[str]:
        return iter(child_keys(self.get(path)))

    def exists(self, path: Path) -> bool:
        return self.get(path) is not None
