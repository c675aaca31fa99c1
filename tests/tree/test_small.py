"""A value is small by how many nodes it has, however they are laid out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.tree.small import FEW, LONG_TEXT, is_small

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(), inner, max_size=40),
    max_leaves=2 * FEW,
)


def nodes_below(value: object) -> int:
    match value:
        case dict():
            return sum(1 + nodes_below(child) for child in value.values())
        case list():
            return sum(1 + nodes_below(item) for item in value)
        case _:
            return 0


@given(values)
def test_a_value_is_small_that_has_few_nodes(value: object) -> None:
    assert is_small(value) == (nodes_below(value) <= FEW)


def test_many_leaves_are_large() -> None:
    assert is_small(list(range(FEW)))
    assert not is_small(list(range(FEW + 1)))
    assert not is_small({"a": {"b": {str(n): n for n in range(FEW + 1)}}})


@pytest.mark.parametrize("wrapped", [[], [1], {"a": 1}])
def test_a_long_text_is_small_by_itself_only(wrapped: Any) -> None:
    for length, is_long in ((LONG_TEXT, False), (LONG_TEXT + 1, True)):
        text = "x" * length
        assert is_small(text)
        assert is_small([wrapped, text]) != is_long
        assert is_small({"a": wrapped, "b": {"c": text}}) != is_long
