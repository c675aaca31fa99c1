"""Hashes of ranges, against those that the Android SDK makes of a copy."""

from typing import Any

import pytest
from hypothesis import given

from tests.tree.caching_client import compound_hash, estimated_size, quoted, text_hash
from tests.tree.strategies import KEYS, normal, objects
from treedb.paths.order import encode_key
from treedb.tree.range_hash import hash_ranges, may_hide_priority, shown_members
from treedb.tree.values import Value

VECTORS: list[tuple[Any, str, str]] = [
    ({"foo": "bar"}, '("foo":(string:"bar"))', "LmKmJmXugtGlEGoulMbz86myDNw="),
    (
        {"foo": {".value": "bar", ".priority": "baz"}},
        '("foo":(priority:string:"baz":string:"bar"))',
        "Pg7xV/cwDhcX65Z5lEn4rKdDmX0=",
    ),
    (
        {"1": "one", "2": "two"},
        '("1":(string:"one"),"2":(string:"two"))',
        "YkodEihR5l3UXCbbKSqqVp082GU=",
    ),
    ({"10": "ten"}, '("10":(string:"ten"))', "pfduDpANk3ljVHkUt4HdLwrlDao="),
    (
        {"bar": {"deep": "value"}, "foo": {"other-deep": "value"}},
        '("bar":("deep":(string:"value")),"foo":("other-deep":(string:"value")))',
        "0Sio+izRDomUl6XRo4LRM8qfsog=",
    ),
]


@pytest.mark.parametrize("raw, text, digest", VECTORS)
def test_ranges_have_the_hashes_that_sdks_give_them(raw: Any, text: str, digest: str) -> None:
    value = normal(raw)
    copy = compound_hash(value)
    assert copy.hashes == (digest, "")
    assert text_hash(text) == digest
    found = hash_ranges(value, copy.posts)
    assert found is not None
    assert found.hashes == copy.hashes


TEXTS: list[tuple[str, Any, tuple[str, ...], tuple[str, ...]]] = [
    (
        "ranges that start in the middle open what they are in",
        {"a": 1, "b": {"c": True, "d": False}, "e": "x"},
        ("b/c",),
        ('("a":(number:3ff0000000000000),"b":("c":(boolean:true)))',
         '("b":("d":(boolean:false)),"e":(string:"x"))'),
    ),
    (
        "a priority is a child at its place",
        {"!": "x", "a": "y", ".priority": 1},
        ("!",),
        ('("!":(string:"x"))', '(".priority":(number:3ff0000000000000),"a":(string:"y"))'),
    ),
    (
        "a priority after all keys is not hashed",
        {"!": "x", "1": "y", ".priority": 1},
        ("!",),
        ('("1":(string:"y"),"!":(string:"x"))', ""),
    ),
    (
        "text is quoted and escaped",
        {'"\\': 'a"b\\'},
        (),
        ('("\\"\\\\":(string:"a\\"b\\\\"))',),
    ),
    (
        "from deep to shallow, and back",
        {"a": {"b": {"c": "x", "d": "x"}, "e": "x"}, "f": {"g": {"h": "x", "i": "x"}}},
        ("a/b/c", "f/g/h"),
        ('("a":("b":("c":(string:"x"))))',
         '("a":("b":("d":(string:"x")),"e":(string:"x")),"f":("g":("h":(string:"x"))))',
         '("f":("g":("i":(string:"x"))))'),
    ),
    ("a range without anything", {"a": "x"}, ("0", "A"), ("", "", '("a":(string:"x"))')),
    ("a post where there is an object", {"a": {"b": "x"}}, ("a",), ("", '("a":("b":(string:"x")))')),
]  # fmt: skip


@pytest.mark.parametrize("what, raw, posts, texts", TEXTS, ids=[case[0] for case in TEXTS])
def test_ranges_are_hashed_as_texts(
    what: str, raw: Any, posts: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    found = hash_ranges(normal(raw), tuple(tuple(post.split("/")) for post in posts))
    assert found is not None
    assert found.hashes == tuple(text_hash(text) if text else "" for text in texts)


@given(objects)
def test_every_range_of_a_value_is_hashed_as_the_sdk_does(value: Value) -> None:
    for threshold in (0, 40, 80):
        copy = compound_hash(value, threshold)
        found = hash_ranges(value, copy.posts)
        assert found is not None
        assert found.hashes == copy.hashes


HIDING: list[tuple[Any, str, list[tuple[int, str]]]] = [
    ({"a": 1}, "a", []),
    ({"1": 1}, "1", [(1, "")]),
    ({"1": 1}, "2", [(1, "")]),
    ({"1": 1}, "b", [(0, "")]),
    ({"-Kx": 1}, "-Kx", [(1, "")]),
    ({"-Kx": 1, ".priority": 5}, "-Kx", [(1, "")]),
    ({"-Kx": 1, "a": 1}, "a", []),
    (
        {"a": {"0": 1}, "b": {"0": {"1": 1}, "a": 1}, "m": 1, "z": {"0": 1}},
        "m",
        [(0, "a"), (0, "b/0"), (1, "z")],
    ),
]


@pytest.mark.parametrize("raw, post, hidden", HIDING)
def test_objects_without_a_key_after_priority_may_hide_theirs(
    raw: Any, post: str, hidden: list[tuple[int, str]]
) -> None:
    found = hash_ranges(normal(raw), ((post,),))
    assert found is not None
    assert [(number, "/".join(keys)) for number, keys in found.hidden] == hidden


@pytest.mark.parametrize("key", KEYS)
def test_a_priority_is_shown_where_a_key_comes_after_it(key: str) -> None:
    value = normal({key: 1, ".priority": 2})
    assert isinstance(value, dict)
    keys = [each for each, _ in shown_members(value)]
    is_after = encode_key(key) > encode_key(".priority")
    assert keys == ([".priority", key] if is_after else [key])
    assert may_hide_priority(value) is not is_after


ODD_KEYS = ["-0", "-00", "000000000001", "-00000000001", "00000000000000000000"]
PLAIN_KEYS = ["0", "00", "-1", "-007", "00000000001", "2147483648", "-Kx", "123456789012", "-"]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_keys_that_sdks_order_differently_have_no_ranges(key: str) -> None:
    assert hash_ranges({"a": {key: 1}}, ()) is None
    assert hash_ranges({"a": 1}, ((key,),)) is None


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_all_others_have(key: str) -> None:
    found = hash_ranges({key: "x"}, ())
    assert found is not None
    assert found.hashes == (text_hash(f'({quoted(key)}:(string:"x"))'),)


def test_a_range_ends_once_its_text_is_longer_than_the_sdks_threshold() -> None:
    value: dict[str, Value] = {f"k{number:04}": "x" * 80 for number in range(1000)}
    assert estimated_size(value) == 1 + 1000 * (5 + 4 + 82)
    copy = compound_hash(value)
    # sqrt(100 * 91,001) is 3,016; a leaf has 100 characters, and the first range one more
    assert len(copy.posts) == 33
    assert len(copy.hashes) == 34
    assert copy.hashes[-1] == ""
