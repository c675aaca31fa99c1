"""Hold mirrors and counts against a tree: every entry has its other side, every count is right.

This is done when rules bring a mirror or a count over data that is there already, since completing
a write relies on what stood before it. It costs the entries and the children counted, so it yields
None now and then for others to have their turn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.tree.json_text import format_json
from treedb.tree.reader import Reader
from treedb.tree.values import Value
from treedb.writes.touched_entries import standing_entries

# Entries looked at between two turns of others.
TURN = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """A place that is not what another place says it must be."""

    path: Path
    problem: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def check_derived(
    reader: Reader, mirrors: Sequence[Mirror], counters: Sequence[Counter]
) -> Iterator[Fault | None]:
    """Yield what is wrong in a tree, and None where others may have their turn."""
    for mirror in mirrors:
        yield from _check_mirror(reader, mirror)
    for counter in counters:
        yield from _check_counter(reader, counter)


def mirror_fault(reader: Reader, mirror: Mirror, names: dict[str, str]) -> Fault | None:
    """Return what is wrong with one entry of a mirror."""
    source, target = mirror.source.fill(names), mirror.target.fill(names)
    here, there = reader.exists(source), reader.exists(target)
    if here and not there:
        return Fault(target, f"is missing: {source} is there")
    if there and not here:
        return Fault(source, f"is missing: {target} is there")
    if not here:
        return None
    if mirror.value is MirrorValue.TRUE:
        return (
            None if reader.get(target) is True else Fault(target, f"is not true, as {source} asks")
        )
    if _same(reader.get(source), reader.get(target)):
        return None
    return Fault(target, f"differs from {source}")


def counter_fault(reader: Reader, counter: Counter, names: dict[str, str]) -> Fault | None:
    """Return what is wrong with one count."""
    collection, place = counter.collection.fill(names), counter.place.fill(names)
    counted = sum(1 for _ in reader.keys(collection))
    found = reader.get(place)
    if _same(found, counted or None):
        return None
    shown = "nothing" if found is None else format_json(found).decode()[:40]
    return Fault(place, f"is {shown}: {collection} has {counted} children")


def _check_mirror(reader: Reader, mirror: Mirror) -> Iterator[Fault | None]:
    for number, names in enumerate(_both(reader, mirror.source, mirror.target), 1):
        fault = mirror_fault(reader, mirror, names)
        if fault is not None or number % TURN == 0:
            yield fault


def _check_counter(reader: Reader, counter: Counter) -> Iterator[Fault | None]:
    for number, names in enumerate(_both(reader, counter.collection, counter.place), 1):
        fault = counter_fault(reader, counter, names)
        if fault is not None or number % TURN == 0:
            yield fault


def _both(reader: Reader, one: Pattern, other: Pattern) -> Iterator[dict[str, str]]:
    """Yield the entries of two patterns with the same names, each once."""
    yield from map(dict, standing_entries(one, reader))
    for names in standing_entries(other, reader):
        if not reader.exists(one.fill(names)):
            yield dict(names)


def _same(one: Value, other: Value) -> bool:
    return format_json(one) == format_json(other)
