"""A build takes its steps between writes, tells how far it is, and goes on where it was."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.follower_world import HandClock
from tests.store.indexed_histories import declare, faults
from treedb.config import DEFAULT_LIMITS
from treedb.errors import MapFull
from treedb.paths.path import Path
from treedb.store import background_build
from treedb.store.background_build import BackgroundBuild
from treedb.store.index_definitions import IndexPlace, IndexState
from treedb.store.pace import FAILED_SECONDS, REPORT_SECONDS
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.values import Value

LIMITS = replace(DEFAULT_LIMITS, map_bytes=1 << 26)
BY_N = IndexPlace(("list",), "n")
BY_VALUE = IndexPlace(("list",), ".value")
CHILDREN = 50
STEP = 10


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(background_build, "STEP_CHILDREN", STEP)
    caplog.set_level(logging.INFO, "treedb.indexes")


def opened(directory: FilePath, map_bytes: int = LIMITS.map_bytes) -> Store:
    return Store.open(directory / "db", replace(LIMITS, map_bytes=map_bytes), fsync=False)


def write(store: Store, value: Value, place: str = "/") -> None:
    with store.transaction() as transaction:
        patch = Patch(((Path.parse(place), value),))
        transaction.apply(Commit(transaction.revision + 1, 0, patch, None, None))
        transaction.commit()


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = opened(tmp_path)
    write(store, {"list": {f"k{number:04}": {"n": number} for number in range(CHILDREN)}})
    yield store
    store.close()


class WorkClock(HandClock):
    """A clock that a step takes a quarter of a second of, and nothing else does."""

    step = 0.25


def looked(store: Store, clock: HandClock) -> BackgroundBuild:
    build = BackgroundBuild(store, clock)
    build.look()
    return build


def finish(build: BackgroundBuild, clock: HandClock) -> int:
    """Take every step when it is due; return how many it were."""
    steps = 0
    while (wait := build.seconds_until_due()) is not None:
        clock.seconds += wait
        build.step_if_due()
        steps += 1
    return steps


def states(store: Store) -> dict[str, tuple[IndexState, int]]:
    with store.snapshot() as snapshot:
        progress = snapshot.index_progress()
    return {each.place.name: (each.state, each.children) for each in progress}


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "treedb.indexes"]


def test_without_anything_to_build_nothing_is_due(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    build = looked(store, HandClock())
    assert build.seconds_until_due() is None
    build.step_if_due()
    assert said(caplog) == []


def test_a_build_ends_with_an_index_that_is_right(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    declare(store, [BY_N])
    clock = HandClock()
    assert finish(looked(store, clock), clock) == CHILDREN // STEP + 1
    assert states(store)["n"] == (IndexState.COMPLETE, CHILDREN)
    assert faults(store) == []
    assert said(caplog) == [
        "namespace db, index n on /list: building",
        "namespace db, index n on /list: complete, 50 children",
    ]


def test_a_dropped_index_is_cleared(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    declare(store, [BY_N, BY_VALUE])
    finish(looked(store, clock), clock)
    caplog.clear()
    declare(store, [BY_VALUE])
    finish(looked(store, clock), clock)
    assert "n" not in states(store)
    assert faults(store) == []
    assert said(caplog) == [
        "namespace db, index n on /list: dropping",
        "namespace db, index n on /list: dropped",
    ]


def test_each_life_of_an_index_is_told_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    declare(store, [BY_N])
    build = looked(store, clock)
    for wanted in ([], [BY_N]):
        clock.seconds += 1
        build.step_if_due()
        declare(store, wanted)
        build.look()
    finish(build, clock)
    assert sorted(said(caplog)) == [
        "namespace db, index n on /list: building",
        "namespace db, index n on /list: building",
        "namespace db, index n on /list: complete, 50 children",
        "namespace db, index n on /list: dropped",
        "namespace db, index n on /list: dropping",
    ]
    assert faults(store) == []


def test_after_a_step_it_rests_as_long_as_the_step_took(store: Store) -> None:
    declare(store, [BY_N])
    clock = WorkClock()
    build = looked(store, clock)
    build.step_if_due()
    done = clock.seconds
    assert states(store)["n"] == (IndexState.BUILDING, STEP)
    clock.step = 0.0
    assert build.seconds_until_due() == pytest.approx(0.25)
    build.step_if_due()
    assert states(store)["n"] == (IndexState.BUILDING, STEP), "too early"
    clock.seconds = done + 0.25
    assert build.seconds_until_due() == 0
    build.step_if_due()
    assert states(store)["n"] == (IndexState.BUILDING, 2 * STEP)


def test_a_long_build_reports_now_and_then(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    declare(store, [BY_N])
    clock = HandClock()
    build = looked(store, clock)
    for _ in range(4):
        clock.seconds += REPORT_SECONDS / 2 + 1
        build.step_if_due()
    assert said(caplog) == [
        "namespace db, index n on /list: building",
        "namespace db, index n on /list: building, 20 children",
        "namespace db, index n on /list: building, 40 children",
    ]


def test_it_goes_on_where_it_was(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    declare(store, [BY_N])
    clock = HandClock()
    first = looked(store, clock)
    for _ in range(3):
        clock.seconds += 1
        first.step_if_due()
    second = looked(store, clock)
    assert finish(second, clock) == CHILDREN // STEP + 1 - 3
    assert states(store)["n"] == (IndexState.COMPLETE, CHILDREN)
    assert faults(store) == []


def test_writes_between_its_steps_are_in_the_index(store: Store) -> None:
    declare(store, [BY_N])
    clock = HandClock()
    build = looked(store, clock)
    for number in range(3):
        build.step_if_due()
        write(store, {"list": {f"k{each:04}": {"n": -each} for each in range(number, CHILDREN)}})
        clock.seconds += 1
    finish(build, clock)
    assert faults(store) == []


def test_what_another_process_built_is_noticed(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    declare(store, [BY_N])
    clock = HandClock()
    build = looked(store, clock)
    finish(BackgroundBuild(store, clock), clock)
    other = BackgroundBuild(store, clock)
    other.look()
    finish(other, clock)
    caplog.clear()
    build.step_if_due()
    assert build.seconds_until_due() is None
    assert said(caplog) == ["namespace db, index n on /list: complete, 50 children"]


def fill(store: Store) -> None:
    """Write until nothing more goes into the map."""
    with pytest.raises(MapFull):
        for number in range(1000):
            write(store, {str(each): "x" * 900 for each in range(20)}, f"/filling/{number}")


def test_without_room_it_waits_and_then_goes_on(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background_build, "STEP_CHILDREN", 5000)
    store = opened(tmp_path, 1 << 20)
    write(store, {f"k{number:04}": {"n": number} for number in range(4000)}, "/list")
    declare(store, [BY_N])
    fill(store)
    clock = HandClock()
    build = looked(store, clock)
    with pytest.raises(MapFull):
        build.step_if_due()
    assert states(store)["n"] == (IndexState.BUILDING, 0)
    assert build.seconds_until_due() == FAILED_SECONDS
    assert said(caplog)[1].startswith("building indexes waits for room: the database's map is full")
    build.step_if_due()
    assert states(store)["n"] == (IndexState.BUILDING, 0), "too early"
    assert store.grow()
    finish(build, clock)
    assert states(store)["n"] == (IndexState.COMPLETE, 4000)
    assert faults(store) == []
    store.close()
