"""The node hash, against numbers from Firebase's JavaScript SDK."""

import base64
import hashlib
import math
import struct
from pathlib import Path as File
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.strategies import normal, raws, values
from treedb.tree.hashing import double_hex, matches_hash, node_hash, sdk_double_hex
from treedb.tree.values import Value

SPEC = orjson.loads((File(__file__).parent.parent / "spec" / "hashes.json").read_bytes())
doubles = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("case", SPEC["hashes"], ids=lambda case: orjson.dumps(case).decode())
def test_a_value_has_the_hash_the_sdk_gives_it(case: dict[str, Any]) -> None:
    raw = case["value"]
    # Normal form makes 0 of -0: the one vector that is not reached through it.
    value = raw if isinstance(raw, float) else normal(raw)
    assert node_hash(value) == case["hash"]


@pytest.mark.parametrize("case", SPEC["doubles"], ids=lambda case: str(case["number"]))
def test_a_number_is_its_bits(case: dict[str, Any]) -> None:
    assert double_hex(case["number"]) == case["hex"]
    assert sdk_double_hex(case["number"]) == case["hex"]


@pytest.mark.parametrize("case", SPEC["sdk_doubles"], ids=lambda case: str(case["number"]))
def test_the_sdk_takes_some_numbers_for_others(case: dict[str, Any]) -> None:
    number = case["number"]
    assert double_hex(number) == case["hex"]
    assert sdk_double_hex(number) == case["sdk_hex"]
    assert node_hash(number) == case["hash"]
    assert matches_hash(number, case["hash"])
    assert matches_hash(number, case["sdk_hash"])
    assert not matches_hash(number + 5, case["hash"])


@given(doubles)
def test_the_digits_are_the_bits(number: float) -> None:
    assert struct.unpack(">d", bytes.fromhex(double_hex(number))) == (number,)


@given(doubles)
def test_the_sdks_digits_keep_sign_and_length(number: float) -> None:
    digits = sdk_double_hex(number)
    assert len(digits) == 16
    assert (int(digits, 16) >> 63 == 1) is (math.copysign(1, number) < 0)


@given(st.integers(-(2**22), 2**22))
def test_small_integers_are_right_in_the_sdk_too(number: int) -> None:
    assert sdk_double_hex(number) == double_hex(number)


def test_a_wrong_number_deep_inside_makes_the_hash_the_sdks() -> None:
    value: Value = {"a": {"b": {".value": 2**53 - 1, ".priority": 2**48 - 1}}, "c": "x"}
    taken_for: Value = {"a": {"b": {".value": 2**53, ".priority": 0}}, "c": "x"}
    claimed = sdk_hash(value)
    assert claimed not in {node_hash(value), node_hash(taken_for)}
    assert matches_hash(value, claimed)


def sdk_hash(value: Value) -> str:
    """Reckon the hash of the value above, step by step."""
    leaf = f"priority:number:{sdk_double_hex(2**48 - 1)}:number:{sdk_double_hex(2**53 - 1)}"
    inner = digest(f":b:{digest(leaf)}")
    return digest(f":a:{inner}:c:{node_hash('x')}")


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha1(text.encode()).digest()).decode()


@given(values)
def test_a_hash_matches_its_value(value: Value) -> None:
    assert matches_hash(value, node_hash(value))
    assert not matches_hash(value, "AAAA")
    assert matches_hash(value, "") is (value is None)


@given(raws, raws)
def test_different_values_have_different_hashes(one: object, other: object) -> None:
    same = orjson.dumps(normal(one)) == orjson.dumps(normal(other))
    assert (node_hash(normal(one)) == node_hash(normal(other))) is same


def test_the_deepest_value_has_a_hash() -> None:
    value: Value = 1
    for _ in range(32):
        value = {"a": value}
    assert len(node_hash(value)) == 28
