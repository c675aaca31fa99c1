from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.errors import RuleBudgetExceeded
from treedb.paths.path import Path
from treedb.rules.runtime import CHILDREN
from treedb.rules.trees import LOOKUP_STEPS, Budget, NewTree, OldTree
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, children, value_at

VALUE: Value = {
    "a": 1,
    "b": {".priority": 3, "c": "x", "d": {"e": True}},
    "p": {".value": 5, ".priority": "high"},
    "zero": 0,
}


class Watched:
    """A reader that notes what it is asked."""

    def __init__(self, value: Value) -> None:
        self.reader = ValueReader(value)
        self.asked: list[str] = []

    def get(self, path: Path) -> Value:
        self.asked.append(f"get {path}")
        return self.reader.get(path)

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        self.asked.append(f"keys {path}")
        return self.reader.keys(path, after)

    def exists(self, path: Path) -> bool:
        self.asked.append(f"exists {path}")
        return self.reader.exists(path)


class Endless:
    """A reader of a node with more children than anybody could read."""

    def get(self, path: Path) -> Value:
        raise AssertionError(f"reads all of {path}")

    def keys(self, path: Path, after: str | None = None) -> Iterator[str]:
        number = 0
        while True:
            yield f"k{number}"
            number += 1

    def exists(self, path: Path) -> bool:
        return True


def old_tree(value: Value = VALUE) -> OldTree:
    return OldTree(ValueReader(value), Budget(1_000_000))


ANSWERS = [
    ((), CHILDREN, True, True, None),
    (("a",), 1, True, False, None),
    (("b",), CHILDREN, True, True, 3),
    (("b", "c"), "x", True, False, None),
    (("b", "d", "e"), True, True, False, None),
    (("p",), 5, True, False, "high"),
    (("p", "x"), None, False, False, None),
    (("zero",), 0, True, False, None),
    (("gone",), None, False, False, None),
    (("a", "x"), None, False, False, None),
    (("",), None, False, False, None),
    (("b", ""), None, False, False, None),
    (("b",) * 33, None, False, False, None),
]


@pytest.mark.parametrize("keys, leaf, exists, has_children, priority", ANSWERS)
def test_a_tree_answers_from_its_reader(
    keys: tuple[str, ...], leaf: object, exists: bool, has_children: bool, priority: object
) -> None:
    for tree in (old_tree(), NewTree(old_tree())):
        assert tree.exists(keys) is exists
        assert tree.has_children(keys) is has_children
        found = tree.leaf(keys)
        assert found is leaf or found == leaf
        assert tree.priority(keys) == priority
        assert tree.exists(keys) is exists


def test_a_big_node_is_never_read_whole() -> None:
    tree = OldTree(Endless(), Budget(1_000_000))
    assert tree.exists(())
    assert tree.leaf(("a",)) is CHILDREN
    assert tree.has_children(("b",))


def test_what_was_asked_once_is_remembered() -> None:
    reader = Watched(VALUE)
    tree = OldTree(reader, Budget(1_000_000))
    for _ in range(3):
        assert tree.exists(("b", "c"))
        assert tree.leaf(("a",)) == 1
        assert tree.exists(("a",))
    assert reader.asked == ["exists /b/c", "keys /a", "get /a"]


def test_a_place_that_cannot_be_is_not_asked_for() -> None:
    reader = Watched(VALUE)
    tree = OldTree(reader, Budget(1_000_000))
    assert tree.leaf(("a", "")) is None
    assert not tree.exists(("x",) * 40)
    assert tree.priority(("",)) is None
    assert reader.asked == []


def test_every_question_to_a_reader_costs_steps() -> None:
    budget = Budget(2 * LOOKUP_STEPS)
    tree = OldTree(ValueReader(VALUE), budget)
    assert tree.exists(("a",))
    assert tree.exists(("a",))
    assert tree.leaf(("b",)) is CHILDREN
    assert budget.left == 0
    with pytest.raises(RuleBudgetExceeded):
        tree.exists(("c",))


def test_what_is_written_is_answered_without_the_reader() -> None:
    reader = Watched(VALUE)
    tree = NewTree(OldTree(reader, Budget(0)))
    tree.focus_on(("w",), {"x": {"y": 1}, "z": "s"})
    assert tree.leaf(("w",)) is CHILDREN
    assert tree.leaf(("w", "x", "y")) == 1
    assert not tree.exists(("w", "x", "y", "deep"))
    assert tree.leaf(("w", "")) is None
    tree.focus_inside(("w", "x"), {"y": 1})
    assert tree.leaf(("w", "x", "y")) == 1
    assert tree.leaf(("w", "z")) == "s"
    assert tree.priority(("w", "x")) is None
    assert reader.asked == []
    with pytest.raises(RuleBudgetExceeded):
        tree.exists(("v",))


def test_a_removal_leaves_nothing_at_its_place() -> None:
    tree = NewTree(old_tree())
    tree.focus_on(("b",), None)
    assert not tree.exists(("b",))
    assert tree.leaf(("b", "c")) is None
    assert tree.leaf(("a",)) == 1


def test_without_a_focus_everything_is_read() -> None:
    tree = NewTree(old_tree())
    tree.focus_on(("b",), None)
    tree.blur()
    assert tree.leaf(("b", "c")) == "x"


places = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "p", "", "x"]), max_size=4).map(tuple)


@given(places, places, places)
def test_a_focus_never_changes_an_answer(
    outer: tuple[str, ...], inner: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    tree, plain = NewTree(old_tree()), old_tree()
    if "" not in outer + inner:
        tree.focus_on(outer, value_at(VALUE, outer))
        if inner[: len(outer)] == outer:
            tree.focus_inside(inner, value_at(VALUE, inner))
    assert tree.exists(asked) is plain.exists(asked)
    assert repr(tree.leaf(asked)) == repr(plain.leaf(asked))
    assert tree.has_children(asked) is plain.has_children(asked)
    assert tree.priority(asked) == plain.priority(asked)


def test_children_of_values_are_what_the_trees_walk() -> None:
    assert [key for key, _ in children(VALUE)] == ["a", "b", "p", "zero"]
