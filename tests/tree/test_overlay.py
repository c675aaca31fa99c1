"""A tree as a patch would make it, against the tree that it makes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.naive_tree import NaiveTree
from tests.tree.strategies import any_paths, normal, paths, priorities, values
from treedb.paths.path import ROOT, Path
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import Reader, ValueReader
from treedb.tree.values import Value

BEFORE = normal(
    {
        "leaf": {".value": 5, ".priority": 10},
        "one": {".priority": "p", "only": {"deep": 1}},
        "two": {".priority": 2, "a": 1, "c": 3},
    }
)


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


def overlay_of(changes: dict[str, Value], base: Value = BEFORE) -> Overlay:
    patch = Patch.of((path(text), value) for text, value in changes.items())
    return Overlay(ValueReader(base), patch)


@pytest.mark.parametrize(
    ("changes", "place", "value"),
    [
        ({}, "/two", {".priority": 2, "a": 1, "c": 3}),
        ({"/two/b": 2}, "/two", {".priority": 2, "a": 1, "b": 2, "c": 3}),
        ({"/two/b": 2}, "/two/.priority", 2),
        ({"/two": {"x": {"y": 1}}}, "/two/x", {"y": 1}),
        ({"/two": {"x": {"y": 1}}}, "/two/a", None),
        ({"/two": {"x": {"y": 1}}}, "/two/.priority", None),
        ({"/two": {".value": 1, ".priority": 7}}, "/two/.priority", 7),
        ({"/two/.priority": 9}, "/two/.priority", 9),
        ({"/two/.priority": 9}, "/two", {".priority": 9, "a": 1, "c": 3}),
        ({"/two/.priority": None}, "/two", {"a": 1, "c": 3}),
        ({"/two/a": None, "/two/c": None}, "/two", None),
        ({"/two/a": None, "/two/c": None}, "/two/.priority", None),
        ({"/two/a": None, "/two/c": None, "/two/.priority": 9}, "/two/.priority", None),
        ({"/two/a": None, "/two/c": None, "/two/b": 1}, "/two", {".priority": 2, "b": 1}),
        ({"/one/only/deep": None}, "/one", None),
        ({"/one/only/deep": None}, "/one/.priority", None),
        ({"/leaf/a": None}, "/leaf", {".value": 5, ".priority": 10}),
        ({"/leaf/a": 1}, "/leaf", {".priority": 10, "a": 1}),
        ({"/leaf/a": 1}, "/leaf/.priority", 10),
        ({"/new/.priority": 1}, "/new", None),
        ({"/new/.priority": 1}, "/new/.priority", None),
        ({"/": 5}, "/two/a", None),
        ({"/": None}, "/", None),
    ],
    ids=str,
)
def test_a_place_reads_as_it_would_become(
    changes: dict[str, Value], place: str, value: Value
) -> None:
    overlay = overlay_of(changes)
    assert orjson.dumps(overlay.get(path(place))) == orjson.dumps(value)
    assert overlay.exists(path(place)) is (value is not None)


@pytest.mark.parametrize(
    ("changes", "place", "keys"),
    [
        ({}, "/two", ["a", "c"]),
        ({"/two/b": 1, "/two/10": 1, "/two/9": 1}, "/two", ["9", "10", "a", "b", "c"]),
        ({"/two/a": None, "/two/d/e": 1}, "/two", ["c", "d"]),
        ({"/two/a/b/c": None}, "/two", ["a", "c"]),
        ({"/one/only/deep": None}, "/", ["leaf", "two"]),
        ({"/two/.priority": 1}, "/two", ["a", "c"]),
        ({"/two": {"x": 1}}, "/two", ["x"]),
        ({"/leaf/x": 1}, "/leaf", ["x"]),
        ({"/two/a": 1}, "/two/.priority", []),
        ({"/two/a": 1}, "/two/a", []),
    ],
    ids=str,
)
def test_child_keys_are_those_after_the_patch(
    changes: dict[str, Value], place: str, keys: list[str]
) -> None:
    overlay = overlay_of(changes)
    assert list(overlay.keys(path(place))) == keys
    for number, key in enumerate(keys):
        assert list(overlay.keys(path(place), key)) == keys[number + 1 :]


some_values = st.none() | values
changes = any_paths.flatmap(
    lambda place: st.tuples(
        st.just(place), priorities.map(normal) if place.is_priority else some_values
    )
)


def disjoint(pairs: list[tuple[Path, Value]]) -> Patch:
    kept: list[tuple[Path, Value]] = []
    for place, value in pairs:
        if not any(place.contains(other) or other.contains(place) for other, _ in kept):
            kept.append((place, value))
    return Patch.of(kept)


patches = st.lists(changes, max_size=6).map(disjoint)


def assert_reads_as(overlay: Overlay, tree: NaiveTree, place: Path) -> None:
    value = tree.get(place.keys)
    assert orjson.dumps(overlay.get(place)) == orjson.dumps(value)
    assert overlay.exists(place) is (value is not None)
    if not place.is_priority:
        assert list(overlay.keys(place)) == tree.keys(place.keys)


@given(values, patches, st.lists(any_paths, max_size=4))
@example({"a": {".priority": 1, "b": 1}}, disjoint([(path("/a/b"), None)]), [])
def test_an_overlay_reads_as_the_tree_after_the_patch(
    value: Value, patch: Patch, places: list[Path]
) -> None:
    tree = NaiveTree()
    tree.set((), value)
    tree.update((), {place.keys: new for place, new in patch.changes})
    overlay = Overlay(ValueReader(value), patch)
    touched = [place for place, _ in patch.changes]
    above = [parent for place in touched if (parent := place.parent) is not None]
    for place in (ROOT, *touched, *above, *places):
        assert_reads_as(overlay, tree, place)
        if not place.is_priority:
            assert_reads_as(overlay, tree, place.child(".priority"))


@given(values, patches, patches, paths)
def test_an_overlay_may_stand_on_another(
    value: Value, first: Patch, second: Patch, place: Path
) -> None:
    tree = NaiveTree()
    tree.set((), value)
    for patch in (first, second):
        tree.update((), {where.keys: new for where, new in patch.changes})
    assert_reads_as(Overlay(Overlay(ValueReader(value), first), second), tree, place)


@dataclass
class WatchedReader:
    """A Reader that remembers which values it was asked for."""

    base: Reader
    read: list[Path] = field(default_factory=list)

    def get(self, path: Path) -> Value:
        self.read.append(path)
        return self.base.get(path)

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        return self.base.keys(path, after)

    def exists(self, path: Path) -> bool:
        return self.base.exists(path)


def test_no_subtree_is_read_for_existence_keys_or_a_priority() -> None:
    base = WatchedReader(ValueReader(BEFORE))
    changes: dict[Path, Value] = {path("/two/a"): None, path("/two/b/c"): 1, path("/x"): {"y": 1}}
    overlay = Overlay(base, Patch.of(changes.items()))
    assert overlay.exists(path("/two"))
    assert list(overlay.keys(path("/two"))) == ["b", "c"]
    assert overlay.get(path("/two/.priority")) == 2
    assert overlay.get(path("/x/y")) == 1
    assert base.read == [path("/two/.priority")]
