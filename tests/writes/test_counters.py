"""A count is the number of children, after every write."""

import random

import pytest

from tests.writes.derived_world import COUNTERS, applied, assert_counted, random_patch
from treedb.config import DEFAULT_LIMITS
from treedb.errors import InvalidData, TreeError
from treedb.paths.path import Path
from treedb.tree.json_equality import same_json
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, normal_form
from treedb.writes.counters import count

HISTORIES = 300
STEPS = 12
TREE: Value = {
    "groups": {
        "a": {"count": 2, "members": {"ann": True, "bob": {"since": 1}}, "name": "A"},
        "b": {"count": 1, "members": {"bob": True}},
    }
}


def patch_of(changes: dict[str, object]) -> Patch:
    places = {Path.parse(text, allow_priority=True): raw for text, raw in changes.items()}
    return Patch.of(
        (place, normal_form(raw, place.depth, DEFAULT_LIMITS).value)
        for place, raw in places.items()
    )


ADDED: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("one more", {"/groups/a/members/cat": True}, {"/groups/a/count": 3}),
    ("one less", {"/groups/a/members/ann": None}, {"/groups/a/count": 1}),
    ("the last", {"/groups/b/members/bob": None}, {"/groups/b/count": None}),
    ("the first", {"/groups/c/members/bob": 1}, {"/groups/c/count": 1}),
    ("a field of one", {"/groups/a/members/bob/since": 2}, {}),
    ("one exchanged", {"/groups/a/members/bob": 5}, {}),
    ("nobody removed", {"/groups/a/members/zoe": None}, {}),
    ("one for another", {"/groups/a/members/ann": None, "/groups/a/members/cat": 1}, {}),
    ("all of them", {"/groups/a/members": {"x": 1, "y": 1, "z": 1}}, {"/groups/a/count": 3}),
    ("a collection that is a leaf now", {"/groups/a/members": "none"}, {"/groups/a/count": None}),
    ("a group removed", {"/groups/a": None}, {}),
    ("a group without members", {"/groups/a": {"name": "A"}}, {}),
    ("a group with another count", {"/groups/a": {"count": 9, "members": {"x": 1}}}, {"/groups/a": {"count": 1, "members": {"x": 1}}}),
    ("a group with a count alone", {"/groups/a": {"count": 9, "name": "A"}}, {"/groups/a": {"name": "A"}}),
    ("a group sent without its count", {"/groups/a": {"members": {"x": 1}}}, {"/groups/a": {"count": 1, "members": {"x": 1}}}),
    ("a group whose count is true", {"/groups/b": {"count": True, "members": {"x": 1}}}, {"/groups/b": {"count": 1, "members": {"x": 1}}}),
    ("beside", {"/groups/a/name": "B"}, {}),
    ("the priority of one", {"/groups/a/members/bob/.priority": 1}, {}),
]  # fmt: skip


@pytest.mark.parametrize("changes, added", [case[1:] for case in ADDED], ids=[c[0] for c in ADDED])
def test_a_write_brings(changes: dict[str, object], added: dict[str, object]) -> None:
    given = patch_of(changes)
    before = dict(given.changes)
    whole = count(given, ValueReader(TREE), COUNTERS)
    assert {
        str(place): value
        for place, value in whole.changes
        if place not in before or not same_json(before[place], value)
    } == added


@pytest.mark.parametrize(
    "place", ["/groups/a/count", "/groups/a/count/x", "/groups/a/count/.priority"]
)
def test_a_count_is_not_written(place: str) -> None:
    with pytest.raises(InvalidData, match="the number of children of /groups/a/members"):
        count(patch_of({place: 1}), ValueReader(TREE), COUNTERS)


def test_without_counters_a_patch_stays_as_it_is() -> None:
    patch = patch_of({"/groups/a/members/cat": True})
    assert count(patch, ValueReader(TREE), ()) is patch


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_after_every_write_every_count_is_right(seed: int) -> None:
    dice = random.Random(seed)
    tree: Value = None
    for _ in range(STEPS):
        try:
            whole = count(random_patch(dice), ValueReader(tree), COUNTERS)
        except TreeError:
            continue
        tree = applied(tree, whole)
        assert_counted(tree)
