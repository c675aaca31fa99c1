"""Whatever rows a history of writes leaves, they hold the tree the writes come to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory

import lmdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.paths.order import encode_path
from treedb.paths.path import ROOT, Path
from treedb.store.codec import PRIORITY, decode_row, encode_value
from treedb.store.cursor import RowCursor
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import Inner, StoredTree
from treedb.tree.values import Value, child_keys, is_object, normal_form, value_at, with_value_at

ROW_BYTES = 40
LONG = "k" * 300

keys = st.sampled_from(["a", "b", "1", "02", "é", "😀", "\ue000", LONG, LONG + "x"])
paths = st.lists(keys, max_size=4).map(tuple).map(Path)
leaves = st.sampled_from([True, False, 0, 1.5, -7, "", "text", "x" * 50])
values = st.recursive(
    leaves | st.builds(lambda leaf: {".value": leaf, ".priority": 3}, leaves),
    lambda inner: (
        st.dictionaries(keys, inner, max_size=4)
        | st.builds(
            lambda members, priority: {**members, ".priority": priority},
            st.dictionaries(keys, inner, min_size=1, max_size=4),
            st.sampled_from([1, "p"]),
        )
    ),
    max_leaves=8,
)
changes = st.tuples(paths, st.none() | values) | st.tuples(
    paths.map(lambda path: path.child(".priority")), st.sampled_from([None, 1, "p"])
)


@contextmanager
def opened(row_bytes: int = ROW_BYTES) -> Iterator[tuple[StoredTree, RowWriter]]:
    with (
        TemporaryDirectory() as directory,
        lmdb.open(directory, map_size=1 << 28, max_dbs=1, sync=False, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        tree = StoredTree(RowCursor(transaction, environment.open_db(b"r", txn=transaction)))
        yield tree, RowWriter(tree, row_bytes)


def check_rows(tree: StoredTree, row_bytes: int = ROW_BYTES) -> None:
    rows = list(tree.rows.scan(b""))
    full_keys = [full for full, _ in rows]
    assert full_keys == sorted(full_keys)
    for (full, raw), following in zip(rows, [*full_keys, b""][1:], strict=True):
        if full.endswith(PRIORITY):
            owner = full[:-1]
            assert following.startswith(owner), "a priority row stands above children"
            continue
        assert not following.startswith(full) or following == b"", "rows never nest"
        value = decode_row(raw)
        assert value is not None
        assert not is_object(value) or len(encode_value(value)) <= row_bytes


def shallow(tree: StoredTree, path: Path) -> list[str]:
    return [key for key, _ in tree.children(path)]


@settings(max_examples=300, deadline=None)
@given(history=st.lists(changes, max_size=10), probe=paths)
def test_a_history_of_writes_reads_back_as_the_plain_value(
    history: list[tuple[Path, Value]], probe: Path
) -> None:
    expected: Value = None
    with opened() as (tree, writer):
        for path, raw in history:
            value = raw if path.is_priority else normal_form(raw, 0, DEFAULT_LIMITS).value
            writer.set(path, value)
            expected = with_value_at(expected, path.keys, value)
            check_rows(tree)
            assert tree.get(ROOT) == expected
        for place in (probe, *(path for path, _ in history)):
            there = value_at(expected, place.keys)
            assert tree.get(place) == there
            assert child_keys(tree.get(place)) == child_keys(there)
            assert tree.exists(place) == (there is not None)
            if not place.is_priority:
                assert shallow(tree, place) == child_keys(there)
                assert list(tree.keys(place)) == child_keys(there)


def test_a_record_written_field_by_field_is_one_row() -> None:
    with opened(row_bytes=100) as (tree, writer):
        writer.set(Path(("users", "big")), {str(n): "x" * 20 for n in range(20)})
        for field in ("name", "age", "town"):
            writer.set(Path(("users", "mchen", field)), field)
        below = list(tree.rows.scan(encode_path(("users", "mchen"))))
        assert [full for full, _ in below] == [encode_path(("users", "mchen"))]


def test_a_row_that_outgrows_the_limit_splits_and_keeps_the_priority() -> None:
    with opened() as (tree, writer):
        writer.set(Path(("a",)), {".priority": 9, "x": "x" * 20})
        writer.set(Path(("a", "y")), "y" * 30)
        assert tree.get(Path(("a",))) == {".priority": 9, "x": "x" * 20, "y": "y" * 30}
        assert tree.get(Path(("a", ".priority"))) == 9
        assert len(list(tree.rows.scan(b""))) == 3


def test_removing_the_last_child_removes_the_priorities_above() -> None:
    with opened() as (tree, writer):
        writer.set(
            Path(("a",)), {".priority": 9, "x": {".priority": 8, "y": "y" * 50, "z": "z" * 50}}
        )
        writer.set(Path(("a", "x", "y")), None)
        writer.set(Path(("a", "x", "z")), None)
        assert list(tree.rows.scan(b"")) == []


def test_children_of_a_place_above_rows_come_as_values_or_inner_places() -> None:
    with opened() as (tree, writer):
        writer.set(
            Path(("a",)), {"leaf": "x" * 60, "small": {"n": 1}, "tall": {"b": "b" * 60, "c": 1}}
        )
        found = dict(tree.children(Path(("a",))))
        assert found["leaf"] == "x" * 60
        assert found["small"] == {"n": 1}
        inner = found["tall"]
        assert isinstance(inner, Inner)
        assert dict(tree.children_of(inner)) == {"b": "b" * 60, "c": 1}


@pytest.mark.parametrize("depth", [1, 2, 31, 32])
def test_keys_of_768_bytes_round_trip_at_any_depth(depth: int) -> None:
    deep = tuple(f"{level:02d}" + "é" * 383 for level in range(depth))
    with opened(row_bytes=1024) as (tree, writer):
        for number in range(5):
            writer.set(
                Path((*deep[:-1], f"{deep[-1][:-1]}{number}")), {"n": number, "s": "x" * 400}
            )
        for number in range(5):
            place = Path((*deep[:-1], f"{deep[-1][:-1]}{number}"))
            assert tree.get(place) == {"n": number, "s": "x" * 400}
        assert len(list(tree.keys(Path(deep[:-1])))) == 5
        writer.set(Path(deep[:1]), None)
        assert tree.get(ROOT) is None or depth == 1
        check_rows(tree, 1024)


def test_a_subtree_of_many_long_paths_reads_in_key_order(tmp_path: FilePath) -> None:
    base = ("k" * 600,)
    with opened(row_bytes=64) as (tree, writer):
        for number in reversed(range(50)):
            writer.set(Path((*base, f"n{number:02d}")), "v" * 60 + str(number))
        writer.set(Path(("k" * 599,)), "before")
        writer.set(Path(("l",)), "after")
        assert shallow(tree, Path(base)) == [f"n{number:02d}" for number in range(50)]
        assert child_keys(tree.get(ROOT)) == ["k" * 599, "k" * 600, "l"]
        writer.set(Path(base), None)
        assert child_keys(tree.get(ROOT)) == ["k" * 599, "l"]
