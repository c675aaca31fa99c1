"""A write brings the other sides of its mirrors along, whatever its shape."""

import random
from dataclasses import replace

import pytest

from tests.writes.derived_world import MIRRORS, applied, assert_mirrored, random_patch
from treedb.config import DEFAULT_LIMITS
from treedb.errors import ConflictingPaths, InvalidData, PayloadTooLarge, TooDeep, TreeError
from treedb.paths.path import Path
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, normal_form
from treedb.writes.mirrors import complete

HISTORIES = 300
STEPS = 12
TREE: Value = normal_form(
    {
        "users": {
            "ann": {"groups": {"a": {"since": 1}}, "follows": {"bob": {"why": "x"}}},
            "bob": {"groups": {"a": True, "b": True}},
        },
        "groups": {
            "a": {"name": "A", "members": {"ann": {"since": 1}, "bob": True}},
            "b": {"members": {"bob": True}},
        },
        "followers": {"bob": {"ann": True}},
    },
    0,
    DEFAULT_LIMITS,
).value


def path(text: str) -> Path:
    return Path.parse(text, allow_priority=True)


def patch_of(changes: dict[str, object]) -> Patch:
    return Patch.of(
        (path(text), normal_form(raw, path(text).depth, DEFAULT_LIMITS).value)
        for text, raw in changes.items()
    )


def completed(changes: dict[str, object], tree: Value = TREE) -> dict[str, Value]:
    """Return what is added to some changes, and what was put into them."""
    given = patch_of(changes)
    whole = complete(given, ValueReader(tree), MIRRORS, DEFAULT_LIMITS)
    before = dict(given.changes)
    return {
        str(each): value
        for each, value in whole.changes
        if each not in before or before[each] != value
    }


ADDED: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("joining", {"/users/ann/groups/b": True}, {"/groups/b/members/ann": True}),
    ("joining from the other side", {"/groups/b/members/ann": 5}, {"/users/ann/groups/b": 5}),
    ("leaving", {"/users/bob/groups/a": None}, {"/groups/a/members/bob": None}),
    ("leaving what one is not in, as a client would name both sides", {"/users/cat/groups/a": None}, {"/groups/a/members/cat": None}),
    ("a field below", {"/users/ann/groups/a/since": 2}, {"/groups/a/members/ann/since": 2}),
    ("the last field below", {"/users/ann/groups/a/since": None}, {"/groups/a/members/ann/since": None}),
    ("a priority", {"/users/bob/groups/a/.priority": 3}, {"/groups/a/members/bob/.priority": 3}),
    ("deleting a user", {"/users/bob": None}, {"/groups/a/members/bob": None, "/groups/b/members/bob": None}),
    ("deleting a group", {"/groups/a": None}, {"/users/ann/groups/a": None, "/users/bob/groups/a": None}),
    ("a user's other groups", {"/users/bob/groups": {"a": True, "c": 1}}, {"/groups/b/members/bob": None, "/groups/c/members/bob": 1}),
    ("beside", {"/groups/a/name": "B", "/users/ann/age": 3}, {}),
    ("both sides alike", {"/users/ann/groups/b": 1, "/groups/b/members/ann": 1}, {}),
    ("all groups", {"/groups": {"z": {"members": {"ann": True}}}}, {"/users/ann/groups/a": None, "/users/bob/groups/a": None, "/users/bob/groups/b": None, "/users/ann/groups/z": True}),
    ("the root, with one side", {"/": {"users": {"ann": {"groups": {"a": 1}}}}}, {"/": {"groups": {"a": {"members": {"ann": 1}}}, "users": {"ann": {"groups": {"a": 1}}}}}),
    ("the root, with one side of who was not there", {"/": {"users": {"eve": {"groups": {"z": 1}}}}}, {"/": {"groups": {"z": {"members": {"eve": 1}}}, "users": {"eve": {"groups": {"z": 1}}}}}),
    ("leaving a group that is replaced", {"/users/eve/groups/a/since": None, "/groups/a": {"name": "B"}}, {"/users/ann/groups/a": None, "/users/bob/groups/a": None}),
    ("the root, removed", {"/": None}, {}),
    ("detail stays where it may be", {"/users/bob/follows/ann": {"why": "y"}}, {"/followers/ann/bob": True}),
    ("detail below", {"/users/ann/follows/bob/why": "z"}, {}),
    ("following from the other side", {"/followers/ann/bob": True}, {"/users/bob/follows/ann": True}),
    ("again from the other side keeps detail", {"/followers/bob/ann": True}, {}),
    ("unfollowing from the other side", {"/followers/bob/ann": None}, {"/users/ann/follows/bob": None}),
]  # fmt: skip


@pytest.mark.parametrize("changes, added", [case[1:] for case in ADDED], ids=[c[0] for c in ADDED])
def test_a_write_brings(changes: dict[str, object], added: dict[str, object]) -> None:
    assert completed(changes) == added


REFUSED: list[tuple[str, dict[str, object], type[TreeError], str]] = [
    ("set here, removed there", {"/users/ann/groups/b": 1, "/groups/b/members/ann": None}, ConflictingPaths, "/groups/b/members/ann"),
    ("set here, its group replaced without it", {"/users/ann/groups/b": 1, "/groups/b": {"name": "B"}}, ConflictingPaths, "/users/ann/groups/b is mirrored at /groups/b/members/ann, and the write of /groups/b leaves that out"),
    ("a root with a leaf in the way", {"/": {"users": {"eve": {"groups": {"b": 1}}}, "groups": {"b": "x"}}}, ConflictingPaths, "the write of / leaves that out"),
    ("unlike values", {"/users/ann/groups/b": 1, "/groups/b/members/ann": 2}, ConflictingPaths, "write one of them, or both alike"),
    ("one and the integer 1", {"/users/ann/groups/b": 1, "/groups/b/members/ann": True}, ConflictingPaths, "/users/ann/groups/b"),
    ("set here, its group removed", {"/users/ann/groups/b": 1, "/groups/b": None}, ConflictingPaths, "/groups/b"),
    ("a root that disagrees", {"/": {"users": {"a": {"groups": {"b": 1}}}, "groups": {"b": {"members": {"a": 2}}}}}, ConflictingPaths, "/users/a/groups/b"),
    ("detail where true must be", {"/followers/ann/bob": {"why": 1}}, InvalidData, "can hold nothing else"),
    ("detail there too", {"/followers/ann/bob": 5, "/users/bob/follows/ann": 5}, InvalidData, "/followers/ann/bob is mirrored at"),
]  # fmt: skip


@pytest.mark.parametrize("changes, kind, told", [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED])  # fmt: skip
def test_a_write_that_contradicts_a_mirror_is_refused(
    changes: dict[str, object], kind: type[TreeError], told: str
) -> None:
    with pytest.raises(kind) as caught:
        completed(changes)
    assert told in caught.value.detail


def test_a_write_may_fan_out_so_far_and_no_farther() -> None:
    limits = replace(DEFAULT_LIMITS, fan_out=2)
    for count in (2, 3):
        patch = patch_of({"/users/eve/groups": dict.fromkeys("xyz"[:count], True)})
        if count == 2:
            assert len(complete(patch, ValueReader(TREE), MIRRORS, limits).changes) == 3
            continue
        with pytest.raises(PayloadTooLarge, match="more than 2 mirrored places"):
            complete(patch, ValueReader(TREE), MIRRORS, limits)


def test_the_other_side_keeps_to_the_depth_of_the_tree() -> None:
    limits = replace(DEFAULT_LIMITS, depth=5)
    patch = patch_of({"/users/eve/groups/x": {"a": {"b": 1}}})
    whole = patch_of({"/": {"users": {"eve": {"groups": {"x": {"a": {"b": 1}}}}}}})
    for each in (patch, whole):
        with pytest.raises(TooDeep, match="6 levels below the root; at most 5"):
            complete(each, ValueReader(None), MIRRORS, limits)


def test_without_mirrors_a_patch_stays_as_it_is() -> None:
    patch = patch_of({"/users/ann": None})
    assert complete(patch, ValueReader(TREE), (), DEFAULT_LIMITS) is patch


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_after_every_write_each_pair_is_alike(seed: int) -> None:
    dice, tree = random.Random(seed), None
    told: Value = tree
    for _ in range(STEPS):
        patch = random_patch(dice)
        try:
            whole = complete(patch, ValueReader(told), MIRRORS, DEFAULT_LIMITS)
        except (ConflictingPaths, InvalidData):
            continue
        told = applied(told, whole)
        assert_mirrored(told)
        for place, value in patch.changes:
            if not any(
                place.contains(side) or side.contains(place) for side in _sides(whole, patch)
            ):
                assert (place, value) in whole.changes


def _sides(whole: Patch, patch: Patch) -> list[Path]:
    given = {place for place, _ in patch.changes}
    return [place for place, _ in whole.changes if place not in given]
