"""Every derived place knows what it follows, and each declaration says what it means."""

import random

import pytest

from tests.declared_rules import RULES
from tests.writes.derived_world import applied, random_patch
from treedb.errors import TreeError
from treedb.paths.path import Path
from treedb.rules.derivation import Declaration, find_derivation
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.derive import derive

DECLARED: tuple[Declaration, ...] = (*RULES.mirrors, *RULES.counters)
HISTORIES = 100
STEPS = 12

GROUPS = "/users/$u/groups/$g exists exactly when /groups/$g/members/$u does, with the same value"

DERIVED = [
    ("/groups/x/members/y", "/users/y/groups/x", "mirror", 3),
    ("/users/y/groups/x", "/groups/x/members/y", "mirror", 3),
    ("/users/y/groups/x/since", "/groups/x/members/y/since", "mirror", 3),
    ("/groups/x/members/y/.priority", "/users/y/groups/x/.priority", "mirror", 3),
    ("/followers/x/y", "/users/y/follows/x", "mirror", 4),
    ("/users/y/follows/x", "/followers/x/y", "mirror", 4),
    ("/groups/x/count", "/groups/x/members", "count", 5),
    ("/sizes/x/y", "/lists/y/x", "count", 6),
]


@pytest.mark.parametrize("path, origin, kind, line", DERIVED)
def test_a_derived_place_follows_another(path: str, origin: str, kind: str, line: int) -> None:
    found = find_derivation(Path.parse(path, allow_priority=True), DECLARED, RULES.source)
    assert found is not None
    assert (str(found.origin), found.kind, found.line) == (origin, kind, line)


@pytest.mark.parametrize("path", ["/", "/users/y", "/users/y/name/x", "/groups/x", "/lists/y/x/z"])
def test_other_places_follow_nothing(path: str) -> None:
    assert find_derivation(Path.parse(path), DECLARED, RULES.source) is None


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_whatever_the_server_adds_has_a_derivation(seed: int) -> None:
    dice = random.Random(seed)
    tree: Value = None
    for _ in range(STEPS):
        patch = random_patch(dice)
        try:
            whole = derive(patch, ValueReader(tree), RULES)
        except TreeError:
            continue
        tree = applied(tree, whole)
        named = {path for path, _ in patch.changes}
        for path, _ in whole.changes:
            if path not in named:
                assert find_derivation(path, DECLARED, RULES.source) is not None, path


def test_declarations_say_what_they_mean_in_the_order_of_the_file() -> None:
    assert [str(meaning) for meaning in RULES.meanings()] == [
        f"3:34: mirror: {GROUPS}",
        "4:42: mirror: /followers/$v/$u is true exactly where /users/$u/follows/$v holds any value",
        "5:43: count: /groups/$g/count is the number of children of /groups/$g/members",
        "6:37: count: /sizes/$b/$a is the number of children of /lists/$a/$b",
    ]
