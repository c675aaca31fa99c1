"""Row keys fit LMDB and keep their order; row values come back as they were."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.store.codec import (
    HEAD,
    LONGEST,
    ROOT,
    decode_row,
    encode_in_parts,
    encode_row,
    encode_value,
    full_key,
    row_is_plain,
    stored_key,
    successor,
)
from treedb.tree.small import FEW
from treedb.tree.values import Value

LMDB_KEY_BYTES = 511
LENGTHS = [1, HEAD - 1, HEAD, HEAD + 1, LONGEST, LONGEST + 1, 768, 32 * 769]


@pytest.mark.parametrize("length", LENGTHS)
def test_any_full_key_fits_and_comes_back(length: int) -> None:
    full = b"a" * length
    stored = stored_key(full)
    assert 0 < len(stored) <= LMDB_KEY_BYTES
    assert full_key(stored, encode_row(full, 1, encode_value(1))) == full


def test_the_root_has_a_key_before_all_others() -> None:
    assert stored_key(b"") == ROOT
    assert full_key(ROOT, b"") == b""


def test_long_keys_that_differ_only_at_their_ends_are_stored_apart() -> None:
    assert stored_key(b"a" * 600 + b"x") != stored_key(b"a" * 600 + b"y")
    assert stored_key(b"a" * 600)[:HEAD] == stored_key(b"a" * 601)[:HEAD]


@pytest.mark.parametrize("full", [b"", b"short", b"l" * 600])
@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (True, True),
        (2**53, True),
        (1e300, True),
        ("😀", True),
        ({"a": {"b": 1}}, True),
        ({".value": 1, ".priority": 2}, False),
        ({".priority": 2, "a": 1}, False),
        ({"list": {"0": 1, "1": 2}}, False),
    ],
)
def test_a_value_comes_back_with_its_flags(full: bytes, value: Value, plain: bool) -> None:
    raw = encode_row(full, value, encode_value(value))
    assert decode_row(raw) == value
    assert row_is_plain(raw) is plain


@given(prefix=st.binary(min_size=1, max_size=4), tail=st.binary(max_size=4), other=st.binary())
def test_a_successor_parts_what_begins_with_a_prefix_from_what_follows(
    prefix: bytes, tail: bytes, other: bytes
) -> None:
    after = successor(prefix)
    if not after:
        assert prefix == b"\xff" * len(prefix)
        return
    assert prefix + tail < after
    if other > prefix and not other.startswith(prefix):
        assert other >= after


many = st.integers(FEW - 5, FEW + 60)
entries = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        many.map(lambda count: {f"k{n}": "x" for n in range(count)})
        | st.lists(inner, max_size=40)
        | st.dictionaries(st.text(max_size=4), inner, max_size=40)
    ),
    max_leaves=60,
)


@given(entries)
def test_what_is_encoded_in_parts_is_the_same(entry: object) -> None:
    assert encode_in_parts(entry) == msgpack.packb(entry)
