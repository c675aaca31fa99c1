"""Many values are put into one as they would be one after the other."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.tree.values import Value, normal_form, with_value_at
from treedb.writes.fill_in import Additions, Keys, filled_in, has_leaf_above

LEAVES = st.sampled_from([True, 0, 1, "x"])
NAMES = st.sampled_from(["a", "b", "10", "2"])


def with_priorities(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    objects = st.dictionaries(NAMES, inner, max_size=3)
    return objects | objects.map(lambda each: {**each, ".priority": 1} if each else each)


RAW = st.recursive(LEAVES | LEAVES.map(lambda leaf: {".value": leaf, ".priority": "p"}), with_priorities)  # fmt: skip
ADDITIONS = st.dictionaries(st.lists(NAMES, max_size=3).map(tuple), st.none() | RAW, max_size=5)


def normal(raw: object) -> Value:
    return normal_form(raw, 0, DEFAULT_LIMITS).value


def is_alone(keys: Keys, additions: dict[Keys, object]) -> bool:
    return not any(
        keys != other and (keys[: len(other)] == other or other[: len(keys)] == keys)
        for other in additions
    )


@given(st.none() | RAW, ADDITIONS)
def test_it_comes_to_the_same_as_one_after_the_other(
    raw: object, additions: dict[Keys, object]
) -> None:
    chosen = {keys: normal(each) for keys, each in additions.items() if is_alone(keys, additions)}
    value = expected = normal(raw)
    # Values first, as a patch is applied: what is emptied in between would lose its priority.
    for keys in sorted(chosen, key=lambda keys: chosen[keys] is None):
        expected = with_value_at(expected, keys, chosen[keys])
    assert repr(filled_in(value, chosen)) == repr(expected)


@pytest.mark.parametrize(
    ("raw", "keys", "found"),
    [
        (None, ("a",), False),
        ("x", (), False),
        ("x", ("a",), True),
        ({"a": "x"}, ("a",), False),
        ({"a": "x"}, ("a", "b"), True),
        ({"a": {".value": "x", ".priority": 1}}, ("a", "b"), True),
        ({"a": {"b": 1}}, ("a", "c", "d"), False),
    ],
)
def test_a_leaf_above_a_place_is_noticed(raw: object, keys: Keys, found: bool) -> None:
    assert has_leaf_above(normal(raw), keys) is found


ABOVE: list[tuple[tuple[str, ...], str, int | None]] = [
    (("/a",), "/a", 0),
    (("/a",), "/a/b/c", 0),
    (("/a",), "/b", None),
    (("/a/b", "/c"), "/c/d", 1),
    (("/a/b", "/c"), "/a", None),
    (("/",), "/a/b", 0),
    ((), "/a", None),
]


@pytest.mark.parametrize("places, path, number", ABOVE)
def test_the_change_above_a_place_is_found(
    places: tuple[str, ...], path: str, number: int | None
) -> None:
    additions = Additions([(Path.parse(place), 1) for place in places])
    assert additions.number_above(Path.parse(path)) == number


def test_what_is_put_into_changes_leaves_the_given_ones_as_they_are() -> None:
    given: list[tuple[Path, Value]] = [(Path(("a",)), {"x": 1}), (Path(("b",)), 2)]
    additions = Additions(given)
    assert not additions
    additions.put(0, ("y", "z"), 3)
    assert additions
    assert additions.changes() == [(Path(("a",)), {"x": 1, "y": {"z": 3}}), (Path(("b",)), 2)]
    assert given == [(Path(("a",)), {"x": 1}), (Path(("b",)), 2)]
