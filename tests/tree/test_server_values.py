"""Values that only the server knows."""

import orjson
import pytest
from hypothesis import given

from tests.tree.strategies import normal, values
from treedb.errors import NotFinite
from treedb.tree.server_values import resolve
from treedb.tree.values import Value, value_at

NOW = 1_700_000_000_123
TIMESTAMP: Value = {".sv": "timestamp"}
PRESENT: Value = normal(
    {
        "n": 5,
        "half": 0.5,
        "s": "hello",
        "yes": True,
        "o": {"hello": "world"},
        "p": {".value": 7, ".priority": 3},
        "q": {".priority": 1.5, "n": 2},
        "big": 2**53,
        "huge": 1e308,
    }
)


def increment(delta: float) -> Value:
    return {".sv": {"increment": delta}}


def resolved(value: Value, present: Value = PRESENT) -> Value:
    return resolve(value, lambda keys: value_at(present, keys), NOW)


def text(value: Value) -> str:
    return orjson.dumps(value).decode()


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (TIMESTAMP, NOW),
        ({"a": TIMESTAMP, "b": {"c": TIMESTAMP, "d": 1}}, {"a": NOW, "b": {"c": NOW, "d": 1}}),
        ({"n": increment(2)}, {"n": 7}),
        ({"n": increment(-5)}, {"n": 0}),
        ({"n": increment(0.5)}, {"n": 5.5}),
        ({"half": increment(0.5)}, {"half": 1}),
        ({"half": increment(-0.5)}, {"half": 0}),
        ({"missing": increment(3)}, {"missing": 3}),
        ({"missing": increment(-0.0)}, {"missing": 0}),
        ({"s": increment(3)}, {"s": 3}),
        ({"yes": increment(3)}, {"yes": 3}),
        ({"o": increment(3)}, {"o": 3}),
        ({"o": {"x": increment(3)}}, {"o": {"x": 3}}),
        ({"p": increment(1)}, {"p": 8}),
        ({"q": {"n": increment(1)}}, {"q": {"n": 3}}),
        ({"big": increment(1)}, {"big": 2**53}),
        ({"big": increment(2)}, {"big": 2.0**53 + 2}),
        ({"big": increment(-1)}, {"big": 2**53 - 1}),
        ({"n": increment(2**63 - 1)}, {"n": 2.0**63}),
        (
            {"p": {".value": increment(1), ".priority": increment(1)}},
            {"p": {".value": 8, ".priority": 4}},
        ),
        ({"p": {".value": increment(1), ".priority": 0}}, {"p": {".value": 8, ".priority": 0}}),
        (
            {"q": {".priority": increment(1), "n": increment(1)}},
            {"q": {".priority": 2.5, "n": 3}},
        ),
        ({"n": {".value": "x", ".priority": TIMESTAMP}}, {"n": {".value": "x", ".priority": NOW}}),
        ({"n": {".value": "x", ".priority": increment(4)}}, {"n": {".value": "x", ".priority": 4}}),
    ],
    ids=orjson.dumps,
)
def test_server_values_are_filled_in(value: Value, becomes: Value) -> None:
    assert text(resolved(value)) == text(becomes)


def test_a_server_value_may_be_the_whole_value() -> None:
    assert resolved(increment(1), present=41) == 42
    assert resolved(increment(1), present=None) == 1
    assert resolved({".value": increment(1), ".priority": "p"}, present=41) == {
        ".value": 42,
        ".priority": "p",
    }


def test_every_increment_of_a_write_counts_from_the_value_before_it() -> None:
    present: Value = {"a": 1, "b": 10}
    value: Value = {"a": increment(1), "b": {"c": increment(1)}}
    assert resolved(value, present) == {"a": 2, "b": {"c": 1}}


@pytest.mark.parametrize("delta", [1e308, 1.7e308])
def test_an_increment_past_the_largest_double_is_refused(delta: float) -> None:
    with pytest.raises(NotFinite) as caught:
        resolved({"a": 1, "huge": increment(delta)})
    assert "at /huge by" in caught.value.detail


def test_only_what_is_incremented_is_read() -> None:
    asked: list[tuple[str, ...]] = []

    def current_at(keys: tuple[str, ...]) -> Value:
        asked.append(keys)
        return None

    value: Value = {
        "a": TIMESTAMP,
        "b": {"c": increment(1)},
        "d": {".value": increment(2), ".priority": increment(3)},
    }
    resolve(value, current_at, NOW)
    assert asked == [("b", "c"), ("d",), ("d", ".priority")]


@given(values)
def test_a_value_without_server_values_is_not_copied(value: Value) -> None:
    assert resolved(value) is value
