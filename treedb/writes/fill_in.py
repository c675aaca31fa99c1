"""Put many values into one value at once: what a write brings with it, inside what was sent.

One by one, each would copy the objects on its way: a root with a million groups and a count to put
into each would copy the object of groups a million times. So they are put in together, and each
object is made anew once.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from treedb.paths.order import sort_keys
from treedb.paths.path import Path
from treedb.tree.values import Value, children, is_object, priority_of, with_priority

Keys: TypeAlias = tuple[str, ...]


class Additions:
    """The changes of a write, and what is to be put into the values of those above other places."""

    def __init__(self, changes: Sequence[tuple[Path, Value]]) -> None:
        self._changes = changes
        self._numbers = {path: number for number, (path, _) in enumerate(changes)}
        self._additions: dict[int, dict[Keys, Value]] = {}

    def number_above(self, path: Path) -> int | None:
        """Return the number of the change that replaces a place at or above one, if one does."""
        if len(self._changes) == 1:
            return 0 if self._changes[0][0].contains(path) else None
        places = (Path(path.keys[:depth]) for depth in range(path.depth + 1))
        return next((self._numbers[place] for place in places if place in self._numbers), None)

    def put(self, number: int, keys: Keys, value: Value) -> None:
        """Have a value some keys below the place of a change, None removing."""
        self._additions.setdefault(number, {})[keys] = value

    def __bool__(self) -> bool:
        return bool(self._additions)

    def changes(self) -> list[tuple[Path, Value]]:
        """Return the changes with what was put into them."""
        changes = list(self._changes)
        for number, additions in self._additions.items():
            path, value = changes[number]
            changes[number] = path, filled_in(value, additions)
        return changes


def filled_in(value: Value, additions: Mapping[Keys, Value]) -> Value:
    """Return the value with each addition set some keys below, None removing.

    No addition lies below another. It comes to the same as `with_value_at` for one after the other.
    """
    if () in additions:
        return additions[()]
    members = dict(children(value))
    count = len(members)
    is_new = False
    for key, inner in _by_first_key(additions).items():
        child = filled_in(members.get(key), inner)
        if child is None:
            members.pop(key, None)
            continue
        is_new |= key not in members
        members[key] = child
    if not members:
        return None if count or not _is_leaf(value) else value
    if is_new:
        members = {key: members[key] for key in sort_keys(members)}
    return with_priority(members, priority_of(value))


def has_leaf_above(value: Value, keys: Keys) -> bool:
    """Tell whether a leaf stands in a value at a place above the one some keys below."""
    for key in keys:
        if not is_object(value):
            return value is not None
        assert isinstance(value, dict), "an object is a dict"
        value = value.get(key)
    return False


def _by_first_key(additions: Mapping[Keys, Value]) -> dict[str, dict[Keys, Value]]:
    grouped: dict[str, dict[Keys, Value]] = {}
    for (key, *rest), new in additions.items():
        grouped.setdefault(key, {})[tuple(rest)] = new
    return grouped


def _is_leaf(value: Value) -> bool:
    return value is not None and not is_object(value)
