"""The journal: every commit in order, in the same transaction as the rows it changed.

Key: the revision as 8 bytes, big-endian. Value: msgpack of
`[time_ms, write_id, author, [[path, value], ...], rules]`, values in export form, and where the
commit has derived changes a sixth item, the list of their numbers.

An entry of five items has no derived changes, so a journal from before there were six reads as it
is, and the format of the folder, which tells what has to be written anew, stayed the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import lmdb
import msgpack

from treedb.config import Limits
from treedb.paths.path import Path
from treedb.store.codec import encode_in_parts
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.small import is_small

# Entries pruned for each one added: more than one, so that the journal shrinks to a lowered
# limit, few enough that no write pays for it.
PRUNED_FOR_ONE = 8


def encode_revision(revision: int) -> bytes:
    """Return the key of a journal entry."""
    return revision.to_bytes(8, "big")


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A commit as it stands in the journal."""

    revision: int
    raw: bytes

    @property
    def bookmark(self) -> Bookmark:
        """Return the bookmark of who has seen this commit."""
        return Bookmark(self.revision, _time_of(self.raw))

    def commit(self) -> Commit:
        """Decode the commit."""
        return _decode(self.revision, self.raw)


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
        for entry in self.entries_after(revision):
            yield entry.commit()

    def entries_after(self, revision: int) -> Iterator[JournalEntry]:
        """Yield the same, not decoded."""
        cursor = self.transaction.cursor(self.database)
        if cursor.set_range(encode_revision(revision + 1)):
            for key, raw in cursor.iternext(keys=True, values=True):
                yield JournalEntry(int.from_bytes(key, "big"), raw)

    def bookmark(self) -> Bookmark:
        """Return the bookmark of who has seen every commit."""
        cursor = self.transaction.cursor(self.database)
        if not cursor.last():
            return BEGINNING
        return JournalEntry(int.from_bytes(cursor.key(), "big"), cursor.value()).bookmark

    def holds(self, bookmark: Bookmark) -> bool:
        """Tell whether a bookmark is of this journal, and every commit after it is here."""
        if bookmark == BEGINNING:
            return self.first_revision() in (None, 1)
        raw = self.transaction.get(encode_revision(bookmark.revision), db=self.database)
        return raw is not None and JournalEntry(bookmark.revision, raw).bookmark == bookmark


@dataclass(slots=True)
class OldestTime:
    """The time of the oldest entry, remembered: every write asks, and the entry may be large."""

    key: bytes = b""
    time_ms: int = 0

    def time_at(self, cursor: "lmdb.Cursor[bytes]") -> int:
        """Return the time of the entry that a cursor is at."""
        key = cursor.key()
        if key != self.key:
            self.key, self.time_ms = key, _time_of(cursor.value())
        return self.time_ms


@dataclass(slots=True)
class JournalWriter:
    """Append to the journal within one write transaction, and prune its old end."""

    transaction: "lmdb.Transaction[bytes]"
    database: "lmdb._Database"
    limits: Limits
    oldest: OldestTime = field(default_factory=OldestTime)
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
        return self.oldest.time_at(cursor) < self.last_ms - self.limits.journal_age_ms


def _encode(commit: Commit) -> bytes | memoryview:
    changes = [[path.format(), value] for path, value in commit.patch.changes]
    entry: list[object] = [commit.time_ms, commit.write_id, commit.author, changes, commit.rules]
    if commit.derived:
        entry.append(commit.derived)
    if len(changes) == 1 and is_small(changes[0][1]):
        raw: bytes = msgpack.packb(entry)
        return raw
    return encode_in_parts(entry)


def _decode(revision: int, raw: bytes) -> Commit:
    time_ms, write_id, author, changes, rules, *added = msgpack.unpackb(raw)
    derived = tuple(added[0]) if added else ()
    patch = Patch(tuple((_path(text), value) for text, value in changes))
    return Commit(revision, time_ms, patch, write_id, author, rules, derived)


def _path(text: str) -> Path:
    return Path(tuple(text.split("/")[1:])) if text != "/" else Path(())


def _time_of(raw: bytes) -> int:
    """Read the time alone: the entry may be large, and its first item is what is needed."""
    unpacker = msgpack.Unpacker()
    unpacker.feed(raw[:16])
    unpacker.read_array_header()
    time_ms: int = unpacker.unpack()
    return time_ms
