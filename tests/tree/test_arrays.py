"""The plain form of values."""

from pathlib import Path as File

import orjson
import pytest
from hypothesis import given

from tests.tree.strategies import normal, values
from treedb.tree.arrays import array_length, in_form, is_plain, to_plain
from treedb.tree.forms import Form
from treedb.tree.values import Value, child_keys, children, is_object, leaf_of

CASES = orjson.loads((File(__file__).parent.parent / "spec" / "values.json").read_bytes())["plain"]


def text(value: object) -> str:
    return orjson.dumps(value).decode()


def plainly(value: Value) -> object:
    """Read the rule word by word."""
    if not is_object(value):
        return leaf_of(value)
    members = {key: plainly(child) for key, child in children(value)}
    indexes = [
        int(key) for key in members if key.isascii() and key.isdigit() and key == f"{int(key)}"
    ]
    if len(indexes) < len(members) or max(indexes) >= 2 * len(members):
        return members
    return [members.get(str(index)) for index in range(max(indexes) + 1)]


@pytest.mark.parametrize("case", CASES, ids=text)
def test_a_value_has_a_plain_form(case: dict[str, Value]) -> None:
    value = normal(case["value"])
    before = text(value)
    assert text(to_plain(value)) == text(case["plain"])
    assert text(value) == before, "the value is not changed"
    assert is_plain(value) is (text(value) == text(case["plain"]))


@given(values)
def test_the_plain_form_follows_the_rule(value: Value) -> None:
    assert text(to_plain(value)) == text(plainly(value))
    assert is_plain(value) is (text(plainly(value)) == text(value))


@given(values)
def test_what_is_plain_is_not_copied(value: Value) -> None:
    assert (to_plain(value) is value) is is_plain(value)


@given(values)
def test_the_plain_form_reads_back_as_the_value_without_its_priorities(value: Value) -> None:
    assert text(to_plain(normal(to_plain(value)))) == text(to_plain(value))


@pytest.mark.parametrize(
    ("keys", "length"),
    [
        ([], None),
        (["0"], 1),
        (["1"], 2),
        (["2"], None),
        (["0", "1", "2"], 3),
        (["0", "3"], 4),
        (["0", "4"], None),
        (["-1", "0"], None),
        (["0", "00"], None),
        (["0", "-0"], None),
        (["00", "1"], None),
        (["0", "a"], None),
        (["0", "1" * 700], None),
        (["0", "1\n"], None),
        (["0", "१"], None),
    ],
)
def test_keys_tell_the_length_of_an_array(keys: list[str], length: int | None) -> None:
    assert array_length(keys) == length


def test_a_long_array_comes_back() -> None:
    array = list(range(100_000))
    assert to_plain(normal(array)) == array
    assert array_length(child_keys(normal(array))) == 100_000


def test_the_deepest_value_has_a_plain_form() -> None:
    raw: object = {".value": 1, ".priority": 1}
    plain: object = 1
    for _ in range(32):
        raw, plain = {"0": raw}, [plain]
    assert to_plain(normal(raw)) == plain


def test_a_value_has_two_forms() -> None:
    value: Value = {".priority": 1, "0": "x"}
    assert in_form(value, Form.PLAIN) == ["x"]
    assert in_form(value, Form.EXPORT) == value
