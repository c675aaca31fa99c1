"""A JSON Merge Patch comes to what RFC 7396 says, but for arrays that are objects in the tree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS, Limits
from treedb.errors import InvalidData, PayloadTooLarge, TooDeep, TreeError
from treedb.paths.path import ROOT, Path
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, normal_form
from treedb.writes.merge_patch import parse_merge_patch


def normal(raw: object) -> Value:
    return normal_form(raw, 0, DEFAULT_LIMITS).value


def merged(before: Value, patch: object) -> Value:
    reader = ValueReader(before)
    changes = parse_merge_patch(ROOT, patch, DEFAULT_LIMITS).changes(reader)
    return Overlay(reader, Patch.of(changes)).get(ROOT)


CASES: list[tuple[object, object, object]] = [
    # before, patch, after: first the shapes of the RFC's appendix A.
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, None),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"a": "foo"}, {"a": None, "b": 1}, {"b": 1}),
    (None, {"a": {"bb": {"ccc": None}}}, None),
    (None, {"a": {"bb": {"ccc": 1}}}, {"a": {"bb": {"ccc": 1}}}),
    # An object takes the place of a leaf, even when it leaves nothing.
    ({"a": 5, "z": 1}, {"a": {}}, {"z": 1}),
    ({"a": 5, "z": 1}, {"a": {"b": None}}, {"z": 1}),
    ({"a": 5, "z": 1}, {"a": {"b": {"c": None}}}, {"z": 1}),
    ({"a": {"b": 5}, "z": 1}, {"a": {"b": {"c": None}}}, {"z": 1}),
    ({"a": 5, "z": 1}, {"a": {"b": 1}}, {"a": {"b": 1}, "z": 1}),
    ({"a": 5, "z": 1}, {"a": {"b": 1, "c": {}}}, {"a": {"b": 1}, "z": 1}),
    ({"a": {"b": 5}}, {"a": {}}, {"a": {"b": 5}}),
    (5, {}, None),
    (5, {"a": 1}, {"a": 1}),
    ({"a": 1}, {}, {"a": 1}),
    (None, {}, None),
    # In the tree an array is an object, and an object goes into it.
    ({"l": ["a", "b"]}, {"l": {"1": "B"}}, {"l": ["a", "B"]}),
    ({"l": ["a", "b"]}, {"l": {"0": None}}, {"l": {"1": "b"}}),
    # Priorities: of a leaf with its value, of an object that is there.
    ({"a": 1}, {"a": {".value": 2, ".priority": 3}}, {"a": {".value": 2, ".priority": 3}}),
    ({"a": {"b": 1}}, {"a": {".priority": 3}}, {"a": {".priority": 3, "b": 1}}),
    (
        {"a": {".priority": 3, "b": 1}},
        {"a": {".priority": None, "c": 2}},
        {"a": {"b": 1, "c": 2}},
    ),
    ({"a": {".value": 1, ".priority": 3}}, {"a": 2}, {"a": 2}),
]


@pytest.mark.parametrize("before, patch, after", CASES)
def test_a_merge_patch_comes_to(before: object, patch: object, after: object) -> None:
    assert merged(normal(before), patch) == normal(after)


def test_only_what_is_named_is_set() -> None:
    patch = {"a": {"b": 1, "c": None}, "d": [1]}
    changes = parse_merge_patch(Path(("x",)), patch, DEFAULT_LIMITS).changes(ValueReader(None))
    assert {path.format(): value for path, value in changes} == {
        "/x/a/b": 1,
        "/x/a/c": None,
        "/x/d": {"0": 1},
    }


def test_server_values_wait_for_the_plan() -> None:
    patch = parse_merge_patch(ROOT, {"a": {"t": {".sv": "timestamp"}}}, DEFAULT_LIMITS)
    assert patch.has_server_values
    assert patch.sets == ((Path(("a", "t")), {".sv": "timestamp"}),)


SMALL = Limits(paths_per_update=3, nodes_per_write=20)
DEEP: Any = None
for _ in range(33):
    DEEP = {"d": DEEP}
REFUSED: list[tuple[object, Limits, type[TreeError], str]] = [
    (dict.fromkeys("abcd", 1), SMALL, PayloadTooLarge, "more than 3 places"),
    ({"a": [1] * 15, "b": [1] * 15}, SMALL, PayloadTooLarge, "more than 20 nodes"),
    (DEEP, DEFAULT_LIMITS, TooDeep, "33 levels below the root"),
    ({"a": {"b.c": 1}}, DEFAULT_LIMITS, InvalidData, "holds '.'"),
    ({"a": {"b/c": None}}, DEFAULT_LIMITS, InvalidData, "It is in the patch of /a."),
    ({"": 1}, DEFAULT_LIMITS, InvalidData, "A key is empty"),
    ({"a": {".value": 1, "b": 2}}, DEFAULT_LIMITS, InvalidData, '".value" beside'),
    ({"a": {".priority": True}}, DEFAULT_LIMITS, InvalidData, '".priority"'),
    ({"a": [{"b.c": 1}]}, DEFAULT_LIMITS, InvalidData, "holds '.'"),
]


@pytest.mark.parametrize("patch, limits, error, told", REFUSED)
def test_a_bad_patch_is_refused(
    patch: object, limits: Limits, error: type[TreeError], told: str
) -> None:
    with pytest.raises(error) as caught:
        parse_merge_patch(ROOT, patch, limits)
    assert told in caught.value.detail


# The oracle is the algorithm of the RFC, with arrays as the objects they are in the tree.


def by_the_rfc(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    if isinstance(target, list):
        target = {str(index): item for index, item in enumerate(target)}
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = by_the_rfc(result.get(key), value)
    return result


keys = st.sampled_from("ab01")
leaves = st.none() | st.integers(0, 3) | st.sampled_from("xy") | st.booleans()
documents = st.recursive(
    leaves,
    lambda inner: st.dictionaries(keys, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)


@given(documents, documents)
def test_a_random_merge_patch_comes_to_what_the_rfc_says(before: object, patch: object) -> None:
    assert merged(normal(before), patch) == normal(by_the_rfc(before, patch))
