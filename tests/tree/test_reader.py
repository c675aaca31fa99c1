"""A Reader of one value."""

import orjson
import pytest
from hypothesis import given

from tests.naive_tree import NaiveTree
from tests.tree.strategies import any_paths, normal, values
from treedb.paths.path import ROOT, Path
from treedb.tree.reader import Reader, ValueReader
from treedb.tree.values import Value

TREE = normal({"b": {"c": 1, ".priority": 3}, "10": {".value": "x", ".priority": 0}, "9": None})


@pytest.mark.parametrize(
    ("text", "value", "keys"),
    [
        ("/", TREE, ["10", "b"]),
        ("/b", {".priority": 3, "c": 1}, ["c"]),
        ("/b/c", 1, []),
        ("/b/c/d", None, []),
        ("/b/.priority", 3, []),
        ("/10", {".value": "x", ".priority": 0}, []),
        ("/10/.priority", 0, []),
        ("/9", None, []),
        ("/9/.priority", None, []),
    ],
)
def test_a_value_is_read(text: str, value: Value, keys: list[str]) -> None:
    path = Path.parse(text, allow_priority=True)
    reader: Reader = ValueReader(TREE)
    assert reader.get(path) == value
    assert list(reader.keys(path)) == keys
    assert reader.exists(path) is (value is not None)


@given(values, any_paths)
def test_a_value_reads_as_the_naive_tree_does(value: Value, path: Path) -> None:
    tree = NaiveTree()
    tree.set((), value)
    reader = ValueReader(value)
    assert orjson.dumps(reader.get(path)) == orjson.dumps(tree.get(path.keys))
    if not path.is_priority:
        assert list(reader.keys(path)) == tree.keys(path.keys)
        assert reader.exists(path) is tree.exists(path.keys)


@pytest.mark.parametrize(
    ("after", "keys"), [("9", ["10", "b"]), ("10", ["b"]), ("a", ["b"]), ("b", []), ("c", [])]
)
def test_keys_behind_one_need_it_not_to_be_there(after: str, keys: list[str]) -> None:
    assert list(ValueReader(TREE).keys(ROOT, after)) == keys
