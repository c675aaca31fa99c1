"""Rows in key order, by their full keys, whatever LMDB's limit on key length.

Everything above this module speaks of full keys only. Rows whose full key is longer than HEAD are
met in *groups*: all that share their first HEAD bytes. A group is contiguous both in LMDB and in
full-key order, but inside it only the full keys tell the order, so it is read whole and sorted.
Groups are rare and small: they need paths of almost half a kilobyte.
"""

from bisect import bisect_left
from collections.abc import Iterator

import lmdb

from treedb.store.codec import HEAD, ROOT, full_key, stored_key, successor

Row = tuple[bytes, bytes]

# Rows read at once by a scan whose caller did not say.
SLICE = 100
# A slice ends with the row that brings its values to this many bytes: rows of 10 MiB exist.
SLICE_BYTES = 256 * 1024


class RowCursor:
    """Seek and scan the rows of one LMDB transaction; rows are (full key, stored value).

    `reads` counts the rows that were sought, scanned or read with their group.
    """

    def __init__(self, transaction: "lmdb.Transaction[bytes]", database: "lmdb._Database") -> None:
        self._transaction = transaction
        self._database = database
        self._cursor = transaction.cursor(database)
        # The last group that was read: whoever steps through one would read it again each time.
        self._head = b""
        self._members: list[Row] = []
        self.reads = 0

    def get(self, full: bytes) -> bytes | None:
        """Return the stored value of exactly this row."""
        self.reads += 1
        raw: bytes | None = self._transaction.get(stored_key(full), db=self._database)
        return raw

    def seek(self, full: bytes) -> Row | None:
        """Return the first row whose full key is `full` or greater."""
        if len(full) <= HEAD:
            return self._first(full or ROOT)
        head = full[:HEAD]
        group = self._group(head)
        index = bisect_left(group, (full,))
        return group[index] if index < len(group) else self._first(successor(head))

    def before(self, full: bytes) -> Row | None:
        """Return the last row whose full key is less than `full`."""
        if not full:
            return None
        if len(full) > HEAD:
            head = full[:HEAD]
            group = self._group(head)
            index = bisect_left(group, (full,))
            if index:
                return group[index - 1]
            exact = self.get(head)
            if exact is not None:
                return head, exact
            full = head
        self.reads += 1
        cursor = self._cursor
        if not (cursor.prev() if cursor.set_range(full) else cursor.last()):
            return None
        key: bytes = cursor.key()
        if len(key) > HEAD:
            return self._group(key[:HEAD])[-1]
        return full_key(key, b""), cursor.value()

    def scan(self, prefix: bytes) -> Iterator[Row]:
        """Yield the rows whose full key begins with `prefix`, in order; b"" yields all."""
        for rows in self.slices(prefix, SLICE):
            yield from rows

    def slices(self, prefix: bytes, size: int) -> Iterator[list[Row]]:
        """Yield the same rows in lists of about `size`, shorter ones where the rows are long."""
        if len(prefix) > HEAD:
            group = [row for row in self._group(prefix[:HEAD]) if row[0].startswith(prefix)]
            if group:
                yield group
            return
        cursor = self._transaction.cursor(self._database)
        start = prefix or ROOT
        while start and cursor.set_range(start):
            start = b""
            entries = cursor.iternext(keys=True, values=True)
            while not start and (met := _some(entries, size)):
                self.reads += len(met)
                rows = _inside(met, prefix)
                head = next((key[:HEAD] for key, _ in rows if len(key) > HEAD), b"")
                if head:
                    rows = [row for row in rows if row[0] <= head] + self._group(head)
                    start = successor(head)
                if rows:
                    yield rows
                if len(rows) < len(met) and not head:
                    return

    def put(self, full: bytes, raw: bytes) -> None:
        """Store a row, in place of what was there."""
        self._head = b""
        self._transaction.put(stored_key(full), raw, db=self._database)

    def delete(self, full: bytes) -> bool:
        """Remove exactly this row; tell whether it was there."""
        self._head = b""
        removed: bool = self._transaction.delete(stored_key(full), db=self._database)
        return removed

    def delete_subtree(self, prefix: bytes) -> None:
        """Remove every row whose full key begins with `prefix`."""
        self._head = b""
        if not prefix:
            self._transaction.drop(self._database, delete=False)
            return
        if len(prefix) > HEAD:
            for full, _ in list(self.scan(prefix)):
                self.delete(full)
            return
        cursor = self._cursor
        found = cursor.set_range(prefix)
        while found and cursor.key().startswith(prefix):
            found = cursor.delete()

    def _first(self, start: bytes) -> Row | None:
        self.reads += 1
        cursor = self._cursor
        if not start or not cursor.set_range(start):
            return None
        key: bytes = cursor.key()
        if len(key) > HEAD:
            return self._group(key[:HEAD])[0]
        return full_key(key, b""), cursor.value()

    def _group(self, head: bytes) -> list[Row]:
        if head == self._head:
            return self._members
        rows = []
        cursor = self._transaction.cursor(self._database)
        if cursor.set_range(head):
            for key, raw in cursor.iternext(keys=True, values=True):
                if not key.startswith(head):
                    break
                if len(key) > HEAD:
                    rows.append((full_key(key, raw), raw))
        rows.sort()
        self.reads += len(rows)
        self._head, self._members = head, rows
        return rows


def _some(entries: Iterator[Row], most: int) -> list[Row]:
    met = []
    size = 0
    for entry in entries:
        met.append(entry)
        size += len(entry[1])
        if size >= SLICE_BYTES or len(met) == most:
            break
    return met


def _inside(rows: list[Row], prefix: bytes) -> list[Row]:
    """Return those of some consecutive rows that begin with `prefix`."""
    if not rows[-1][0].startswith(prefix):
        rows = [row for row in rows if row[0].startswith(prefix)]
    if rows and rows[0][0] == ROOT:
        rows[0] = (b"", rows[0][1])
    return rows
