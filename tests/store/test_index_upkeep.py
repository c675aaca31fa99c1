"""Whatever is written, and while indexes come and go, entries are what the rows call for."""

from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.store.indexed_histories import (
    Chance,
    Change,
    answer,
    build,
    declare,
    faults,
    in_order,
    open_store,
    rebuild,
    tree_of,
    write,
)
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.store import Store
from treedb.tree.commit import Commit
from treedb.tree.patch import Patch
from treedb.tree.query import Query
from treedb.tree.query_order import by_child
from treedb.tree.values import Value, children, value_at

HISTORIES = 40
STEPS = 40
QUESTIONS = 8


def test_entries_and_answers_are_right_after_every_step(tmp_path: FilePath, seed: int) -> None:
    for number in range(HISTORIES):
        chance = Chance(seed + number)
        print(f"history {seed + number}")
        store = open_store(tmp_path / str(number))
        for _ in range(STEPS):
            take_step(chance, store)
            check(chance, store)
        build(store, most=3)
        check(chance, store)
        store.close()


def take_step(chance: Chance, store: Store) -> None:
    kind = chance.source.choice(["write"] * 8 + ["declare"] * 2 + ["build"] * 8 + ["rebuild"])
    if kind == "write":
        tree = tree_of(store)
        write(store, [chance.change(tree) for _ in range(chance.source.randint(1, 4))])
    elif kind == "declare":
        declare(store, chance.indexes())
    elif kind == "build":
        build(store, chance.source.randint(1, 6), steps=chance.source.randint(1, 4))
    else:
        rebuild(store)


def check(chance: Chance, store: Store) -> None:
    assert faults(store) == []
    tree = tree_of(store)
    for _ in range(QUESTIONS):
        place, query = chance.question(tree)
        there = list(children(value_at(tree, place.keys)))
        assert answer(store, place, query) == query.select(there), (place, query)
        unlimited = replace(query, limit=None)
        assert in_order(store, place, query) in (None, unlimited.select(there)), (place, query)


# Each row: what there is, a change, and the children by `ts` of /list after it.
CASES: list[tuple[Value, Change, list[str]]] = [
    ({"list": {"a": {"ts": 2}}}, (Path(("list", "b")), {"ts": 1}), ["b", "a"]),
    ({"list": {"a": {"ts": 2}}}, (Path(("list", "b", "x", "y")), 1), ["b", "a"]),
    ({"list": {"a": {"ts": 2}, "b": {"ts": 1}}}, (Path(("list", "b", "ts")), 3), ["a", "b"]),
    ({"list": {"a": {"ts": 2}, "b": 1}}, (Path(("list", "a", "ts", "x")), 1), ["b", "a"]),
    ({"list": {"a": {"ts": 2}, "b": 1}}, (Path(("list", "a", "ts")), None), ["b"]),
    ({"list": {"a": {"ts": 2, "n": 1}, "b": 1}}, (Path(("list", "a", "ts")), None), ["a", "b"]),
    ({"list": {"a": {"ts": 2}, "b": {"ts": 1}}}, (Path(("list", "a")), 5), ["a", "b"]),
    ({"list": {"a": 5, "b": 6}}, (Path(("list", "b", "ts")), False), ["a", "b"]),
    ({"list": {"a": {"ts": 2}}}, (Path(("list",)), {"c": {"ts": 1}, "b": {"ts": 1}}), ["b", "c"]),
    ({"list": {"a": {"ts": 2}}}, (Path(("list",)), 5), []),
    ({"list": {"a": {"ts": 2}}}, (Path(()), {"list": {"z": 1}}), ["z"]),
    ({"list": {"a": {"ts": 2}}}, (Path(("other",)), 1), ["a"]),
    ({"list": {"a": {"ts": 2}}}, (Path(("list", "c")), None), ["a"]),
    ({"list": {"a": {"ts": 1}, "b": 1}}, (Path(("list", "b", ".priority")), 1), ["b", "a"]),
]


@pytest.mark.parametrize("padding", [0, 60], ids=["inside a row", "above rows"])
@pytest.mark.parametrize("before, change, keys", CASES, ids=lambda case: str(case)[:40])
def test_a_write_moves_the_entries_that_it_must(
    tmp_path: FilePath, before: Value, change: Change, keys: list[str], padding: int
) -> None:
    store = open_store(tmp_path)
    declare(store, [IndexPlace(("list",), "ts")])
    write(store, [(Path(()), {"pad": "x" * padding}), *_each(before), change])
    assert faults(store) == []
    found = answer(store, Path(("list",)), Query(by_child("ts")))
    assert [key for key, _ in found] == keys
    store.close()


def _each(before: Value) -> list[Change]:
    return [(Path((key,)), child) for key, child in children(before)]


def test_the_priorities_of_ancestors_that_vanish_are_forgotten(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    leaf: Value = {".value": "x" * 50, ".priority": 3}
    nested: Value = {".priority": 1, "b": {".priority": 2, "c": leaf}}
    write(store, [(Path(()), {"a": nested, "z": 1})])
    with store.snapshot() as snapshot:
        assert len(list(snapshot.indexes.entries.forward(b"", b""))) == 3
    write(store, [(Path(("a", "b", "c")), None)])
    with store.snapshot() as snapshot:
        assert list(snapshot.indexes.entries.forward(b"", b"")) == []
    assert faults(store) == []
    store.close()


def test_a_write_where_no_pattern_matches_asks_nothing_of_the_index(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    declare(store, [IndexPlace(("list", "$any"), "ts")])
    write(store, [(Path(("list",)), {"a": {"b": {"ts": 1}}})])
    with store.transaction() as transaction:
        before = transaction.tree.rows.reads
        patch = Patch(((Path(("other", "x")), 1),))
        transaction.apply(Commit(transaction.revision + 1, 0, patch, None, None))
        assert transaction.tree.rows.reads - before <= 2
    store.close()
