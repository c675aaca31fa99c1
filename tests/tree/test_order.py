"""The order of values and priorities."""

from itertools import combinations
from pathlib import Path as File

import orjson
import pytest
from hypothesis import given

from tests.tree.strategies import values
from treedb.tree.order import priority_sort_key, value_sort_key
from treedb.tree.values import Value, with_priority

SPEC = orjson.loads((File(__file__).parent.parent / "spec" / "values.json").read_bytes())


def test_values_sort_as_documented() -> None:
    for lesser, greater in combinations(SPEC["order"], 2):
        assert value_sort_key(lesser) < value_sort_key(greater), (lesser, greater)


def test_priorities_sort_as_documented() -> None:
    for lesser, greater in combinations(SPEC["priorities"], 2):
        assert priority_sort_key(lesser) < priority_sort_key(greater), (lesser, greater)


@given(values, values)
def test_any_two_values_compare(one: Value, other: Value) -> None:
    for sort_key in (value_sort_key, priority_sort_key):
        least, greatest = sorted([sort_key(one), sort_key(other)])
        assert least <= greatest


@given(values)
def test_a_priority_does_not_move_a_value(value: Value) -> None:
    assert value_sort_key(with_priority(value, "p")) == value_sort_key(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"b": {"c": 2}}),
        (1, 1.0),
        ({".value": 5, ".priority": 1}, 5),
        ({".priority": 1, "a": 1}, {"b": 1}),
    ],
)
def test_these_are_equal_under_an_index(one: Value, other: Value) -> None:
    assert value_sort_key(one) == value_sort_key(other)
