"""The store of one namespace: snapshots to read, write transactions, and the journal's tail.

Any number of processes may open one store; LMDB lets one of them write at a time and never makes
a reader wait. Within a process one Store holds the only environment.
"""

import errno
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import lmdb

from treedb.config import Limits
from treedb.errors import InsufficientStorage, MapFull, StoreError, TreeError, Unavailable
from treedb.store.cursor import RowCursor
from treedb.store.environment import open_environment, sync_directory
from treedb.store.journal import JournalReader, JournalWriter
from treedb.store.kept_rules import KeptRules, put_rules, read_revision, read_rules
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import StoredTree
from treedb.tree.commit import Commit

FORMAT = b"1"
NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
LARGEST_MAP_BYTES = 16 << 40


class Snapshot:
    """The tree at one revision; a context manager that ends its read transaction.

    Keep it short: an open snapshot keeps LMDB from reusing the pages that writes free.
    """

    def __init__(self, store: "Store", transaction: "lmdb.Transaction[bytes]") -> None:
        self._store = store
        self._transaction = transaction
        self.tree = StoredTree(RowCursor(transaction, store.rows))
        self.journal = JournalReader(transaction, store.journal)
        self.revision = self.journal.revision()

    def rules_revision(self) -> int:
        """Return since which revision the kept rules are in force, 0 when there are none."""
        return read_revision(self._transaction, self._store.meta)

    def rules(self) -> KeptRules | None:
        """Return the rules kept with this tree."""
        return read_rules(self._transaction, self._store.meta)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the read transaction."""
        self._transaction.abort()
        self._store.ended()


class WriteTransaction:
    """The one open write of a store; everything in it becomes durable together, or nothing."""

    def __init__(self, store: "Store", transaction: "lmdb.Transaction[bytes]") -> None:
        self._store = store
        self._transaction = transaction
        self.tree = StoredTree(RowCursor(transaction, store.rows))
        self._writer = RowWriter(self.tree, store.limits.row_bytes)
        self._journal = JournalWriter(transaction, store.journal, store.limits)
        self.revision = JournalReader(transaction, store.journal).revision()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._transaction.abort()
        self._store.ended()

    def rules_revision(self) -> int:
        """Return since which revision the kept rules are in force, 0 when there are none."""
        return read_revision(self._transaction, self._store.meta)

    def rules(self) -> KeptRules | None:
        """Return the rules kept with the tree as it is in this transaction."""
        return read_rules(self._transaction, self._store.meta)

    def apply(self, commit: Commit, rules: KeptRules | None = None) -> None:
        """Change the rows, and the kept rules, as the commit says; append it to the journal."""
        assert commit.revision == self.revision + 1, "revisions have no gaps"
        try:
            for path, value in commit.patch.changes:
                self._writer.set(path, value)
            self._journal.append(commit)
            if rules is not None:
                put_rules(self._transaction, self._store.meta, rules)
        except lmdb.Error as error:
            raise fault(error) from error
        self.revision = commit.revision

    def commit(self) -> None:
        """Make everything applied durable; returns after it is on disk."""
        try:
            self._journal.prune()
            self._transaction.commit()
        except lmdb.Error as error:
            raise fault(error) from error


class Store:
    """One LMDB environment with its sub-databases."""

    def __init__(self, directory: Path, environment: lmdb.Environment, limits: Limits) -> None:
        self.directory = directory
        self.limits = limits
        self._environment = environment
        self.rows = environment.open_db(b"rows")
        self.journal = environment.open_db(b"journal")
        self.meta = environment.open_db(b"meta")
        self._gate = threading.Lock()
        self._transactions = 0

    @classmethod
    def open(cls, directory: Path, limits: Limits, *, fsync: bool = True) -> "Store":
        """Open the store in `directory`, creating it when absent; StoreError when it cannot be."""
        store = cls(directory, open_environment(directory, limits, fsync=fsync), limits)
        store._check_format()
        sync_directory(directory)
        return store

    def snapshot(self) -> Snapshot:
        """Open a snapshot of the last commit; Unavailable when there are too many readers."""
        return Snapshot(self, self._begin(write=False))

    def transaction(self) -> WriteTransaction:
        """Open the write transaction, waiting for another process that has it."""
        return WriteTransaction(self, self._begin(write=True))

    def ended(self) -> None:
        """Count a transaction as ended; called by the transactions themselves."""
        with self._gate:
            self._transactions -= 1

    def grow(self) -> bool:
        """Double the map; tell whether that was possible: not while transactions are open."""
        size = self._environment.info()["map_size"] * 2
        return size <= LARGEST_MAP_BYTES and self._resize(size)

    def check_readers(self) -> int:
        """Free the reader slots of dead processes, whose snapshots would keep pages in use."""
        freed: int = self._environment.reader_check()
        return freed

    def size_bytes(self) -> int:
        """Return the size of the data file, by its name alone (it is never opened here)."""
        return (self.directory / "data.mdb").stat().st_size

    def close(self) -> None:
        """Close the environment; no transaction may be open."""
        self._environment.close()

    def _begin(self, *, write: bool) -> "lmdb.Transaction[bytes]":
        for attempt in (1, 2):
            with self._gate:
                self._transactions += 1
            try:
                return self._environment.begin(write=write)
            except lmdb.MapResizedError:
                # Another process grew the map. Adopting its size ends our open transactions.
                self.ended()
                if not self._resize(0):
                    raise Unavailable("the map is being adopted, try again") from None
            except lmdb.ReadersFullError:
                self.ended()
                self.check_readers()
                if attempt == 2:
                    raise Unavailable("too many reads at once, try again") from None
            except lmdb.Error:
                self.ended()
                raise
        raise Unavailable("the map keeps changing, try again")

    def _resize(self, size: int) -> bool:
        with self._gate:
            if self._transactions:
                return False
            self._environment.set_mapsize(size)
            return True

    def _check_format(self) -> None:
        with self._environment.begin(write=True) as transaction:
            found = transaction.get(b"format", db=self.meta)
            if found is None:
                transaction.put(b"format", FORMAT, db=self.meta)
                found = FORMAT
        if found != FORMAT:
            self.close()
            raise StoreError(
                f"The database in {self.directory} has format {found.decode()}, this treedb "
                f"reads format {FORMAT.decode()}. Use the version that wrote it, or export there "
                "and import here."
            )


def fault(error: lmdb.Error) -> TreeError:
    """Tell a full disk or map, which passes, from an I/O error, after which nothing is sure."""
    if isinstance(error, lmdb.MapFullError):
        return MapFull(f"the database's map is full: {error}")
    if getattr(error, "code", None) in NO_ROOM:
        return InsufficientStorage(f"the disk is full: {error}; free some space and try again")
    return StoreError(f"the store failed: {error}; restart treedb after checking the disk")
