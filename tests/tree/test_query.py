"""Queries choose the children that Firebase's choose, in its order."""

from pathlib import Path as File
from typing import Any

import orjson
import pytest
from hypothesis import given

from tests.tree.naive_query import naive_query, naive_window
from tests.tree.query_strategies import places, query_objects
from tests.tree.strategies import normal
from treedb.tree.query import EVERYTHING, Query, as_window
from treedb.tree.query_order import KEY, VALUE, Bound, by_child
from treedb.tree.values import Value, children
from treedb.wire.query_object import query_object_of

CASES = orjson.loads((File(__file__).parent.parent / "spec" / "queries.json").read_bytes())["cases"]


def keys_chosen(data: Value, query: Query) -> list[str]:
    return [key for key, _ in query.select(children(data))]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_case_chooses_as_the_table_says(case: dict[str, Any]) -> None:
    data, query = normal(case["data"]), query_object_of(case["query"]).query
    assert keys_chosen(data, query) == case["expect"]
    assert naive_query(data, case["query"]) == case["expect"]


@given(places, query_objects())
def test_a_query_chooses_what_comparing_child_by_child_chooses(data: Value, raw: Any) -> None:
    query = query_object_of(raw).query
    assert keys_chosen(data, query) == naive_query(data, raw)
    assert list(children(query.window(data))) == list(children(naive_window(data, raw)))
    assert query.window(data) == naive_window(data, raw)


@given(places, query_objects())
def test_the_children_in_the_range_are_those_whose_position_it_admits(
    data: Value, raw: Any
) -> None:
    raw = {name: value for name, value in raw.items() if name not in ("l", "vf")}
    query = query_object_of(raw).query
    inside = {key for key, child in children(data) if query.admits(query.position(key, child))}
    assert inside == set(keys_chosen(data, query))


def test_a_window_holds_children_whole_and_in_key_order() -> None:
    a: Value = {".priority": 2, "x": 1}
    c: Value = {".value": 3, ".priority": 1}
    data: Value = {"a": a, "b": 1, "c": c}
    query = Query(limit=2, keeps_last=True)
    assert keys_chosen(data, query) == ["c", "a"]
    assert list(children(query.window(data))) == [("a", a), ("c", c)]


def test_a_window_has_no_priority_of_its_own() -> None:
    assert Query(limit=1).window({".priority": 5, "a": 1}) == {"a": 1}


def test_a_query_that_only_orders_is_answered_with_the_place_as_it_is() -> None:
    value: Value = {".priority": 5, "a": 1}
    assert not Query(VALUE).is_filtering
    assert Query(VALUE).window(value) is value
    assert EVERYTHING.window(5) == 5


@pytest.mark.parametrize("value", [None, 5, "x", {".value": 5, ".priority": 1}])
def test_a_leaf_or_nothing_has_an_empty_window(value: Value) -> None:
    assert Query(limit=1).window(value) is None


def test_chosen_children_become_an_object_in_key_order() -> None:
    window = as_window([("b", 1), ("10", 2), ("9", 3)])
    assert isinstance(window, dict)
    assert list(window) == ["9", "10", "b"]
    assert as_window([]) is None


EQUAL = [
    (Query(VALUE, Bound(1)), Query(VALUE, Bound(1.0))),
    (Query(VALUE, Bound(1)), Query(VALUE, Bound(1, "[MIN_NAME]"))),
    (Query(VALUE, Bound(1, "[MAX_KEY]")), Query(VALUE, Bound(1, is_inclusive=False))),
    (Query(KEY, Bound("a")), Query(KEY, Bound("a", "ignored"))),
    (Query(by_child("a", "b"), limit=1), Query(by_child("a", "b"), limit=1)),
]
UNEQUAL = [
    (Query(VALUE, Bound(1)), Query(VALUE, Bound(True))),
    (Query(VALUE, Bound(0)), Query(VALUE, Bound(False))),
    (Query(VALUE, Bound(0)), Query(VALUE, Bound(None))),
    (Query(VALUE, Bound("1")), Query(VALUE, Bound(1))),
    (Query(VALUE, Bound(1)), Query(VALUE, None, Bound(1))),
    (Query(VALUE, Bound(1)), Query(VALUE, Bound(1, is_inclusive=False))),
    (Query(VALUE, Bound(1)), Query(Query().order_by, Bound(1))),
    (Query(limit=1), Query(limit=1, keeps_last=True)),
    (Query(by_child("a"), limit=1), Query(by_child("b"), limit=1)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_queries_that_choose_the_same_are_one_key(one: Query, other: Query) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_queries_that_choose_otherwise_are_not(one: Query, other: Query) -> None:
    assert one != other


def test_a_part_of_a_query_has_its_order_and_its_end_and_a_range_of_its_own() -> None:
    data: Value = {"a": 1, "b": 2, "c": 3, "d": 4}
    query = Query(VALUE, Bound(1), Bound(4), limit=9, keeps_last=True)
    part = query.within(query.position("b", 2), query.position("d", 4), 1)
    assert part.is_filtering
    assert keys_chosen(data, part) == ["c"]
    assert keys_chosen(data, query.within(None, None, 2)) == ["c", "d"]
