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


def standing_entries(pattern: Pattern, reader: Reader) -> Iterator[Names]:
    """Yield what the pattern's names stand for in each entry of a tree."""
    return _standing(pattern.keys, ROOT, reader, {})


def _standing(
    rest: tuple[str, ...], path: Path, reader: Reader, names: dict[str, str]
) -> Iterator[Names]:
    """Yield the entries that stand below a place of the tree."""
    if not rest:
        if reader.exists(path):
            yield names
    elif is_name(rest[0]):
        for key in reader.keys(path):
            yield from _standing(rest[1:], path.child(key), reader, {**names, rest[0]: key})
    else:
        yield from _standing(rest[1:], path.child(rest[0]), reader, names)


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
