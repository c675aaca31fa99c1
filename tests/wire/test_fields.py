from typing import Any

import pytest

from treedb.errors import InvalidData, InvalidQuery
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import PRIORITY, by_child
from treedb.tree.range_hash import CompoundHash
from treedb.wire.fields import compound_hash_of, hash_of, kind_of, query_of, tag_of


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


def ranges(count: int) -> dict[str, Any]:
    return {"hs": ["x="] * count, "ps": ["a"] * (count - 1)}


@pytest.mark.parametrize(
    "content, found",
    [
        ({"hs": [""], "ps": []}, CompoundHash(("",), ())),
        ({"hs": ["x=", ""], "ps": ["/"]}, CompoundHash(("x=", ""), ((),))),
        (
            {"hs": ["x=", ""], "ps": ["a/.priority"]},
            CompoundHash(("x=", ""), (("a", ".priority"),)),
        ),
    ],
)
def test_hashes_of_ranges_come_with_where_they_end(content: Any, found: CompoundHash) -> None:
    assert compound_hash_of({"ch": content}) == found


def test_most_requests_have_none() -> None:
    assert compound_hash_of({"h": "x="}) is None


@pytest.mark.parametrize(
    "content, problem",
    [
        (None, r'^Hashes of ranges are an object in "ch", found null\.$'),
        ([], r'^Hashes of ranges are an object in "ch", found an array\.$'),
        ({"ps": []}, r'^"ch" has a list of texts in "hs", found null\.$'),
        ({"hs": [""], "ps": {}}, r'^"ch" has a list of texts in "ps", found an object\.$'),
        ({"hs": [1], "ps": []}, r'^"ch" has a list of texts in "hs", found an array\.$'),
        ({"hs": [""], "ps": [["a"]]}, r'^"ch" has a list of texts in "ps", found an array\.$'),
        ({"hs": [], "ps": []}, 'one hash in "hs" more than paths in "ps", found 0 and 0'),
        ({"hs": ["x"], "ps": ["a"]}, "found 1 and 1"),
        (ranges(10_001), r'^"ch" has 10001 texts in "hs", at most 10000 are allowed\.$'),
    ],
)
def test_nothing_else_is_hashes_of_ranges(content: Any, problem: str) -> None:
    with pytest.raises(InvalidData, match=problem):
        compound_hash_of({"ch": content})


def test_as_many_ranges_are_taken_as_the_limit_says() -> None:
    found = compound_hash_of({"ch": ranges(10_000)})
    assert found is not None
    assert len(found.hashes) == 10_000


def test_nothing_else_is_a_hash() -> None:
    with pytest.raises(InvalidData, match=r'^A hash is text in "h", found null'):
        hash_of({"h": None})
