"""Positions of children and bounds: one order, in which every range is low <= position < high."""

from itertools import pairwise

import pytest
from hypothesis import given

from tests.tree.naive_query import compare, compare_keys
from tests.tree.query_strategies import bound_keys, keys, nodes
from treedb.paths.order import encode_key
from treedb.tree.query_order import (
    BEFORE_KEYS,
    BEHIND_KEYS,
    KEY,
    PRIORITY,
    VALUE,
    Bound,
    OrderBy,
    by_child,
    high_position,
    low_position,
)
from treedb.tree.values import Value

ORDERS = [KEY, VALUE, PRIORITY, by_child("i"), by_child("i", "j")]


@pytest.mark.parametrize("order_by", ORDERS, ids=[order_by.name for order_by in ORDERS])
@given(keys, nodes, keys, nodes)
def test_positions_sort_as_children_do(
    order_by: OrderBy, key: str, child: Value, other_key: str, other: Value
) -> None:
    one, two = order_by.position(key, child), order_by.position(other_key, other)
    expected = compare(order_by.name, (key, child), (other_key, other))
    assert (one > two) - (one < two) == expected


def bounds(key: str | None) -> list[tuple[bytes, bytes]]:
    """Return the keys' part of low and high, inclusive and exclusive."""
    found = []
    for is_inclusive in (True, False):
        bound = Bound(2, key, is_inclusive)
        found.append((low_position(VALUE, bound)[1], high_position(VALUE, bound)[1]))
    return found


def test_a_bound_without_a_key_lies_before_or_behind_all_keys() -> None:
    inclusive, exclusive = bounds(None)
    assert inclusive == (BEFORE_KEYS, BEHIND_KEYS)
    assert exclusive == (BEHIND_KEYS, BEFORE_KEYS)


def test_a_bound_with_a_key_lies_at_it_or_just_behind_it() -> None:
    inclusive, exclusive = bounds("b")
    at, behind = encode_key("b"), encode_key("b") + b"\x00"
    assert inclusive == (at, behind)
    assert exclusive == (behind, at)


@pytest.mark.parametrize("key", ["[MIN_NAME]", "[MIN_KEY]"])
def test_the_least_key_is_before_all_keys_inclusive_or_not(key: str) -> None:
    assert bounds(key) == [(BEFORE_KEYS, BEFORE_KEYS)] * 2


@pytest.mark.parametrize("key", ["[MAX_NAME]", "[MAX_KEY]"])
def test_the_greatest_key_is_behind_all_keys_inclusive_or_not(key: str) -> None:
    assert bounds(key) == [(BEHIND_KEYS, BEHIND_KEYS)] * 2


# Bounds in the order of keys, with keys between them; not all of the bounds are legal keys.
LADDER = ["[MIN_NAME]", "-2147483648", "-1", "0", "9", "09", "2147483647", "", "\x01", " ",
          "1.5", "2147483648", "a", "a\x00", "a ", "ab", "ab\uf8ff", "b", "\U0001f600", "\ue000",
          "\uffff", "[MAX_NAME]"]  # fmt: skip


def test_bounds_of_keys_rise_with_what_they_name() -> None:
    lows = [low_position(KEY, Bound(text)) for text in LADDER]
    assert all(one <= two for one, two in pairwise(lows))
    for text, low in zip(LADDER, lows, strict=True):
        assert low <= high_position(KEY, Bound(text)), text


@given(keys, bound_keys)
def test_a_key_lies_on_the_side_of_a_bound_that_comparing_says(key: str, text: str) -> None:
    position, side = KEY.position(key, True), compare_keys(key, text)
    for is_inclusive in (True, False):
        bound = Bound(text, is_inclusive=is_inclusive)
        is_behind = position >= low_position(KEY, bound)
        is_before = position < high_position(KEY, bound)
        assert is_behind == (side > 0 or (side == 0 and is_inclusive))
        assert is_before == (side < 0 or (side == 0 and is_inclusive))


NODE: Value = {".priority": 7, "i": {".priority": 1, "j": {".value": "x", ".priority": 2}}, "n": 5}


@pytest.mark.parametrize(
    ("order_by", "like"),
    [
        (VALUE, {"any": 1}),
        (by_child("i"), {"i": {"any": 1}}),
        (by_child("i", "j"), {"i": {"j": "x"}}),
        (by_child("n"), {"n": 5}),
        (by_child("n", "j"), {}),
        (by_child("missing"), 5),
        (PRIORITY, {".value": 1, ".priority": 7}),
        (KEY, None),
    ],
)
def test_a_child_is_ordered_by_what_lies_there_without_its_priority(
    order_by: OrderBy, like: Value
) -> None:
    assert order_by.sort_key(NODE) == order_by.sort_key(like)
