"""Complete a write: keep the number of a collection's children at another place.

A counter binds two patterns of the same names: a collection, and the place of its count. A write
that adds or removes children of a collection gets the change of its count beside it, in the same
patch. Like mirrors, this costs the children that are touched, however many there are.

The count of a collection without children is not there, as the collection itself is not. Where a
write replaces a place above the count, the right count is put into its value, whatever was sent:
an application that reads a record and writes it back must not fail for a number it does not own.
A write of the count itself, or below it, is refused.

Worked example, `/groups/$gid/members` counted at `/groups/$gid/memberCount`:

    /groups/alpha/members/mchen = true      adds  /groups/alpha/memberCount = 4, where it was 3
    /groups/alpha = {"name": "Alpha"}       adds nothing: members and count are gone together
"""

from collections.abc import Iterator, Sequence

from treedb.errors import InvalidData
from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.tree.json_equality import same_json
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.values import Value, value_at
from treedb.writes.fill_in import Additions
from treedb.writes.touched_entries import Names, touched_entries

_CHILD = "$ a child"  # no name in a pattern holds a space


def count(patch: Patch, reader: Reader, counters: Sequence[Counter]) -> Patch:
    """Return the patch with the counts of the collections that it touches.

    Raises InvalidData for a write of a count.
    """
    if not counters:
        return patch
    corrections, derived = Additions(patch.changes), list[tuple[Path, Value]]()
    after = Overlay(reader, patch)
    for counter in counters:
        for place, difference in _differences(counter, patch, reader, after).items():
            # Less than nothing is left only of a count that a backfill has not come to yet.
            counted = max(0, _number(reader.get(place)) + difference) or None
            number = corrections.number_above(place)
            if number is None:
                if difference:
                    derived.append((place, counted))
                continue
            above, value = patch.changes[number]
            keys = above.relative(place)
            if not same_json(value_at(value, keys), counted):
                corrections.put(number, keys, counted)
    if not derived and not corrections:
        return patch
    return Patch.of([*corrections.changes(), *derived])


def _differences(counter: Counter, patch: Patch, reader: Reader, after: Reader) -> dict[Path, int]:
    """Return for each count that a patch touches how many children there are more."""
    child = Pattern((*counter.collection.keys, _CHILD))
    met: set[Path] = set()
    differences: dict[Path, int] = {}
    for path, value in patch.changes:
        for names in _counts(counter, path, value, reader):
            differences.setdefault(counter.place.fill(names), 0)
        for names in touched_entries(child, path, value, reader):
            entry = child.fill(names)
            if entry in met:
                continue
            met.add(entry)
            place = counter.place.fill(names)
            is_there = value is not None if entry == path else after.exists(entry)
            change = is_there - reader.exists(entry)
            differences[place] = differences.get(place, 0) + change
    return differences


def _counts(counter: Counter, path: Path, value: Value, reader: Reader) -> Iterator[Names]:
    """Yield whose count stands or is brought below a change."""
    keys = counter.place.keys
    for names in touched_entries(counter.place, path, value, reader):
        if len(path.keys) >= len(keys):
            place = counter.place.fill(names)
            raise InvalidData(
                f"{place} is the number of children of {counter.collection.fill(names)}, which "
                "the server keeps; leave it out"
            )
        yield names


def _number(value: Value) -> int:
    return value if type(value) is int else 0  # true is an int for Python
