"""Mirrors come first, and counts see what they added."""

import random

import pytest

from tests.declared_rules import RULES
from tests.writes.derived_world import (
    applied,
    assert_counted,
    assert_mirrored,
    random_patch,
)
from treedb.errors import TreeError
from treedb.paths.path import Path
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.derive import derive
from treedb.writes.derived_check import check_derived

HISTORIES = 300
STEPS = 12


def test_a_count_counts_what_a_mirror_added() -> None:
    patch = Patch(((Path(("users", "ann", "groups", "a")), True),))
    assert {
        str(place): value for place, value in derive(patch, ValueReader(None), RULES).changes
    } == {
        "/users/ann/groups/a": True,
        "/groups/a/members/ann": True,
        "/groups/a/count": 1,
    }


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_what_is_derived_step_by_step_is_what_a_look_at_the_whole_finds_right(seed: int) -> None:
    dice = random.Random(seed)
    tree: Value = None
    for _ in range(STEPS):
        try:
            whole = derive(random_patch(dice), ValueReader(tree), RULES)
        except TreeError:
            continue
        tree = applied(tree, whole)
        assert_mirrored(tree)
        assert_counted(tree)
        checked = check_derived(ValueReader(tree), (*RULES.mirrors, *RULES.counters))
        assert [fault for fault in checked if fault is not None] == []
