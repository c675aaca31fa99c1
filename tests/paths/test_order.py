"""The bytes of keys sort as Firebase sorts keys, and lead back to them."""

import json
from functools import cmp_to_key
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treedb.paths.order import (
    decode_key,
    decode_path,
    encode_key,
    encode_path,
    sort_keys,
)

SPEC = json.loads((Path(__file__).parent.parent / "spec" / "keys.json").read_text())
ORDER: list[str] = SPEC["order"]
BYTES: list[tuple[str, str]] = [(case["key"], case["hex"]) for case in SPEC["bytes"]]
LONG = ["0" * 768, "-" + "0" * 767, "0" * 767 + "1", "-" + "0" * 757 + "2147483648", "日" * 256]

# Where UTF-8 and UTF-16 part, where bytes get one longer, and around every letter of an integer.
EDGES = "-+0919aAz~ \x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
legal_texts = st.text(
    st.one_of(
        st.sampled_from(EDGES),
        st.characters(codec="utf-8", min_codepoint=0x20, exclude_characters=".#$[]/\x7f"),
    ),
    min_size=1,
    max_size=12,
)
integer_like = st.from_regex(r"-?0{0,4}[0-9]{1,11}", fullmatch=True)
padded = st.builds(
    lambda minus, zeros, number: f"{'-' * minus}{'0' * zeros}{number}",
    st.booleans(),
    st.integers(0, 700),
    st.integers(0, 2**33),
)
keys = st.one_of(legal_texts, integer_like, padded, st.sampled_from(ORDER))
paths = st.lists(keys, max_size=4)


def integer_of(key: str) -> int | None:
    """Read an integer key by hand: a minus, zeros, one to ten ASCII digits, 32 bits signed."""
    digits = key.removeprefix("-")
    if not digits or any(digit not in "0123456789" for digit in digits):
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > 10:
        return None
    number = int(significant) * (-1 if key[0] == "-" else 1)
    return number if -(2**31) <= number < 2**31 else None


def utf_16_units(text: str) -> list[int]:
    units: list[int] = []
    for point in map(ord, text):
        if point < 0x10000:
            units.append(point)
        else:
            units += [0xD800 + (point - 0x10000 >> 10), 0xDC00 + (point - 0x10000 & 0x3FF)]
    return units


def compare(one: str, other: str) -> int:
    """Compare two keys by Firebase's rule, read word by word; the plain version of the bytes."""
    mine, theirs = integer_of(one), integer_of(other)
    if mine is not None and theirs is not None:
        if mine != theirs:
            return -1 if mine < theirs else 1
        if len(one) != len(other):
            return len(one) - len(other)
        return (one[0] == "-") - (other[0] == "-")  # zeros such as "00" and "-0" tie in Firebase
    if (mine is None) != (theirs is None):
        return -1 if mine is not None else 1
    left, right = utf_16_units(one), utf_16_units(other)
    return (left > right) - (left < right)


def compare_bytes(one: bytes, other: bytes) -> int:
    return (one > other) - (one < other)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.parametrize(("first", "second"), list(pairwise(ORDER)), ids=ascii)
def test_the_table_is_in_order_for_the_bytes_and_for_the_plain_rule(
    first: str, second: str
) -> None:
    assert encode_key(first) < encode_key(second)
    assert compare(first, second) < 0


@pytest.mark.parametrize(("key", "expected"), BYTES, ids=ascii)
def test_a_key_has_the_bytes_the_table_gives(key: str, expected: str) -> None:
    assert encode_key(key).hex() == expected


@pytest.mark.parametrize("key", [*ORDER, *LONG, ".priority"], ids=ascii)
def test_a_key_comes_back_from_its_bytes(key: str) -> None:
    data = encode_key(key)
    assert decode_key(data, 0) == (key, len(data))


@pytest.mark.parametrize("zeros", [1, 2, 127, 128, 129, 254, 255, 256, 767])
def test_any_number_of_zeros_comes_back_in_order_of_length(zeros: int) -> None:
    for key in ("0" * zeros, "-" + "0" * zeros, "0" * zeros + "7", "-" + "0" * zeros + "7"):
        assert decode_path(encode_key(key)) == (key,)
    assert encode_key("0" * zeros) < encode_key("-" + "0" * zeros) < encode_key("0" * (zeros + 2))


@given(keys, keys)
@example("00", "-0")
@example("😀", "\ue000")
@example("a", "a\u0080")
def test_byte_order_is_key_order(one: str, other: str) -> None:
    assert compare_bytes(encode_key(one), encode_key(other)) == sign(compare(one, other))


@given(keys, st.binary(max_size=8), st.binary(max_size=8))
def test_a_key_is_read_between_foreign_bytes(key: str, before: bytes, after: bytes) -> None:
    data = encode_key(key)
    end = len(before) + len(data)
    assert decode_key(before + data + after, len(before)) == (key, end)


@given(keys, keys)
def test_no_key_starts_with_the_bytes_of_another(one: str, other: str) -> None:
    assert encode_key(other).startswith(encode_key(one)) == (one == other)


@given(paths)
@example([])
@example(["1", "a", "é"])
def test_a_path_comes_back_from_its_bytes(path: list[str]) -> None:
    assert decode_path(encode_path(path)) == tuple(path)


@given(paths, paths)
def test_the_bytes_of_a_path_start_those_of_what_is_below_and_no_others(
    above: list[str], other: list[str]
) -> None:
    assert encode_path(above + other).startswith(encode_path(above))
    assert encode_path(other).startswith(encode_path(above)) == (other[: len(above)] == above)


@given(paths, paths)
def test_paths_sort_key_by_key_and_a_place_before_what_is_below(
    one: list[str], other: list[str]
) -> None:
    difference = next((c for a, b in zip(one, other, strict=False) if (c := compare(a, b))), 0)
    expected = sign(difference or len(one) - len(other))
    assert compare_bytes(encode_path(one), encode_path(other)) == expected


def test_the_root_has_no_bytes() -> None:
    assert encode_path([]) == b""
    assert decode_path(b"") == ()


@pytest.mark.parametrize(
    ("unsorted", "ordered"),
    [
        ([], []),
        (["a"], ["a"]),
        (["timestamp", "author", "text"], ["author", "text", "timestamp"]),
        (["10", "9", "1", "-1"], ["-1", "1", "9", "10"]),
        (["2147483648", "3", "2147483647"], ["3", "2147483647", "2147483648"]),
        (["10", "b", "09", "9", "a"], ["9", "09", "10", "a", "b"]),
        (["-0", "00", "0"], ["0", "00", "-0"]),
        (["-b", "-a", "-1x"], ["-1x", "-a", "-b"]),
        (["a", "1"], ["1", "a"]),
        (["\ue000", "😀", "é", "a"], ["a", "é", "😀", "\ue000"]),
        (["a\ue000", "a😀"], ["a😀", "a\ue000"]),
    ],
)
def test_keys_are_sorted_by_firebases_rule(unsorted: list[str], ordered: list[str]) -> None:
    assert sort_keys(unsorted) == ordered
    assert sort_keys(iter(unsorted)) == ordered


plain_words = st.text("abcXYZ-_ ", min_size=1, max_size=6)
plain_numbers = st.integers(-(2**33), 2**33).map(str)
kinds = (plain_words, plain_numbers, legal_texts, integer_like, keys)
uniform_lists = st.one_of(*(st.lists(kind, unique=True, max_size=8) for kind in kinds))


@given(uniform_lists)
def test_sorting_is_by_the_plain_rule_whatever_short_cut_is_taken(some: list[str]) -> None:
    ordered = sorted(some, key=cmp_to_key(compare))
    assert sort_keys(some) == ordered


@given(uniform_lists)
def test_sorting_leaves_its_input_alone(some: list[str]) -> None:
    before = list(some)
    sort_keys(some)
    assert some == before
