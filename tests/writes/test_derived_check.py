"""What is wrong with mirrors and counts is found, place by place."""

import pytest

from tests.writes.derived_world import COUNTERS, MIRRORS
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.derived_check import TURN, check_derived

CASES: list[tuple[str, Value, list[str]]] = [
    ("nothing", None, []),
    ("a pair", {"users": {"a": {"groups": {"g": 1}}}, "groups": {"g": {"count": 1, "members": {"a": 1}}}}, []),
    ("a target that is missing", {"users": {"a": {"groups": {"g": 1}}}}, ["/groups/g/members/a is missing: /users/a/groups/g is there"]),
    ("a source that is missing", {"groups": {"g": {"count": 1, "members": {"a": 1}}}}, ["/users/a/groups/g is missing: /groups/g/members/a is there"]),
    ("another value", {"users": {"a": {"groups": {"g": 1}}}, "groups": {"g": {"count": 1, "members": {"a": True}}}}, ["/groups/g/members/a differs from /users/a/groups/g"]),
    ("detail where true must be", {"users": {"a": {"follows": {"b": 1}}}, "followers": {"b": {"a": 1}}}, ["/followers/b/a is not true, as /users/a/follows/b asks"]),
    ("detail where it may be", {"users": {"a": {"follows": {"b": {"x": 1}}}}, "followers": {"b": {"a": True}}}, []),
    ("a count that is missing", {"lists": {"a": {"b": {"x": 1, "y": 1}}}}, ["/sizes/b/a is nothing: /lists/a/b has 2 children"]),
    ("a count that is wrong", {"lists": {"a": {"b": {"x": 1}}}, "sizes": {"b": {"a": 7}}}, ["/sizes/b/a is 7: /lists/a/b has 1 children"]),
    ("a count of nothing", {"sizes": {"b": {"a": 7}}}, ["/sizes/b/a is 7: /lists/a/b has 0 children"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "tree, faults", [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_of_a_tree_is_told(tree: Value, faults: list[str]) -> None:
    checked = check_derived(ValueReader(tree), (*MIRRORS, *COUNTERS))
    assert [str(fault) for fault in checked if fault is not None] == faults


def test_a_long_look_gives_others_their_turn() -> None:
    keys = [str(number) for number in range(TURN * 2)]
    groups: dict[str, Value] = {key: {"members": {"a": 1}} for key in keys}
    tree: Value = {"users": {"a": {"groups": dict.fromkeys(keys, 1)}}, "groups": groups}
    assert list(check_derived(ValueReader(tree), MIRRORS)) == [None, None]
