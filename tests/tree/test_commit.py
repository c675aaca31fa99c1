"""A commit is a value, and knows which of its changes nobody asked for."""

import dataclasses

import pytest

from treedb.paths.path import ROOT, Path
from treedb.tree.commit import Commit, derived_in
from treedb.tree.patch import Patch


def test_a_commit_is_never_changed() -> None:
    commit = Commit(1, 1_700_000_000_000, Patch(((ROOT, 1),)), "w1", None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        commit.revision = 2  # type: ignore[misc]  # the point


def test_commits_with_equal_content_are_equal() -> None:
    assert Commit(1, 2, Patch(()), None, "ann") == Commit(1, 2, Patch.of([]), None, "ann")


A, B, C = Path(("a",)), Path(("b",)), Path(("c",))


@pytest.mark.parametrize(
    "named, derived",
    [
        ([A, B, C], ()),
        ([A], (1, 2)),
        ([C], (0, 1)),
        ([B], (0, 2)),
        ([B, ROOT], (0, 2)),
        ([], (0, 1, 2)),
    ],
)
def test_changes_at_places_that_nobody_named_are_derived(
    named: list[Path], derived: tuple[int, ...]
) -> None:
    assert derived_in(Patch(((A, 1), (B, 2), (C, None))), named) == derived
