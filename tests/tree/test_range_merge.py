"""Range merges, against what the Android SDK makes of a copy and of what it is sent."""

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tree.caching_client import apply_range_merges, compound_hash, estimated_size, places
from tests.tree.strategies import has_children, normal, priorities
from treedb.tree.range_hash import CompoundHash
from treedb.tree.range_merge import MOST_HIDDEN, RangeMerge, compare
from treedb.tree.values import Value, children, is_object

# Both sides of `.priority` in key order, with integers, push ids, escapes and UTF-16's odd corner.
KEYS = ("a", "b", "0", "1", "10", "-1", "00", "-Kx", "!", '"\\', "A", "\U0001f600", "\ue000")
LEAVES = (0, 1, -0.5, 1e300, True, False, "", "x", 'a"b\\', "♜😀", "long " * 20)

keys = st.sampled_from(KEYS)
leaves = st.sampled_from(LEAVES)
raw_leaves = leaves | st.builds(
    lambda leaf, p: {".value": leaf, ".priority": p}, leaves, priorities
)


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(keys, inner, min_size=1, max_size=5)
    return members | st.builds(lambda some, p: {**some, ".priority": p}, members, priorities)


lists = st.recursive(raw_leaves, grown, max_leaves=40)
small = st.recursive(raw_leaves, grown, max_leaves=6)
values: st.SearchStrategy[Value] = st.none() | lists.map(normal)
objects = lists.map(normal).filter(has_children)
thresholds = st.sampled_from((0, 5, 30, 60, 100, None))
chains = st.lists(keys, min_size=1, max_size=4)


def plain(value: Value) -> bytes:
    """Write a value so that 1 is not true, and order counts."""
    return orjson.dumps(value)


def merges_of(new: Value, old: Value, threshold: int | None = None) -> tuple[RangeMerge, ...]:
    """Return what makes a copy of `old` into `new`: merges, or what is sent if there can be none."""
    found = compare(new, compound_hash(old, threshold))
    return (RangeMerge((), None, new),) if found is None else found.merges


@settings(max_examples=200)
@given(values, values, thresholds)
def test_merges_make_a_copy_equal(old: Value, new: Value, threshold: int | None) -> None:
    merges = merges_of(new, old, threshold)
    assert plain(apply_range_merges(old, merges)) == plain(new)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Value, Value]:
    """Draw a value and one that differs in a few places, priorities among them."""
    old = draw(objects)
    new = orjson.loads(orjson.dumps(old))
    for chain in draw(st.lists(chains, min_size=1, max_size=3)):
        node = new
        for key in chain[:-1]:
            below = node.get(key)
            node = below if isinstance(below, dict) and ".value" not in below else node
        names = [key for key in node if key != ".priority"]
        kind = draw(st.integers(0, 4))
        if kind == 0:
            node[chain[-1]] = draw(small)
        elif kind == 1 and names:
            node.pop(draw(st.sampled_from(names)))
        elif kind == 2:
            node[".priority"] = draw(priorities)
        elif kind == 3:
            node.pop(".priority", None)
        elif names:
            node[draw(st.sampled_from(names))] = draw(raw_leaves)
    return normal(old), normal(new)


@settings(max_examples=400)
@given(changes(), thresholds)
@example(({".priority": 5, "-x": 1}, {".priority": 6, "-x": 1}), 0)
@example(({"a": {".priority": 5, "0": 1}, "b": 2}, {"a": {"0": 1}, "b": 3}), 0)
def test_merges_of_a_change_make_a_copy_equal(
    change: tuple[Value, Value], threshold: int | None
) -> None:
    old, new = change
    merges = merges_of(new, old, threshold)
    assert plain(apply_range_merges(old, merges)) == plain(new)
    assert merges_of(old, new, threshold) or plain(old) == plain(new)
    for one, other in pairwise(merges):
        assert one.end is not None
        assert places(one.end) < places(other.start), "what touches is one merge"


@settings(max_examples=150)
@given(objects, thresholds)
def test_an_equal_copy_differs_nowhere(value: Value, threshold: int | None) -> None:
    found = compare(value, compound_hash(value, threshold))
    assert found is not None
    assert not found.differs
    assert plain(apply_range_merges(value, found.merges)) == plain(value)
    if not hides_priorities(value):
        assert found.merges == ()


def hides_priorities(value: Value) -> bool:
    """Tell whether an object's keys all come before its priority's place."""
    if not is_object(value):
        return False
    own = all(places((key,)) < places((".priority",)) for key, _ in children(value))
    return own or any(hides_priorities(child) for _, child in children(value))


COPY: Value = {"a": 1, "b": {"c": 2, "d": 3}, "e": 4}
HASHED = compound_hash(COPY, 20)

MERGES: list[tuple[str, Any, tuple[RangeMerge, ...]]] = [
    ("nothing changed", COPY, ()),
    (
        "one leaf",
        {"a": 1, "b": {"c": 2, "d": 9}, "e": 4},
        (RangeMerge(("b", "c"), ("b", "d"), {"b": {"d": 9}}),),
    ),
    ("a leaf went", {"a": 1, "b": {"c": 2}, "e": 4}, (RangeMerge(("b", "c"), ("b", "d"), None),)),
    (
        "a leaf came at the end",
        {"a": 1, "b": {"c": 2, "d": 3}, "e": 4, "f": 5},
        (RangeMerge(("e",), None, {"f": 5}),),
    ),
    (
        "a leaf came at the beginning",
        {"A": 0, "a": 1, "b": {"c": 2, "d": 3}, "e": 4},
        (RangeMerge((), ("a",), {"A": 0, "a": 1}),),
    ),
    (
        "neighbours are one merge",
        {"a": 1, "b": {"c": 8, "d": 9}, "e": 4},
        (RangeMerge(("a",), ("b", "d"), {"b": {"c": 8, "d": 9}}),),
    ),
    (
        "an object became a leaf",
        {"a": 1, "b": 5, "e": 4},
        (RangeMerge(("a",), ("b", "d"), {"b": 5}),),
    ),
    (
        "a priority that is shown comes with the leaf after it",
        {"a": 1, "b": {".priority": 7, "c": 2, "d": 3}, "e": 4},
        (RangeMerge(("a",), ("b", "c"), {"b": {".priority": 7, "c": 2}}),),
    ),
    (
        "a leaf with a priority that stays keeps it",
        {"a": {".value": 1, ".priority": 2}, "b": {"c": 2, "d": 9}, "e": 4},
        (
            RangeMerge((), ("a",), {"a": {".value": 1, ".priority": 2}}),
            RangeMerge(("b", "c"), ("b", "d"), {"b": {"d": 9}}),
        ),
    ),
    ("everything went but one", {"e": 4}, (RangeMerge((), ("b", "d"), None),)),
]


@pytest.mark.parametrize("what, new, merges", MERGES, ids=[case[0] for case in MERGES])
def test_a_merge_holds_the_range_that_differs(
    what: str, new: Any, merges: tuple[RangeMerge, ...]
) -> None:
    assert HASHED.posts == (("a",), ("b", "c"), ("b", "d"), ("e",))
    found = compare(normal(new), HASHED)
    assert found is not None
    assert found.merges == merges
    assert apply_range_merges(COPY, found.merges) == new


HIDDEN: list[tuple[str, Any, tuple[RangeMerge, ...]]] = [
    (
        "a list of push ids may have had one",
        {"-K1": 1, "-K2": 2},
        (RangeMerge(("-K2",), (".priority",), None),),
    ),
    (
        "it has one, which comes with the last leaf",
        {"-K1": 1, "-K2": 2, ".priority": 5},
        (RangeMerge(("-K1",), (".priority",), {".priority": 5, "-K2": 2}),),
    ),
    (
        "a leaf before it keeps its own",
        {"-K1": {".value": 1, ".priority": 3}, "-K2": 2, ".priority": 5},
        (RangeMerge(("-K1", ".priority"), (".priority",), {".priority": 5, "-K2": 2}),),
    ),
    (
        "lists in lists, whose positions touch",
        {"1": {"1": 1}},
        (RangeMerge(("1", "1"), (".priority",), None),),
    ),
]


@pytest.mark.parametrize("what, raw, merges", HIDDEN, ids=[case[0] for case in HIDDEN])
def test_a_priority_that_no_hash_covers_is_sent(
    what: str, raw: Any, merges: tuple[RangeMerge, ...]
) -> None:
    value = normal(raw)
    found = compare(value, compound_hash(value, 0))
    assert found is not None
    assert not found.differs
    assert found.merges == merges
    assert plain(apply_range_merges(value, merges)) == plain(value)


def test_a_range_after_a_leaf_with_a_priority_begins_after_its_priority() -> None:
    old = normal({"a": {".value": 1, ".priority": 2}, "b": 1})
    new = normal({"a": {".value": 1, ".priority": 2}, "b": 5})
    merges = merges_of(new, old, 0)
    assert merges == (RangeMerge(("a", ".priority"), ("b",), {"b": 5}),)
    careless = (RangeMerge(("a",), ("b",), {"b": 5}),)
    assert apply_range_merges(old, careless) == {"a": 1, "b": 5}


ODD = [
    ("a leaf", "x" * 2000, compound_hash({"a": 1})),
    ("nothing", None, compound_hash({"a": 1})),
    ("posts out of order", {"a": 1}, CompoundHash(("x", "y", ""), (("b",), ("a",)))),
    ("a post twice", {"a": 1}, CompoundHash(("x", "y", ""), (("a",), ("a",)))),
    ("a minus zero", {"a": {"-0": 1}}, compound_hash({"a": 1})),
    ("a long integer", {"000000000001": 1}, compound_hash({"a": 1})),
    ("a long integer in a post", {"a": 1}, CompoundHash(("x", ""), (("000000000001",),))),
]


@pytest.mark.parametrize("count, is_compared", [(MOST_HIDDEN, True), (MOST_HIDDEN + 1, False)])
def test_many_lists_are_compared_up_to_a_bound(count: int, is_compared: bool) -> None:
    value: dict[str, Value] = {f"k{number}": {"0": number} for number in range(count)}
    assert (compare(normal(value), CompoundHash(("x",), ())) is not None) is is_compared


@pytest.mark.parametrize("what, value, copy", ODD, ids=[case[0] for case in ODD])
def test_what_ranges_cannot_tell_is_not_compared(
    what: str, value: Value, copy: CompoundHash
) -> None:
    assert compare(value, copy) is None


def records(count: int) -> dict[str, Value]:
    return {
        f"-K{number:05}": {"at": number, "author": "mchen", "text": "See you at the lab. " * 3}
        for number in range(count)
    }


@pytest.mark.parametrize("changed", [{"text": "other"}, None, {"more": "x"}])
def test_a_small_change_of_a_large_place_is_a_small_merge(changed: Value) -> None:
    old = records(2000)
    new = (
        {**old, "-K01000": changed} if changed else {k: v for k, v in old.items() if "999" not in k}
    )
    merges = merges_of(new, old)
    assert estimated_size(old) > 200_000
    assert apply_range_merges(old, merges) == new
    assert sum(len(orjson.dumps(merge.value)) for merge in merges) < 8_000 * (1 if changed else 3)


def test_the_deepest_value_is_compared() -> None:
    value: Value = 1
    for _ in range(32):
        value = {"a": value}
    found = compare(value, compound_hash(value))
    assert found is not None
    assert not found.differs
