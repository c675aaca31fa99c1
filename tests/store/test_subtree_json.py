"""The text of a subtree, made slice by slice, is the text of its value, byte for byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.stored_value import stored_value
from treedb.paths.path import ROOT, Path
from treedb.store.cursor import SLICE_BYTES
from treedb.store.stored_tree import StoredTree
from treedb.store.subtree_json import HOLES, PART_BYTES, SEEKS, json_chunks
from treedb.tree.arrays import to_plain
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json
from treedb.tree.values import Value, value_at

PLACE = Path(("top", "list"))

keys = st.sampled_from(["0", "1", "2", "3", "7", "07", "-1", "a", "b", 'q"', "é😀", "k" * 500])
indexes = st.sampled_from(["0", "1", "2", "3", "4", "6"])
leaves = st.sampled_from([True, 1, 2.5, "text", 'quote " and \\', "x" * 30, "😀" * 9])
values = st.recursive(
    leaves | st.builds(lambda leaf: {".value": leaf, ".priority": 1}, leaves),
    lambda inner: (
        st.dictionaries(keys, inner, min_size=1, max_size=6)
        | st.dictionaries(indexes, inner, min_size=1, max_size=6)
        | st.builds(
            lambda members: {**members, ".priority": "p"},
            st.dictionaries(keys | indexes, inner, min_size=1, max_size=3),
        )
    ),
    max_leaves=40,
)


def chunks_of(tree: StoredTree, place: Path, form: Form, slice_rows: int) -> list[bytes]:
    return list(json_chunks(tree, place, form, slice_rows))


def text_of(tree: StoredTree, place: Path, form: Form, slice_rows: int = 37) -> bytes:
    return b"".join(chunks_of(tree, place, form, slice_rows))


def naive_text(value: Value, form: Form) -> bytes:
    return format_json(to_plain(value) if form is Form.PLAIN else value)


@settings(max_examples=500, deadline=None)
@given(raw=values, row_bytes=st.sampled_from([8, 24, 80]), slice_rows=st.integers(1, 5))
def test_any_tree_is_written_as_its_value(raw: object, row_bytes: int, slice_rows: int) -> None:
    with stored_value(PLACE, raw, row_bytes) as (tree, value):
        for form in Form:
            assert text_of(tree, PLACE, form, slice_rows) == naive_text(value, form)
            whole: Value = {"top": {"list": value}}
            assert text_of(tree, ROOT, form, slice_rows) == naive_text(whole, form)


@settings(max_examples=100, deadline=None)
@given(raw=values, below=st.lists(keys | indexes, min_size=1, max_size=3))
def test_any_place_below_is_written_as_its_value(raw: object, below: list[str]) -> None:
    with stored_value(PLACE, raw, 24) as (tree, value):
        place = Path((*PLACE.keys, *below))
        for form in Form:
            assert text_of(tree, place, form) == naive_text(value_at(value, below), form)


LARGE = {
    "records": {f"r{n:04d}": {"n": n, "s": "text"} for n in range(1000)},
    "array": {str(n): {"n": n} for n in range(500)},
    "sparse": {str(n * 3): "x" * 40 for n in range(100)},
    "holes": {str(n * 2): "x" * 40 for n in range(100)},
    "a hole at the beginning": {str(n + 50): "x" * 40 for n in range(100)},
    "array of arrays": {str(n): {str(m): "x" * 20 for m in range(5)} for n in range(50)},
    "arrays in records": {f"r{n}": {"list": {"0": 1, "1": 2}} for n in range(100)},
    "starts like an array": {**{str(n): "x" * 20 for n in range(50)}, "z": 1},
    "a spelling of its own": {**{str(n): "x" * 20 for n in range(50)}, "049": 1},
    "an index beyond all": {**{str(n): "x" * 20 for n in range(50)}, "9" * 11: 1},
    "priorities": {f"r{n}": {".value": n, ".priority": n} for n in range(100)},
    "an array with a priority": {".priority": 1, **{str(n): "x" * 20 for n in range(50)}},
    "deep": {"a": {"0": {"b": {"1": {"c": {"0": "x" * 90, "2": "y" * 90}}}}}},
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("row_bytes", [16, 64, 1024])
@pytest.mark.parametrize("form", Form)
def test_large_objects_of_every_kind(name: str, row_bytes: int, form: Form) -> None:
    with stored_value(PLACE, LARGE[name], row_bytes) as (tree, value):
        assert text_of(tree, PLACE, form) == naive_text(value, form)


def test_a_priority_is_written_alone() -> None:
    with stored_value(PLACE, LARGE["an array with a priority"], 16) as (tree, _):
        assert text_of(tree, PLACE.child(".priority"), Form.PLAIN) == b"1"


def test_nothing_is_null() -> None:
    with stored_value(PLACE, {"a": 1}, 16) as (tree, _):
        assert text_of(tree, Path(("elsewhere",)), Form.PLAIN) == b"null"


# Long strings

LONG = {
    "ascii": "x" * (SLICE_BYTES + 1),
    "every part ends within a character": "a" + "€" * PART_BYTES,
    "four bytes": "😀" * (SLICE_BYTES // 2),
    "escapes": '"\\\n\x00' * SLICE_BYTES,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("form", Form)
def test_a_long_string_is_written_in_parts(name: str, form: Form) -> None:
    string = LONG[name]
    raw = {
        "a": string,
        "b": {".value": string, ".priority": 7},
        "c": {"0": string, "1": {".value": string, ".priority": "p"}, "3": 1},
        "d": 1,
    }
    with stored_value(PLACE, raw, 1900) as (tree, value):
        chunks = chunks_of(tree, PLACE, form, 500)
        assert b"".join(chunks) == naive_text(value, form)
        assert max(map(len, chunks)) <= 6 * PART_BYTES  # \u0000 for one byte
        for key in ("a", "b", "c"):
            expected = naive_text(value_at(value, (key,)), form)
            assert text_of(tree, PLACE.child(key), form) == expected


# Pauses


def test_no_chunk_holds_more_than_a_slice() -> None:
    raw = {f"r{n:03d}": "x" * 50_000 for n in range(100)}
    with stored_value(PLACE, raw, 1900) as (tree, _):
        chunks = chunks_of(tree, PLACE, Form.PLAIN, 500)
        assert max(map(len, chunks)) < SLICE_BYTES + 51_000
        assert len(chunks) >= 100 * 50_000 // (SLICE_BYTES + 51_000)


def test_looking_whether_it_is_an_array_pauses() -> None:
    raw = {str(n): "x" for n in range(3 * SEEKS)}
    with stored_value(PLACE, raw, 8) as (tree, value):
        chunks = chunks_of(tree, PLACE, Form.PLAIN, 10 * SEEKS)
        assert chunks[:3] == [b"", b"", b""]
        assert b"".join(chunks) == naive_text(value, Form.PLAIN)


def test_many_holes_are_written_in_parts() -> None:
    count = 2 * HOLES + 10
    raw = {**{str(n): 1 for n in range(count)}, str(2 * count): 1}
    with stored_value(PLACE, raw, 8) as (tree, value):
        chunks = chunks_of(tree, PLACE, Form.PLAIN, 500)
        assert b"".join(chunks) == naive_text(value, Form.PLAIN)
        assert max(map(len, chunks)) < 2 * HOLES * len(b"null,")
