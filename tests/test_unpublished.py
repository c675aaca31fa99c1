"""What a process has still to publish: the batch, and before it what others wrote."""

from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT, Path
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.unpublished import unpublished

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26, journal_entries=3)
RULES = '{"rules": {}}'


@pytest.fixture
def store(tmp_path: FilePath) -> Store:
    return Store.open(tmp_path / "db", LIMITS, fsync=False)


def write(store: Store, rules: str | None = None) -> Commit:
    with store.transaction() as transaction:
        revision = transaction.revision + 1
        patch = Patch(((Path((str(revision),)), revision),))
        commit = Commit(revision, 0, patch, None, None, rules)
        kept = KeptRules(revision, rules, Origin.ADMIN) if rules else None
        transaction.apply(commit, kept)
        transaction.commit()
    return commit


def test_commits_that_follow_are_taken_as_they_are(store: Store) -> None:
    commits = [write(store) for _ in range(3)]
    assert unpublished(store, 0, commits) == commits
    assert unpublished(store, 2, commits) == commits[2:]
    assert unpublished(store, 3, commits) == []
    assert unpublished(store, 3, ()) == []


def test_what_others_wrote_comes_first_and_nothing_twice(store: Store) -> None:
    commits = [write(store) for _ in range(3)]
    assert unpublished(store, 0, commits[2:]) == commits
    assert unpublished(store, 1, commits[2:]) == commits[1:]


def test_for_what_was_pruned_the_whole_tree_and_the_rules_stand(store: Store) -> None:
    write(store, RULES)
    commits = [write(store) for _ in range(6)]
    (whole,) = unpublished(store, 0, commits[-1:])
    assert whole.revision == 7
    assert whole.patch == Patch(((ROOT, {str(number): number for number in range(1, 8)}),))
    assert whole.rules == RULES
