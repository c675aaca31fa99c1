"""Which entries of a pattern a change touches, from above, at the entry, or below it.

For a change above, the entries are those that stood there and those that the new value brings: so
finding them costs the entries that are touched, whatever else the tree holds.
"""

from collections.abc import Iterator, Mapping

from treedb.paths.path import ROOT, Path
from treedb.paths.pattern import Pattern, is_name
from treedb.tree.reader import Reader
from treedb.tree.values import Value, child_keys, value_at

Names = Mapping[str, str]


def touched_entries(pattern: Pattern, path: Path, value: Value, reader: Reader) -> Iterator[Names]:
    """Yield what the pattern's names stand for in each entry that a change touches.

    `reader` is the tree before the change. An entry that stood and is brought again comes twice.
    """
    names: dict[str, str] = {}
    for mine, key in zip(pattern.keys, path.keys, strict=False):
        if is_name(mine) and key != ".priority":
            names[mine] = key
        elif mine != key:
            return
    rest = pattern.keys[len(path.keys) :]
    if not rest:
        yield names
    elif not path.is_priority:
        yield from _standing(rest, path, reader, names)
        yield from _brought(rest, value, names)


def standing_opposite(
    pattern: Pattern, other: Pattern, path: Path, reader: Reader
) -> Iterator[Names]:
    """Yield the entries that stand at another pattern of the same names, for a change above one's.

    What the path binds is bound there, too, so only what can belong to the change is walked.
    """
    names: dict[str, str] = {}
    if len(path.keys) >= len(pattern.keys) or path.is_priority:
        return
    for mine, key in zip(pattern.keys, path.keys, strict=False):
        if is_name(mine):
            names[mine] = key
        elif mine != key:
            return
    yield from _standing(other.keys, ROOT, reader, names)


def standing_entries(
    pattern: Pattern, reader: Reader, after: tuple[str, ...] | None = None
) -> Iterator[Names]:
    """Yield what the pattern's names stand for in each entry of a tree, in key order.

    With `after`, what its names stood for in the last entry seen, only those behind it.
    """
    return _standing(pattern.keys, ROOT, reader, {}, after)


def _standing(
    rest: tuple[str, ...],
    path: Path,
    reader: Reader,
    names: dict[str, str],
    after: tuple[str, ...] | None = None,
) -> Iterator[Names]:
    """Yield the entries that stand below a place of the tree."""
    if not rest:
        if after is None and reader.exists(path):
            yield names
    elif not is_name(rest[0]) or rest[0] in names:
        key = names.get(rest[0], rest[0])
        yield from _standing(rest[1:], path.child(key), reader, names, after)
    else:
        name = rest[0]
        if after is not None:
            within = path.child(after[0])
            yield from _standing(rest[1:], within, reader, {**names, name: after[0]}, after[1:])
        for key in reader.keys(path, None if after is None else after[0]):
            yield from _standing(rest[1:], path.child(key), reader, {**names, name: key})


def _brought(rest: tuple[str, ...], value: Value, names: dict[str, str]) -> Iterator[Names]:
    """Yield the entries that a value brings."""
    if value is None:
        return
    if not rest:
        yield names
    elif is_name(rest[0]):
        for key in child_keys(value):
            yield from _brought(rest[1:], value_at(value, (key,)), {**names, rest[0]: key})
    else:
        yield from _brought(rest[1:], value_at(value, rest[:1]), names)
