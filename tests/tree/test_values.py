"""Normal form, and reading and changing values."""

import copy
import sys
from pathlib import Path as File
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import treedb.errors
from tests.naive_tree import NaiveTree
from tests.tree.strategies import any_paths, keys, leaves, normal, priorities, raws, values
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import InvalidData, NotFinite, StringTooLong, TooDeep, TooManyNodes, TreeError
from treedb.paths.path import Path
from treedb.tree.values import (
    Leaf,
    Value,
    canonical_number,
    child_keys,
    children,
    is_object,
    leaf_of,
    normal_form,
    priority_of,
    value_at,
    with_priority,
    with_value_at,
)

SPEC = orjson.loads((File(__file__).parent.parent / "spec" / "values.json").read_bytes())
PRIORITISED_LEAF: Value = {".value": 5, ".priority": "p"}
PRIORITISED_OBJECT: Value = {".priority": 1, "a": 1, "b": {"c": 2}}


def text(value: object) -> str:
    """Write a value so that 1, 1.0 and true differ, and orders of members too."""
    return orjson.dumps(value).decode()


def nested(kind: type, levels: int) -> object:
    """Return an empty object or array inside `levels` - 1 others."""
    value: object = kind()
    for _ in range(levels - 1):
        value = [value] if kind is list else {"a": value}
    return value


# Normal form.


@pytest.mark.parametrize("case", SPEC["normal"], ids=lambda case: str(case["name"]))
def test_raw_json_has_a_normal_form(case: dict[str, Any]) -> None:
    found = normal_form(case["raw"], 0, DEFAULT_LIMITS)
    assert text(found.value) == text(case["value"])
    assert found.has_server_values == case.get("server_values", False)


@pytest.mark.parametrize("case", SPEC["refused"], ids=lambda case: text(case["raw"]))
def test_what_is_no_value_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(TreeError) as caught:
        normal(case["raw"])
    assert type(caught.value) is getattr(treedb.errors, case["error"])
    assert case["why"] in caught.value.detail


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("\ud800", "half of a surrogate pair at character 0"),
        (
            {"a": {"b": "xé\udc00"}},
            "'/a/b' in the value has half of a surrogate pair at character 2",
        ),
        ({"a\ud800": 1}, "surrogate"),
        ({"a": 1, ".priority": "\ud800"}, "'/.priority' in the value"),
        (float("nan"), "no double"),
        ({"a": float("inf")}, "'/a' in the value is a number that no double"),
        ([1, -(10**400)], "'/1' in the value is a number that no double"),
        ({".sv": {"increment": float("nan")}}, "no double"),
        ({".sv": {"increment": 10**400}}, "no double"),
        ((1, 2), "the value is a Python tuple"),
        ({"a": {"b": b"x"}}, "'/a/b' in the value is a Python bytes"),
        ({1: "x"}, "a key that is a Python int"),
        ({"a": {None: "x"}}, "'/a' in the value has a key that is a Python NoneType"),
        ({".value": 1, 5: 2}, "beside the member '5'"),
    ],
    ids=ascii,
)
def test_what_json_cannot_hold_is_refused(raw: object, why: str) -> None:
    with pytest.raises(InvalidData) as caught:
        normal(raw)
    assert why in caught.value.detail


@pytest.mark.parametrize(
    "raw", [{"a\u202eb": {"x": (1,)}}, {"\u2028": {"\x00": 1}}, {"a\ud800": 1}]
)
def test_a_refusal_can_be_sent_and_logged_on_one_line(raw: object) -> None:
    with pytest.raises(InvalidData) as caught:
        normal(raw)
    assert caught.value.detail.isprintable()


@pytest.mark.parametrize("depth", [0, 5, 32])
def test_a_leaf_may_stand_at_the_greatest_depth_and_not_below(depth: int) -> None:
    value: object = 1
    for _ in range(32 - depth):
        value = {"a": value}
    normal_form(value, depth, DEFAULT_LIMITS)
    with pytest.raises(TooDeep) as caught:
        normal_form({"a": value}, depth, DEFAULT_LIMITS)
    assert "33 levels below the root, at most 32 are allowed" in caught.value.detail


def test_a_leaf_with_a_priority_is_no_deeper_than_a_leaf() -> None:
    raw = {".value": 1, ".priority": 2}
    assert normal_form(raw, 32, DEFAULT_LIMITS).value == raw
    assert normal_form({".sv": {"increment": 1}}, 32, DEFAULT_LIMITS).has_server_values
    with pytest.raises(TooDeep):
        normal_form(raw, 33, DEFAULT_LIMITS)


@pytest.mark.parametrize("kind", [list, dict])
def test_depth_is_that_of_the_raw_value_though_it_comes_to_nothing(kind: type) -> None:
    assert normal(nested(kind, 33)) is None
    with pytest.raises(TooDeep):
        normal(nested(kind, 34))


@pytest.mark.parametrize("kind", [list, dict])
def test_a_thousand_levels_are_too_deep_and_exhaust_nothing(kind: type) -> None:
    raw = nested(kind, 1_000)
    with pytest.raises(TooDeep):
        normal(raw)


def test_little_of_the_call_stack_is_used() -> None:
    raw: object = 1
    for _ in range(32):
        raw = {"a": raw}
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 150)
    try:
        normal(raw)
    finally:
        sys.setrecursionlimit(limit)


def test_a_string_may_have_as_many_bytes_as_the_limit() -> None:
    limits = Limits(string_bytes=9)
    for longest in ("x" * 9, "日本語", "😀😀x"):
        assert normal_form({"a": longest}, 0, limits).value == {"a": longest}
        with pytest.raises(StringTooLong) as caught:
            normal_form({"a": longest + "x"}, 0, limits)
        assert "'/a' in the value is a string of 10 bytes, at most 9" in caught.value.detail
    with pytest.raises(StringTooLong):
        normal_form({"a": 1, ".priority": "x" * 10}, 0, limits)


@pytest.mark.parametrize(
    ("raw", "nodes"),
    [
        (None, 1),
        (5, 1),
        ({".value": 5, ".priority": 1}, 1),
        ({".sv": {"increment": 1}}, 1),
        ({}, 1),
        ({"a": 1, "b": {"c": 2}}, 4),
        ({".priority": 1, "a": 1}, 2),
        ([1, None, [2]], 5),
    ],
    ids=text,
)
def test_leaves_and_objects_are_counted_as_given(raw: object, nodes: int) -> None:
    assert normal_form(raw, 0, Limits(nodes_per_write=nodes)).nodes == nodes


def test_too_many_nodes_are_refused_before_they_are_walked() -> None:
    limits = Limits(nodes_per_write=10)
    for raw in ([None] * 10, {"a": dict.fromkeys("bcdefghij", 1)}, [[1] * 5, [object()] * 5]):
        with pytest.raises(TooManyNodes) as caught:
            normal_form(raw, 0, limits)
        assert "more than 10 nodes" in caught.value.detail


@given(raws)
def test_normal_form_is_normal(raw: object) -> None:
    before = copy.deepcopy(raw)
    value = normal(raw)
    assert text(raw) == text(before), "what was given is not changed"
    assert text(normal(value)) == text(value)
    assert_is_normal(value)


def assert_is_normal(value: Value) -> None:
    if isinstance(value, dict) and ".value" in value:
        assert list(value) == [".value", ".priority"]
        value = value[".value"]
        assert not isinstance(value, dict)
        assert value is not None
    if isinstance(value, float):
        assert not value.is_integer() or abs(value) > 2**53
    if isinstance(value, int):
        assert abs(value) <= 2**53
    if isinstance(value, dict):
        assert list(value)[".priority" in value :], "an object has children"
        assert ".priority" not in list(value)[1:], "the priority comes first"
        for member in value.values():
            assert member is not None
            assert_is_normal(member)


@given(raws)
def test_normal_form_is_what_the_naive_tree_reads(raw: object) -> None:
    tree = NaiveTree()
    tree.set((), raw)
    # The oracle keeps numbers as given: a second reading gives both one spelling.
    assert text(normal(raw)) == text(normal(tree.get(())))


@given(values)
def test_what_is_normal_already_is_not_copied(value: Value) -> None:
    prioritised = ".priority" in text(value)
    again = normal(value)
    assert again == value
    assert prioritised or again is value


@given(st.lists(st.tuples(st.permutations(["a", "b", "10", "9"]), leaves | st.none()), max_size=5))
def test_records_of_one_shape_are_sorted_each(records: list[tuple[list[str], Leaf | None]]) -> None:
    raw = [dict.fromkeys(order, leaf) for order, leaf in records]
    value = normal(raw)
    for key, record in children(value):
        assert child_keys(record) == ["9", "10", "a", "b"], key


def test_many_different_shapes_cost_no_more_memory_than_stated() -> None:
    raw = {f"r{i}": {f"k{i}-{j}": j for j in range(3)} for i in range(3_000)}
    assert len(child_keys(normal(raw))) == 3_000


def test_a_hundred_thousand_normal_records_are_shared_not_copied() -> None:
    record = {"name": "x", "age": 3, "ok": True, "ratio": 0.5, "text": "some text", "e": "é"}
    raw = {f"r{number:06d}": {**dict(sorted(record.items())), "z": 1} for number in range(100_000)}
    assert normal(raw) is raw


@pytest.mark.parametrize(
    ("number", "canonical"),
    [
        (0, 0),
        (-0.0, 0),
        (1.0, 1),
        (2**53, 2**53),
        (-(2.0**53), -(2**53)),
        (2**53 + 1, 2**53),
        (2**53 + 2, 2.0**53 + 2),
        (-(2**64), -(2.0**64)),
        (0.1, 0.1),
        (5e-324, 5e-324),
        (1e308, 1e308),
    ],
)
def test_a_number_has_one_spelling(number: float, canonical: float) -> None:
    assert text(canonical_number(number)) == text(canonical)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 10**400])
def test_what_no_double_stands_for_is_no_number(number: float) -> None:
    with pytest.raises(NotFinite):
        canonical_number(number)


# Reading.


@pytest.mark.parametrize(
    ("value", "members", "priority", "leaf"),
    [
        (None, None, None, None),
        (0, None, None, 0),
        (False, None, None, False),
        ("", None, None, ""),
        (PRIORITISED_LEAF, None, "p", 5),
        ({"a": 1}, {"a": 1}, None, None),
        (PRIORITISED_OBJECT, {"a": 1, "b": {"c": 2}}, 1, None),
    ],
    ids=text,
)
def test_a_value_tells_its_parts(
    value: Value, members: dict[str, Value] | None, priority: object, leaf: object
) -> None:
    assert is_object(value) is (members is not None)
    assert dict(children(value)) == (members or {})
    assert child_keys(value) == list(members or {})
    assert priority_of(value) == priority
    assert leaf_of(value) is leaf


@pytest.mark.parametrize(
    ("value", "at", "found"),
    [
        (5, (), 5),
        (5, ("a",), None),
        (None, ("a",), None),
        (None, (".priority",), None),
        (5, (".priority",), None),
        (PRIORITISED_LEAF, (".priority",), "p"),
        (PRIORITISED_LEAF, ("a",), None),
        (PRIORITISED_LEAF, ("a", ".priority"), None),
        (PRIORITISED_OBJECT, ("b", "c"), 2),
        (PRIORITISED_OBJECT, ("b", "c", "d"), None),
        (PRIORITISED_OBJECT, (".priority",), 1),
        (PRIORITISED_OBJECT, ("b", ".priority"), None),
    ],
    ids=text,
)
def test_a_value_is_found_at_its_place(value: Value, at: tuple[str, ...], found: Value) -> None:
    assert value_at(value, at) == found


# Changing.


@pytest.mark.parametrize("case", SPEC["effects"], ids=lambda case: str(case["name"]))
def test_a_write_has_its_effects(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["before"])
    after = with_value_at(case["before"], case["at"], case["new"])
    assert text(after) == text(case["after"])
    assert case["before"] == before, "what was given is not changed"


@given(values, any_paths, values, priorities | st.none())
@example({"a": PRIORITISED_LEAF}, Path(("a", "b")), None, None)
def test_a_changed_value_is_what_the_naive_tree_becomes(
    value: Value, path: Path, new: Value, priority: Value
) -> None:
    new = normal(priority) if path.is_priority else new
    tree = NaiveTree()
    tree.set((), value)
    tree.set(path.keys, new)
    changed = with_value_at(value, path.keys, new)
    assert text(changed) == text(tree.get(()))
    assert text(normal(changed)) == text(changed)
    if not path.is_priority:
        assert text(value_at(changed, path.keys)) == text(new)


@given(values, st.lists(keys, min_size=1, max_size=3))
def test_setting_what_is_there_changes_nothing(value: Value, at: list[str]) -> None:
    assert with_value_at(value, at, value_at(value, at)) is value


def test_what_is_beside_a_change_is_shared() -> None:
    beside: dict[str, Value] = {"x": 1}
    changed = with_value_at({"a": 1, "b": beside}, ["a"], 2)
    assert value_at(changed, ["b"]) is beside


@given(values, priorities)
def test_a_priority_is_put_on_and_taken_off(value: Value, priority: float | str) -> None:
    bare = with_priority(value, None)
    assert priority_of(bare) is None
    put_on = with_priority(value, priority)
    assert priority_of(put_on) == (None if value is None else priority)
    assert text(with_priority(put_on, None)) == text(bare)


def test_a_child_is_put_into_a_wide_object_in_its_place() -> None:
    wide = normal({str(number): number for number in range(0, 2_000, 2)})
    changed = with_value_at(wide, ["1001"], 1)
    assert child_keys(changed)[500:503] == ["1000", "1001", "1002"]
