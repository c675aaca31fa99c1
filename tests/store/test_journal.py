"""The journal keeps commits in order and prunes its old end."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import msgpack
import pytest

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.paths.path import Path
from treedb.store.journal import PRUNED_FOR_ONE, OldestTime, encode_revision
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 28)
COMMITS = [
    Commit(1, 10, Patch(((Path(()), {"a": 1.5}),)), None, None),
    Commit(2, 20, Patch(((Path(("a",)), None),)), "id-2", "mchen"),
    Commit(3, 30, Patch(((Path(("a", "é😀 ")), True), (Path(("b", ".priority")), "p"))), None, "x"),
    Commit(
        4,
        40,
        Patch(((Path(("a",)), 1), (Path(("b",)), 1), (Path(("c",)), None))),
        None,
        None,
        derived=(0, 2),
    ),
]


def opened(directory: FilePath, limits: Limits) -> Iterator[Store]:
    store = Store.open(directory, limits, fsync=False)
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: FilePath, request: pytest.FixtureRequest) -> Iterator[Store]:
    yield from opened(tmp_path, getattr(request, "param", LIMITS))


def append(store: Store, *commits: Commit) -> None:
    with store.transaction() as transaction:
        for commit in commits:
            transaction.apply(commit)
        transaction.commit()


def revisions(store: Store, after: int = 0) -> list[int]:
    with store.snapshot() as snapshot:
        return [commit.revision for commit in snapshot.journal.after(after)]


def numbered(first: int, last: int, time_ms: int = 0) -> list[Commit]:
    patch = Patch(((Path(("n",)), 1),))
    return [Commit(number, time_ms, patch, None, None) for number in range(first, last + 1)]


def test_commits_come_back_as_they_were(store: Store) -> None:
    append(store, *COMMITS)
    with store.snapshot() as snapshot:
        assert list(snapshot.journal.after(0)) == COMMITS
        assert list(snapshot.journal.after(2)) == COMMITS[2:]
        assert list(snapshot.journal.after(4)) == []
        assert (snapshot.journal.first_revision(), snapshot.revision) == (1, 4)


def test_an_entry_from_before_there_were_derived_changes_is_read(store: Store) -> None:
    entry = msgpack.packb([20, "id-2", "mchen", [["/a", None]], None])
    with store.transaction() as transaction:
        journal = transaction.journal
        journal.transaction.put(encode_revision(2), entry, db=journal.database)
        assert list(journal.after(0)) == [COMMITS[1]]


def test_an_entry_without_derived_changes_is_as_it_was_before_there_were_any(store: Store) -> None:
    append(store, *COMMITS[:3])
    with store.snapshot() as snapshot:
        cursor = snapshot.journal.transaction.cursor(snapshot.journal.database)
        assert [len(msgpack.unpackb(raw)) for raw in cursor.iternext(keys=False)] == [5, 5, 5]


def test_an_empty_journal_is_at_revision_0(store: Store) -> None:
    with store.snapshot() as snapshot:
        assert snapshot.revision == 0
        assert snapshot.journal.first_revision() is None


@pytest.mark.parametrize("store", [replace(LIMITS, journal_entries=5)], indirect=True)
def test_too_many_entries_are_pruned_from_the_old_end(store: Store) -> None:
    append(store, *numbered(1, 20))
    assert revisions(store) == [16, 17, 18, 19, 20]


@pytest.mark.parametrize("store", [replace(LIMITS, journal_age_ms=100)], indirect=True)
def test_old_entries_are_pruned_but_never_the_last(store: Store) -> None:
    append(store, *numbered(1, 3, time_ms=0))
    append(store, *numbered(4, 4, time_ms=1000))
    assert revisions(store) == [4]
    append(store, *numbered(5, 5, time_ms=5000))
    assert revisions(store) == [5]


def test_the_oldest_entry_is_read_once_and_the_next_when_it_is_the_oldest(store: Store) -> None:
    append(store, *numbered(1, 1, time_ms=7), *numbered(2, 2, time_ms=9))
    oldest = OldestTime()
    with store.transaction() as transaction:
        journal = transaction.journal
        cursor = journal.transaction.cursor(journal.database)
        assert cursor.first()
        assert oldest.time_at(cursor) == 7
        journal.transaction.put(encode_revision(1), b"not read again", db=journal.database)
        assert cursor.first()
        assert oldest.time_at(cursor) == 7
        cursor.delete()
        assert oldest.time_at(cursor) == 9


@pytest.mark.parametrize("store", [replace(LIMITS, journal_bytes=64 * 1024)], indirect=True)
def test_a_large_journal_is_pruned_by_its_pages(store: Store) -> None:
    patch = Patch(((Path(("n",)), "x" * 10_000),))
    append(store, *(Commit(number, 0, patch, None, None) for number in range(1, 31)))
    left = revisions(store)
    assert left[-1] == 30
    assert len(left) < 10


def test_one_commit_prunes_only_a_few(tmp_path: FilePath) -> None:
    for store in opened(tmp_path, LIMITS):
        append(store, *numbered(1, 50))
    for store in opened(tmp_path, replace(LIMITS, journal_entries=1)):
        append(store, *numbered(51, 51))
        assert len(revisions(store)) == 51 - PRUNED_FOR_ONE
