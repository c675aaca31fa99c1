"""The store of one namespace: snapshots to read, write transactions, and the journal's tail.

Any number of processes may open one store; LMDB lets one of them write at a time and never makes
a reader wait. Within a process one Store holds the only environment.
"""

import errno
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import lmdb

from treedb.config import Limits
from treedb.errors import InsufficientStorage, MapFull, StoreError, TreeError, Unavailable
from treedb.store.cursor import RowCursor
from treedb.store.environment import open_environment, sync_directory
from treedb.store.index_build import BuildStep, build_some
from treedb.store.index_definitions import (
    Definitions,
    DefinitionStore,
    IndexPlace,
    IndexProgress,
    IndexState,
)
from treedb.store.index_entries import IndexEntries
from treedb.store.index_reader import IndexReader
from treedb.store.index_upkeep import IndexUpkeep
from treedb.store.journal import JournalReader, JournalWriter, OldestTime
from treedb.store.kept_derived import (
    KeptBackfill,
    KeptCheck,
    put_backfills,
    put_check,
    read_backfills,
    read_check,
)
from treedb.store.kept_rules import KeptRules, put_rules, read_revision, read_rules
from treedb.store.kept_sessions import KeptSession, SessionReader
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import StoredTree
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.commit import Commit

FORMAT = b"2"
# As ours, but without indexes: it is brought up to date when it is opened.
FORMAT_WITHOUT_INDEXES = b"1"
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
        self._definitions = DefinitionStore(transaction, store.meta)
        self.indexes = IndexReader(
            IndexEntries(transaction, store.index), self._definitions.read(), store.limits
        )

    def bookmark(self) -> Bookmark:
        """Return the bookmark of who has seen this tree.

        The store remembers the last one: it takes a look at a commit, and commits may be large.
        """
        if self._store.last_bookmark.revision != self.revision:
            self._store.last_bookmark = self.journal.bookmark()
        return self._store.last_bookmark

    def index_progress(self) -> tuple[IndexProgress, ...]:
        """Return how far each index is."""
        return self._definitions.progress()

    def rules_revision(self) -> int:
        """Return since which revision the kept rules are in force, 0 when there are none."""
        return read_revision(self._transaction, self._store.meta)

    def rules(self) -> KeptRules | None:
        """Return the rules kept with this tree."""
        return read_rules(self._transaction, self._store.meta)

    def backfills(self) -> tuple[KeptBackfill, ...]:
        """Return which derived data is still being brought to agree, and how far that is."""
        return read_backfills(self._transaction, self._store.meta)

    def last_check(self) -> KeptCheck | None:
        """Return what the last check of derived data found, None when there was none."""
        return read_check(self._transaction, self._store.meta)

    def sessions(self) -> list[str]:
        """Return the sessions that have something to write when they end."""
        return SessionReader(self._transaction, self._store.sessions).ids()

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
    """The one open write of a store; everything in it becomes durable together, or nothing.

    `is_changed` tells that there is something that a request has brought.
    """

    def __init__(self, store: "Store", transaction: "lmdb.Transaction[bytes]") -> None:
        self._store = store
        self._transaction = transaction
        self.tree = StoredTree(RowCursor(transaction, store.rows))
        self._entries = IndexEntries(transaction, store.index)
        self._definitions = DefinitionStore(transaction, store.meta)
        self._upkeep = self._new_upkeep()
        self._journal = JournalWriter(transaction, store.journal, store.limits, store.oldest)
        self.journal = JournalReader(transaction, store.journal)
        self.revision = self.journal.revision()
        self.is_changed = False

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
        self.is_changed = True
        try:
            for path, value in commit.patch.changes:
                self._upkeep.set(path, value)
            self._journal.append(commit)
            if rules is not None:
                put_rules(self._transaction, self._store.meta, rules)
        except lmdb.Error as error:
            raise fault(error) from error
        self.revision = commit.revision

    def backfills(self) -> tuple[KeptBackfill, ...]:
        """Return which derived data is still being brought to agree, and how far that is."""
        return read_backfills(self._transaction, self._store.meta)

    def keep_backfills(self, backfills: tuple[KeptBackfill, ...]) -> None:
        """Keep backfills in place of those that were."""
        self.is_changed = True
        try:
            put_backfills(self._transaction, self._store.meta, backfills)
        except lmdb.Error as error:
            raise fault(error) from error

    def keep_check(self, check: KeptCheck) -> None:
        """Keep what a check of derived data found."""
        self.is_changed = True
        try:
            put_check(self._transaction, self._store.meta, check)
        except lmdb.Error as error:
            raise fault(error) from error

    def session(self, session_id: str) -> KeptSession | None:
        """Return what a session has to write when it ends, None when there is nothing."""
        return SessionReader(self._transaction, self._store.sessions).get(session_id)

    def keep_session(self, session_id: str, raw: bytes) -> None:
        """Keep an encoded session in place of what was kept of it."""
        self.is_changed = True
        try:
            self._transaction.put(session_id.encode(), raw, db=self._store.sessions)
        except lmdb.Error as error:
            raise fault(error) from error

    def forget_session(self, session_id: str) -> None:
        """Forget a session: it has ended, or has nothing to write any more."""
        self.is_changed = True
        try:
            self._transaction.delete(session_id.encode(), db=self._store.sessions)
        except lmdb.Error as error:
            raise fault(error) from error

    def index_progress(self) -> tuple[IndexProgress, ...]:
        """Return how far each index is."""
        return self._definitions.progress()

    def declare_indexes(self, wanted: Iterable[IndexPlace]) -> None:
        """Have exactly these indexes, and that of priorities.

        New ones are to be built, unless the tree is empty; others are cleared by later steps.
        """
        definitions = self._definitions.read()
        is_empty = self.tree.rows.seek(b"") is None
        declared = definitions.declared(wanted, is_empty=is_empty)
        if declared != definitions:
            self._define(declared)

    def rebuild_indexes(self) -> None:
        """Begin every index anew, whatever its entries are; the old ones are cleared later."""
        self._define(self._definitions.read().rebuilt())

    def build_indexes(self, most: int) -> BuildStep:
        """Go on building, or clearing, by at most so many children; no revision comes of it."""
        try:
            step = build_some(self.tree, self._entries, self._definitions, most)
        except lmdb.Error as error:
            raise fault(error) from error
        self._upkeep = self._new_upkeep()
        return step

    def commit(self) -> None:
        """Make everything applied durable; returns after it is on disk."""
        try:
            self._journal.prune()
            self._transaction.commit()
        except lmdb.Error as error:
            raise fault(error) from error

    def _define(self, definitions: Definitions) -> None:
        try:
            self._definitions.put(definitions)
        except lmdb.Error as error:
            raise fault(error) from error
        self._upkeep = self._new_upkeep()

    def _new_upkeep(self) -> IndexUpkeep:
        writer = RowWriter(self.tree, self._store.limits.row_bytes)
        return IndexUpkeep(self.tree, writer, self._entries, self._definitions.read())


class Store:
    """One LMDB environment with its sub-databases."""

    def __init__(self, directory: Path, environment: lmdb.Environment, limits: Limits) -> None:
        self.directory = directory
        self.limits = limits
        self.last_bookmark = BEGINNING
        self._environment = environment
        self.rows = environment.open_db(b"rows")
        self.index = environment.open_db(b"index")
        self.journal = environment.open_db(b"journal")
        self.meta = environment.open_db(b"meta")
        self.sessions = environment.open_db(b"sessions")
        self.oldest = OldestTime()
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
            except lmdb.Error as error:
                self.ended()
                raise fault(error) from error
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
            if found in (None, FORMAT_WITHOUT_INDEXES):
                transaction.put(b"format", FORMAT, db=self.meta)
                self._define_first_indexes(transaction)
                found = FORMAT
        if found != FORMAT:
            self.close()
            raise StoreError(
                f"The database in {self.directory} has format {found.decode()}, this treedb "
                f"reads format {FORMAT.decode()}. Use the version that wrote it, or export there "
                "and import here."
            )

    def _define_first_indexes(self, transaction: "lmdb.Transaction[bytes]") -> None:
        """Begin with the index of priorities; what is there already is still to be indexed."""
        is_empty = not transaction.cursor(self.rows).first()
        state = IndexState.COMPLETE if is_empty else IndexState.BUILDING
        DefinitionStore(transaction, self.meta).put(Definitions.first(state))


def fault(error: lmdb.Error) -> TreeError:
    """Tell a full disk or map, which passes, from an I/O error, after which nothing is sure."""
    if isinstance(error, lmdb.MapFullError):
        return MapFull(f"the database's map is full: {error}")
    if getattr(error, "code", None) in NO_ROOM:
        return InsufficientStorage(f"the disk is full: {error}; free some space and try again")
    return StoreError(f"the store failed: {error}; restart treedb after checking the disk")
