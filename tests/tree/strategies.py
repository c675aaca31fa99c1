"""Random JSON, values and places for the properties of the tree."""

from typing import TypeGuard

from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.tree.values import Value, normal_form

# Few, so that random places meet; integer keys, ties of order, and UTF-16's odd corner among them.
KEYS = ("a", "b", "c", "0", "1", "2", "10", "-1", "00", "__proto__", "é z", "\U0001f600", "\ue000")
NUMBERS = (0, 1, -1, 3.5, -0.0, 2.0, 2**53, 2**53 + 1, -(2**53) - 1, 1e300, 5e-324, 2**63, 1e16)

keys = st.sampled_from(KEYS)
numbers = (
    st.sampled_from(NUMBERS)
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(-1e12, 1e12, allow_nan=False)
)
texts = st.sampled_from(("", "x", "10", "a:b", "♜😀")) | st.text(max_size=5)
leaves = st.booleans() | numbers.filter(lambda number: abs(number) < 1e308) | texts
priorities = st.sampled_from((0, 1, 10, 2.5, "1", "p", -0.0))


def _grown(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    members = st.dictionaries(keys, inner, max_size=4)
    return (
        members
        | st.lists(inner, max_size=4)
        | st.builds(lambda some, p: {**some, ".priority": p}, members, priorities)
    )


raw_leaves: st.SearchStrategy[object] = (
    st.none()
    | leaves
    | st.builds(lambda leaf, p: {".value": leaf, ".priority": p}, leaves, priorities)
    | st.builds(lambda leaf: {".value": leaf}, leaves)
)
# JSON as a client may send it.
raws = st.recursive(raw_leaves, _grown, max_leaves=12)


def normal(raw: object) -> Value:
    """Bring a raw value that is put at the root into normal form."""
    return normal_form(raw, 0, DEFAULT_LIMITS).value


values = raws.map(normal)


def has_children(value: object) -> TypeGuard[Value]:
    """Tell whether a drawn value is an object."""
    return isinstance(value, dict) and ".value" not in value


objects = values.filter(has_children)

places = st.lists(keys, max_size=4).map(tuple)
paths = places.map(Path)
# Places of values and of priorities.
owner_paths = places.map(lambda some: Path((*some, ".priority")))
any_paths = paths | owner_paths
