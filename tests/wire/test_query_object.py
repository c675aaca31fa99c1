"""Query objects are read as the SDKs send them, and refused with the reason."""

from typing import Any

import pytest

from treedb.errors import InvalidQuery
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, by_child
from treedb.wire.query_object import query_object_of

READ = [
    ({}, Query()),
    ({"i": ".priority"}, Query()),
    ({"i": ".key"}, Query(KEY)),
    ({"i": "zz"}, Query(by_child("zz"))),
    ({"i": "/dim//h/"}, Query(by_child("dim", "h"))),
    ({"l": 2, "vf": "r"}, Query(limit=2, keeps_last=True)),
    ({"l": 2, "vf": "l"}, Query(limit=2)),
    ({"l": 2}, Query(limit=2, keeps_last=True)),
    ({"l": 2, "ep": 1}, Query(end=Bound(1), limit=2, keeps_last=True)),
    ({"l": 2, "sp": None}, Query(start=Bound(None), limit=2)),
    ({"vf": "r"}, Query()),
    ({"sp": "a", "sin": False, "l": 2, "vf": "l", "i": ".key"}, Query(KEY, Bound("a", is_inclusive=False), limit=2)),
    ({"sp": 1, "sin": True, "ep": 5, "en": "k", "ein": False, "i": "x/y"}, Query(by_child("x", "y"), Bound(1), Bound(5, "k", is_inclusive=False))),
    ({"sp": "x", "sin": True, "ep": "x", "ein": True, "i": ".value"}, Query(VALUE, Bound("x"), Bound("x"))),
    ({"sp": 3, "sn": "[MAX_NAME]", "sin": False}, Query(PRIORITY, Bound(3, "[MAX_NAME]", is_inclusive=False))),
    ({"ep": 9, "en": "[MIN_NAME]", "ein": False, "i": "z"}, Query(by_child("z"), None, Bound(9, is_inclusive=False))),
    ({"ep": None, "ein": True}, Query(PRIORITY, None, Bound(None))),
    ({"sp": None, "sin": True}, Query(PRIORITY, Bound(None))),
    ({"sp": True}, Query(PRIORITY, Bound(True))),
    ({"sp": 2.0, "i": ".value"}, Query(VALUE, Bound(2))),
    ({"sp": -0.0, "i": ".value"}, Query(VALUE, Bound(0))),
    ({"sp": 2**53 + 1, "i": ".value"}, Query(VALUE, Bound(2**53))),
    ({"sn": "a", "sin": False, "en": "b", "ein": False}, Query()),
    ({"sp": 1, "sn": None}, Query(PRIORITY, Bound(1))),
    ({"sp": "b", "sn": "z", "i": ".key"}, Query(KEY, Bound("b"))),
    ({"l": 2**31 - 1, "vf": "l"}, Query(limit=2**31 - 1)),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "query"), READ, ids=[str(raw) for raw, _ in READ])
def test_a_query_object_asks_a_query(raw: dict[str, Any], query: Query) -> None:
    assert query_object_of(raw).query == query


def test_a_number_is_not_a_boolean() -> None:
    assert query_object_of({"sp": True}).query != query_object_of({"sp": 1}).query


def test_the_object_is_kept_as_it_was_sent() -> None:
    raw = {"l": 2, "sn": "ignored", "vf": "r"}
    assert query_object_of(raw).sent is raw


def test_what_asks_nothing_asks_for_everything() -> None:
    for raw in ({}, {"i": ".priority"}, {"vf": "l"}):
        assert query_object_of(raw).query is EVERYTHING


REFUSED = [
    ({"i": 5}, '"i" is ".key", ".value", ".priority" or the path of a child; found 5.'),
    ({"i": None}, "found null."),
    ({"i": ""}, '"i" is the path of a child, found one without keys.'),
    ({"i": "/"}, "found one without keys."),
    ({"i": "a.b"}, "\"i\" is no path of a child: The key 'a.b' holds '.'"),
    ({"i": ".info"}, "The key '.info' holds '.'"),
    ({"i": "a/.priority"}, "The key '.priority' holds '.'"),
    ({"i": "a/" * 33}, "The path is 33 keys deep: at most 32 are allowed."),
    ({"sp": {"a": 1}}, '"sp" is null, a boolean, a number or text; found an object.'),
    ({"ep": [1]}, '"ep" is null, a boolean, a number or text; found an array.'),
    ({"sp": float("inf")}, '"sp" is a number that no double can hold.'),
    ({"ep": 10**400}, '"ep" is a number that no double can hold.'),
    ({"sp": 1, "sn": 5}, '"sn" is a key, and keys are text; found 5.'),
    ({"ep": 1, "en": {}}, '"en" is a key, and keys are text; found an object.'),
    ({"sp": 1, "sin": 1}, '"sin" is true or false; found 1.'),
    ({"ep": 1, "ein": None}, '"ein" is true or false; found null.'),
    ({"sp": 5, "i": ".key"}, '"sp" is a key when "i" is ".key", and keys are text; found 5.'),
    ({"ep": None, "i": ".key"}, '"ep" is a key when "i" is ".key", and keys are text; found null.'),
    ({"l": 0}, '"l" is an integer from 1 to 2147483647; found 0.'),
    ({"l": -1}, "found -1."),
    ({"l": 2**31}, "found 2147483648."),
    ({"l": 2.5}, "found 2.5."),
    ({"l": True}, "found true."),
    ({"l": "5"}, "found '5'."),
    ({"l": None}, "found null."),
    ({"l": 1, "vf": "x" * 100}, f'"vf" is "l" for the first children or "r" for the last; found \'{"x" * 60}\'...'),
    ({"l": 1, "vf": None}, "found null."),
    ({"l": 1, "vf": []}, "found an array."),
    ({"later": [1], "l": 1}, "A query has no member 'later'; it may have sp, sn, sin, ep, en, ein, l, vf, i."),
    ({"x" * 100: 1}, f"no member '{'x' * 60}'...; it may have"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "why"), REFUSED, ids=[str(raw)[:60] for raw, _ in REFUSED])
def test_a_member_of_the_wrong_kind_is_refused_with_the_reason(
    raw: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        query_object_of(raw)
    assert why in caught.value.reason
