"""The query of a REST request: what is understood, and Firebase's words for what is not."""

import json
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.query_strategies import query_objects
from treedb.errors import InvalidQuery
from treedb.server.query_parameters import QUERY_NAMES, parse_query
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, by_child
from treedb.wire.query_object import MAX_LIMIT, query_object_of

N = by_child("n")
BY_KEY = {"orderBy": '"$key"'}
BY_N = {"orderBy": '"n"'}

UNDERSTOOD: list[tuple[dict[str, str], Query | None]] = [
    ({}, None),
    ({"print": "pretty", "shallow": "true"}, None),
    (BY_KEY, Query(KEY)),
    ({"orderBy": '"$value"'}, Query(VALUE)),
    ({"orderBy": '"$priority"'}, Query(PRIORITY)),
    (BY_N, Query(N)),
    ({"orderBy": '"dim/h"'}, Query(by_child("dim", "h"))),
    ({"orderBy": '"/dim//h/"'}, Query(by_child("dim", "h"))),
    ({"orderBy": ' "\\u00e9 z" '}, Query(by_child("é z"))),
    ({**BY_N, "limitToFirst": "10"}, Query(N, limit=10)),
    ({**BY_N, "limitToLast": "10"}, Query(N, limit=10, keeps_last=True)),
    ({**BY_N, "limitToFirst": "0010"}, Query(N, limit=10)),
    ({**BY_N, "limitToFirst": str(MAX_LIMIT)}, Query(N, limit=MAX_LIMIT)),
    ({**BY_N, "startAt": "5"}, Query(N, Bound(5))),
    ({**BY_N, "startAt": "5.0"}, Query(N, Bound(5))),
    ({**BY_N, "startAt": "null"}, Query(N, Bound(None))),
    ({**BY_N, "startAt": "true"}, Query(N, Bound(True))),
    ({**BY_N, "startAt": '""'}, Query(N, Bound(""))),
    ({**BY_N, "startAt": ' 5 , "k" '}, Query(N, Bound(5, "k"))),
    ({**BY_N, "startAt": '"a,b"'}, Query(N, Bound("a,b"))),
    ({**BY_N, "startAfter": "5"}, Query(N, Bound(5, None, is_inclusive=False))),
    ({**BY_N, "startAfter": '5,"k"'}, Query(N, Bound(5, "k", is_inclusive=False))),
    ({**BY_N, "endAt": "5"}, Query(N, end=Bound(5))),
    ({**BY_N, "endBefore": '"x"'}, Query(N, end=Bound("x", None, is_inclusive=False))),
    ({**BY_N, "equalTo": "5"}, Query(N, Bound(5), Bound(5))),
    ({**BY_N, "equalTo": '5,"k"'}, Query(N, Bound(5, "k"), Bound(5, "k"))),
    (
        {**BY_N, "startAt": "1", "endAt": "2", "limitToLast": "3"},
        Query(N, Bound(1), Bound(2), 3, keeps_last=True),
    ),
    ({**BY_KEY, "startAt": '"a"'}, Query(KEY, Bound("a"))),
    ({**BY_KEY, "equalTo": '"a.b"'}, Query(KEY, Bound("a.b"), Bound("a.b"))),
    ({**BY_KEY, "startAfter": '"a"'}, Query(KEY, Bound("a", None, is_inclusive=False))),
    ({**BY_KEY, "startAfter": "-Nx_1"}, Query(KEY, Bound("-Nx_1", None, is_inclusive=False))),
]

NO_ORDER = "orderBy must be defined when other query parameters are defined"
BAD_ORDER = "orderBy must be a valid JSON encoded path"
BAD_VALUE = "Constraint index field must be a JSON primitive"
BAD_KEY = "Constraint key field must be a valid key name"
NO_STRING = "Provided key index type is invalid, must be string"
TWO_LIMITS = "Only one of limitToFirst and limitToLast may be specified"
RANGE = "equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore"
OTHER = "Invalid query parameter"

REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({"limitToFirst": "1"}, NO_ORDER, 'limitToFirst needs an order, such as orderBy="$key".'),
    ({"endAt": "1"}, NO_ORDER, "endAt needs an order"),
    ({"equalTo": "nonsense"}, NO_ORDER, "equalTo needs an order"),
    (
        {"orderBy": "n"},
        BAD_ORDER,
        "orderBy is 'n'; it is text in double quotes, as in orderBy=\"height\".",
    ),
    ({"orderBy": ""}, BAD_ORDER, "orderBy is ''"),
    ({"orderBy": "5"}, BAD_ORDER, "orderBy is '5'"),
    ({"orderBy": '""'}, BAD_ORDER, 'orderBy is empty; name a child, or "$key".'),
    ({"orderBy": '"/"'}, BAD_ORDER, "orderBy is empty"),
    ({"orderBy": '"$foo"'}, BAD_ORDER, "orderBy: The key '$foo' holds '$'"),
    ({"orderBy": '"a/.priority"'}, BAD_ORDER, "The key '.priority' holds '.'"),
    ({"orderBy": '"' + "a/" * 33 + '"'}, BAD_ORDER, "33 keys deep"),
    ({**BY_N, "startAt": ""}, BAD_VALUE, "startAt is ''; it is a value, or a value and a key"),
    ({**BY_N, "startAt": "a"}, BAD_VALUE, "startAt is 'a'"),
    ({**BY_N, "startAt": "[1]"}, BAD_VALUE, "startAt is '[1]'"),
    ({**BY_N, "endAt": '1,{"a":1}'}, BAD_VALUE, "endAt is"),
    ({**BY_N, "endAt": "1],[2"}, BAD_VALUE, "endAt is"),
    ({**BY_N, "endAt": '1,"a","b"'}, BAD_VALUE, "endAt is"),
    ({**BY_N, "endAt": "1e999"}, BAD_VALUE, "endAt is"),
    ({**BY_N, "startAfter": "a"}, BAD_VALUE, "startAfter is 'a'"),
    ({**BY_N, "startAt": "1,2"}, BAD_KEY, "startAt is '1,2'; its second part is a key"),
    ({**BY_N, "startAt": "1,null"}, BAD_KEY, 'its second part is a key, as in 5,"dino".'),
    ({**BY_N, "startAt": '1,"a.b"'}, BAD_KEY, "startAt is"),
    ({**BY_N, "startAt": '1,""'}, BAD_KEY, "startAt is"),
    ({**BY_N, "startAt": '1,"[MIN_NAME]"'}, BAD_KEY, "startAt is"),
    ({**BY_KEY, "startAt": '"a","b"'}, BAD_KEY, "startAt is a key already: leave the second out."),
    ({**BY_KEY, "startAt": "5"}, NO_STRING, "startAt is '5'; in the order of keys it is a key"),
    ({**BY_KEY, "startAt": "null"}, NO_STRING, "startAt is 'null'"),
    ({**BY_KEY, "startAfter": "5"}, NO_STRING, "startAfter is '5'"),
    ({**BY_KEY, "startAt": "a"}, BAD_VALUE, "startAt is 'a'"),
    ({**BY_KEY, "startAfter": '"a'}, BAD_VALUE, "startAfter is '\"a'"),
    ({**BY_KEY, "startAfter": "a.b"}, BAD_VALUE, "startAfter is 'a.b'"),
    (
        {**BY_N, "limitToFirst": "1", "limitToLast": "1"},
        TWO_LIMITS,
        "limitToLast and limitToFirst: give one of them.",
    ),
    ({**BY_N, "equalTo": "1", "startAt": "1"}, RANGE, "equalTo is a range already: leave startAt"),
    ({**BY_N, "equalTo": "1", "endBefore": "1"}, RANGE, "leave endBefore out."),
    (
        {**BY_N, "startAt": "1", "startAfter": "1"},
        OTHER,
        "startAt and startAfter bound the same end: give one of them.",
    ),
    ({**BY_N, "endAt": "1", "endBefore": "1"}, OTHER, "endAt and endBefore bound the same end"),
    ({**BY_N, "limitToFirst": ""}, "limitToFirst must be an integer", "limitToFirst is ''"),
    ({**BY_N, "limitToFirst": "1.0"}, "limitToFirst must be an integer", "limitToFirst is '1.0'"),
    ({**BY_N, "limitToLast": "+1"}, "limitToLast must be an integer", "limitToLast is '+1'"),
    ({**BY_N, "limitToLast": "1\n"}, "limitToLast must be an integer", r"limitToLast is '1\n'"),
    ({**BY_N, "limitToLast": "٣"}, "limitToLast must be an integer", "limitToLast is '٣'"),
    ({**BY_N, "limitToLast": "00"}, "limitToLast must be positive", "it is at least 1."),
    ({**BY_N, "limitToLast": "-0"}, "limitToLast must be positive", "it is at least 1."),
    ({**BY_N, "limitToLast": "-" + "9" * 99}, "limitToLast must be positive", "at least 1."),
    ({**BY_N, "limitToFirst": str(MAX_LIMIT + 1)}, OTHER, f"it is at most {MAX_LIMIT}."),
    ({**BY_N, "limitToFirst": "9999999999"}, OTHER, f"it is at most {MAX_LIMIT}."),
    ({**BY_N, "limitToFirst": "9" * 5000}, OTHER, f"it is at most {MAX_LIMIT}."),
]


@pytest.mark.parametrize("asked, query", UNDERSTOOD, ids=[str(row[0]) for row in UNDERSTOOD])
def test_what_is_asked_is_understood(asked: dict[str, str], query: Query | None) -> None:
    found = parse_query(asked)
    assert found == query
    if found is not None and query is not None:
        assert (found.start, found.end) == (query.start, query.end)


@pytest.mark.parametrize("asked, text, detail", REFUSED, ids=[str(row[0])[:60] for row in REFUSED])
def test_what_is_wrong_is_refused_in_firebases_words(
    asked: dict[str, str], text: str, detail: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(asked)
    assert caught.value.text == text
    assert detail in caught.value.detail


@pytest.mark.parametrize("text, kind", [("1", int), ("1.0", int), ("true", bool), ("1.5", float)])
def test_a_number_has_one_spelling_as_in_the_tree(text: str, kind: type) -> None:
    found = parse_query({**BY_N, "startAt": text})
    assert found is not None
    assert found.start is not None
    assert type(found.start.value) is kind


@pytest.mark.parametrize(
    "text", sorted({text for _, text, _ in REFUSED if "limitToLast must" not in text})
)
def test_the_words_are_in_the_errors_page(text: str) -> None:
    page = FilePath(__file__).parents[2] / "docs" / "reference" / "errors.md"
    assert f"`{text}`" in page.read_text()


def as_parameters(sent: dict[str, Any]) -> dict[str, str]:
    """Write a query object as REST has it, which knows neither sides nor the two endmost keys."""
    order = sent.get("i", ".priority")
    is_named = order.startswith(".")
    asked = {"orderBy": json.dumps(f"${order[1:]}" if is_named else order)}
    for value, key, side, names in (
        ("sp", "sn", "sin", ("startAt", "startAfter")),
        ("ep", "en", "ein", ("endAt", "endBefore")),
    ):
        if value in sent:
            parts = [sent[value], *([sent[key]] if key in sent else [])]
            name = names[0] if sent.get(side, True) else names[1]
            asked[name] = ",".join(map(json.dumps, parts))
    if "l" in sent:
        keeps_first = sent.get("vf", "l" if "sp" in sent else "r") == "l"
        asked["limitToFirst" if keeps_first else "limitToLast"] = str(sent["l"])
    return asked


def has_keys_that_are_legal(sent: dict[str, Any]) -> bool:
    return all(
        not sent[name].startswith("[") and sent[name] for name in ("sn", "en") if name in sent
    )


@given(query_objects().filter(has_keys_that_are_legal))
def test_it_asks_what_the_query_object_of_the_realtime_protocol_asks(sent: dict[str, Any]) -> None:
    assert parse_query(as_parameters(sent)) == query_object_of(sent).query


@given(
    st.dictionaries(
        st.sampled_from(QUERY_NAMES),
        st.text()
        | st.text('"$key,valun1.-0[]{}/', max_size=8)
        | st.sampled_from(('"$key"', '"n"', "1", '"a"', '1,"a"')),
    )
)
def test_any_texts_are_a_query_or_refused(texts: dict[str, str]) -> None:
    with suppress(InvalidQuery):
        parse_query(texts)
