"""Bookmarks in the journal: which are its own, and which commits came after them."""

from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT
from treedb.store.store import Store
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26, journal_entries=4)


def commit(store: Store, count: int, at_ms: int = 1000) -> None:
    """Append commits, each a millisecond after the other, one transaction each."""
    for _ in range(count):
        with store.transaction() as transaction:
            revision = transaction.revision + 1
            patch = Patch(((ROOT, revision),))
            transaction.apply(Commit(revision, at_ms + revision, patch, None, None))
            transaction.commit()


def holds(store: Store, bookmark: Bookmark) -> bool:
    with store.snapshot() as snapshot:
        return snapshot.journal.holds(bookmark)


def test_the_last_commit_makes_the_bookmark(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    for count, bookmark in ((0, BEGINNING), (1, Bookmark(1, 1001)), (2, Bookmark(3, 1003))):
        commit(store, count)
        for _ in range(2):
            with store.snapshot() as snapshot:
                assert snapshot.bookmark() == bookmark
    store.close()


def test_an_older_snapshot_keeps_its_bookmark(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    commit(store, 1)
    with store.snapshot() as older:
        commit(store, 1)
        with store.snapshot() as newer:
            assert newer.bookmark() == Bookmark(2, 1002)
            assert older.bookmark() == Bookmark(1, 1001)
    store.close()


@pytest.mark.parametrize(
    ("bookmark", "is_held"),
    [
        (BEGINNING, True),
        (Bookmark(1, 1001), True),
        (Bookmark(3, 1003), True),
        (Bookmark(4, 1004), False),  # not yet
        (Bookmark(2, 1003), False),  # another database's commit 2
        (Bookmark(3, 0), False),
        (Bookmark(0, 5), False),
        (Bookmark(10**18 - 1, 1), False),
    ],
)
def test_a_bookmark_is_of_this_journal_or_not(
    tmp_path: FilePath, bookmark: Bookmark, is_held: bool
) -> None:
    store = Store.open(tmp_path, LIMITS)
    commit(store, 3)
    assert holds(store, bookmark) is is_held
    store.close()


def test_everybody_has_seen_the_beginning_of_an_empty_journal(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    assert holds(store, BEGINNING)
    assert not holds(store, Bookmark(1, 1001))
    store.close()


def test_a_pruned_commit_is_not_held(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    commit(store, 6)  # the journal holds four, or one more until the next commit prunes
    with store.snapshot() as snapshot:
        first = snapshot.journal.first_revision()
        assert first is not None
        assert first > 1
        kept = [entry.bookmark for entry in snapshot.journal.entries_after(0)]
        assert kept == [Bookmark(number, 1000 + number) for number in range(first, 7)]
    assert not holds(store, BEGINNING)
    assert not holds(store, Bookmark(first - 1, 1000 + first - 1))
    assert holds(store, Bookmark(first, 1000 + first))
    store.close()


def test_a_journal_that_was_made_anew_holds_no_bookmark_of_the_old_one(tmp_path: FilePath) -> None:
    old, new = Store.open(tmp_path / "old", LIMITS), Store.open(tmp_path / "new", LIMITS)
    commit(old, 3)
    commit(new, 4, at_ms=5000)
    with old.snapshot() as snapshot:
        bookmark = snapshot.bookmark()
    assert not holds(new, bookmark)
    old.close()
    new.close()
