"""Rows come in full-key order whatever LMDB's limit on key length."""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treedb.store.codec import HEAD, LONGEST, encode_row, encode_value
from treedb.store.cursor import SLICE_BYTES, RowCursor

# Few letters and lengths around the limits, so that heads are shared and groups form.
pieces = st.text("ab", min_size=1, max_size=3)
near_limit = st.sampled_from([HEAD - 1, HEAD, HEAD + 1, LONGEST - 1, LONGEST, LONGEST + 1, 700])
full_keys = st.builds(
    lambda filler, tail: (b"a" * filler + tail.encode())[: filler + 3], near_limit, pieces
) | pieces.map(str.encode)


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[RowCursor]:
    with (
        lmdb.open(str(tmp_path), map_size=1 << 26, max_dbs=1, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        yield RowCursor(transaction, environment.open_db(b"rows", txn=transaction))


def put(rows: RowCursor, full: bytes) -> None:
    rows.put(full, encode_row(full, len(full), encode_value(len(full))))


def keys_of(found: object) -> list[bytes]:
    assert not isinstance(found, int)
    return [full for full, _ in found]  # type: ignore[attr-defined]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(present=st.sets(full_keys, max_size=12), probe=full_keys)
def test_seek_before_and_scan_agree_with_a_sorted_list(
    rows: RowCursor, present: set[bytes], probe: bytes
) -> None:
    rows.delete_subtree(b"")
    for full in present:
        put(rows, full)
    ordered = sorted(present)
    index = bisect_left(ordered, probe)

    found = rows.seek(probe)
    assert (found and found[0]) == (ordered[index] if index < len(ordered) else None)
    found = rows.before(probe)
    assert (found and found[0]) == (ordered[index - 1] if index else None)
    assert keys_of(rows.scan(b"")) == ordered
    assert keys_of(rows.scan(probe)) == [full for full in ordered if full.startswith(probe)]
    assert (rows.get(probe) is not None) == (probe in present)

    rows.delete_subtree(probe)
    assert keys_of(rows.scan(b"")) == [full for full in ordered if not full.startswith(probe)]


def test_the_root_row_comes_first(rows: RowCursor) -> None:
    put(rows, b"")
    put(rows, b"\x02")
    assert keys_of(rows.scan(b"")) == [b"", b"\x02"]
    found = rows.before(b"\x02")
    assert found is not None
    assert found[0] == b""


def test_deleting_a_missing_row_says_so(rows: RowCursor) -> None:
    put(rows, b"a" * 600)
    assert rows.delete(b"a" * 600)
    assert not rows.delete(b"a" * 600)


def test_stepping_through_a_group_reads_it_once_and_sees_what_was_put(rows: RowCursor) -> None:
    for number in range(100):
        put(rows, b"a" * 600 + b"%02d" % number)
    before = rows.reads
    found = rows.seek(b"a" * 600)
    while found is not None:
        found = rows.seek(found[0] + b"\x00")
    assert rows.reads - before < 400
    put(rows, b"a" * 600 + b"00x")
    found = rows.seek(b"a" * 600 + b"000")
    assert found is not None
    assert found[0] == b"a" * 600 + b"00x"


def test_a_slice_ends_with_the_row_that_fills_it(rows: RowCursor) -> None:
    sizes = [SLICE_BYTES // 4] * 9 + [SLICE_BYTES * 3, 1, 1]
    for number, size in enumerate(sizes):
        rows.put(b"%02d\x00" % number, bytes(size))
    assert [len(each) for each in rows.slices(b"", 500)] == [4, 4, 2, 2]
    assert [len(each) for each in rows.slices(b"", 3)] == [3, 3, 3, 1, 2]
