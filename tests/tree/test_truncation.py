"""Values cut off at a depth."""

from pathlib import Path as File

import orjson
import pytest
from hypothesis import given

from tests.naive_tree import NaiveTree
from tests.tree.strategies import values
from treedb.tree.truncation import truncate
from treedb.tree.values import Value, with_priority

SPEC = File(__file__).parent.parent / "spec" / "values.json"
CASES = orjson.loads(SPEC.read_bytes())["truncated"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: orjson.dumps(case).decode())
def test_objects_below_the_levels_become_true(case: dict[str, Value]) -> None:
    levels = case["levels"]
    assert isinstance(levels, int)
    assert orjson.dumps(truncate(case["value"], levels)) == orjson.dumps(case["left"])


@given(values)
def test_one_level_is_a_shallow_read(value: Value) -> None:
    tree = NaiveTree()
    tree.set((), value)
    assert orjson.dumps(truncate(value, 1)) == orjson.dumps(tree.shallow(()))


@given(values)
def test_the_priority_does_not_matter(value: Value) -> None:
    assert truncate(with_priority(value, 5), 2) == truncate(value, 2)
