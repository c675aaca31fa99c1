"""Transactions that fail when they are committed, as LMDB's do on a full disk or a broken one."""

import lmdb
import pytest

from treedb.store.store import WriteTransaction, fault

DISK_FULL = 28  # ENOSPC
DISK_BROKEN = 5  # EIO


def failing(code: int, times: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the next commits of any transaction fail with an error of the system."""
    error: lmdb.Error = type("CommitError", (lmdb.Error,), {"code": code})("commit failed")
    commit = WriteTransaction.commit
    left = [times]

    def fail(transaction: WriteTransaction) -> None:
        if left[0]:
            left[0] -= 1
            raise fault(error)
        commit(transaction)

    monkeypatch.setattr(WriteTransaction, "commit", fail)
