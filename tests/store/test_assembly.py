"""Rows put together again are the value they were cut from."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.stored_value import stored_value
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.store.assembly import Assembly

PLACE = Path(("top", "list"))

keys = st.sampled_from(["0", "1", "2", "3", "7", "07", "-1", "a", "b", 'q"', "é😀", "k" * 500])
leaves = st.sampled_from([True, 1, 2.5, "text", 'quote " and \\', "x" * 30])
values = st.recursive(
    leaves | st.builds(lambda leaf: {".value": leaf, ".priority": 1}, leaves),
    lambda inner: (
        st.dictionaries(keys, inner, min_size=1, max_size=6)
        | st.builds(
            lambda members: {**members, ".priority": "p"},
            st.dictionaries(keys, inner, min_size=1, max_size=3),
        )
    ),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None)
@given(
    raw=values.filter(lambda raw: isinstance(raw, dict) and ".value" not in raw),
    size=st.integers(1, 5),
)
def test_slices_of_any_size_assemble_to_the_value(raw: object, size: int) -> None:
    with stored_value(PLACE, raw, 24) as (tree, value):
        slices = tree.slices_of(PLACE, size)
        if slices is None:
            return
        assembly = Assembly(encode_path(PLACE.keys))
        for rows in slices:
            assembly.add(rows)
        assert assembly.value == value
        assert list(assembly.value or ()) == list(value or ())  # type: ignore[arg-type]
