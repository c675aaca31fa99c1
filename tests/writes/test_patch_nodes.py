"""The parts of a document: indexes, pointers, and what was touched."""

import pytest

from treedb.paths.path import ROOT
from treedb.writes.patch_nodes import (
    GONE,
    Kept,
    OpenArray,
    OpenObject,
    index_of,
    pointer,
    put_child,
    touched,
)


@pytest.mark.parametrize(
    "key, most, index",
    [
        ("0", 0, 0),
        ("10", 10, 10),
        ("10", 9, None),
        ("01", 9, None),
        ("-1", 9, None),
        ("+1", 9, None),
        ("1e0", 9, None),
        ("", 9, None),
        ("-", 9, None),
        ("\u0663", 9, None),
        ("1\n", 9, None),
        ("9" * 5000, 9, None),
    ],
)
def test_an_index_is_a_whole_number_without_zeros_in_front(
    key: str, most: int, index: int | None
) -> None:
    assert index_of(key, most) == index


@pytest.mark.parametrize(
    "keys, text", [((), '""'), (("a", "0"), '"/a/0"'), (("~1",), '"/~01"'), (("m~n",), '"/m~0n"')]
)
def test_a_pointer_is_written_with_its_escapes(keys: tuple[str, ...], text: str) -> None:
    assert pointer(keys) == text


def test_children_are_put_by_key_or_index() -> None:
    whole, items = OpenObject(None, {"a": 1}), OpenArray(None, [1, 2])
    put_child(whole, "b", 2)
    put_child(items, "1", 3)
    assert (whole.members, items.items) == ({"a": 1, "b": 2}, [1, 3])


def test_what_an_array_lost_is_gone() -> None:
    items = OpenArray(ROOT, [Kept(ROOT.child("1"))], 3)
    assert list(touched(items)) == [("0", Kept(ROOT.child("1"))), ("1", GONE), ("2", GONE)]
    assert list(touched(OpenArray(ROOT, [7, 8], 1))) == [("0", 7), ("1", 8)]
    assert list(touched(OpenObject(ROOT, {"a": GONE}))) == [("a", GONE)]
