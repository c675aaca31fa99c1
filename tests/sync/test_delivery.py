"""What is watched, and a delivery that is encoded once for all who get it."""

import pytest

from treedb.paths.path import ROOT, Path
from treedb.sync.delivery import Delivery, Overwrite, Watch
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY, Bound


def test_each_form_is_encoded_once() -> None:
    delivery = Delivery(ROOT, Overwrite(ROOT, 1), 1)
    calls: list[str] = []

    def encoder(text: str) -> bytes:
        calls.append(text)
        return text.encode()

    for _ in range(3):
        assert delivery.encoded("one", lambda: encoder("one")) == b"one"
        assert delivery.encoded(None, lambda: encoder("other")) == b"other"
    assert calls == ["one", "other"]


def test_deliveries_are_equal_by_what_they_say_not_by_who_encoded_them() -> None:
    one, other = (Delivery(ROOT, Overwrite(ROOT, 1), 1) for _ in range(2))
    one.encoded("form", lambda: b"text")
    assert one == other
    assert one != Delivery(ROOT, Overwrite(ROOT, 1), 1, Query(limit=1))


def test_watches_are_told_apart_by_place_query_and_tag() -> None:
    place = Path(("a",))
    watches = [
        Watch(place),
        Watch(ROOT),
        Watch(place, Query(limit=1), 1),
        Watch(place, Query(limit=1), 2),
        Watch(place, Query(KEY, Bound("x")), 1),
    ]
    assert len(set(watches)) == len(watches)
    assert Watch(place).query is EVERYTHING


def test_a_watch_is_shown_by_its_place_and_its_query() -> None:
    assert str(Watch(Path(("a", "b")))) == "/a/b"
    assert str(Watch(Path(("a",)), Query(limit=3), 1)).startswith("/a Query(")


def test_an_order_alone_is_no_query_to_watch() -> None:
    with pytest.raises(AssertionError, match="an order alone"):
        Watch(ROOT, Query(KEY))
