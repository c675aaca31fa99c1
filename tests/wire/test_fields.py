from typing import Any

import pytest

from treedb.errors import InvalidData, InvalidQuery
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import PRIORITY, by_child
from treedb.wire.fields import hash_of, kind_of, query_of, tag_of


@pytest.mark.parametrize(
    "raw, kind",
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "text"),
        ({}, "an object"),
        ([], "an array"),
    ],
)
def test_kinds_are_named_for_people(raw: object, kind: str) -> None:
    assert kind_of(raw) == kind


@pytest.mark.parametrize(
    "body, query",
    [
        ({}, EVERYTHING),
        ({"q": {}}, EVERYTHING),
        ({"q": {"l": 2, "vf": "r"}}, Query(PRIORITY, limit=2, keeps_last=True)),
        ({"q": {"i": "x"}}, Query(by_child("x"))),
    ],
)
def test_a_body_without_a_query_asks_for_everything(body: dict[str, Any], query: Query) -> None:
    found = query_of(body)
    assert found.query == query
    assert found.sent == body.get("q", {})
    assert (found.query is EVERYTHING) == (query is EVERYTHING)


@pytest.mark.parametrize("raw", [None, [], 5, "x", True])
def test_a_query_is_an_object(raw: object) -> None:
    with pytest.raises(InvalidQuery, match=r'^A query is an object in "q", found '):
        query_of({"q": raw})


@pytest.mark.parametrize(
    "body, tag", [({}, None), ({"t": 0}, 0), ({"t": -3}, -3), ({"t": 2**60}, 2**60)]
)
def test_a_tag_is_an_integer_or_not_there(body: dict[str, Any], tag: int | None) -> None:
    assert tag_of(body) == tag


@pytest.mark.parametrize("raw", [None, True, 1.0, "1", [], {}])
def test_nothing_else_is_a_tag(raw: object) -> None:
    with pytest.raises(InvalidQuery, match=r'^A tag is an integer in "t", found '):
        tag_of({"t": raw})


@pytest.mark.parametrize("body, found", [({}, None), ({"h": ""}, ""), ({"h": "abc="}, "abc=")])
def test_a_hash_is_text_or_not_there(body: dict[str, Any], found: str | None) -> None:
    assert hash_of(body) == found


def test_nothing_else_is_a_hash() -> None:
    with pytest.raises(InvalidData, match=r'^A hash is text in "h", found null'):
        hash_of({"h": None})
