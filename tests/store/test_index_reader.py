"""An order is covered by keys themselves, and by indexes that are complete."""

from pathlib import Path as FilePath

from tests.store.indexed_histories import build, declare, open_store, rebuild, write
from treedb.paths.path import Path
from treedb.store.index_definitions import IndexPlace
from treedb.store.store import Store
from treedb.tree.query_order import KEY, PRIORITY, VALUE, OrderBy, by_child

ORDERS = [KEY, PRIORITY, VALUE, by_child("ts"), by_child("dim", "h")]
PLACE = Path(("rooms", "one"))


def covered(store: Store, place: Path = PLACE) -> list[OrderBy]:
    with store.snapshot() as snapshot:
        return [each for each in ORDERS if snapshot.indexes.covers(place, each)]


def test_complete_indexes_cover_the_places_that_their_patterns_match(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    assert covered(store) == [KEY, PRIORITY]
    declare(store, [IndexPlace(("rooms", "$room"), name) for name in (".value", "dim/h")])
    assert covered(store) == [KEY, PRIORITY, VALUE, by_child("dim", "h")]
    assert covered(store, Path(("rooms",))) == [KEY, PRIORITY]
    store.close()


def test_an_index_that_is_being_built_covers_nothing(tmp_path: FilePath) -> None:
    store = open_store(tmp_path)
    write(store, [(PLACE, {"a": {"ts": 1}})])
    declare(store, [IndexPlace(("rooms", "$room"), "ts")])
    assert covered(store) == [KEY, PRIORITY]
    build(store, 10)
    assert covered(store) == [KEY, PRIORITY, by_child("ts")]
    rebuild(store)
    assert covered(store) == [KEY]
    build(store, 10)
    assert covered(store) == [KEY, PRIORITY, by_child("ts")]
    store.close()
