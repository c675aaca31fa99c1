from pathlib import Path

import pytest

from tests.cli.indexed_store import BY_TIME, build, declare, delete_entries, make_store
from treedb.cli import stored_indexes
from treedb.cli.stored_indexes import check, rebuild, table, way_out
from treedb.cli.stored_namespace import opened
from treedb.store.index_definitions import IndexPlace
from treedb.tree.values import Value

ROOMS: Value = {"rooms": {"lobby": {f"m{number}": {"ts": number} for number in range(50)}}}
BY_VALUE = IndexPlace((), ".value")


def checked(data: Path) -> tuple[int, list[str]]:
    lines: list[str] = []
    with opened(data, "default") as store:
        return check(store, lines.append), lines


def test_the_table_ends_with_the_index_of_priorities(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS, [BY_TIME, BY_VALUE])
    with opened(tmp_path, "default") as store:
        assert table(store).splitlines() == [
            "children of   ordered by  state     indexed by the build",
            "/             .value      complete  1",
            "/rooms/$room  ts          complete  50",
            "every place   .priority   complete  0",
        ]


def test_the_table_shows_what_is_under_way(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    with opened(tmp_path, "default") as store:
        declare(store, [BY_VALUE])
        states = [line.split()[2] for line in table(store).splitlines()[1:3]]
        assert states == ["building", "dropping"]


def test_a_store_without_faults_says_so(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    assert checked(tmp_path) == (0, ["0 faults in 2 indexes"])


def test_each_fault_is_a_line(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    assert delete_entries(tmp_path, "default", 1) == 1
    faults, lines = checked(tmp_path)
    assert (faults, lines[-1]) == (1, "1 fault in 2 indexes")
    assert len(lines) == 2
    assert "/rooms/lobby/m0" in lines[0]


def test_many_faults_are_counted(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    assert delete_entries(tmp_path, "default", 50) == 50
    faults, lines = checked(tmp_path)
    assert faults == 50
    assert len(lines) == stored_indexes.FAULTS_SHOWN + 2
    assert lines[-2:] == ["and 30 more", "50 faults in 2 indexes"]


def test_an_index_that_is_being_built_is_told(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    with opened(tmp_path, "default") as store:
        declare(store, [BY_TIME, BY_VALUE])
    assert checked(tmp_path) == (0, ["0 faults in 3 indexes, 1 of them still being built"])


def test_a_rebuild_mends_every_fault(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    delete_entries(tmp_path, "default", 30)
    lines: list[str] = []
    with opened(tmp_path, "default") as store:
        rebuild(store, lines.append)
        assert "building" not in table(store)
        assert "dropping" not in table(store)
    assert lines[-1].endswith("children and former entries gone through")
    assert checked(tmp_path)[0] == 0


def test_a_rebuild_tells_now_and_then_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path, "default", ROOMS)
    monkeypatch.setattr(stored_indexes, "CHILDREN_PER_STEP", 10)
    monkeypatch.setattr(stored_indexes, "CHILDREN_PER_LINE", 20)
    lines: list[str] = []
    with opened(tmp_path, "default") as store:
        rebuild(store, lines.append)
    told = [int(line.split()[0]) for line in lines]
    assert told == sorted(told)
    assert 3 <= len(told) <= 1 + told[-1] // 20 + 1


def test_a_build_that_another_process_began_is_finished(tmp_path: Path) -> None:
    make_store(tmp_path, "default", ROOMS)
    with opened(tmp_path, "default") as store:
        declare(store, [BY_VALUE])
        rebuild(store, lambda _: None)
        build(store)
        assert {line.split()[-2] for line in table(store).splitlines()[1:]} == {"complete"}


def test_the_way_out_is_a_command(tmp_path: Path) -> None:
    expected = "Mend them: treedb indexes rebuild --data 'my data' --ns a"
    assert way_out(Path("my data"), "a") == expected
