"""Builds go on where they stood, while others write, and clear what is no longer wanted."""

from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.store.indexed_histories import (
    LIMITS,
    Chance,
    build,
    declare,
    faults,
    open_store,
    rebuild,
    tree_of,
    write,
)
from treedb.errors import MapFull
from treedb.paths.path import Path
from treedb.store.index_build import BuildStep
from treedb.store.index_definitions import PRIORITIES, IndexPlace, IndexProgress, IndexState
from treedb.store.store import Store
from treedb.tree.values import Value

BUILDING, COMPLETE, DROPPING = IndexState
BY_TS = IndexPlace(("rooms", "$room"), "ts")
ROOMS: Value = {
    f"room{room}": {f"m{message}": {"ts": message, "text": "x" * 40} for message in range(5)}
    for room in range(4)
}
CHILDREN, VISITS = 20, 24  # each room is visited too


def progress(store: Store) -> list[IndexProgress]:
    with store.snapshot() as snapshot:
        return [each for each in snapshot.index_progress() if each.place != PRIORITIES]


def step(store: Store, most: int) -> BuildStep:
    with store.transaction() as transaction:
        done = transaction.build_indexes(most)
        transaction.commit()
    return done


@pytest.fixture
def store(tmp_path: FilePath) -> Store:
    store = open_store(tmp_path)
    write(store, [(Path(("rooms",)), ROOMS)])
    declare(store, [BY_TS])
    return store


def test_steps_are_bounded_and_tell_how_far_they_are(store: Store) -> None:
    assert progress(store) == [IndexProgress(BY_TS, BUILDING, 0)]
    assert step(store, 7) == BuildStep(7, is_last=False)
    assert progress(store) == [IndexProgress(BY_TS, BUILDING, 6)]
    assert step(store, 10) == BuildStep(10, is_last=False)
    assert step(store, 10) == BuildStep(VISITS - 17, is_last=True)
    assert progress(store) == [IndexProgress(BY_TS, COMPLETE, CHILDREN)]
    assert step(store, 10) == BuildStep(0, is_last=True)
    assert faults(store) == []
    store.close()


def test_a_step_that_is_given_up_is_taken_again(store: Store) -> None:
    revision = store.snapshot().revision
    for _ in range(100):
        with store.transaction() as transaction:
            transaction.build_indexes(5)
        if step(store, 5).is_last:
            break
    assert progress(store) == [IndexProgress(BY_TS, COMPLETE, CHILDREN)]
    assert faults(store) == []
    assert store.snapshot().revision == revision


def test_a_build_goes_on_in_a_store_that_is_opened_again(store: Store) -> None:
    step(store, 7)
    store.close()
    again = Store.open(store.directory, LIMITS, fsync=False)
    assert progress(again) == [IndexProgress(BY_TS, BUILDING, 6)]
    build(again, 7)
    assert progress(again) == [IndexProgress(BY_TS, COMPLETE, CHILDREN)]
    assert faults(again) == []
    again.close()


def test_what_is_written_before_and_behind_a_build_is_indexed(store: Store) -> None:
    step(store, 12)
    for room in ("room0", "room9", "room00"):
        write(store, [(Path(("rooms", room, "new")), {"ts": 1})])
    write(store, [(Path(("rooms", "room3", "m1")), None), (Path(("rooms", "room0")), None)])
    build(store, 5)
    assert faults(store) == []
    store.close()


def test_what_is_no_longer_wanted_is_cleared_in_steps(store: Store) -> None:
    build(store, 100)
    declare(store, [])
    assert progress(store) == [IndexProgress(BY_TS, DROPPING, CHILDREN)]
    assert step(store, 15) == BuildStep(15, is_last=False)
    declare(store, [BY_TS])
    assert [each.state for each in progress(store)] == [DROPPING, BUILDING]
    assert step(store, 15) == BuildStep(5, is_last=False)
    build(store, 15)
    assert progress(store) == [IndexProgress(BY_TS, COMPLETE, CHILDREN)]
    assert faults(store) == []
    store.close()


def test_rebuilding_mends_whatever_is_wrong(store: Store) -> None:
    build(store, 100)
    with store.transaction() as transaction:
        transaction._entries.put(1, b"rooms\x00room0\x00", b"\x00", b"wrong\x00")
        transaction._entries.delete_subtree(1, b"rooms\x00room1\x00")
        transaction.commit()
    assert len(faults(store)) == 6
    rebuild(store)
    assert [each.state for each in progress(store)] == [DROPPING, BUILDING]
    build(store, 3)
    assert faults(store) == []
    store.close()


def test_an_index_of_an_empty_store_is_complete_at_once(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    declare(store, [BY_TS])
    assert progress(store) == [IndexProgress(BY_TS, COMPLETE, 0)]
    assert step(store, 1) == BuildStep(0, is_last=True)
    store.close()


def test_a_full_map_during_a_build_leaves_everything_as_it_was(tmp_path: FilePath) -> None:
    limits = replace(LIMITS, map_bytes=1 << 20)
    store = Store.open(tmp_path, limits, fsync=False)
    write(store, [(Path(("list",)), {f"r{n:05d}": {"ts": n} for n in range(4_000)})])
    declare(store, [IndexPlace(("list",), name) for name in ("ts", *"abcdefghijkl")])
    before = progress(store)
    with store.transaction() as transaction, pytest.raises(MapFull):
        while not transaction.build_indexes(10_000).is_last:
            pass
    assert progress(store) == before
    assert store.grow()
    build(store, 1_000)
    assert faults(store) == []
    store.close()


def test_priorities_are_built_from_the_rows(tmp_path: FilePath, seed: int) -> None:
    store = open_store(tmp_path)
    chance = Chance(seed)
    for _ in range(30):
        write(store, [chance.change(tree_of(store))])
    rebuild(store)
    build(store, 2)
    assert faults(store) == []
    store.close()
