"""What may become of a child is judged so that what does become of it is always among it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sync.window_world import patch_of
from tests.tree.query_strategies import leaves, nodes
from tests.tree.strategies import priorities
from treedb.paths.path import Path
from treedb.sync.window_fates import OBJECT, fates_of
from treedb.tree.order import SortKey, value_sort_key
from treedb.tree.query_order import KEY, PRIORITY, VALUE, OrderBy, by_child
from treedb.tree.values import Value, children, with_value_at

TS = by_child("ts")
DEEP = by_child("dim", "h")
ORDERS = [KEY, VALUE, PRIORITY, by_child("i"), by_child("i", "j"), by_child("0")]


def order_of(value: Value) -> SortKey:
    return value_sort_key(value)


NULL, ONE, TWO = order_of(None), order_of(1), order_of(2)
SAME = KEY.sort_key(None)
UNRANKED, RANK_2 = PRIORITY.sort_key(True), PRIORITY.sort_key({".priority": 2})

# The order, what ordered the child before if it is held, its changes, and what may become of it.
TABLE: list[tuple[OrderBy, SortKey | None, dict[str, Value], set[SortKey | None]]] = [
    (TS, ONE, {"": {"ts": 2}}, {TWO}),
    (TS, None, {"": {"ts": 2}}, {TWO}),
    (TS, None, {"": "leaf"}, {NULL}),
    (TS, ONE, {"": None}, {None}),
    (TS, ONE, {"ts": 2}, {TWO}),
    (TS, None, {"ts": 2}, {TWO}),
    (TS, ONE, {"ts": None}, {NULL, None}),
    (TS, None, {"ts": None}, {NULL, None}),
    (TS, ONE, {"text": 1}, {ONE}),
    (TS, None, {"text": 1}, {NULL, None}),
    (TS, ONE, {"text": None}, {ONE}),
    (TS, None, {"text": None}, {None}),
    (TS, NULL, {"text": None}, {NULL, None}),
    (TS, ONE, {"ts": None, "text": 1}, {NULL}),
    (TS, ONE, {".priority": 1}, {ONE}),
    (TS, None, {".priority": 1}, {None}),
    (TS, ONE, {"ts/.priority": 1}, {ONE}),
    (DEEP, ONE, {"dim": {"h": 2}}, {TWO}),
    (DEEP, ONE, {"dim": {"w": 2}}, {NULL}),
    (DEEP, ONE, {"dim": 5}, {NULL}),
    (DEEP, ONE, {"dim": None}, {NULL, None}),
    (DEEP, ONE, {"dim/w": None}, {ONE}),
    (DEEP, ONE, {"dim/h/x": 1}, {OBJECT}),
    (DEEP, ONE, {"dim/h/x": None}, {ONE}),
    (DEEP, OBJECT, {"dim/h/x": None}, {OBJECT, NULL, None}),
    (DEEP, OBJECT, {"dim/h/x": None, "dim/h/y": 1}, {OBJECT}),
    (DEEP, None, {"dim/h/x": None}, {NULL, None}),
    (DEEP, None, {"dim/h/x": None, "a": 1}, {NULL, None}),
    (VALUE, ONE, {"": 2}, {TWO}),
    (VALUE, ONE, {"x": 2}, {OBJECT}),
    (VALUE, None, {"x": 2}, {OBJECT}),
    (VALUE, ONE, {"x": None}, {ONE}),
    (VALUE, OBJECT, {"x": None}, {OBJECT, None}),
    (VALUE, None, {"x": None}, {None}),
    (PRIORITY, UNRANKED, {".priority": 2}, {RANK_2}),
    (PRIORITY, None, {".priority": 2}, {RANK_2, None}),
    (PRIORITY, None, {".priority": 2, "x": 1}, {RANK_2}),
    (PRIORITY, RANK_2, {"x": 1}, {RANK_2}),
    (PRIORITY, RANK_2, {"x": None}, {RANK_2, None}),
    (PRIORITY, RANK_2, {"x/.priority": 1}, {RANK_2}),
    (PRIORITY, None, {"x": 1}, {UNRANKED, None}),
    (KEY, SAME, {"x": 1}, {SAME}),
    (KEY, SAME, {"x": None}, {SAME, None}),
    (KEY, None, {"x": 1}, {SAME}),
    (KEY, None, {"x": None}, {None}),
]


@pytest.mark.parametrize(("order_by", "held", "changes", "fates"), TABLE)
def test_a_change_leaves_these_fates(
    order_by: OrderBy, held: SortKey | None, changes: dict[str, Value], fates: set[SortKey | None]
) -> None:
    pairs = [(Path.parse(text, allow_priority=True), value) for text, value in changes.items()]
    ordered = [(path.keys, value) for path, value in patch_of(pairs).changes]
    assert fates_of(order_by, held, ordered) == fates


inner_keys = st.sampled_from(("i", "j", "0", "n"))
anywhere = st.lists(inner_keys, min_size=1, max_size=3).map(tuple)
# Records in which what orders them hangs on little.
hanging: st.SearchStrategy[Value] = st.sampled_from(
    ({"i": {"j": 1}}, {"i": {"j": 1}, "n": 2}, {"i": {"j": {"n": 1}, "n": 2}}, {"i": {"n": 1}})
)


def places_in(value: Value) -> list[tuple[str, ...]]:
    """Return the places below a value where something is."""
    return [
        place
        for key, child in children(value)
        for place in ((key,), *((key, *rest) for rest in places_in(child)))
    ]


@st.composite
def children_and_changes(draw: st.DrawFn) -> tuple[Value, list[tuple[Path, Value]]]:
    """Draw a child, or none, and what is changed of it: whole, or parts, many of them removed."""
    before: Value = draw(st.none() | nodes | hanging | hanging)
    if draw(st.integers(0, 9)) == 0:
        return before, [(Path(()), draw(st.none() | nodes))]
    there = places_in(before)
    pairs: list[tuple[Path, Any]] = []
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(there) if there else anywhere)
        match draw(st.integers(0, 5)):
            case 0:
                pairs.append((Path((*place[:-1], ".priority")), draw(st.none() | priorities)))
            case 1:
                pairs.append((Path(draw(anywhere)), draw(leaves | nodes)))
            case _:
                pairs.append((Path(place), None))
    return before, pairs


@settings(max_examples=200)
@pytest.mark.parametrize("order_by", ORDERS, ids=[order_by.name for order_by in ORDERS])
@given(children_and_changes())
def test_what_becomes_of_a_child_is_among_its_fates(
    order_by: OrderBy, drawn: tuple[Value, list[tuple[Path, Value]]]
) -> None:
    before, pairs = drawn
    changes = [(path.keys, value) for path, value in patch_of(pairs).changes]
    after = before
    for keys, value in changes:
        after = with_value_at(after, keys, value)
    fate = None if after is None else order_by.sort_key(after)
    held = None if before is None else order_by.sort_key(before)
    if before is not None:
        assert fate in fates_of(order_by, held, changes)
    # One that is not held may be there all the same, outside; None then tells that it stays.
    stays_outside = fate == held and None in fates_of(order_by, None, changes)
    assert stays_outside or fate in fates_of(order_by, None, changes)
