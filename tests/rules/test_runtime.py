import math
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.errors import RuleFailure
from treedb.rules.runtime import (
    ARITHMETIC,
    CHILDREN,
    NOWHERE,
    RuntimeValue,
    add,
    equal,
    item_of,
    kind_of,
    member_of,
    negate,
    number_text,
    order_key,
    replace,
    split_path,
    utf16_length,
)

EQUAL = [
    (1, 1.0), (0, -0.0), ("a", "a"), ("", ""), (None, None), (True, True), (False, False),
    (2**53, 2.0**53),
]  # fmt: skip
UNEQUAL = [
    (1, True), (0, False), (1, "1"), ("", None), (0, None), (False, None), ("", False),
    (math.nan, math.nan), (CHILDREN, CHILDREN), (CHILDREN, None), (CHILDREN, True), ({}, {}),
    ([], []), ({"a": 1}, {"a": 1}), ("a", "A"), ((1,), (1,)),
]  # fmt: skip
KINDS: list[RuntimeValue] = [None, True, "a", 1, 1.5, CHILDREN, {}, []]


@pytest.mark.parametrize("left, right", EQUAL)
def test_values_of_one_type_may_be_equal(left: RuntimeValue, right: RuntimeValue) -> None:
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize("left, right", UNEQUAL)
def test_no_value_is_converted_to_be_equal(left: RuntimeValue, right: RuntimeValue) -> None:
    assert not equal(left, right)
    assert not equal(right, left)


@pytest.mark.parametrize("operator", ARITHMETIC)
@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_operators_fail_for_what_is_neither_number_nor_string(
    operator: str, left: RuntimeValue, right: RuntimeValue
) -> None:
    kinds = {kind_of(left), kind_of(right)}
    allowed = {
        "+": [{"a number"}, {"a string"}, {"a number", "a string"}],
        "<": [{"a number"}, {"a string"}],
    }.get("<" if operator in {"<=", ">", ">="} else operator, [{"a number"}])
    if kinds in allowed:
        ARITHMETIC[operator](left, right)
        return
    with pytest.raises(RuleFailure):
        ARITHMETIC[operator](left, right)


REMAINDERS = [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-7, -3, -1), (7.5, 2, 1.5), (6, 3, 0)]


@pytest.mark.parametrize("left, right, expected", REMAINDERS)
def test_a_remainder_has_the_sign_of_the_dividend(
    left: float, right: float, expected: float
) -> None:
    assert ARITHMETIC["%"](left, right) == expected


@pytest.mark.parametrize("operator", ["/", "%"])
@pytest.mark.parametrize("left", [0, 1, -1, 1e308, math.inf])
def test_by_zero_everything_is_nan(operator: str, left: float) -> None:
    assert math.isnan(ARITHMETIC[operator](left, 0))


def test_nothing_overflows_but_to_infinity() -> None:
    assert ARITHMETIC["*"](1e308, 10) == math.inf
    assert ARITHMETIC["/"](1e308, 1e-308) == math.inf
    assert math.isnan(ARITHMETIC["%"](math.inf, 2))
    assert negate(2**53) == -(2.0**53)


NUMBER_TEXTS = [
    (5, "5"), (5.0, "5"), (-3, "-3"), (0.5, "0.5"), (-0.0, "0"), (1e20, "100000000000000000000"),
    (1e21, "1e+21"), (1.5e300, "1.5e+300"), (123456789.125, "123456789.125"), (1e-6, "0.000001"),
    (1.25e-5, "0.0000125"), (-1e-5, "-0.00001"), (1e-7, "1e-7"), (0.1 + 0.2, "0.30000000000000004"),
    (math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (2**53, "9007199254740992"),
]  # fmt: skip


@pytest.mark.parametrize("number, text", NUMBER_TEXTS)
def test_numbers_are_written_as_in_javascript(number: float, text: str) -> None:
    assert number_text(number) == text


@given(st.floats())
def test_a_number_survives_its_text(number: float) -> None:
    again = float(number_text(number).replace("Infinity", "inf"))
    assert again == number or (math.isnan(again) and math.isnan(number))


@given(st.text(), st.text())
def test_strings_are_ordered_and_measured_by_utf16_code_units(left: str, right: str) -> None:
    def units(text: str) -> list[int]:
        data = text.encode("utf-16-be", "surrogatepass")
        return [data[at] << 8 | data[at + 1] for at in range(0, len(data), 2)]

    assert (order_key(left) < order_key(right)) == (units(left) < units(right))
    assert ARITHMETIC["<"](left, right) == (units(left) < units(right))
    assert ARITHMETIC[">="](left, right) == (units(left) >= units(right))
    assert utf16_length(left) == len(units(left))


PATHS = [
    ("a", ("a",)), ("a/b", ("a", "b")), ("/a//b/", ("a", "b")), ("", NOWHERE), ("///", NOWHERE),
    ("a/../b", ("a", "", "b")), (".", NOWHERE), ("a.b/c", ("", "c")), ("a#", NOWHERE),
    ("a$", NOWHERE), ("[a]", NOWHERE), ("a\x00b", NOWHERE), ("a\x7f", NOWHERE), ("é 𝄞", ("é 𝄞",)),
    ("x" * 768, ("x" * 768,)), ("x" * 769, NOWHERE), ("\ud800", NOWHERE),
    (".priority", NOWHERE), ("a/.value", ("a", "")), ("a/" * 20_000, NOWHERE),
]  # fmt: skip


@pytest.mark.parametrize("text, keys", PATHS)
def test_a_path_is_cut_into_keys_and_bad_ones_lead_nowhere(
    text: str, keys: tuple[str, ...]
) -> None:
    assert split_path(text) == keys


@pytest.mark.parametrize("value", [None, 1, True, CHILDREN, {}, []])
def test_only_strings_are_paths(value: RuntimeValue) -> None:
    with pytest.raises(RuleFailure):
        split_path(value)


CLAIMS = {"a": 1, "b": {"length": 7}, "s": "𝄞a", "l": [1, None, "x"], "n": None, "big": 10**400}
MEMBERS = [
    (CLAIMS, "a", 1), (CLAIMS, "z", None), (CLAIMS, "__class__", None), (CLAIMS, "keys", None),
    (MappingProxyType({"a": 1}), "a", 1), (MappingProxyType({}), "items", None),
    (None, "a", None), ("abc", "a", None), (5, "real", None), (True, "real", None),
    ("𝄞a", "length", 3), (None, "length", None), (5, "length", None), ([1], "length", None),
    ({"length": 7}, "length", 7), ({}, "length", None), (CLAIMS, "big", math.inf),
    ({"a": -(10**400)}, "a", -math.inf), ({"a": 2**53 + 1}, "a", 2.0**53),
]  # fmt: skip
ITEMS = [
    (CLAIMS, "a", 1), (CLAIMS["l"], 0, 1), (CLAIMS["l"], 2.0, "x"), (CLAIMS["l"], 3, None),
    (CLAIMS["l"], -1, None), (CLAIMS["l"], 0.5, None), (CLAIMS["l"], math.nan, None),
    (CLAIMS["l"], math.inf, None), (CLAIMS["l"], True, None), (CLAIMS["l"], "0", None),
    (CLAIMS, 1, None), (None, "a", None), ("abc", 0, None), (CLAIMS, None, None),
]  # fmt: skip


@pytest.mark.parametrize("value, name, expected", MEMBERS)
def test_members_of_auth_are_those_of_its_json_and_null_otherwise(
    value: RuntimeValue, name: str, expected: RuntimeValue
) -> None:
    assert member_of(value, name) == expected


@pytest.mark.parametrize("value, index, expected", ITEMS)
def test_items_of_auth_are_found_by_name_or_number(
    value: RuntimeValue, index: RuntimeValue, expected: RuntimeValue
) -> None:
    assert item_of(value, index) == expected


def test_replace_changes_every_occurrence_of_plain_text() -> None:
    assert replace("a.b.c", ".", "$&") == "a$&b$&c"
    assert replace("abc", "", "x") == "abc"
    assert replace("aaa", "aa", "b") == "ba"


def test_strings_do_not_grow_past_the_limit() -> None:
    half = "x" * (6 * 1024 * 1024)
    with pytest.raises(RuleFailure, match="grows past"):
        add(half, half)
    with pytest.raises(RuleFailure, match="grows past"):
        replace(half, "x", "xx")


@pytest.mark.parametrize("values", [(None, "a", "b"), ("a", 1, "b"), ("a", "b", True)])
def test_replace_takes_strings_only(values: tuple[RuntimeValue, ...]) -> None:
    with pytest.raises(RuleFailure):
        replace(*values)
