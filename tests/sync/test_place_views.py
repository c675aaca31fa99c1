"""A commit to a list concerns the windows that hold what it touches, or may come to."""

import pytest

from treedb.paths.path import Path
from treedb.sync.place_views import PlaceViews
from treedb.sync.view import View
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY, Bound, by_child
from treedb.tree.values import Value

LIST = Path(("list",))
RECORDS: dict[str, Value] = {key: {"n": number} for number, key in enumerate("abcdef")}
FIRST = Query(KEY, limit=2)
LAST = Query(by_child("n"), limit=2, keeps_last=True)
EQUAL = Query(by_child("n"), Bound(2), Bound(2))
FROM_D = Query(KEY, Bound("d"), limit=1)


def begun(views: PlaceViews, *queries: Query) -> None:
    for query in queries:
        view = views.need(query)
        view.begin(query.select(RECORDS.items()), 1)
        views.refresh(view)


def concerned(views: PlaceViews, *changes: tuple[str, Value]) -> list[Query]:
    relative = [(tuple(filter(None, place.split("/"))), value) for place, value in changes]
    return [view.query for view in views.concerned(relative)]


CASES: list[tuple[str, list[tuple[str, Value]], list[Query]]] = [
    ("a held child", [("a/n", 7)], [FIRST, LAST]),
    ("a text below a held child", [("a/text", "x")], [FIRST]),
    ("a child outside all", [("c/text", "x")], [EQUAL]),
    ("one that enters at an end", [("z", {"n": 9})], [LAST]),
    ("one that enters a range", [("z", {"n": 2})], [EQUAL]),
    ("one that stays out of the range", [("z", {"n": 3})], []),
    ("one before the horizon", [("0", {"n": 3})], [FIRST]),
    ("one behind the horizon", [("dd", {"n": 3})], []),
    ("several", [("z", {"n": 2}), ("y", {"n": 9})], [EQUAL, LAST]),
    ("a removal of who is held", [("d", None)], [FROM_D]),
    ("a removal of who is not", [("bb", None)], []),
    ("the place", [("", None)], [FIRST, LAST, EQUAL, FROM_D]),
    ("the priority of the place", [(".priority", 1)], []),
]


@pytest.mark.parametrize(
    "changes, queries", [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_commit_concerns(changes: list[tuple[str, Value]], queries: list[Query]) -> None:
    views = PlaceViews(LIST)
    begun(views, FIRST, LAST, EQUAL, FROM_D)
    assert set(concerned(views, *changes)) == set(queries)


def test_who_asks_for_everything_is_always_concerned() -> None:
    views = PlaceViews(LIST)
    everything = views.need(EVERYTHING)
    views.refresh(everything)
    begun(views, FIRST)
    assert concerned(views, ("f/text", "x")) == [EVERYTHING]


def test_a_window_that_has_not_begun_or_is_not_settled_is_always_concerned() -> None:
    views = PlaceViews(LIST)
    begun(views, EQUAL)
    assert concerned(views, ("f/n", 9)) == []
    views.need(FIRST)
    assert concerned(views, ("f/n", 9)) == [FIRST]
    view = views.get(EQUAL)
    assert view is not None
    view.unsettle([(("c",), None)], 2)
    views.refresh(view)
    assert set(concerned(views, ("f/n", 9))) == {FIRST, EQUAL}
    view.start_reading()
    view.finish_reading([], 3)
    views.refresh(view)
    assert concerned(views, ("c", None)) == [FIRST]


def test_a_window_is_found_where_it_moved_to() -> None:
    views = PlaceViews(LIST)
    begun(views, LAST)
    view = views.get(LAST)
    assert view is not None
    view.learn([(("z",), {"n": 9})], 2)
    views.refresh(view)
    assert concerned(views, ("e/text", "x")) == []
    assert concerned(views, ("z/text", "x")) == [LAST]
    assert concerned(views, ("y", {"n": 4.5})) == []


def test_a_view_that_is_removed_is_gone_everywhere() -> None:
    views = PlaceViews(LIST)
    begun(views, FIRST, EQUAL)
    for query in (FIRST, EQUAL):
        view = views.get(query)
        assert isinstance(view, View)
        views.remove(view)
    assert (len(views), concerned(views, ("a", None), ("", 1))) == (0, [])
