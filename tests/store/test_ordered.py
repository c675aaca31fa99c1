"""Children come in a query's order, lazily, and about as much is read as is taken."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path as FilePath

import pytest

from tests.store.indexed_histories import LONG, TEXT, children_in_order, declare, open_store, write
from treedb.errors import TooBigToRead
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.index_entries import IndexEntries
from treedb.store.index_reader import IndexReader
from treedb.store.ordered import members_by_key, members_in_order
from treedb.store.store import Snapshot, Store
from treedb.store.stored_tree import Inner
from treedb.tree.query import Query
from treedb.tree.query_order import KEY, PRIORITY, VALUE, Bound, OrderBy, by_child
from treedb.tree.values import Value, children

LIST = Path(("list",))
RECORDS = 100_000
MANY: Value = {
    f"r{number:06d}": {"ts": number * 7919 % RECORDS, "text": "hello"} for number in range(RECORDS)
}
# Fifty records are an entry and a row each, and a few seeks to begin with.
FEW_READS = 120


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(tmp_path_factory.mktemp("many"))
    declare(store, [IndexPlace(("list",), "ts")])
    write(store, [(LIST, MANY)])
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: FilePath) -> Iterator[Store]:
    store = open_store(tmp_path)
    declare(store, [IndexPlace(("list",), name) for name in (".value", "name")])
    yield store
    store.close()


def reads_of(snapshot: Snapshot) -> int:
    return snapshot.tree.rows.reads + snapshot.indexes.reads


@pytest.mark.parametrize("keeps_last", [False, True])
@pytest.mark.parametrize("order_by", [KEY, PRIORITY, by_child("ts")], ids=lambda each: each.name)
@pytest.mark.parametrize("is_bounded", [False, True])
def test_fifty_of_many_are_read_for_the_price_of_fifty(
    many: Store, order_by: OrderBy, keeps_last: bool, is_bounded: bool
) -> None:
    bounds = {KEY: "r010000", PRIORITY: None, by_child("ts"): 10_000}
    bound = Bound(bounds[order_by], None if order_by == KEY else "r010000") if is_bounded else None
    start, end = (None, bound) if keeps_last else (bound, None)
    query = Query(order_by, start, end, limit=50, keeps_last=keeps_last)
    with many.snapshot() as snapshot:
        found = list(islice(children_in_order(snapshot, LIST, query), 50))
        assert reads_of(snapshot) <= FEW_READS
    chosen = query.select(children(MANY))
    assert found == (chosen[::-1] if keeps_last else chosen)


def test_a_range_ends_without_reading_what_is_behind_it(many: Store) -> None:
    query = Query(by_child("ts"), Bound(100), Bound(120))
    with many.snapshot() as snapshot:
        found = list(children_in_order(snapshot, LIST, query))
        assert reads_of(snapshot) <= FEW_READS
    assert found == query.select(children(MANY))


def test_a_child_above_rows_is_assembled_only_when_it_is_taken(store: Store) -> None:
    tall: Value = {f"k{number:03d}": "x" * 50 for number in range(300)}
    write(store, [(LIST, {"a": tall, "b": 1, "c": tall})])
    with store.snapshot() as snapshot:
        members = members_in_order(snapshot.tree, snapshot.indexes, LIST, Query(VALUE))
        nodes = {member.key: member.node for member in members if member is not None}
        assert nodes["b"] == 1
        assert isinstance(nodes["a"], Inner)
        assert reads_of(snapshot) < 20
        found = dict(children_in_order(snapshot, LIST, Query(KEY)))
    assert found == {"a": tall, "b": 1, "c": tall}


CUT: Value = {
    **{f"n{7 * number % 20:02d}": {"name": TEXT + "zyxw"[number % 4]} for number in range(20)},
    **{LONG + "dcba"[number]: {"name": "same"} for number in range(4)},
    **{LONG + "DCBA"[number]: {"name": TEXT + "aa"} for number in range(4)},
    "first": {"name": TEXT[:-1]},
    "last": {"name": TEXT + "zz"},
}


@pytest.mark.parametrize("keeps_last", [False, True])
@pytest.mark.parametrize(
    "bound",
    [
        None,
        *(Bound(TEXT + text) for text in ("", "x", "y", "z", "zz")),
        *(Bound(TEXT + "y", key) for key in ("n00", "n07", LONG + "B")),
        *(
            Bound("same", LONG + key, is_inclusive)
            for key in "abcx"
            for is_inclusive in (True, False)
        ),
    ],
    ids=lambda bound: f"{bound and bound.value[-3:]} {bound and (bound.key or '')[-3:]}",
)
def test_values_and_keys_that_are_cut_are_sorted_by_what_is_whole(
    store: Store, bound: Bound | None, keeps_last: bool
) -> None:
    write(store, [(LIST, CUT)])
    for start, end in ((bound, None), (None, bound), (bound, bound)):
        query = Query(by_child("name"), start, end, keeps_last=keeps_last)
        with store.snapshot() as snapshot:
            found = list(children_in_order(snapshot, LIST, query))
        with store.snapshot() as snapshot:
            chosen = query.select(children(snapshot.tree.get(LIST)))
        assert found == (chosen[::-1] if keeps_last else chosen)


def test_long_texts_that_begin_alike_are_refused_past_the_limit_of_an_answer(store: Store) -> None:
    write(store, [(LIST, CUT)])
    with store.snapshot() as snapshot:
        little = type(store.limits)(answer_bytes=1_000)
        entries = IndexEntries(snapshot._transaction, store.index)
        indexes = IndexReader(entries, snapshot.indexes.definitions, little)
        with pytest.raises(TooBigToRead, match=r"take 1[0-9]{3} bytes.*may take 1000"):
            list(members_in_order(snapshot.tree, indexes, LIST, Query(by_child("name"))))


def test_children_with_a_priority_are_passed_over_among_those_without(store: Store) -> None:
    members: Value = {
        f"r{number:03d}": {".value": "x" * 40, ".priority": number} if number % 3 else "x" * 40
        for number in range(90)
    }
    write(store, [(LIST, members)])
    with store.snapshot() as snapshot:
        found = list(members_in_order(snapshot.tree, snapshot.indexes, LIST, Query(PRIORITY)))
        assert [member is None for member in found[:6]] == [False, True, True, False, True, True]
        keys = [member.key for member in found if member is not None]
    assert keys == [key for key, _ in Query(PRIORITY).select(children(members))]


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize("row", ["inside a row", "above rows"])
def test_children_by_key_lie_in_the_range(store: Store, row: str, is_backward: bool) -> None:
    size = 1 if row == "inside a row" else 50
    write(store, [(LIST, {"1": "x" * size, "a": {"x": {"y": "z" * size}}, "b": "x" * size})])
    with store.snapshot() as snapshot:
        node = snapshot.tree.node(b"list\x00")
        assert isinstance(node, Inner) == (row == "above rows")
        for low, high, keys in (
            (b"", b"\xff", ["1", "a", "b"]),
            (b"\x03", b"\xff", ["a", "b"]),
            (b"a\x00", b"a\x00\x00", ["a"]),
            (b"a\x00\x00", b"b\x00", []),
            (b"", b"a\x00", ["1"]),
            (b"b\x00", b"", []),
        ):
            found = members_by_key(
                snapshot.tree, b"list\x00", node, low, high, is_backward=is_backward
            )
            assert [each.key for each in found] == (keys[::-1] if is_backward else keys)


def test_a_list_at_a_long_path_is_stepped_through_without_reading_it_again(store: Store) -> None:
    place = Path(("p" * 700,))
    write(store, [(place, {f"r{number:03d}": "x" * 40 for number in range(200)})])
    with store.snapshot() as snapshot:
        found = children_in_order(snapshot, place, Query(KEY))
        assert len(list(found)) == 200
        assert reads_of(snapshot) < 3 * 200
