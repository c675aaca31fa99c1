"""Entries are put, removed by range whatever the length of places, and scanned both ways."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path as FilePath

import lmdb
import pytest

from treedb.paths.order import encode_key, encode_path
from treedb.store.index_codec import number_prefix, parse_suffix, place_of, place_prefix
from treedb.store.index_entries import IndexEntries

LONG = "p" * 300
PLACES = [(), ("a",), ("a", "b"), ("ab",), (LONG,), (LONG, "b"), (LONG + "x",), ("b",)]
KEYS = ["1", "c", "k" * 300]


@pytest.fixture
def entries(tmp_path: FilePath) -> Iterator[IndexEntries]:
    with (
        lmdb.open(str(tmp_path), max_dbs=1, sync=False, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        entries = IndexEntries(transaction, environment.open_db(b"index", txn=transaction))
        for number, place, key in product((0, 1, 255), PLACES, KEYS):
            entries.put(number, encode_path(place), b"\x00", encode_key(key))
        yield entries


def there(entries: IndexEntries) -> set[tuple[int, bytes]]:
    return {
        (int.from_bytes(entry[:4], "big"), place_of(entry, data)[0])
        for entry, data in entries.forward(b"", b"")
    }


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "/".join(place)[:10])
def test_a_subtree_is_removed_from_one_index_and_nothing_else(
    entries: IndexEntries, place: tuple[str, ...]
) -> None:
    before = there(entries)
    full = encode_path(place)
    entries.delete_subtree(1, full)
    gone = {(1, each) for number, each in before if number == 1 and each.startswith(full)}
    assert there(entries) == before - gone


def test_an_entry_is_removed_alone(entries: IndexEntries) -> None:
    count = len(list(entries.forward(b"", b"")))
    entries.delete(1, encode_path(("a",)), b"\x00", encode_key("c"))
    entries.delete(1, encode_path(("a",)), b"\x01", encode_key("1"))
    assert len(list(entries.forward(b"", b""))) == count - 1


def test_an_index_is_removed_in_steps(entries: IndexEntries) -> None:
    count = len(PLACES) * len(KEYS)
    assert entries.delete_some(1, count - 2) == count - 2
    assert entries.any(1)
    assert entries.delete_some(1, count) == 2
    assert not entries.any(1)
    assert (entries.any(0), entries.any(255), entries.any(2)) == (True, True, False)


def test_all_indexes_are_removed_at_once(entries: IndexEntries) -> None:
    entries.delete_all()
    assert list(entries.forward(b"", b"")) == []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "/".join(place)[:10])
def test_a_place_is_scanned_both_ways(entries: IndexEntries, place: tuple[str, ...]) -> None:
    prefix = place_prefix(1, encode_path(place))
    forward = list(entries.forward(prefix, prefix))
    found = [parse_suffix(entry[len(prefix) :], data)[1] for entry, data in forward]
    assert found == [encode_key(key) for key in KEYS]
    end = prefix[:-1] + bytes((prefix[-1] + 1,))
    assert list(entries.backward(prefix, end)) == forward[::-1]
    assert list(entries.backward(prefix, forward[1][0])) == forward[:1]
    assert list(entries.forward(prefix, forward[1][0])) == forward[1:]


def test_the_last_entries_of_all_are_found_backwards(entries: IndexEntries) -> None:
    prefix = number_prefix(255)
    assert len(list(entries.backward(prefix, number_prefix(256)))) == len(PLACES) * len(KEYS)


def test_what_is_met_is_counted(entries: IndexEntries) -> None:
    prefix = place_prefix(1, encode_path(("a",)))
    list(entries.forward(prefix, prefix))
    assert entries.reads == len(KEYS) + 1
    entry, data = next(entries.forward(prefix, prefix))
    assert entries.get(entry) == data
    assert entries.reads == len(KEYS) + 3
