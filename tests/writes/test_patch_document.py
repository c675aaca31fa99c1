"""The document of a patch reads no more of the tree than is looked at; test_json_patch.py tells
what comes of it.
"""

from collections.abc import Iterator

import pytest

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import PatchConflict, PayloadTooLarge
from treedb.paths.path import ROOT, Path
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value
from treedb.writes.patch_document import PatchDocument

TREE: Value = {
    "big": {f"k{number:03}": {"n": number} for number in range(100)},
    "leaf": 5,
    "list": {"0": "a", "1": "b"},
    "o": {".priority": 7, "x": 1},
}


class Reading:
    """A tree that remembers what it was asked for."""

    def __init__(self, value: Value) -> None:
        self._tree = ValueReader(value)
        self.gets: list[str] = []
        self.keys_seen = 0

    def get(self, path: Path) -> Value:
        self.gets.append(path.format())
        return self._tree.get(path)

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        for key in self._tree.keys(path, after):
            self.keys_seen += 1
            yield key

    def exists(self, path: Path) -> bool:
        return self._tree.exists(path)


def opened(value: Value = TREE, limits: Limits = DEFAULT_LIMITS) -> tuple[PatchDocument, Reading]:
    reading = Reading(value)
    return PatchDocument(ROOT, reading, limits), reading


def test_what_nobody_looks_into_is_not_read() -> None:
    document, reading = opened()
    document.add(("big", "new"), 1)
    document.remove(("big", "k050"))
    assert list(document.changes()) == [
        (Path(("big", "new")), 1),
        (Path(("big", "k050")), None),
    ]
    assert reading.gets == []
    assert reading.keys_seen < 10


def test_what_cannot_be_equal_is_not_read() -> None:
    document, reading = opened()
    for expected in (5, None, [], {}, {"k000": {"n": 0}}, [1, 2]):
        assert not document.equals(document.find(("big",)), expected)
    assert reading.gets == []


def test_what_is_equal_was_read_once() -> None:
    document, reading = opened()
    assert document.equals(document.find(("o",)), {"x": 1.0})
    assert reading.gets == ["/o"]


def test_a_leaf_of_the_document_is_told_with_its_priority() -> None:
    document, _ = opened({"a": {".value": 1, ".priority": 2}, "o": {".priority": 3, "x": 1}})
    assert document.leaf_at(("a",)) == 1
    assert document.leaf_at(("a", ".priority")) == 2
    assert document.leaf_at(("o",)) is None
    assert document.leaf_at(("o", ".priority")) == 3
    assert document.leaf_at(("none",)) is None
    assert document.leaf_at(("none", ".priority")) is None
    document.add(("n",), {".value": 4, ".priority": 5})
    document.add(("m",), {".priority": 6, "x": {"y": 1}})
    assert (document.leaf_at(("n",)), document.leaf_at(("n", ".priority"))) == (4, 5)
    document.add(("m", "x", "z"), 1)  # m is looked into now
    assert document.leaf_at(("m", ".priority")) == 6


def test_an_object_that_the_patch_brought_keeps_its_priority_when_it_is_changed() -> None:
    document, _ = opened(None)
    document.add(("m",), {".priority": 6, "x": 1})
    document.add(("m", "y"), 2)
    assert list(document.changes()) == [(Path(("m",)), {".priority": 6, "x": 1, "y": 2})]


def test_what_is_there_is_an_array_as_a_read_has_it() -> None:
    document, _ = opened({"list": {"0": 1, "1": 2}, "o": {"0": 1, "9": 2}, "m": {"0": 1, "a": 2}})
    assert [document.is_array((key,)) for key in ("list", "o", "m", "none")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_list_of_too_many_children_is_not_looked_into() -> None:
    document, _ = opened({"l": {str(number): 1 for number in range(7)}}, Limits(patch_items=5))
    with pytest.raises(PayloadTooLarge, match="/l has more than 5 children with whole numbers"):
        document.find(("l", "0"))


def test_what_is_read_and_made_is_counted() -> None:
    document, _ = opened(limits=Limits(nodes_per_write=150))
    with pytest.raises(PayloadTooLarge, match="more than 150 nodes"):
        document.equals(document.find(("big",)), {f"k{n:03}": {"n": n} for n in range(100)})


def test_nothing_is_found_behind_an_array() -> None:
    document, _ = opened()
    with pytest.raises(PatchConflict, match='there is nothing at "/list/-"'):
        document.find(("list", "-"))
