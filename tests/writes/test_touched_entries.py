"""A change touches entries from above, at them, and from below."""

import pytest

from treedb.paths.path import Path
from treedb.paths.pattern import Pattern
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.touched_entries import standing_entries, touched_entries

GROUPS = Pattern.parse("/users/$uid/groups/$gid")
TREE = ValueReader(
    {
        "users": {
            "ann": {"groups": {"a": True, "b": True}, "name": "Ann"},
            "bob": {"groups": {"a": True}},
            "cat": {"name": "Cat"},
            "dog": "leaf",
        }
    }
)


def pairs(names: object) -> list[str]:
    assert isinstance(names, list)
    return sorted(f"{each['$uid']}-{each['$gid']}" for each in names)


CASES: list[tuple[str, str, Value, list[str]]] = [
    ("at an entry", "/users/ann/groups/a", None, ["ann-a"]),
    ("at one that is new", "/users/ann/groups/z", 1, ["ann-z"]),
    ("below an entry", "/users/ann/groups/a/since/year", 1, ["ann-a"]),
    ("at the priority of an entry", "/users/ann/groups/a/.priority", 1, ["ann-a"]),
    ("above, removed", "/users/ann", None, ["ann-a", "ann-b"]),
    ("above, exchanged", "/users/ann/groups", {"b": 1, "c": 1}, ["ann-a", "ann-b", "ann-b", "ann-c"]),
    ("above, for all", "/users", {"eve": {"groups": {"x": 1}}}, ["ann-a", "ann-b", "bob-a", "eve-x"]),
    ("the root", "/", None, ["ann-a", "ann-b", "bob-a"]),
    ("a leaf above", "/users/ann/groups", "leaf", ["ann-a", "ann-b"]),
    ("beside", "/users/ann/name", "A", []),
    ("elsewhere", "/groups/a", {"members": {"ann": True}}, []),
    ("the priority of a place above", "/users/ann/.priority", 1, []),
    ("above what has none", "/users/cat", {"name": "C"}, []),
    ("where a leaf was", "/users/dog", {"groups": {"a": 1}}, ["dog-a"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "place, value, met", [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_change_touches(place: str, value: Value, met: list[str]) -> None:
    path = Path.parse(place, allow_priority=True)
    assert pairs(list(touched_entries(GROUPS, path, value, TREE))) == met


def test_the_entries_that_stand_are_found() -> None:
    assert pairs(list(standing_entries(GROUPS, TREE))) == ["ann-a", "ann-b", "bob-a"]
    assert list(standing_entries(Pattern.parse("/users/ann/name"), TREE)) == [{}]
    assert list(standing_entries(Pattern.parse("/users/ann/age"), TREE)) == []
