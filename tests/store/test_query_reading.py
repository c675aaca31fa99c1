"""The answer to a query is what sorting and cutting the whole list gives, within the limits."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from tests.store.indexed_histories import LIMITS, declare, open_store, tree_of, write
from treedb.config import Limits
from treedb.errors import TooBigToRead
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.query_reading import read_query
from treedb.store.reading import end_of
from treedb.store.store import Store
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, Bound, OrderBy, by_child
from treedb.tree.values import Value, children, value_at

LIST = Path(("list",))
RECORDS = 2_000
INDEXED, UNINDEXED = by_child("ts"), by_child("at")
ORDERS = [KEY, INDEXED, UNINDEXED]
MANY: Value = {
    f"r{number:06d}": {"ts": number * 7919 % RECORDS, "at": number * 7919 % RECORDS, "text": "hi"}
    for number in range(RECORDS)
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(tmp_path_factory.mktemp("many"))
    declare(store, [IndexPlace(("list",), "ts")])
    write(store, [(LIST, MANY)])
    yield store
    store.close()


def expected(store: Store, query: Query) -> list[tuple[str, Value]]:
    return query.select(children(value_at(tree_of(store), LIST.keys)))


def answer(store: Store, query: Query, limits: Limits = LIMITS) -> list[tuple[str, Value]]:
    with store.snapshot() as snapshot:
        return end_of(read_query(snapshot.tree, snapshot.indexes, LIST, query, limits))


@pytest.mark.parametrize("order_by", ORDERS, ids=lambda each: each.name)
@pytest.mark.parametrize("keeps_last", [False, True])
@pytest.mark.parametrize("limit", [None, 1, 7, 1_000, 5_000])
def test_the_answer_is_what_a_plain_selection_gives(
    store: Store, order_by: OrderBy, keeps_last: bool, limit: int | None
) -> None:
    bound = Bound("r000100") if order_by == KEY else Bound(100)
    for start, end in ((None, None), (bound, None), (None, bound)):
        query = Query(order_by, start, end, limit, keeps_last)
        assert answer(store, query) == expected(store, query)


@pytest.mark.parametrize("order_by", ORDERS, ids=lambda each: each.name)
def test_others_have_their_turn_after_so_many_children(store: Store, order_by: OrderBy) -> None:
    limits = replace(LIMITS, slice_rows=100)
    with store.snapshot() as snapshot:
        steps = read_query(snapshot.tree, snapshot.indexes, LIST, Query(order_by), limits)
        assert len(list(steps)) >= RECORDS / 100


@pytest.mark.parametrize("order_by", ORDERS, ids=lambda each: each.name)
@pytest.mark.parametrize("limit", [None, 11, 1_000])
def test_more_results_than_the_limit_are_refused(
    store: Store, order_by: OrderBy, limit: int | None
) -> None:
    limits = replace(LIMITS, query_results=10)
    with pytest.raises(TooBigToRead, match=r"chooses 11 children or more.*at most 10;"):
        answer(store, Query(order_by, limit=limit), limits)
    assert len(answer(store, Query(order_by, limit=10), limits)) == 10


@pytest.mark.parametrize("order_by", ORDERS, ids=lambda each: each.name)
def test_more_bytes_than_the_limit_are_refused(store: Store, order_by: OrderBy) -> None:
    limits = replace(LIMITS, answer_bytes=1_000)
    with pytest.raises(TooBigToRead, match=r"takes 10[0-9]{2} bytes or more.*at most 1000;"):
        answer(store, Query(order_by), limits)
    assert len(answer(store, Query(order_by, limit=10), limits)) == 10


def test_a_child_larger_than_the_limit_is_refused_before_it_is_read_whole(
    tmp_path: FilePath,
) -> None:
    store = open_store(tmp_path)
    tall: Value = {f"k{number:04d}": "x" * 50 for number in range(1_000)}
    write(store, [(LIST, {"a": tall, "b": 1})])
    with store.snapshot() as snapshot:
        limits = replace(LIMITS, answer_bytes=1_000)
        steps = read_query(snapshot.tree, snapshot.indexes, LIST, Query(KEY), limits)
        with pytest.raises(TooBigToRead):
            end_of(steps)
        assert snapshot.tree.rows.reads < 100
    store.close()


def test_long_texts_are_no_reason_to_refuse_what_the_limit_cuts_away(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    members: Value = {f"r{number:03d}": {"at": "x" * number} for number in range(300)}
    write(store, [(LIST, members)])
    limits = replace(LIMITS, answer_bytes=3_000)
    query = Query(UNINDEXED, limit=3)
    assert answer(store, query, limits) == expected(store, query)
    store.close()


@pytest.mark.parametrize("value", [None, 5, "text", {".value": 5, ".priority": 1}])
@pytest.mark.parametrize("order_by", ORDERS, ids=lambda each: each.name)
def test_a_leaf_and_nothing_have_no_children(
    tmp_path: FilePath, value: Value, order_by: OrderBy
) -> None:
    store = open_store(tmp_path)
    write(store, [(Path(("other",)), 1), (LIST, value)])
    assert answer(store, Query(order_by, limit=2)) == []
    store.close()
