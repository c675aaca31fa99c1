from typing import Any

import pytest

from treedb.rules.query_variables import query_variables
from treedb.rules.scope import REALTIME_READ, REST_READ
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, by_child

HEIGHT = by_child("dim", "h")


def behind(value: Any, key: str | None = None) -> Bound:
    return Bound(value, key, is_inclusive=False)


# The members that are neither null nor false.
SEEN: list[tuple[Query, dict[str, Any]]] = [
    (Query(KEY), {"orderByKey": True}),
    (Query(VALUE), {"orderByValue": True}),
    (Query(PRIORITY), {"orderByPriority": True}),
    (Query(HEIGHT), {"orderByChild": "dim/h"}),
    (Query(KEY, limit=10), {"orderByKey": True, "limitToFirst": 10}),
    (Query(KEY, limit=10, keeps_last=True), {"orderByKey": True, "limitToLast": 10}),
    (Query(VALUE, Bound(5)), {"orderByValue": True, "startAt": 5}),
    (Query(VALUE, behind(5)), {"orderByValue": True, "startAt": 5}),
    (Query(VALUE, Bound(5, "k")), {"orderByValue": True, "startAt": 5}),
    (Query(VALUE, end=Bound("x")), {"orderByValue": True, "endAt": "x"}),
    (Query(VALUE, end=behind("x")), {"orderByValue": True, "endAt": "x"}),
    (Query(KEY, Bound("a"), Bound("b")), {"orderByKey": True, "startAt": "a", "endAt": "b"}),
    (
        Query(HEIGHT, Bound("x"), Bound("x")),
        {"orderByChild": "dim/h", "startAt": "x", "endAt": "x", "equalTo": "x"},
    ),
    (
        Query(HEIGHT, Bound(5, "k"), Bound(5, "k")),
        {"orderByChild": "dim/h", "startAt": 5, "endAt": 5, "equalTo": 5},
    ),
    (
        Query(KEY, Bound("a"), Bound("a")),
        {"orderByKey": True, "startAt": "a", "endAt": "a", "equalTo": "a"},
    ),
    (
        Query(VALUE, Bound(True), Bound(True)),
        {"orderByValue": True, "startAt": True, "endAt": True, "equalTo": True},
    ),
    (Query(VALUE, Bound(5), behind(5)), {"orderByValue": True, "startAt": 5, "endAt": 5}),
    (Query(VALUE, behind(5), Bound(5)), {"orderByValue": True, "startAt": 5, "endAt": 5}),
    (Query(VALUE, Bound(True), Bound(1)), {"orderByValue": True, "startAt": True, "endAt": 1}),
    (Query(VALUE, Bound("1"), Bound(1)), {"orderByValue": True, "startAt": "1", "endAt": 1}),
    (Query(VALUE, Bound(None), Bound(None)), {"orderByValue": True}),
    (Query(VALUE, Bound(0)), {"orderByValue": True, "startAt": 0}),
]


@pytest.mark.parametrize("query, seen", SEEN, ids=[str(seen) for _, seen in SEEN])
def test_rules_see_what_is_asked(query: Query, seen: dict[str, Any]) -> None:
    members = query_variables(query).members()
    assert {name: value for name, value in members.items() if value not in (None, False)} == {
        name: value for name, value in seen.items() if value != 0
    }
    assert all(members[name] == value for name, value in seen.items())


@pytest.mark.parametrize("order_by", [KEY, VALUE, PRIORITY, HEIGHT])
def test_the_orders_are_yes_or_no_and_the_rest_is_null(order_by: Any) -> None:
    members = query_variables(Query(order_by)).members()
    flags = ("orderByKey", "orderByValue", "orderByPriority")
    assert [type(members[name]) for name in flags] == [bool] * 3
    others = set(members) - {*flags, "orderByChild"}
    assert all(members[name] is None for name in others)


def test_a_read_without_a_query_is_in_the_order_its_protocol_has() -> None:
    assert query_variables(EVERYTHING) == REALTIME_READ
    assert query_variables(Query(KEY)) == REST_READ
