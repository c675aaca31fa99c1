"""JSON is equal as RFC 6902 has it."""

import json

import pytest
from hypothesis import given

from tests.tree.strategies import raws
from treedb.tree.json_equality import same_json

PAIRS = [
    (1, 1.0, True),
    (0, -0.0, True),
    (2**53, 2**53 + 1, True),
    (1, 2, False),
    (1, True, False),
    (0, False, False),
    (None, False, False),
    (None, None, True),
    ("1", 1, False),
    ("é", "e\u0301", False),
    ([], {}, False),
    ([1, 2], [2, 1], False),
    ([1], [1, None], False),
    ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
    ({"a": None}, {}, False),
    ({"a": {"b": [True]}}, {"a": {"b": [True]}}, True),
    ({"a": {"b": [True]}}, {"a": {"b": [1]}}, False),
]


@pytest.mark.parametrize("one, other, is_same", PAIRS)
def test_two_pieces_of_json_are_the_same_or_not(one: object, other: object, is_same: bool) -> None:
    assert same_json(one, other) is is_same
    assert same_json(other, one) is is_same


@given(raws)
def test_what_is_parsed_twice_is_the_same(raw: object) -> None:
    assert same_json(raw, json.loads(json.dumps(raw)))
