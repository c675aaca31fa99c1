"""A commit is a value."""

import dataclasses

import pytest

from treedb.paths.path import ROOT
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch


def test_a_commit_is_never_changed() -> None:
    commit = Commit(1, 1_700_000_000_000, Patch(((ROOT, 1),)), "w1", None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        commit.revision = 2  # type: ignore[misc]  # the point


def test_commits_with_equal_content_are_equal() -> None:
    assert Commit(1, 2, Patch(()), None, "ann") == Commit(1, 2, Patch.of([]), None, "ann")
