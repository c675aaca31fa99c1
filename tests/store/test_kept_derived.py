"""Backfills and checks are kept in the transaction that they belong to."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.store.kept_derived import CheckedDeclaration, KeptBackfill, KeptCheck
from treedb.store.store import Store

NEW = KeptBackfill("mirror (copy) /a/$x /b/$x", "union")
FAR = KeptBackfill("count /a/$x /n/$x", "source", False, True, ("k", "é"), 500, 20, 1)
CHECK = KeptCheck(1_700_000_000_000, 7, (CheckedDeclaration(NEW.name, 3, 1, ("/b/1 is missing",)),))


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    limits = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
    store = Store.open(tmp_path / "db", limits, fsync=False)
    yield store
    store.close()


def test_nothing_is_kept_at_first(store: Store) -> None:
    with store.snapshot() as snapshot:
        assert snapshot.backfills() == ()
        assert snapshot.last_check() is None


@pytest.mark.parametrize("backfills", [(NEW,), (FAR, NEW), ()])
def test_backfills_are_read_as_they_were_kept(
    store: Store, backfills: tuple[KeptBackfill, ...]
) -> None:
    for kept in ((FAR,), backfills):
        with store.transaction() as transaction:
            transaction.keep_backfills(kept)
            assert transaction.backfills() == kept
            assert transaction.is_changed
            transaction.commit()
    with store.snapshot() as snapshot:
        assert snapshot.backfills() == backfills


def test_the_last_check_is_read_as_it_was_kept(store: Store) -> None:
    for check in (replace(CHECK, revision=1), CHECK):
        with store.transaction() as transaction:
            transaction.keep_check(check)
            transaction.commit()
    with store.snapshot() as snapshot:
        assert snapshot.last_check() == CHECK


def test_what_is_not_committed_is_not_kept(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.keep_backfills((NEW,))
    with store.snapshot() as snapshot:
        assert snapshot.backfills() == ()
