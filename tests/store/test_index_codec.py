"""Entries fit LMDB, sort as the children do, and give back what they are made of."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.paths.order import encode_key, encode_path
from treedb.store.index_codec import (
    KEY_MOST,
    PLACE_MOST,
    VALUE_MOST,
    entry_data,
    entry_key,
    entry_value,
    entry_value_of,
    first_suffix,
    number_prefix,
    parse_suffix,
    place_of,
    place_prefix,
    reaches_into_group,
    subtree_prefix,
    value_bytes,
)
from treedb.tree.order import value_sort_key
from treedb.tree.values import Leaf, Value

LMDB_KEY_BYTES = 511

IN_ORDER: list[Value] = [
    *(None, False, True),
    *(-1e300, -(2**53), -1.5, -1, -5e-324, 0, 5e-324, 1, 1.5, 10, 2**53, 1e300),
    *("", "\x00", "\x00a", "\x01", "\x01\x00", " ", "a", "a\x00", "a\x00b", "a\x01", "ab", "b"),
    *("é", "\ud7ff", "😀", "\ue000", "\uffff"),
    {"any": 1},
]

leaves = st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
keys = st.sampled_from(["a", "b", "-1", "1", "10", "é", "k" * 300, "k" * 300 + "x"])


def bytes_of(value: Value) -> bytes:
    return value_bytes(value_sort_key(value))


@pytest.mark.parametrize("lesser, greater", list(pairwise(IN_ORDER)))
def test_bytes_of_values_sort_as_values(lesser: Value, greater: Value) -> None:
    assert bytes_of(lesser) < bytes_of(greater)


@given(one=leaves, other=leaves)
def test_bytes_of_any_two_values_compare_as_their_sort_keys(one: Leaf, other: Leaf) -> None:
    before = value_sort_key(one) < value_sort_key(other)
    assert (bytes_of(one) < bytes_of(other)) == before
    assert entry_value_of(one) == bytes_of(one)[:VALUE_MOST]
    assert (bytes_of(one) == bytes_of(other)) == (value_sort_key(one) == value_sort_key(other))


@given(one=st.tuples(leaves, keys), other=st.tuples(leaves, keys))
def test_value_and_key_joined_sort_as_their_pair(
    one: tuple[Leaf, str], other: tuple[Leaf, str]
) -> None:
    positions = [(bytes_of(value), encode_key(key)) for value, key in (one, other)]
    joined = [value + key for value, key in positions]
    assert (joined[0] < joined[1]) == (positions[0] < positions[1])


def test_the_two_zeros_are_one() -> None:
    assert bytes_of(-0.0) == bytes_of(0) == bytes_of(0.0)


@pytest.mark.parametrize("character", ["a", "\x00", "é", "😀", "\uffff"])
@pytest.mark.parametrize("length", [*range(40, 70), *range(90, 110), *range(190, 210), 5_000])
def test_an_entry_holds_the_beginning_of_the_whole_value(character: str, length: int) -> None:
    sort_key = value_sort_key(character * length)
    assert entry_value(sort_key) == value_bytes(sort_key)[:VALUE_MOST]


PLACES = [(), ("a",), ("a", "1"), ("p" * (PLACE_MOST - 1),), ("p" * PLACE_MOST,), ("p" * 768,) * 32]
VALUES: list[Value] = [None, True, 1.5, "", "a", "t" * (VALUE_MOST - 2), "t" * 300, {"any": 1}]
LONG_KEYS = ["k", "1", "k" * (KEY_MOST - 1), "k" * KEY_MOST, "k" * 768]


@pytest.mark.parametrize("path", PLACES, ids=lambda path: f"{len(encode_path(path))} bytes")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:5])
@pytest.mark.parametrize("name", LONG_KEYS, ids=len)
def test_an_entry_fits_and_gives_back_its_parts(
    path: tuple[str, ...], value: Value, name: str
) -> None:
    place, key, whole = encode_path(path), encode_key(name), bytes_of(value)
    prefix = place_prefix(7, place)
    entry = entry_key(prefix, whole[:VALUE_MOST], key)
    data = entry_data(place, key)
    assert len(entry) <= LMDB_KEY_BYTES
    assert entry.startswith(number_prefix(7))
    assert entry.startswith(subtree_prefix(7, place))
    assert place_of(entry, data) == (place, len(prefix))
    found, found_key, group = parse_suffix(entry[len(prefix) :], data)
    is_cut = len(whole) > VALUE_MOST
    assert found == (None if is_cut else whole)
    assert found_key == key
    assert bool(group) == reaches_into_group(whole, key) == (is_cut or len(key) > KEY_MOST)
    assert first_suffix(whole, key) == (group or whole + key)


@pytest.mark.parametrize("path", PLACES, ids=lambda path: f"{len(encode_path(path))} bytes")
def test_entries_of_a_place_are_one_range_before_those_below_it(path: tuple[str, ...]) -> None:
    place = encode_path(path)
    own = entry_key(place_prefix(7, place), bytes_of({"any": 1}), encode_key("z"))
    for below in ("1", "a", "p" * 300):
        deeper = place_prefix(7, encode_path((*path, below)))
        assert deeper.startswith(subtree_prefix(7, place))
        assert not deeper.startswith(place_prefix(7, place))
        assert own < deeper or len(place) > PLACE_MOST


def test_long_places_that_begin_alike_have_prefixes_of_their_own() -> None:
    one, other = (encode_path(("p" * 300 + end,)) for end in "xy")
    assert place_prefix(7, one) != place_prefix(7, other)
    assert subtree_prefix(7, one) == subtree_prefix(7, other)
