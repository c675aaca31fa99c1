"""Compare a value with a client's copy, range by range, and find what has to be sent.

A client that sent the hashes of ranges (`range_hash.py`) takes *range merges*: it deletes what its
copy has after a merge's start and up to its end, and puts in what the merge has there.

    a copy  {"a": 1, "b": {"c": 2, "d": 3}, "e": 4}, its posts  b/c, e
    ours    {"a": 1, "b": {"c": 2, "d": 9}, "e": 4} differs after b/c, to e
    merge   start b/c, end e, value {"b": {"d": 9}, "e": 4}

Four things that clients do make this longer than it sounds:

- A priority that may be hidden is in no hash. Where that of a range agrees, the position of each
  is sent all the same, alone, or with a leaf beside it if we have a priority.
- An object of a priority alone is nothing to them, so a merge has a leaf beside each priority.
- A range that starts after a leaf with a priority takes that priority away. So it starts after
  the priority, whose path is below the leaf's.
- What is empty for a moment loses its priority. Ranges that differ and follow one another are
  therefore one merge: between two merges there is something that stays.

Source: Firebase's Android SDK, `RangeMerge.java`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from treedb.paths.order import encode_key, encode_path
from treedb.tree.range_hash import (
    PLACES_END,
    PRIORITY,
    PRIORITY_PLACE,
    CompoundHash,
    Keys,
    hash_ranges,
    may_hide_priority,
    shown_members,
)
from treedb.tree.values import (
    Value,
    child_keys,
    children,
    is_object,
    priority_of,
    value_at,
    with_priority,
)

# Places where priorities may be hidden: each costs some 70 us, and 80 bytes to send.
MOST_HIDDEN: Final = 10_000


@dataclass(frozen=True, slots=True)
class RangeMerge:
    """What a range holds: after `start`, () for the beginning, up to `end`, None for the end."""

    start: Keys
    end: Keys | None
    value: Value


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a copy compares: whether its hashes are all ours, and the merges that make it ours.

    There may be merges although nothing differs: of priorities that hashes do not cover.
    """

    differs: bool
    merges: tuple[RangeMerge, ...]


def compare(value: Value, copy: CompoundHash) -> Comparison | None:
    """Compare a value with a client's copy; None when ranges cannot tell, as with a leaf."""
    places = [encode_path(post) for post in copy.posts]
    if not is_object(value) or any(one >= other for one, other in pairwise(places)):
        return None
    found = hash_ranges(value, copy.posts)
    if found is None or len(found.hidden) > MOST_HIDDEN:
        return None
    differs = [ours != theirs for ours, theirs in zip(found.hashes, copy.hashes, strict=True)]
    starts, ends = ((), *copy.posts), (*copy.posts, None)
    regions = _joined(
        _Region(start, end)
        for start, end, differ in zip(starts, ends, differs, strict=True)
        if differ
    )
    regions = [
        _Region(_start_beside_leaf(value, region.start), _end_beside_leaf(value, region.end))
        for region in regions
    ]
    regions += [
        _hidden_priority(value, keys) for number, keys in found.hidden if not differs[number]
    ]
    cutter = _Cutter(value)
    return Comparison(any(differs), tuple(map(cutter.merge, _joined(regions))))


@dataclass(frozen=True, slots=True)
class _Region:
    """Where to send what we have: after `start`, () for the beginning, up to `end`."""

    start: Keys
    end: Keys | None

    @property
    def start_place(self) -> bytes:
        return encode_path(self.start)

    @property
    def end_place(self) -> bytes:
        return PLACES_END if self.end is None else encode_path(self.end)


def _joined(regions: Iterable[_Region]) -> list[_Region]:
    """Return the regions in order, those that touch as one."""
    joined: list[_Region] = []
    for region in sorted(regions, key=lambda region: region.start_place):
        if not joined or joined[-1].end_place < region.start_place:
            joined.append(region)
        elif joined[-1].end_place < region.end_place:
            joined[-1] = _Region(joined[-1].start, region.end)
    return joined


def _start_beside_leaf(value: Value, post: Keys) -> Keys:
    """Return where a region starts in place of a post, the last leaf that stays.

    That is before this leaf when a priority follows it with no leaf of its object in between.
    """
    if not post:
        return post
    for depth in range(len(post)):
        node = value_at(value, post[:depth])
        if (
            isinstance(node, dict)
            and priority_of(node) is not None
            and may_hide_priority(node)
            and _last_leaf(node, post[:depth]) == post
        ):
            return _before_last_leaf(value, post)
    return _after_leaf(value, post)


def _end_beside_leaf(value: Value, post: Keys | None) -> Keys | None:
    """Return where a region ends in place of a post.

    That is after it when a priority lies before it with no leaf of its object in between.
    """
    if post is None:
        return None
    end = post
    for depth in range(len(post)):
        keys = post[:depth]
        node = value_at(value, keys)
        if not is_object(node):
            break
        assert isinstance(node, dict)
        members = iter(shown_members(node))
        if (
            priority_of(node) is not None
            and encode_path((*keys, PRIORITY)) <= encode_path(post)
            and any(key == PRIORITY for key, _ in members)
        ):
            key, child = next(members)  # the one after its priority
            end = max(end, _first_leaf(child, (*keys, key)), key=encode_path)
    return end


def _hidden_priority(value: Value, keys: Keys) -> _Region:
    """Return the region of an object's hidden priority, with its last leaf if there is one."""
    node = value_at(value, keys)
    assert isinstance(node, dict)
    last = _last_leaf(node, keys)
    comes_alone = priority_of(node) is None
    start = _after_leaf(value, last) if comes_alone else _before_last_leaf(value, last)
    return _Region(start, (*keys, PRIORITY))


def _first_leaf(value: Value, keys: Keys) -> Keys:
    while is_object(value):
        key, value = next(children(value))
        keys = (*keys, key)
    return keys


def _last_leaf(value: Value, keys: Keys) -> Keys:
    while is_object(value):
        assert isinstance(value, dict)
        key = next(reversed(value))
        keys, value = (*keys, key), value[key]
    return keys


def _after_leaf(value: Value, leaf: Keys) -> Keys:
    """Return where a region starts that leaves a leaf as it is, its priority included."""
    return leaf if priority_of(value_at(value, leaf)) is None else (*leaf, PRIORITY)


def _before_last_leaf(value: Value, leaf: Keys) -> Keys:
    """Return where a region starts whose first leaf is this one, the last child of its object."""
    keys = leaf[:-1]
    node = value_at(value, keys)
    assert isinstance(node, dict)
    members = reversed(shown_members(node))
    next(members)
    key, child = next(members, (None, None))
    if key is None:
        return keys
    if key == PRIORITY:
        return (*keys, key)
    return _after_leaf(value, _last_leaf(child, (*keys, key)))


class _Cutter:
    """Cuts regions out of one value; the keys of objects that several lie in are kept."""

    __slots__ = ("_keys", "_value")

    def __init__(self, value: Value) -> None:
        self._value = value
        self._keys: dict[int, list[str]] = {}

    def merge(self, region: _Region) -> RangeMerge:
        cut = self._cut(self._value, b"", region.start_place, region.end_place)
        return RangeMerge(region.start, region.end, cut)

    def _cut(self, value: Value, place: bytes, start: bytes, end: bytes) -> Value:
        """Return what an object has after the start and up to the end, both the bytes of paths."""
        assert isinstance(value, dict)

        def place_of(key: str) -> bytes:
            return place + encode_key(key)

        keys = self._keys_of(value)
        first = bisect_right(keys, start, key=place_of)
        if first and start.startswith(place_of(keys[first - 1])):
            first -= 1
        chosen: dict[str, Value] = {}
        for key in keys[first : bisect_right(keys, end, key=place_of)]:
            child, inner = value[key], place_of(key)
            if not is_object(child):
                chosen |= {key: child} if inner > start else {}
            elif not start.startswith(inner) and not end.startswith(inner):
                chosen[key] = child
            elif (part := self._cut(child, inner, start, end)) is not None:
                chosen[key] = part
        priority = priority_of(value) if start < place + PRIORITY_PLACE <= end else None
        assert chosen or priority is None, "a region that has a priority has a leaf beside it"
        return with_priority(chosen or None, priority)

    def _keys_of(self, value: dict[str, Value]) -> list[str]:
        keys = self._keys.get(id(value))
        if keys is None:
            keys = self._keys[id(value)] = child_keys(value)
        return keys
