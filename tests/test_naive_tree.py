"""The oracle itself, on the worked cases of Firebase's documentation and SDK tests."""

from tests.naive_tree import NaiveTree


def tree_of(value: object) -> NaiveTree:
    tree = NaiveTree()
    tree.set((), value)
    return tree


def test_what_was_set_is_read_in_key_order() -> None:
    tree = tree_of({"b": 1, "a": {"x": [1, None, 3]}, "10": 1, "9": 1})
    assert tree.get(()) == {"9": 1, "10": 1, "a": {"x": {"0": 1, "2": 3}}, "b": 1}
    assert list(tree.keys(())) == ["9", "10", "a", "b"]
    assert tree.get(("a", "x", "2")) == 3


def test_nothing_empty_stays() -> None:
    tree = tree_of({"a": {}, "b": [], "c": {"d": None}, "e": {".priority": 1}})
    assert tree.get(()) is None
    assert not tree.exists(())


def test_removing_the_last_child_removes_its_ancestors_and_their_priorities() -> None:
    tree = tree_of({"a": {".priority": 1, "b": {"c": 1}}})
    tree.set(("a", "b", "c"), None)
    assert tree.get(()) is None
    assert tree.priorities == {}


def test_a_leaf_that_gets_a_child_keeps_its_priority() -> None:
    tree = tree_of({"a": {".value": 5, ".priority": 10}})
    tree.set(("a", "b"), 1)
    assert tree.get(()) == {"a": {".priority": 10, "b": 1}}


def test_removing_what_a_leaf_does_not_have_leaves_it() -> None:
    tree = tree_of({"a": 5})
    tree.set(("a", "b"), None)
    assert tree.get(()) == {"a": 5}


def test_a_set_clears_the_priority_and_an_update_keeps_it() -> None:
    tree = tree_of({"a": {".priority": 3, "b": 1}})
    tree.update(("a",), {("b",): None, ("c", "d"): 2})
    assert tree.get(()) == {"a": {".priority": 3, "c": {"d": 2}}}
    tree.set(("a",), {"b": 1})
    assert tree.get(("a", ".priority")) is None


def test_a_priority_is_set_only_where_there_is_a_value() -> None:
    tree = tree_of({"a": 1})
    tree.update((), {("a", ".priority"): "p", ("b", ".priority"): "p"})
    assert tree.get(()) == {"a": {".value": 1, ".priority": "p"}}


def test_a_shallow_read_cuts_objects_and_priorities() -> None:
    tree = tree_of({"a": {"b": 1}, "c": {".value": 5, ".priority": 1}, "d": "x"})
    assert tree.shallow(()) == {"a": True, "c": 5, "d": "x"}
    assert tree.shallow(("d",)) == "x"
    assert tree.shallow(("e",)) is None
