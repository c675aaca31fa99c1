"""Disjoint changes, their order, and how a place sees them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive_tree import NaiveTree
from tests.tree.strategies import any_paths, normal, paths, priorities, raws, values
from treedb.errors import ConflictingPaths
from treedb.paths.path import ROOT, Path
from treedb.tree.patch import Patch, cut
from treedb.tree.values import Value, value_at, with_value_at


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


def patch_of(changes: dict[str, Value]) -> Patch:
    return Patch.of((path(text), value) for text, value in changes.items())


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("/a", "/a/b", "names /a and also /a/b, which lies below it"),
        ("/a/b/c/d", "/a/b", "names /a/b and also /a/b/c/d"),
        ("/a", "/a", "names /a twice"),
        ("/a", "/a/.priority", "names /a and also /a/.priority"),
        ("/", "/a", "names / and also /a"),
        ("/a/.priority", "/a/.priority", "names /a/.priority twice"),
        ("/1", "/1/2", "names /1 and also /1/2"),
    ],
)
def test_paths_that_conflict_are_refused(first: str, second: str, why: str) -> None:
    beside = [(path(text), None) for text in ("/b", "/a0", "/0", "/aa/b")]
    if "/" in (first, second):
        beside = []
    for pairs in ([first, second], [second, first]):
        with pytest.raises(ConflictingPaths) as caught:
            Patch.of([*beside, *((path(text), 1) for text in pairs)])
        assert why in caught.value.detail


def test_neighbours_and_a_priority_beside_children_do_not_conflict() -> None:
    names = ["/a/b", "/a/bc", "/a/.priority", "/ab", "/1", "/10", "/01", "/a b", "/a-"]
    assert len(patch_of(dict.fromkeys(names, 1)).changes) == len(names)


def test_values_come_before_removals_and_those_before_priorities() -> None:
    changes: dict[str, Value] = {
        "/a/.priority": 1,
        "/c": None,
        "/b/.priority": None,
        "/a/10": 1,
        "/b/z": None,
        "/a/9": 2,
    }
    assert [str(place) for place, _ in patch_of(changes).changes] == [
        "/a/9",
        "/a/10",
        "/b/z",
        "/c",
        "/a/.priority",
        "/b/.priority",
    ]


def test_an_empty_patch_changes_nothing() -> None:
    assert Patch.of([]).changes == ()
    assert cut(Patch.of([]), ROOT) == []


def test_a_hundred_thousand_paths_are_one_patch() -> None:
    pairs = [(Path(("users", f"u{number}", "name")), number) for number in range(100_000)]
    assert len(Patch.of(pairs).changes) == 100_000


def disjoint(pairs: list[tuple[Path, Value]]) -> list[tuple[Path, Value]]:
    kept: list[tuple[Path, Value]] = []
    for place, value in pairs:
        if not any(place.contains(other) or other.contains(place) for other, _ in kept):
            kept.append((place, value))
    return kept


some_values = st.none() | values
changes = any_paths.flatmap(
    lambda place: st.tuples(
        st.just(place), priorities.map(normal) if place.is_priority else some_values
    )
)
pairs = st.lists(changes, max_size=5)


@given(pairs)
def test_paths_conflict_when_one_contains_the_other(pairs: list[tuple[Path, Value]]) -> None:
    conflict = len(disjoint(pairs)) < len(pairs)
    try:
        patch = Patch.of(pairs)
    except ConflictingPaths:
        assert conflict
    else:
        assert not conflict
        assert sorted(map(repr, patch.changes)) == sorted(map(repr, pairs))


@given(raws, pairs)
def test_changes_applied_in_order_are_one_update(
    raw: object, pairs: list[tuple[Path, Value]]
) -> None:
    kept = disjoint(pairs)
    tree = NaiveTree()
    tree.set((), normal(raw))
    tree.update((), {place.keys: value for place, value in kept})
    value = normal(raw)
    for place, new in Patch.of(kept).changes:
        value = with_value_at(value, place.keys, new)
    assert orjson.dumps(value) == orjson.dumps(tree.get(()))


def test_a_node_keeps_its_priority_when_all_its_children_are_exchanged() -> None:
    value: Value = {".priority": "p", "b": 1}
    for place, new in patch_of({"/b": None, "/c": 2}).changes:
        value = with_value_at(value, place.keys, new)
    assert value == {".priority": "p", "c": 2}


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("/", {"/a/b": {"x": 1, "y": {"z": 2}}, "/c": None, "/a/.priority": 5}),
        ("/a", {"/a/b": {"x": 1, "y": {"z": 2}}, "/a/.priority": 5}),
        ("/a/b", {"/a/b": {"x": 1, "y": {"z": 2}}}),
        ("/a/b/x", {"/a/b/x": 1}),
        ("/a/b/y", {"/a/b/y": {"z": 2}}),
        ("/a/b/missing", {"/a/b/missing": None}),
        ("/a/b/x/below", {"/a/b/x/below": None}),
        ("/a/beside", {}),
        ("/a/.priority", {"/a/.priority": 5}),
        ("/c/d", {"/c/d": None}),
        ("/d", {}),
    ],
)
def test_a_place_sees_its_part_of_a_patch(place: str, seen: dict[str, Value]) -> None:
    patch = patch_of({"/c": None, "/a/b": {"x": 1, "y": {"z": 2}}, "/a/.priority": 5})
    assert {str(where): value for where, value in cut(patch, path(place))} == seen


@given(values, pairs, paths)
def test_a_cut_brings_a_place_up_to_date(
    value: Value, pairs: list[tuple[Path, Value]], place: Path
) -> None:
    patch = Patch.of(disjoint(pairs))
    seen = value_at(value, place.keys)
    for where, new in cut(patch, place):
        seen = with_value_at(seen, place.relative(where), new)
    whole = value
    for where, new in patch.changes:
        whole = with_value_at(whole, where.keys, new)
    assert orjson.dumps(seen) == orjson.dumps(value_at(whole, place.keys))
