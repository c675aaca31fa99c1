"""The store keeps what it acknowledged, for every process that opens it."""

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path as FilePath

import lmdb
import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import MapFull, StoreError
from treedb.paths.path import ROOT, Path
from treedb.store.index_check import check_indexes
from treedb.store.index_definitions import PRIORITIES, IndexPlace, IndexState
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query_order import PRIORITY, by_child
from treedb.tree.values import Value

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 30)


def write(store: Store, text: str, value: Value) -> int:
    with store.transaction() as transaction:
        revision = transaction.revision + 1
        patch = Patch(((Path.parse(text), value),))
        transaction.apply(Commit(revision, 0, patch, None, None))
        transaction.commit()
    return revision


def read(store: Store, text: str) -> Value:
    with store.snapshot() as snapshot:
        return snapshot.tree.get(Path.parse(text))


def test_what_was_committed_is_there_after_reopening(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    assert write(store, "/a/b", 1) == 1
    assert write(store, "/a/c", {"d": True}) == 2
    store.close()
    store = Store.open(tmp_path, LIMITS)
    with store.snapshot() as snapshot:
        assert snapshot.revision == 2
        assert snapshot.tree.get(ROOT) == {"a": {"b": 1, "c": {"d": True}}}
    store.close()


def test_an_aborted_transaction_leaves_nothing(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    with store.transaction() as transaction:
        transaction.apply(Commit(1, 0, Patch(((ROOT, 1),)), None, None))
    with store.snapshot() as snapshot:
        assert (snapshot.revision, snapshot.tree.get(ROOT)) == (0, None)
    store.close()


def test_a_snapshot_does_not_move(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    write(store, "/a", 1)
    with store.snapshot() as snapshot:
        write(store, "/a", 2)
        assert snapshot.tree.get(Path(("a",))) == 1
    assert read(store, "/a") == 2
    store.close()


def test_a_revision_out_of_order_is_our_own_error(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    with store.transaction() as transaction, pytest.raises(AssertionError):
        transaction.apply(Commit(2, 0, Patch(((ROOT, 1),)), None, None))
    store.close()


OTHER_PROCESS = """
import sys
from dataclasses import replace
from pathlib import Path
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path as Place
from treedb.store.index_check import check_indexes
from treedb.store.index_definitions import PRIORITIES, IndexPlace, IndexState
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query_order import PRIORITY, by_child

store = Store.open(Path(sys.argv[1]), replace(DEFAULT_LIMITS, map_bytes=int(sys.argv[4])))
name, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    with store.transaction() as transaction:
        place = Place((name, str(number)))
        patch = Patch(((place, "x" * 100),))
        transaction.apply(Commit(transaction.revision + 1, 0, patch, None, None))
        transaction.commit()
store.close()
"""


def other_process(
    directory: FilePath, name: str, count: int, map_bytes: int
) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-c",
        OTHER_PROCESS,
        str(directory),
        name,
        str(count),
        str(map_bytes),
    ]
    return subprocess.Popen(command)


def test_processes_write_one_store_without_losing_a_revision(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    others = [other_process(tmp_path, name, 200, LIMITS.map_bytes) for name in ("p", "q")]
    for number in range(200):
        write(store, f"/own/{number}", number)
    assert [other.wait(60) for other in others] == [0, 0]
    with store.snapshot() as snapshot:
        assert snapshot.revision == 600
        assert [commit.revision for commit in snapshot.journal.after(0)] == list(range(1, 601))
        for name in ("own", "p", "q"):
            assert len(list(snapshot.tree.keys(Path((name,))))) == 200
    store.close()


def test_a_full_map_refuses_the_write_and_grows_when_nobody_reads(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, replace(DEFAULT_LIMITS, map_bytes=1 << 18))
    big: Value = {str(number): "x" * 900 for number in range(1000)}
    with pytest.raises(MapFull):
        write(store, "/big", big)
    assert read(store, "/big") is None
    with store.snapshot():
        assert not store.grow()
    while True:
        assert store.grow()
        try:
            write(store, "/big", big)
            break
        except MapFull:
            continue
    assert read(store, "/big/7") == "x" * 900
    store.close()


def test_a_map_that_another_process_grew_is_adopted(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, replace(DEFAULT_LIMITS, map_bytes=1 << 18))
    assert other_process(tmp_path, "p", 3000, 1 << 26).wait(120) == 0
    assert read(store, "/p/2999") == "x" * 100
    write(store, "/own", 1)
    store.close()


def test_a_file_of_another_format_is_refused_with_both_numbers(tmp_path: FilePath) -> None:
    Store.open(tmp_path, LIMITS).close()
    with (
        lmdb.open(str(tmp_path), max_dbs=4, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        meta = environment.open_db(b"meta", txn=transaction)
        transaction.put(b"format", b"99", db=meta)
    with pytest.raises(StoreError, match=r"format 99.*format 2"):
        Store.open(tmp_path, LIMITS)


def test_a_store_without_indexes_is_brought_up_to_date(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    write(store, "/list", {"a": {".value": 1, ".priority": 2}, "b": 3})
    store.close()
    with (
        lmdb.open(str(tmp_path), max_dbs=4, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        meta = environment.open_db(b"meta", txn=transaction)
        transaction.put(b"format", b"1", db=meta)
        transaction.delete(b"indexes", db=meta)
        transaction.drop(environment.open_db(b"index", txn=transaction))
    store = Store.open(tmp_path, LIMITS)
    with store.snapshot() as snapshot:
        [progress] = snapshot.index_progress()
        assert progress.state is IndexState.BUILDING
        assert not snapshot.indexes.covers(Path(("list",)), PRIORITY)
    with store.transaction() as transaction:
        assert transaction.build_indexes(100).is_last
        transaction.commit()
    with store.snapshot() as snapshot:
        assert snapshot.indexes.covers(Path(("list",)), PRIORITY)
        assert list(check_indexes(snapshot.tree, snapshot.indexes)) == []
    store.close()


def test_indexes_are_declared_in_a_transaction_like_any_other(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS)
    places = [IndexPlace(("list",), "ts")]
    with store.transaction() as transaction:
        transaction.declare_indexes(places)
    with store.transaction() as transaction:
        assert [each.place for each in transaction.index_progress()] == [PRIORITIES]
        transaction.declare_indexes(places)
        transaction.apply(Commit(1, 0, Patch(((Path(("list", "a")), {"ts": 1}),)), None, None))
        transaction.commit()
    with store.snapshot() as snapshot:
        assert [each.place for each in snapshot.index_progress()] == [PRIORITIES, *places]
        assert snapshot.indexes.covers(Path(("list",)), by_child("ts"))
        assert list(check_indexes(snapshot.tree, snapshot.indexes)) == []
    store.close()


def test_snapshots_and_writes_of_threads_do_not_disturb_each_other(tmp_path: FilePath) -> None:
    store = Store.open(tmp_path, LIMITS, fsync=False)
    torn: list[Value] = []
    done = threading.Event()

    def reader() -> None:
        while not done.is_set():
            with store.snapshot() as snapshot:
                pair = snapshot.tree.get(Path(("pair",)))
            if isinstance(pair, dict) and pair["a"] != pair["b"]:
                torn.append(pair)

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(2000):
        write(store, "/pair", {"a": number, "b": number})
    done.set()
    for thread in threads:
        thread.join()
    assert torn == []
    store.close()
