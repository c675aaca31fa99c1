"""Bring what stands in a tree to agree with a mirror or a count, entry by entry.

Rules may bring a mirror over data that is there already. Which side is then right, an operator
says:

    source   an entry stands where its source does, with the source's value
    target   an entry stands where its target does, with the target's value
    union    an entry stands where either does

What would lose something that nobody gave up is a *conflict* and is left as it is: with `union`
two sides that differ; detail at a side that can hold only `true`, unless the source is right; a
place that lies below a value, or too deep; where a count should stand, something that is no number.

Conflicts are looked for before a backfill begins. What is written while it goes on meets pairs that
agree (`mend_touched`), so a conflict can come up then only where a value was written above a place
that nothing stood at yet. Had the backfill been there before, that write would have removed the
entry: so now it goes on both sides.

Everything here is pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from treedb.config import Limits
from treedb.errors import PayloadTooLarge
from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.rules.counter import Counter
from treedb.rules.derivation import Declaration
from treedb.rules.mirror import Mirror, MirrorValue
from treedb.rules.ruleset import Ruleset
from treedb.store.kept_derived import KeptBackfill
from treedb.tree.json_equality import same_json
from treedb.tree.json_text import format_json
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader
from treedb.tree.values import Value, is_object, leaf_of
from treedb.writes.derived_check import Fault, declarations_of, name_of, sides_of
from treedb.writes.mirrors import depth_of
from treedb.writes.touched_entries import (
    standing_entries,
    standing_opposite,
    touched_entries,
)

Change: TypeAlias = tuple[Path, Value]

# Bytes of JSON that one step writes before it is enough, however few entries that were.
STEP_BYTES: Final = 1024 * 1024


class Side(Enum):
    """Which side of a mirror is right where the two differ."""

    SOURCE = "source"
    TARGET = "target"
    UNION = "union"


@dataclass(frozen=True, slots=True)
class Mending:
    """What an entry needs to agree: changes, or none for the conflict that stands against them."""

    changes: tuple[Change, ...] = ()
    conflict: Fault | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    """What a step came to: its changes, the conflicts it met, and where the backfill is now.

    `backfill` is None when the last entry has been seen.
    """

    changes: tuple[Change, ...]
    conflicts: tuple[Fault, ...]
    seen: KeptBackfill
    backfill: KeptBackfill | None


def mend(
    reader: Reader,
    declaration: Declaration,
    names: Mapping[str, str],
    backfill: KeptBackfill,
    limits: Limits,
) -> Mending:
    """Return what one entry needs in a backfill."""
    one, other = (side.fill(names) for side in sides_of(declaration))
    if isinstance(declaration, Counter):
        change = _count(reader, one, other)
    else:
        pair = _true if declaration.value is MirrorValue.TRUE else _copy
        change = pair(reader, one, other, Side(backfill.side))
    if change is None or isinstance(change, Fault):
        return Mending(conflict=change)
    path, value = change
    conflict = _too_deep(path, value, limits)
    above = _leaf_above(reader, path) if conflict is None and value is not None else None
    if above is not None and not backfill.is_begun:
        conflict = Fault(path, f"cannot be written: {above} holds a value that would be lost")
    if conflict is not None:
        return Mending(conflict=conflict)
    if above is not None and isinstance(declaration, Mirror):
        change = (one if path == other else other), None
    return Mending((change,))


def mend_some(
    reader: Reader, declaration: Declaration, backfill: KeptBackfill, most: int, limits: Limits
) -> Mended:
    """Go on with a backfill by at most so many entries."""
    changes: list[Change] = []
    conflicts: list[Fault] = []
    is_mirror = isinstance(declaration, Mirror)
    first, _ = walks = _walks(declaration)
    pattern = walks[backfill.is_second]
    after, seen, size = backfill.after, 0, 0
    for names in standing_entries(pattern, reader, after):
        after, seen = tuple([names[name] for name in pattern.names]), seen + 1
        # What stands on both sides comes twice. A pair agrees then, or its conflict was told; a
        # count that somebody has begun meanwhile may still be too small.
        if not (backfill.is_second and is_mirror and reader.exists(first.fill(names))):
            mending = mend(reader, declaration, names, backfill, limits)
            changes += mending.changes
            conflicts += filter(None, [mending.conflict])
            size += sum(_size_of(value) for _, value in mending.changes)
        if seen == most or size > STEP_BYTES:
            break
    is_end = seen < most and size <= STEP_BYTES
    reached = replace(
        backfill,
        after=after,
        entries=backfill.entries + seen,
        changed=backfill.changed + len(changes),
        conflicts=backfill.conflicts + len(conflicts),
    )
    going: KeptBackfill | None = reached
    if is_end:
        going = None if backfill.is_second else replace(reached, is_second=True, after=None)
    return Mended(tuple(changes), tuple(conflicts), reached, going)


def mend_touched(
    changes: Sequence[Change], reader: Reader, ruleset: Ruleset, backfills: Sequence[KeptBackfill]
) -> Patch:
    """Return what the entries that changes touch need, so that a write meets pairs that agree.

    Then it does what it would do if the backfill had come by before it. A count is left to the
    backfill, since it would have to be counted anew for each write. PayloadTooLarge when too many
    entries are touched.
    """
    declared = declarations_of(ruleset)
    mended: dict[Path, Value] = {}
    for backfill in backfills:
        mirror = declared.get(backfill.name)
        if not isinstance(mirror, Mirror):
            continue
        for names in _touched(mirror, Side(backfill.side), changes, reader):
            mended.update(mend(reader, mirror, names, backfill, ruleset.limits).changes)
            if len(mended) > ruleset.limits.fan_out:
                raise PayloadTooLarge(
                    f"the write touches more than {ruleset.limits.fan_out} entries of {mirror.source}"
                    " that are still being brought to agree with their other side; write fewer at "
                    "once, or wait until that is done"
                )
    return Patch.of(mended.items())


def counted(ruleset: Ruleset, backfills: Sequence[KeptBackfill]) -> list[Counter]:
    """Return the counts that have to stay right: all but those whose backfill has not begun."""
    uncounted = {each.name for each in backfills if each.after is None and not each.is_second}
    return [each for each in ruleset.counters if name_of(each) not in uncounted]


def _touched(
    mirror: Mirror, right: Side, changes: Sequence[Change], reader: Reader
) -> Iterator[Mapping[str, str]]:
    """Yield the entries that changes touch, as if both sides of each stood already.

    A change above the entries of one side touches those that stand on the other side alone, too:
    the backfill would have brought them, where that side is right.
    """
    source, target = mirror.source, mirror.target
    for path, value in changes:
        for side in (source, target):
            yield from touched_entries(side, path, value, reader)
        if right is not Side.SOURCE:
            yield from standing_opposite(source, target, path, reader)
        if right is not Side.TARGET:
            yield from standing_opposite(target, source, path, reader)


def _walks(declaration: Declaration) -> tuple[Pattern, Pattern]:
    """Return the patterns whose entries are gone through, one after the other.

    Counts that stand come before collections: then no count is more than there are children, and
    what writes add to it and take from it meanwhile keeps it so, until its collection is counted.
    """
    first, second = sides_of(declaration)
    return (first, second) if isinstance(declaration, Mirror) else (second, first)


# One entry


def _copy(reader: Reader, source: Path, target: Path, side: Side) -> Change | Fault | None:
    here, there = reader.get(source), reader.get(target)
    if same_json(here, there):
        return None
    match side:
        case Side.SOURCE:
            return target, here
        case Side.TARGET:
            return source, there
        case Side.UNION if here is None:
            return source, there
        case Side.UNION if there is None:
            return target, here
    return Fault(target, f"differs from {source}")


def _true(reader: Reader, source: Path, target: Path, side: Side) -> Change | Fault | None:
    is_here, there = reader.exists(source), reader.get(target)
    if there is (True if is_here else None):
        return None
    if side is Side.SOURCE:
        return target, True if is_here else None
    if there is not None and there is not True:
        return Fault(target, f"holds more than true, which is all it can hold beside {source}")
    if there is True:
        return source, True
    return (source, None) if side is Side.TARGET else (target, True)


def _count(reader: Reader, collection: Path, place: Path) -> Change | Fault | None:
    found, counted = reader.get(place), sum(1 for _ in reader.keys(collection)) or None
    if same_json(found, counted):
        return None
    leaf = leaf_of(found)
    if is_object(found) or isinstance(leaf, bool | str):
        return Fault(place, f"holds something that is not the number of children of {collection}")
    return place, counted


def _too_deep(path: Path, value: Value, limits: Limits) -> Fault | None:
    deepest = path.depth + depth_of(value)
    if deepest <= limits.depth:
        return None
    return Fault(path, f"would reach {deepest} levels below the root, {limits.depth} are allowed")


def _leaf_above(reader: Reader, path: Path) -> Path | None:
    """Return the place above one where a leaf stands, which a value there would replace."""
    above = path.parent
    while above is not None:
        if next(reader.keys(above), None) is not None:
            return None
        if reader.exists(above):
            return above
        above = above.parent
    return None


def _size_of(value: Value) -> int:
    return len(format_json(value)) if isinstance(value, str | dict) else 1
