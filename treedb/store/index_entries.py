"""The entries of all indexes in one LMDB transaction: put, removed by range, read in order."""

from collections.abc import Iterator

import lmdb

from treedb.store.codec import successor
from treedb.store.index_codec import (
    PLACE_MOST,
    entry_data,
    entry_key,
    number_prefix,
    place_of,
    place_prefix,
    subtree_prefix,
)

Entry = tuple[bytes, bytes]


class IndexEntries:
    """Change and scan entries; each is (LMDB key, data). `reads` counts those met by scans."""

    def __init__(self, transaction: "lmdb.Transaction[bytes]", database: "lmdb._Database") -> None:
        self._transaction = transaction
        self._database = database
        self.reads = 0

    def get(self, entry: bytes) -> bytes | None:
        """Return the data of exactly this entry, None when there is no such entry."""
        self.reads += 1
        data: bytes | None = self._transaction.get(entry, db=self._database)
        return data

    def put(self, number: int, place: bytes, value: bytes, key: bytes) -> None:
        """Add the entry of a child, by its value as cut; that it is there already does no harm."""
        entry = entry_key(place_prefix(number, place), value, key)
        self._transaction.put(entry, entry_data(place, key), db=self._database)

    def delete(self, number: int, place: bytes, value: bytes, key: bytes) -> None:
        """Remove the entry of a child, if it is there."""
        entry = entry_key(place_prefix(number, place), value, key)
        self._transaction.delete(entry, db=self._database)

    def delete_subtree(self, number: int, place: bytes) -> None:
        """Remove the entries of an index at and below a place."""
        prefix = subtree_prefix(number, place)
        cursor = self._transaction.cursor(self._database)
        found = cursor.set_range(prefix)
        while found and cursor.key().startswith(prefix):
            if len(place) <= PLACE_MOST or place_of(*cursor.item())[0].startswith(place):
                found = cursor.delete()
            else:
                found = cursor.next()

    def delete_all(self) -> None:
        """Remove every entry of every index."""
        self._transaction.drop(self._database, delete=False)

    def delete_some(self, number: int, most: int) -> int:
        """Remove entries of an index, at most so many; return how many it were."""
        prefix = number_prefix(number)
        cursor = self._transaction.cursor(self._database)
        found = cursor.set_range(prefix)
        removed = 0
        while found and removed < most and cursor.key().startswith(prefix):
            found = cursor.delete()
            removed += 1
        return removed

    def any(self, number: int) -> bool:
        """Tell whether an index has an entry."""
        prefix = number_prefix(number)
        cursor = self._transaction.cursor(self._database)
        return bool(cursor.set_range(prefix)) and cursor.key().startswith(prefix)

    def forward(self, prefix: bytes, start: bytes) -> Iterator[Entry]:
        """Yield the entries that begin with `prefix`, from `start` on."""
        cursor = self._transaction.cursor(self._database)
        if cursor.set_range(start):
            for entry, data in cursor.iternext(keys=True, values=True):
                self.reads += 1
                if not entry.startswith(prefix):
                    return
                yield entry, data

    def backward(self, prefix: bytes, end: bytes) -> Iterator[Entry]:
        """Yield the entries that begin with `prefix` and lie before `end`, the last one first."""
        cursor = self._transaction.cursor(self._database)
        if cursor.set_range(end or successor(prefix)):
            found = cursor.prev()
        else:
            found = cursor.last()
        if not found:
            return
        for entry, data in cursor.iterprev(keys=True, values=True):
            self.reads += 1
            if not entry.startswith(prefix):
                return
            yield entry, data
