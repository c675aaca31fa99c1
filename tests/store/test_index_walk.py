"""A walk finds every entry that the rows call for, and can be taken up anywhere."""

from pathlib import Path as FilePath

import pytest

from tests.store.indexed_histories import LONG, open_store, write
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.store.index_definitions import PRIORITIES, Index, IndexPlace, IndexState
from treedb.store.index_walk import priorities_below, walk
from treedb.tree.order import value_sort_key
from treedb.tree.values import Value

TREE: Value = {
    ".priority": 7,
    "1": {"a": {".priority": "p", "ts": 1, "more": "x" * 60}, "b": {".value": 2, ".priority": 3}},
    "leaf": 5,
    "list": {"a": {"ts": {"x": 1}}, "b": {"c": {".value": "y" * 60, ".priority": 1.5}}},
    LONG: {LONG: {".priority": -1, "ts": "z" * 60}},
}
Found = list[tuple[tuple[str, ...], object]]


def entry(*keys: str, by: Value = None) -> tuple[tuple[str, ...], object]:
    return keys, value_sort_key(by)


CASES: list[tuple[IndexPlace, Found]] = [
    (IndexPlace((), "ts"), [entry(key) for key in ("1", LONG, "leaf", "list")]),
    (IndexPlace(("list",), "ts"), [entry("list", "a", by={"x": 1}), entry("list", "b")]),
    (IndexPlace(("list", "a"), ".value"), [entry("list", "a", "ts", by={"x": 1})]),
    (IndexPlace(("leaf",), "ts"), []),
    (IndexPlace(("nothing", "$any"), "ts"), []),
    (
        IndexPlace(("$any",), "ts"),
        [
            *(entry("1", "a", by=1), entry("1", "b"), entry(LONG, LONG, by="z" * 60)),
            *(entry("list", "a", by={"x": 1}), entry("list", "b")),
        ],
    ),
    (
        IndexPlace(("$any", "a"), "x"),
        [entry("1", "a", "more"), entry("1", "a", "ts"), entry("list", "a", "ts", by=1)],
    ),
    (
        PRIORITIES,
        [
            *(entry("1", "a", by="p"), entry("1", "b", by=3)),
            *(entry(LONG, LONG, by=-1), entry("list", "b", "c", by=1.5)),
        ],
    ),
]


@pytest.mark.parametrize("place, expected", CASES, ids=[str(place)[:30] for place, _ in CASES])
def test_a_walk_finds_the_entries_from_any_position_on(
    tmp_path: FilePath, place: IndexPlace, expected: Found
) -> None:
    store = open_store(tmp_path)
    write(store, [(Path(()), TREE)])
    index = Index(0, place, IndexState.BUILDING)
    wanted = [(encode_path(keys), by) for keys, by in expected]
    with store.snapshot() as snapshot:
        visits = list(walk(snapshot.tree, index, ()))
        found = [(each.place + each.key, each.sort_key) for _, step in visits for each in step]
        assert found == wanted
        for done, (position, _) in enumerate(visits, 1):
            assert list(walk(snapshot.tree, index, position)) == visits[done:]
    store.close()


def test_the_root_as_one_row_is_walked_once(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    write(store, [(Path(()), {"a": {".value": 1, ".priority": 2}})])
    index = Index(0, PRIORITIES, IndexState.BUILDING)
    with store.snapshot() as snapshot:
        [(position, [wanted])] = walk(snapshot.tree, index, ())
        assert (wanted.place, wanted.key) == (b"", b"a\x00")
        assert list(walk(snapshot.tree, index, position)) == []
    store.close()


def test_the_priorities_inside_a_value_are_found_at_any_depth() -> None:
    value: Value = {
        ".priority": 9,
        "a": {".value": 1, ".priority": 2},
        "b": {"c": {".priority": "p", "d": 1}},
    }
    assert list(priorities_below(b"x\x00", value)) == [
        (b"x\x00", 2, b"a\x00"),
        (b"x\x00b\x00", "p", b"c\x00"),
    ]
