"""Rows put together again are the value they were cut from, and its JSON text."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import lmdb
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.errors import TooBigToRead
from treedb.paths.order import encode_path
from treedb.paths.path import Path
from treedb.store.assembly import Assembly, JsonAssembly
from treedb.store.cursor import RowCursor
from treedb.store.placement import RowWriter
from treedb.store.stored_tree import StoredTree
from treedb.tree.arrays import to_plain
from treedb.tree.forms import Form
from treedb.tree.values import Value, normal_form

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


@contextmanager
def stored(raw: object, row_bytes: int) -> Iterator[tuple[StoredTree, Value]]:
    value = normal_form(raw, 0, DEFAULT_LIMITS).value
    with (
        TemporaryDirectory() as directory,
        lmdb.open(directory, map_size=1 << 28, max_dbs=1, sync=False, lib_version=0) as environment,
        environment.begin(write=True) as transaction,
    ):
        tree = StoredTree(RowCursor(transaction, environment.open_db(b"r", txn=transaction)))
        RowWriter(tree, row_bytes).set(PLACE, value)
        yield tree, value


def text_of(tree: StoredTree, form: Form, size: int, max_bytes: int = 1 << 20) -> bytes:
    prefix = encode_path(PLACE.keys)
    assembly = JsonAssembly(prefix, form, max_bytes)
    for rows in tree.rows.slices(prefix, size):
        assembly.add(rows)
    return b"".join(assembly.finish())


@settings(max_examples=300, deadline=None)
@given(
    raw=values.filter(lambda raw: isinstance(raw, dict) and ".value" not in raw),
    size=st.integers(1, 5),
)
def test_slices_of_any_size_assemble_to_the_value_and_its_text(raw: object, size: int) -> None:
    with stored(raw, 24) as (tree, value):
        slices = tree.slices_of(PLACE, size)
        if slices is None:
            return
        assembly = Assembly(encode_path(PLACE.keys))
        for rows in slices:
            assembly.add(rows)
        assert assembly.value == value
        assert list(assembly.value or ()) == list(value or ())  # type: ignore[arg-type]
        assert orjson.loads(text_of(tree, Form.EXPORT, size)) == value
        assert orjson.loads(text_of(tree, Form.PLAIN, size)) == to_plain(value)


LARGE = {
    "records": {f"r{n:04d}": {"n": n, "s": "text"} for n in range(1000)},
    "array": {str(n): {"n": n} for n in range(500)},
    "sparse": {str(n * 3): "x" * 40 for n in range(100)},
    "holes": {str(n * 2): "x" * 40 for n in range(100)},
    "array of arrays": {str(n): {str(m): "x" * 20 for m in range(5)} for n in range(50)},
    "arrays in records": {f"r{n}": {"list": {"0": 1, "1": 2}} for n in range(100)},
    "starts like an array": {**{str(n): "x" * 20 for n in range(50)}, "z": 1},
    "priorities": {f"r{n}": {".value": n, ".priority": n} for n in range(100)},
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("row_bytes", [16, 64, 1024])
def test_large_objects_of_every_kind_come_back_as_json(name: str, row_bytes: int) -> None:
    with stored(LARGE[name], row_bytes) as (tree, value):
        assert orjson.loads(text_of(tree, Form.EXPORT, 37)) == value
        assert orjson.loads(text_of(tree, Form.PLAIN, 37)) == to_plain(value)


def test_the_keys_of_the_text_stand_in_key_order() -> None:
    with stored({"10": 1, "9": 2, "b": 3, "a": 4, "09": 5}, 4) as (tree, _):
        assert text_of(tree, Form.PLAIN, 2) == b'{"9":2,"09":5,"10":1,"a":4,"b":3}'


@pytest.mark.parametrize("name", ["records", "array", "sparse"])
def test_text_past_the_limit_is_refused_naming_it(name: str) -> None:
    with stored(LARGE[name], 64) as (tree, _), pytest.raises(TooBigToRead, match="1000 bytes"):
        text_of(tree, Form.PLAIN, 37, max_bytes=1000)
