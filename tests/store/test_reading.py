"""Subtrees are read in steps, and come to the same as when read at once."""

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import orjson
import pytest

from treedb.config import Limits
from treedb.errors import TooBigToRead
from treedb.paths.path import ROOT, Path
from treedb.store.reading import read_json, read_truncated, read_value
from treedb.store.store import Snapshot, Store
from treedb.tree.arrays import to_plain
from treedb.tree.commit import Commit
from treedb.tree.forms import Form
from treedb.tree.patch import Patch
from treedb.tree.values import Value

LIMITS = Limits(map_bytes=1 << 26, row_bytes=30, slice_rows=10)
TREE: dict[str, Value] = {
    "leaf": "x",
    "list": {str(number): "item" for number in range(20)},
    "people": {f"p{number:02d}": {"name": "Mary", "n": number} for number in range(30)},
    "ranked": {".priority": 1, "a": {".value": "y" * 40, ".priority": 2}},
}


@pytest.fixture
def snapshot(tmp_path: FilePath) -> Iterator[Snapshot]:
    store = Store.open(tmp_path, LIMITS)
    with store.transaction() as transaction:
        transaction.apply(Commit(1, 0, Patch(((ROOT, TREE),)), None, None))
        transaction.commit()
    with store.snapshot() as snapshot:
        yield snapshot
    store.close()


def run(steps: Generator[None, None, Any]) -> tuple[Any, int]:
    """Return what the steps come to, and how many pauses they offered."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, pauses
        pauses += 1


def test_a_large_subtree_offers_pauses_and_a_small_one_none(snapshot: Snapshot) -> None:
    value, pauses = run(read_value(snapshot.tree, ROOT, 10))
    assert (value, pauses >= 3) == (TREE, True)
    assert run(read_value(snapshot.tree, Path(("leaf",)), 10)) == ("x", 0)


@pytest.mark.parametrize("place", [(), ("list",), ("people",), ("ranked",), ("leaf",), ("none",)])
def test_json_is_the_value_in_its_form(snapshot: Snapshot, place: tuple[str, ...]) -> None:
    value, _ = run(read_value(snapshot.tree, Path(place), 10))
    for form, expected in ((Form.EXPORT, value), (Form.PLAIN, to_plain(value))):
        pieces, _ = run(read_json(snapshot.tree, Path(place), form, 10, 1 << 20))
        assert orjson.loads(b"".join(pieces)) == expected


@pytest.mark.parametrize("place", [(), ("leaf",)])
def test_text_past_the_limit_is_refused(snapshot: Snapshot, place: tuple[str, ...]) -> None:
    with pytest.raises(TooBigToRead):
        run(read_json(snapshot.tree, Path(place), Form.PLAIN, 10, 2))


@pytest.mark.parametrize(
    ("place", "levels", "value"),
    [
        ((), 1, {"leaf": "x", "list": True, "people": True, "ranked": True}),
        (("ranked",), 1, {"a": "y" * 40}),
        (("people", "p00"), 1, {"n": 0, "name": "Mary"}),
        (("leaf",), 1, "x"),
        (("none",), 1, None),
        (("people",), 1, {f"p{number:02d}": True for number in range(30)}),
    ],
)
def test_below_the_levels_everything_is_true(
    snapshot: Snapshot, place: tuple[str, ...], levels: int, value: Value
) -> None:
    assert run(read_truncated(snapshot.tree, Path(place), levels, LIMITS))[0] == value


def test_two_levels_show_the_children_of_children(snapshot: Snapshot) -> None:
    value, pauses = run(read_truncated(snapshot.tree, ROOT, 2, LIMITS))
    assert value["people"] == {f"p{number:02d}": True for number in range(30)}
    assert value["list"] == TREE["list"]
    assert value["ranked"] == {"a": "y" * 40}
    assert pauses


def test_keys_past_the_limit_of_an_answer_are_refused(snapshot: Snapshot) -> None:
    with pytest.raises(TooBigToRead, match="20 bytes"):
        run(read_truncated(snapshot.tree, Path(("people",)), 1, replace(LIMITS, answer_bytes=20)))
