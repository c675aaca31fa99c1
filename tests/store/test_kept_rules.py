"""Rules are kept byte for byte beside the tree, with the revision they came with."""

from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.store.kept_rules import KeptRules, Origin
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
TEXT = '\ufeff// my rules\r\n{"rules": {\t".read": true, }}\n'


def put(store: Store, revision: int, text: str, origin: Origin) -> None:
    with store.transaction() as transaction:
        commit = Commit(revision, 0, Patch(()), None, None, text)
        transaction.apply(commit, KeptRules(revision, text, origin))
        assert transaction.rules_revision() == revision
        assert transaction.rules() == KeptRules(revision, text, origin)
        transaction.commit()


@pytest.mark.parametrize("origin", Origin)
def test_rules_come_back_as_they_were_after_reopening(tmp_path: FilePath, origin: Origin) -> None:
    store = Store.open(tmp_path, LIMITS)
    put(store, 1, "{}", Origin.FILE)
    put(store, 2, TEXT, origin)
    store.close()
    store = Store.open(tmp_path, LIMITS)
    with store.snapshot() as snapshot:
        assert snapshot.rules() == KeptRules(2, TEXT, origin)
        assert [commit.rules for commit in snapshot.journal.after(0)] == ["{}", TEXT]
    store.close()


def test_a_new_store_keeps_none(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    with store.snapshot() as snapshot:
        assert snapshot.rules() is None
    with store.transaction() as transaction:
        assert transaction.rules_revision() == 0
    store.close()
