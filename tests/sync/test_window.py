"""Windows: what listeners are told, what is read for it, and that it always comes to the query."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sync.window_world import PLACE, Watcher, World
from tests.tree.query_strategies import leaves, lists, nodes, places, query_objects
from tests.tree.strategies import KEYS, priorities
from treedb.paths.path import Path
from treedb.sync.window import Changes, Need, Window, touched_keys
from treedb.tree.query import Query
from treedb.tree.query_order import VALUE, Bound
from treedb.tree.values import Value, child_keys, children, value_at
from treedb.wire.query_object import query_object_of


def pairs(changes: dict[str, Value]) -> list[tuple[Path, Value]]:
    return [
        (Path.parse(f"/list/{text}", allow_priority=True), value) for text, value in changes.items()
    ]


def watch(raw: dict[str, Any], data: Value, changes: dict[str, Value]) -> Watcher:
    watcher = Watcher(World([data]), raw)
    watcher.world.commit(pairs(changes))
    return watcher


def shown(changes: Changes) -> dict[str, Value]:
    return {"/".join(keys): value for keys, value in changes}


TS: dict[str, Value] = {
    "a": {"ts": 1, "n": 0},
    "b": {"ts": 2, "n": 0},
    "c": {"ts": 3, "n": 0},
    "d": {"ts": 4},
}
LAST = {"i": "ts", "l": 2, "vf": "r"}  # c and d
FIRST = {"i": "ts", "l": 2, "vf": "l"}  # a and b
RANGE = {"i": "ts", "sp": 2, "ep": 3}  # b and c
KEYS_OF = {"i": ".key", "sp": "b", "ep": "c"}  # b and c
LAST_KEYS = {"i": ".key", "l": 2, "vf": "r"}  # c and d
VALUES = {"a": 1, "b": 2, "c": 3, "o": {"x": 1}}
LAST_VALUES = {"i": ".value", "l": 2, "vf": "r"}  # c and o
BY_PRIORITY = {"l": 2, "vf": "r"}
RANKED: Value = {
    "a": {".value": "a", ".priority": 10},
    "b": {".value": "b", ".priority": 20},
    "c": {".value": "c", ".priority": 30},
    "d": 1,
}
E: Value = {"ts": 5}

WITHOUT_READS = [
    ("a message is appended", LAST, TS, {"e": E}, {"e": E, "c": None}),
    ("one with a lesser order is not seen", LAST, TS, {"e": {"ts": 0}}, {}),
    ("one in between", LAST, TS, {"e": {"ts": 3.5}}, {"e": {"ts": 3.5}, "c": None}),
    ("one that ties comes behind by its key", LAST, TS, {"cc": {"ts": 3}}, {"cc": {"ts": 3}, "c": None}),
    ("one that ties comes before by its key", LAST, TS, {"bb": {"ts": 3}}, {}),
    ("the first are pushed out at the end", FIRST, TS, {"e": {"ts": 0}}, {"e": {"ts": 0}, "b": None}),
    ("several at once", LAST, TS, {"e": E, "f": {"ts": 6}}, {"e": E, "f": {"ts": 6}, "c": None, "d": None}),
    ("more at once than the limit", LAST, TS, {"e": E, "f": {"ts": 6}, "g": {"ts": 7}}, {"f": {"ts": 6}, "g": {"ts": 7}, "c": None, "d": None}),
    ("a part of a child changes", LAST, TS, {"c/n": 1}, {"c/n": 1}),
    ("parts of several children change", LAST, TS, {"c/n": 1, "d/n": 2, "a/n": 3}, {"c/n": 1, "d/n": 2}),
    ("a child is renamed inside, at once", LAST, TS, {"c/n": None, "c/N": 1}, {"c/N": 1, "c/n": None}),
    ("a part goes, the order shows that the child stays", LAST, TS, {"c/n": None}, {"c/n": None}),
    ("a part of a child outside changes", LAST, TS, {"a/n": 1}, {}),
    ("a part of a child outside goes", LAST, TS, {"a/n": None}, {}),
    ("a child outside goes", LAST, TS, {"a": None}, {}),
    ("what never was goes", LAST, TS, {"zz": None}, {}),
    ("the order changes within the window", LAST, TS, {"c/ts": 9}, {"c/ts": 9}),
    ("the order of one outside changes and it stays outside", LAST, TS, {"a/ts": 2.5}, {}),
    ("a held child is replaced", LAST, TS, {"c": {"ts": 8}}, {"c": {"ts": 8}}),
    ("one leaves and one enters in one commit", LAST, TS, {"d": None, "e": E}, {"e": E, "d": None}),
    ("a priority that orders nothing", LAST, TS, {"c/.priority": 1}, {"c/.priority": 1}),
    ("a priority of the place", LAST, TS, {".priority": 1}, {}),
    ("a child with parts leaves a range", RANGE, TS, {"c/ts": 9}, {"c": None}),
    ("the order of a child in a range goes", RANGE, TS, {"c/ts": None}, {"c": None}),
    ("a child enters a range whole", RANGE, TS, {"e": {"ts": 2}}, {"e": {"ts": 2}}),
    ("a child in a range goes", RANGE, TS, {"c": None}, {"c": None}),
    ("a part of one outside a range", RANGE, TS, {"a/n": 3}, {}),
    ("a part of a new one, whose order is missing", RANGE, TS, {"e/n": 3}, {}),
    ("the order becomes an object", RANGE, TS, {"b/ts/x": 1}, {"b": None}),
    ("a part of a leaf's goes, which it has not", RANGE, TS, {"b/ts/x": None}, {"b/ts/x": None}),
    ("by key, a new child in the range by a part of it", KEYS_OF, TS, {"bb/n/m": 1}, {"bb": {"n": {"m": 1}}}),
    ("by key, a new child by two parts and a priority", KEYS_OF, TS, {"bb/n": 1, "bb/m": 2, "bb/.priority": 3}, {"bb": {".priority": 3, "m": 2, "n": 1}}),
    ("by key, a part of a child outside", KEYS_OF, TS, {"a/n": 1}, {}),
    ("by key, a part goes of what is not there", KEYS_OF, TS, {"bb/n": None}, {}),
    ("by key, the priority of what is not there", KEYS_OF, TS, {"bb/.priority": 1}, {}),
    ("by key, a new child by a part beside a full window", LAST_KEYS, TS, {"b/n": 1}, {}),
    ("by key, a new child by a part into a full window", LAST_KEYS, TS, {"e/n": 1}, {"e": {"n": 1}, "c": None}),
    ("by value, a number grows", LAST_VALUES, VALUES, {"c": 30}, {"c": 30}),
    ("by value, a number outside gets a part but objects tie by key", LAST_VALUES, {**VALUES, "p": {"x": 1}}, {"a/x": 1}, {}),
    ("by value, a part of an object", LAST_VALUES, VALUES, {"o/y": 1}, {"o/y": 1}),
    ("by value, a held leaf has no part to remove", LAST_VALUES, VALUES, {"c/x": None}, {"c/x": None}),
    ("by value, a part goes of one outside", LAST_VALUES, VALUES, {"a/x": None}, {}),
    ("by priority, a child moves to the end", BY_PRIORITY, RANKED, {"b/.priority": 99}, {"b/.priority": 99}),
    ("by priority, a child stays outside", BY_PRIORITY, RANKED, {"a/.priority": 15}, {}),
    ("by priority, a part of one outside", BY_PRIORITY, RANKED, {"d/x": 15}, {}),
    ("a first child", BY_PRIORITY, None, {"a": 1}, {"a": 1}),
    ("a first child under a leaf", BY_PRIORITY, 5, {"a": 1}, {"a": 1}),
    ("the last child goes", {"i": ".key", "sp": "a"}, {"a": 1}, {"a": None}, {"a": None}),
    ("one of fewer than the limit goes", {"l": 5}, {"a": 1, "b": 1}, {"a": None}, {"a": None}),
    ("the place is replaced", LAST, TS, {"": {"x": E, "y": {"ts": 6}, "z": 1}}, {"": {"x": E, "y": {"ts": 6}}}),
    ("the place goes", LAST, TS, {"": None}, {"": None}),
    ("the place becomes a leaf", LAST, TS, {"": 5}, {"": None}),
    ("an empty place becomes a leaf", LAST, None, {"": 5}, {}),
    ("a place with nothing chosen is replaced by another", {"i": "x", "sp": 1}, TS, {"": {"q": 1}}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "data", "changes", "told"), [row[1:] for row in WITHOUT_READS], ids=[row[0] for row in WITHOUT_READS]
)  # fmt: skip
def test_nothing_is_read(
    raw: dict[str, Any], data: Value, changes: dict[str, Value], told: dict[str, Value]
) -> None:
    watcher = watch(raw, data, changes)
    assert shown(watcher.publish(1, 1)) == told
    assert watcher.reads == []
    assert watcher.copy == watcher.expected()


REFILL: tuple[str, ...] = ()
WITH_READS = [
    ("a member of a full window goes", LAST, TS, {"d": None}, [REFILL], {"b": TS["b"], "d": None}),
    ("the first member of the first goes", FIRST, TS, {"a": None}, [REFILL], {"c": TS["c"], "a": None}),
    ("all members go", LAST, TS, {"c": None, "d": None}, [REFILL], {"a": TS["a"], "b": TS["b"], "c": None, "d": None}),
    ("none is left to enter", LAST, {"c": E, "d": E}, {"d": None}, [REFILL], {"d": None}),
    ("a member moves behind others", LAST, TS, {"d/ts": 0}, [REFILL], {"b": TS["b"], "d": None}),
    ("a member moves and is still the next", LAST, TS, {"c/ts": 2.5}, [REFILL], {"c/ts": 2.5}),
    ("a member moves in a range with a limit", {**LAST, "ep": 3}, TS, {"c/ts": 9}, [REFILL], {"a": TS["a"], "c": None}),
    ("a child outside enters by a part", LAST, TS, {"a/ts": 7}, [("a",)], {"a": {"ts": 7, "n": 0}, "c": None}),
    ("a child outside enters a range by a part", RANGE, TS, {"a/ts": 3}, [("a",)], {"a": {"ts": 3, "n": 0}}),
    ("a part where the first have no order, of an old child", FIRST, TS, {"c/n": 1}, [("c",)], {}),
    ("a part where the first have no order, of a new child", FIRST, TS, {"e/n": 1}, [("e",)], {"e": {"n": 1}, "b": None}),
    ("by key, a part goes and the child with it", KEYS_OF, {"b": {"n": 1}}, {"b/n": None}, [("b",)], {"b": None}),
    ("by key, a part goes and the child stays", KEYS_OF, TS, {"b/n": None}, [("b",)], {"b/n": None}),
    ("by key, a part goes and the child of a full window with it", LAST_KEYS, {"a": 1, "b": {"n": 1}, "c": 2}, {"b/n": None}, [("b",), REFILL], {"a": 1, "b": None}),
    ("by value, a part goes of an object", LAST_VALUES, VALUES, {"o/x": None}, [("o",), REFILL], {"b": 2, "o": None}),
    ("by value, a leaf outside becomes an object", LAST_VALUES, {"a": 1, "m": 2, "n": {"x": 1}}, {"a/x": 1}, [("a",)], {"a": {"x": 1}, "m": None}),
    ("by priority, a child enters", BY_PRIORITY, RANKED, {"a/.priority": 25}, [("a",)], {"a": {".value": "a", ".priority": 25}, "b": None}),
    ("by priority, what is not there cannot enter", BY_PRIORITY, RANKED, {"q/.priority": 25}, [("q",)], {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "data", "changes", "reads", "told"), [row[1:] for row in WITH_READS], ids=[row[0] for row in WITH_READS]
)  # fmt: skip
def test_no_more_is_read_than_is_missing(
    raw: dict[str, Any],
    data: Value,
    changes: dict[str, Value],
    reads: list[tuple[str, ...]],
    told: dict[str, Value],
) -> None:
    watcher = watch(raw, data, changes)
    assert shown(watcher.publish(1, 1)) == told
    assert watcher.reads == reads
    assert watcher.copy == watcher.expected()


def test_a_refill_asks_for_what_is_missing_next_beyond_the_horizon() -> None:
    for raw, beyond in ((LAST, ["b"]), (FIRST, ["c"])):
        gone = "d" if raw is LAST else "a"
        watcher = watch(raw, TS, {gone: None})
        need = watcher.window.apply(watcher.world.commits[0], 1)
        assert isinstance(need, Need)
        assert need.refill is not None
        assert need.refill.limit == 1
        assert [key for key, _ in need.refill.select(children(TS))] == beyond


def test_a_need_leaves_the_window_where_it_was() -> None:
    watcher = watch(LAST, TS, {"d": None})
    assert isinstance(watcher.window.apply(watcher.world.commits[0], 1), Need)
    assert watcher.window.revision == 0
    assert "d" in watcher.window


def test_a_commit_that_was_seen_changes_nothing() -> None:
    watcher = watch(LAST, TS, {"e": E})
    assert watcher.publish(1, 1) != ()
    assert watcher.window.apply(watcher.world.commits[0], 1) == ()
    assert len(watcher.window) == 2


def needing(changes: dict[str, Value]) -> Need:
    watcher = watch({**KEYS_OF, "l": 2}, TS, changes)
    need = watcher.window.apply(watcher.world.commits[0], 1)
    assert isinstance(need, Need)
    return need


def test_children_read_later_serve_unless_they_were_touched_since() -> None:
    need = needing({"b/n": None})
    assert need.keys == ("b",)
    assert need.is_answered_after(frozenset())
    assert need.is_answered_after(frozenset(("a", "c")))
    assert not need.is_answered_after(frozenset(("a", "b")))
    assert not need.is_answered_after(None)


def test_a_refill_read_later_serves_unless_anything_was_touched_since() -> None:
    need = needing({"b": None})
    assert need.refill is not None
    assert need.is_answered_after(frozenset())
    assert not need.is_answered_after(frozenset(("zz",)))
    assert not need.is_answered_after(None)


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ([(("a",), 1), (("b", "c"), None)], frozenset(("a", "b"))),
        ([((".priority",), 1)], frozenset()),
        ([((), None)], None),
    ],
)
def test_a_commit_touches_children_or_the_place(changes: Any, keys: frozenset[str] | None) -> None:
    assert touched_keys(changes) == keys


RESETS: list[tuple[str, frozenset[str] | None, dict[str, Value]]] = [
    ("who enters, who leaves, and nobody else", frozenset(), {"e": 5, "b": None}),
    ("what stays and was touched, whole", frozenset("ce"), {"c": 4, "e": 5, "b": None}),
    ("everything where anything may be touched", None, {"": {"c": 4, "d": 3, "e": 5}}),
]


@pytest.mark.parametrize(("touched", "told"), [row[1:] for row in RESETS], ids=[row[0] for row in RESETS])  # fmt: skip
def test_a_reset_tells(touched: frozenset[str] | None, told: dict[str, Value]) -> None:
    query = Query(VALUE, Bound(2))
    window = Window.start(query, [("b", 2), ("c", 3), ("d", 3)], 1)
    assert shown(window.reset([("d", 3), ("c", 4), ("e", 5)], 9, touched)) == told
    assert window.revision == 9
    assert window.apply([(("x",), 9)], 9) == ()


def test_a_reset_of_nothing_to_nothing_tells_nothing() -> None:
    assert Window.start(Query(limit=1), [], 1).reset([], 2, None) == ()


# Random histories.

inner = st.lists(st.sampled_from(("i", "j", "n", "0")), min_size=1, max_size=2)
list_keys = st.sampled_from(KEYS)


@st.composite
def changes_of_a_child(draw: st.DrawFn) -> list[tuple[Path, Value]]:
    """Draw a change of a child whole, or one or two of parts of it, or of a priority."""
    place = PLACE.child(draw(list_keys))
    if draw(st.integers(0, 3)) == 0:
        return [(place, draw(st.none() | nodes))]
    found: list[tuple[Path, Value]] = []
    for _ in range(draw(st.integers(1, 2))):
        value: Any
        if draw(st.integers(0, 5)) == 0:
            keys = [*draw(st.sampled_from([(), ("i",)])), ".priority"]
            value = draw(st.none() | priorities)
        else:
            keys, value = draw(inner), draw(st.none() | leaves | nodes)
        found.append((place.join(keys), value))
    return found


whole_places = st.tuples(st.just(PLACE), places)
above = lists.map(lambda value: (Path(()), {"list": value, "other": 1} if value else None))
own_priority = st.tuples(st.just(PLACE.child(".priority")), priorities)
some_children = st.lists(changes_of_a_child(), min_size=1, max_size=3).map(
    lambda parts: [pair for part in parts for pair in part]
)
commits = st.integers(0, 19).flatmap(
    lambda lot: (
        {0: whole_places, 1: above, 2: own_priority}[lot].map(lambda pair: [pair])
        if lot < 3
        else some_children
    )
)
histories = st.lists(commits, min_size=1, max_size=10)


def world_of(start: Value, history: list[list[tuple[Path, Value]]]) -> World:
    world = World([start])
    for commit in history:
        world.commit(commit)
    return world


def watcher_of(world: World, raw: dict[str, Any]) -> Watcher:
    """Watch a world from its beginning."""
    watcher = Watcher(World(world.values[:1]), raw)
    watcher.world = world
    return watcher


@settings(max_examples=200)
@given(places, histories, query_objects())
def test_who_is_told_of_every_commit_has_what_the_query_chooses(
    start: Value, history: Any, raw: Any
) -> None:
    world = world_of(start, history)
    watcher = watcher_of(world, raw)
    for revision in range(1, world.revision + 1):
        watcher.publish(revision, revision)
        assert watcher.window.revision == revision
        assert watcher.copy == watcher.expected()
        assert set(child_keys(watcher.copy)) == {key for key in KEYS if key in watcher.window}
    assert watcher.resets == 0


@settings(max_examples=200)
@given(places, histories, query_objects(), st.data())
def test_so_has_who_is_told_from_snapshots_that_are_newer(
    start: Value, history: Any, raw: Any, data: st.DataObject
) -> None:
    world = world_of(start, history)
    watcher = watcher_of(world, raw)
    snapshot = 0
    for revision in range(1, world.revision + 1):
        if snapshot < revision:
            snapshot = data.draw(st.integers(revision, world.revision), label="snapshot")
        watcher.publish(revision, snapshot)
        assert watcher.copy == watcher.expected()
    assert watcher.copy == query_object_of(raw).query.window(world.values[-1])


@settings(max_examples=200)
@given(places, histories, query_objects())
def test_they_are_told_the_least_there_is_to_tell(start: Value, history: Any, raw: Any) -> None:
    world = world_of(start, history)
    watcher = watcher_of(world, raw)
    for revision in range(1, world.revision + 1):
        before = set(child_keys(watcher.copy))
        told = watcher.publish(revision, revision)
        changes = world.commits[revision - 1]
        touched = touched_keys(changes)
        after = set(child_keys(watcher.copy))
        if touched is None:
            assert told == (() if not before | after else (((), watcher.copy),))
            continue
        value = world.values[revision]
        least: Any = {(key,): value_at(value, (key,)) for key in after - before}
        least |= {(key,): None for key in before - after}
        least |= {keys: new for keys, new in changes if keys[0] in before & after}
        assert dict(told) == least
        assert len(told) == len(least)
