"""Requests are checked whole before anybody acts on them."""

import pytest

from treedb.config import Limits
from treedb.errors import (
    ConflictingPaths,
    InvalidData,
    NotAnObject,
    PayloadTooLarge,
    TooDeep,
    TreeError,
)
from treedb.paths.path import Path
from treedb.tree.values import Value
from treedb.writes.json_patch import JsonPatch
from treedb.writes.merge_patch import MergePatch
from treedb.writes.request import json_patch_write, merge_patch_write, set_write, update_write

LIMITS = Limits(paths_per_update=3, nodes_per_write=10)
DEEP = "/".join("d" * 33)


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


@pytest.mark.parametrize(
    ("place", "raw", "value"),
    [
        ("/a", {"b": [1, None, 3], "c": {}}, {"b": {"0": 1, "2": 3}}),
        ("/a", None, None),
        ("/a/.priority", 5, 5),
        ("/a/.priority", "p", "p"),
        ("/a/.priority", None, None),
    ],
)
def test_a_set_holds_one_change_in_normal_form(place: str, raw: object, value: Value) -> None:
    assert set_write(path(place), raw, LIMITS).changes == ((path(place), value),)


@pytest.mark.parametrize("raw", [True, {"a": 1}, [1]])
def test_a_priority_is_a_string_or_a_number(raw: object) -> None:
    with pytest.raises(InvalidData):
        set_write(path("/a/.priority"), raw, LIMITS)


def test_server_values_are_kept_for_the_plan() -> None:
    write = set_write(path("/a"), {"t": {".sv": "timestamp"}}, LIMITS)
    assert write.has_server_values
    assert write.changes == ((path("/a"), {"t": {".sv": "timestamp"}}),)


def test_an_update_takes_relative_paths_in_any_writing() -> None:
    write = update_write(path("/a"), {"b": 1, "/c//d/": 2, "e/.priority": 3}, LIMITS)
    assert dict(write.changes) == {path("/a/b"): 1, path("/a/c/d"): 2, path("/a/e/.priority"): 3}


@pytest.mark.parametrize(
    ("raw", "error", "says"),
    [
        ([1], NotAnObject, "found an array"),
        ("x", NotAnObject, "found a string"),
        (None, NotAnObject, "found null"),
        ({"b": 1, "b/c": 2}, ConflictingPaths, "/a/b"),
        ({"b": 1, "/b/": 2}, ConflictingPaths, "/a/b"),
        ({"b": {"x": 1}, "b/.priority": 2}, ConflictingPaths, "/a/b"),
        ({"b/../c": 1}, InvalidData, r"b/\.\./c"),
        ({"b/.c": 1}, InvalidData, r"b/\.c"),
        ({"": 1}, InvalidData, "empty"),
        ({DEEP: 1}, InvalidData, "33"),
        ({DEEP[2:]: 1}, TooDeep, "33 levels"),
        (dict.fromkeys("bcde", 1), PayloadTooLarge, "4 paths, at most 3"),
        ({"b": {str(i): 1 for i in range(6)}, "c": {str(i): 1 for i in range(6)}}, PayloadTooLarge, "at most 10"),
    ],
)  # fmt: skip
def test_a_bad_update_is_refused_and_says_why(
    raw: object, error: type[TreeError], says: str
) -> None:
    with pytest.raises(error, match=says):
        update_write(path("/a"), raw, LIMITS)


def test_a_patch_is_kept_for_the_plan() -> None:
    operations = [{"op": "add", "path": "/b", "value": [1, 2]}]
    write = json_patch_write(path("/a"), operations, LIMITS, expected_hash="h")
    assert isinstance(write.patching, JsonPatch)
    assert (write.path, write.changes, write.nodes) == (path("/a"), (), 3)
    assert (write.expected_hash, write.operation) == ("h", "patch")
    write = merge_patch_write(path("/a"), {"b": {".sv": "timestamp"}}, LIMITS, expected_hash="h")
    assert isinstance(write.patching, MergePatch)
    assert (write.changes, write.has_server_values, write.nodes) == ((), True, 2)
    assert (write.expected_hash, write.operation) == ("h", "merge")


@pytest.mark.parametrize(
    ("place", "raw", "nodes"),
    [("/a", 1, 1), ("/a", None, 1), ("/a", {"b": [1, None]}, 4), ("/a/.priority", 1, 1)],
)
def test_a_set_counts_its_nodes(place: str, raw: object, nodes: int) -> None:
    assert set_write(path(place), raw, LIMITS).nodes == nodes


def test_an_update_counts_the_nodes_of_its_members() -> None:
    assert update_write(path("/a"), {"b": {"x": 1}, "c": 2}, LIMITS).nodes == 3
