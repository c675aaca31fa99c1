"""Indexes come, stay and go by what is declared; numbers are never used again."""

from collections.abc import Iterator
from pathlib import Path as FilePath

import lmdb
import pytest

from treedb.store.index_definitions import (
    PRIORITIES,
    Definitions,
    DefinitionStore,
    IndexPlace,
    IndexProgress,
    IndexState,
)
from treedb.tree.query_order import PRIORITY, VALUE, by_child

BUILDING, COMPLETE, DROPPING = IndexState
BY_TS = IndexPlace(("rooms", "$room"), "ts")
BY_HEIGHT = IndexPlace(("rooms", "one"), "dim/h")
BY_VALUE = IndexPlace((), ".value")
EMPTY = Definitions.first(COMPLETE)


def states(definitions: Definitions) -> dict[int, IndexState]:
    return {index.number: index.state for index in definitions.indexes}


def test_new_indexes_are_built_and_those_of_an_empty_store_are_complete() -> None:
    wanted = [BY_TS, BY_HEIGHT, BY_TS]
    assert states(EMPTY.declared(wanted, is_empty=False)) == {0: COMPLETE, 1: BUILDING, 2: BUILDING}
    assert states(EMPTY.declared(wanted, is_empty=True)) == {0: COMPLETE, 1: COMPLETE, 2: COMPLETE}


def test_what_stays_declared_stays_as_it_is() -> None:
    first = EMPTY.declared([BY_TS], is_empty=True)
    second = first.declared([BY_HEIGHT, BY_TS], is_empty=False)
    assert states(second) == {0: COMPLETE, 1: COMPLETE, 2: BUILDING}
    assert second.declared([BY_TS, BY_HEIGHT], is_empty=True) == second


def test_what_is_declared_again_gets_another_number() -> None:
    first = EMPTY.declared([BY_TS], is_empty=True).declared([], is_empty=False)
    assert states(first) == {0: COMPLETE, 1: DROPPING}
    again = first.declared([BY_TS], is_empty=False)
    assert states(again) == {0: COMPLETE, 1: DROPPING, 2: BUILDING}
    cleared = again.without(1).declared([BY_TS, BY_VALUE], is_empty=False)
    assert states(cleared) == {0: COMPLETE, 2: BUILDING, 3: BUILDING}


def test_another_name_in_a_pattern_is_the_same_index() -> None:
    first = EMPTY.declared([BY_TS], is_empty=True)
    renamed = IndexPlace(("rooms", "$id"), "ts")
    second = first.declared([renamed], is_empty=False)
    assert states(second) == {0: COMPLETE, 1: COMPLETE}
    assert second.indexes[1].place == renamed


def test_rebuilding_begins_every_index_under_a_new_number() -> None:
    rebuilt = EMPTY.declared([BY_TS], is_empty=True).rebuilt()
    assert states(rebuilt) == {0: DROPPING, 1: DROPPING, 2: BUILDING, 3: BUILDING}
    assert rebuilt.priorities.number == 2
    assert states(rebuilt.completed(2))[2] is COMPLETE


def test_the_indexes_of_a_place_are_all_whose_pattern_matches() -> None:
    definitions = EMPTY.declared([BY_TS, BY_HEIGHT, BY_VALUE], is_empty=True)

    def names(*keys: str) -> set[str]:
        return {index.place.name for index in definitions.at(keys)}

    assert names() == {".value"}
    assert names("rooms") == set()
    assert names("rooms", "two") == {"ts"}
    assert names("rooms", "one") == {"ts", "dim/h"}
    assert names("rooms", "one", "x") == set()
    assert {index.place for index in definitions.root.all_indexes()} == {BY_TS, BY_HEIGHT, BY_VALUE}


@pytest.mark.parametrize(
    "place, order_by, text",
    [
        (PRIORITIES, PRIORITY, ".priority on /"),
        (BY_VALUE, VALUE, ".value on /"),
        (BY_HEIGHT, by_child("dim", "h"), "dim/h on /rooms/one"),
    ],
    ids=str,
)
def test_a_name_tells_the_order(place: IndexPlace, order_by: object, text: str) -> None:
    assert place.order_by == order_by
    assert str(place) == text


@pytest.fixture
def kept(tmp_path: FilePath) -> Iterator[DefinitionStore]:
    with (
        lmdb.open(str(tmp_path), max_dbs=1, sync=False, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        yield DefinitionStore(transaction, environment.open_db(b"meta", txn=transaction))


def test_definitions_are_kept_as_they_are(kept: DefinitionStore) -> None:
    assert not kept.exists()
    definitions = EMPTY.declared([BY_TS, BY_HEIGHT], is_empty=False).declared(
        [BY_TS], is_empty=False
    )
    kept.put(definitions)
    assert kept.exists()
    assert kept.read() == definitions
    assert kept.read().priorities.place == PRIORITIES


def test_how_far_a_build_is_is_kept_until_its_index_goes(kept: DefinitionStore) -> None:
    kept.put(EMPTY.declared([BY_TS], is_empty=False))
    assert kept.position(1) == ((), 0)
    kept.put_position(1, (b"rooms\x00", b"one\x00"), 7)
    assert kept.position(1) == ((b"rooms\x00", b"one\x00"), 7)
    assert kept.progress() == (
        IndexProgress(PRIORITIES, COMPLETE, 0),
        IndexProgress(BY_TS, BUILDING, 7),
    )
    kept.put(kept.read().without(1))
    assert kept.position(1) == ((), 0)
