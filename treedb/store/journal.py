"""The journal: every commit in order, in the same transaction as the rows it changed.

Key: the revision as 8 bytes, big-endian. Value: msgpack of
`[time_ms, write_id, author, [[path, value], ...], rules]`, values in export form.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import lmdb
import msgpack

from treedb.config import Limits
from treedb.paths.path import Path
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch

# Entries pruned for each one added: more than one, so that the journal shrinks to a lowered
# limit, few enough that no write pays for it.
PRUNED_FOR_ONE = 8


def encode_revision(revision: int) -> bytes:
    """Return the key of a journal entry."""
    return revision.to_bytes(8, "big")


@dataclass(frozen=True, slots=True)
class JournalReader:
    """Read the journal as one transaction sees it."""

    transaction: "lmdb.Transaction[bytes]"
    database: "lmdb._Database"

    def revision(self) -> int:
        """Return the last commit's revision, 0 before the first."""
        cursor = self.transaction.cursor(self.database)
        return int.from_bytes(cursor.key(), "big") if cursor.last() else 0

    def first_revision(self) -> int | None:
        """Return the oldest revision still kept, None when there is none."""
        cursor = self.transaction.cursor(self.database)
        return int.from_bytes(cursor.key(), "big") if cursor.first() else None

    def after(self, revision: int) -> Iterator[Commit]:
        """Yield the commits that came after `revision`, oldest first."""
        cursor = self.transaction.cursor(self.database)
        if cursor.set_range(encode_revision(revision + 1)):
            for key, raw in cursor.iternext(keys=True, values=True):
                yield _decode(int.from_bytes(key, "big"), raw)


@dataclass(slots=True)
class JournalWriter:
    """Append to the journal within one write transaction, and prune its old end."""

    transaction: "lmdb.Transaction[bytes]"
    database: "lmdb._Database"
    limits: Limits
    appended: int = 0
    last_ms: int = 0

    def append(self, commit: Commit) -> None:
        """Add a commit; its revision follows the last one."""
        key = encode_revision(commit.revision)
        self.transaction.put(key, _encode(commit), db=self.database, append=True)
        self.appended += 1
        self.last_ms = commit.time_ms

    def prune(self) -> None:
        """Remove a few of the oldest entries while there are too many, too large or too old.

        The last entry always stays: it carries the revision.
        """
        cursor = self.transaction.cursor(self.database)
        for _ in range(PRUNED_FOR_ONE * self.appended):
            if not cursor.first() or not self._is_excess(cursor):
                return
            cursor.delete()

    def _is_excess(self, cursor: "lmdb.Cursor[bytes]") -> bool:
        stat = self.transaction.stat(self.database)
        if stat["entries"] <= 1:
            return False
        pages = stat["leaf_pages"] + stat["branch_pages"] + stat["overflow_pages"]
        if stat["entries"] > self.limits.journal_entries:
            return True
        if pages * stat["psize"] > self.limits.journal_bytes:
            return True
        return _time_of(cursor.value()) < self.last_ms - self.limits.journal_age_ms


def _encode(commit: Commit) -> bytes:
    changes = [[path.format(), value] for path, value in commit.patch.changes]
    entry = [commit.time_ms, commit.write_id, commit.author, changes, commit.rules]
    raw: bytes = msgpack.packb(entry)
    return raw


def _decode(revision: int, raw: bytes) -> Commit:
    time_ms, write_id, author, changes, rules = msgpack.unpackb(raw)
    patch = Patch(tuple((_path(text), value) for text, value in changes))
    return Commit(revision, time_ms, patch, write_id, author, rules)


def _path(text: str) -> Path:
    return Path(tuple(text.split("/")[1:])) if text != "/" else Path(())


def _time_of(raw: bytes) -> int:
    """Read the time alone: the entry may be large, and its first item is what is needed."""
    unpacker = msgpack.Unpacker()
    unpacker.feed(raw[:16])
    unpacker.read_array_header()
    time_ms: int = unpacker.unpack()
    return time_ms
