"""Rules that bring mirrors and counts are held against the data that is there."""

import pytest

from treedb.errors import RulesError
from treedb.paths.path import Path
from treedb.rules.loader import parse_rules
from treedb.store.reading import end_of
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.admission import Gained

NONE = parse_rules('{"rules": {}}')
BOTH = parse_rules("""{"rules": {
    "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}},
    "groups": {"$g": {"members": {".count": "/groups/$g/count"}}}
}}""")
MOVED = parse_rules("""{"rules": {

    "groups": {"$g": {"members": {".count": "/groups/$g/count"}}},
    "users": {"$u": {"groups": {"$g": {".mirror": "/groups/$g/members/$u"}}}}
}}""")
GOOD: Value = {
    "users": {"a": {"groups": {"g": 1}}},
    "groups": {"g": {"count": 1, "members": {"a": 1}}},
}
BAD: Value = {"users": {"a": {"groups": {"g": 1}}}}
GAINED = Gained.by(BOTH, NONE)


def found(tree: Value, *changes: tuple[str, Value]) -> list[str]:
    """Return what is found of a tree after one commit on a tree that agreed."""
    patch = Patch(tuple((Path.parse(place), value) for place, value in changes))
    commits = [Commit(1, 0, patch, None, None)]
    return [str(fault) for fault in GAINED.look_again(ValueReader(tree), commits)]


def looked(tree: Value) -> list[str]:
    return list(map(str, end_of(GAINED.look(ValueReader(tree)))))


def test_only_what_is_new_is_gained_wherever_it_stands() -> None:
    assert [type(each).__name__ for each in GAINED.declarations] == ["Mirror", "Counter"]
    assert not Gained.by(MOVED, BOTH)
    assert not Gained.by(NONE, BOTH)


def test_the_first_look_finds_what_disagrees() -> None:
    assert looked(GOOD) == []
    assert looked(BAD) == ["/groups/g/members/a is missing: /users/a/groups/g is there"]


def test_at_the_second_look_entries_are_looked_at_that_commits_touched() -> None:
    assert found(GOOD, ("/users/a/groups/g", 1)) == []
    assert found(BAD, ("/users/a/groups/g", 1)) == [
        "/groups/g/members/a is missing: /users/a/groups/g is there"
    ]
    assert found(BAD, ("/users/b/groups/g", None)) == []


@pytest.mark.parametrize("place", ["/groups", "/groups/g", "/"])
def test_after_a_commit_above_entries_all_are_looked_at(place: str) -> None:
    assert found(BAD, (place, None)) != []


def test_a_count_is_looked_at_again_too() -> None:
    tree: Value = {
        "groups": {"g": {"count": 5, "members": {"a": 1}}},
        "users": {"a": {"groups": {"g": 1}}},
    }
    assert found(tree, ("/groups/g/members/a", 1)) == ["/groups/g/count is 5: /groups/g/members has 1 children"]  # fmt: skip


def test_rules_are_refused_with_what_disagrees() -> None:
    whole = Commit(1, 0, Patch(((Path(()), None),)), None, None)
    faults = list(GAINED.look_again(ValueReader(BAD), [whole]))
    with pytest.raises(RulesError) as caught:
        GAINED.refuse(faults)
    (finding,) = caught.value.findings
    assert (finding.line, finding.place) == (2, "/groups/g/members/a")
    assert finding.message.startswith("The data disagrees: /groups/g/members/a is missing")
    GAINED.refuse([])
    Gained.by(NONE, NONE).refuse(faults)
