"""Something to ask about a tree."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import Protocol

from treedb.paths.order import encode_key
from treedb.paths.path import Path
from treedb.tree.values import Value, child_keys, value_at


class Reader(Protocol):
    """A tree as it stands: the stored one at a revision, or as a patch would make it.

    `get` returns the value at a place in export form, None when there is none; a path may end in
    ".priority". `keys` yields the children's keys in key order, none for a leaf; with `after` only
    those behind that key, which need not be there. `exists` tells whether there is a value,
    without reading it where that can be helped.
    """

    def get(self, path: Path) -> Value: ...

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]: ...

    def exists(self, path: Path) -> bool: ...


def keys_behind(keys: Iterable[str], after: str | None) -> Iterator[str]:
    """Yield those of some keys in order that are behind a key."""
    if after is None:
        return iter(keys)
    end = encode_key(after)
    return dropwhile(lambda key: encode_key(key) <= end, keys)


@dataclass(frozen=True, slots=True)
class ValueReader:
    """A Reader of one value in memory."""

    value: Value

    def get(self, path: Path) -> Value:
        return value_at(self.value, path.keys)

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        return keys_behind(child_keys(self.get(path)), after)

    def exists(self, path: Path) -> bool:
        return self.get(path) is not None
