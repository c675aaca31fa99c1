"""Large text is parsed in parts to what the codec makes of it at once, and refused likewise."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from treedb.errors import InvalidJson, NoData, TooDeep, TreeError
from treedb.tree.json_text import format_json, parse_json
from treedb.tree.large_json import LEVELS, PART_BYTES, format_large_json, parse_large_json
from treedb.tree.small import FEW

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(['"', "\\", '\\"', "{", "}]", "a,b", "😀", "\u2028", "x" * 50])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6)
    ),
    max_leaves=60,
)
part_sizes = st.integers(2, 60)
layouts: st.SearchStrategy[Callable[[Any], str]] = st.sampled_from(
    [
        json.dumps,
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        lambda value: json.dumps(value, indent=3),
        lambda value: " \n\t" * 9 + json.dumps(value, separators=(" ,\r\n", "  :")) + " " * 30,
    ]
)


def outcome(parse: Callable[[bytes], object], body: bytes) -> object:
    try:
        return repr(parse(body))
    except TreeError as error:
        return type(error)


@settings(max_examples=300)
@given(value=values, part_bytes=part_sizes, layout=layouts)
def test_any_text_is_parsed_as_at_once(
    value: object, part_bytes: int, layout: Callable[[object], str]
) -> None:
    body = layout(value).encode()
    assert repr(parse_large_json(body, part_bytes)) == repr(parse_json(body))


@settings(max_examples=500)
@given(
    value=values,
    part_bytes=part_sizes,
    layout=layouts,
    edits=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.sampled_from(
                [b"", b",", b":", b'"', b"\\", b"{", b"}", b"[", b"]", b"1", b" ", b"\xff", b"\x00"]
            ),
            st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_what_is_wrong_is_refused_as_at_once(
    value: object,
    part_bytes: int,
    layout: Callable[[object], str],
    edits: list[tuple[float, bytes, bool]],
) -> None:
    body = layout(value).encode()
    for where, put, replaces in edits:
        at = int(where * len(body))
        body = body[:at] + put + body[at + replaces :]
    parts = outcome(lambda text: parse_large_json(text, part_bytes), body)
    assert parts == outcome(parse_json, body)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"a":1,"b":2,}', "a comma is the last in an object or array, near byte 13"),
        (b"[1,2,3,4,5,6,7,]", "a comma is the last in an object or array, near byte 15"),
        (b"[[1,2,3,4,5,6,7],]", "a comma is the last in an object or array, near byte 17"),
        (b'{"a":1 "b":2,"c":3}', "a comma or the end of the object or array is expected, near byte 7"),
        (b"[1,2,3,4,5,6,7,8", "a comma or the end of the object or array is expected, near byte 16"),
        (b"[1,2,3,4,5,6,7,,8]", "a value is expected, of at most 67108864 bytes, near byte 15"),
        (b'{"a":1,b:2,"c":3}', "a name in quotes and a colon are expected, near byte 7"),
        (b'{"a":1,"b"    2}', "a name in quotes and a colon are expected, near byte 7"),
        (b"[1,2,3,4,5,6,7] 8", "something follows the end, near byte 16"),
        (b'["0123456789", 01]', "number with leading zero is not allowed, near byte 15"),
    ],
)  # fmt: skip
def test_an_error_tells_where_it_is(body: bytes, detail: str) -> None:
    with pytest.raises(InvalidJson) as refused:
        parse_large_json(body, 8)
    assert refused.value.detail == f"the text is no JSON: {detail}"


def test_nothing_is_no_data() -> None:
    with pytest.raises(NoData):
        parse_large_json(b"")


def nested(levels: int) -> bytes:
    return b"[" * levels + b"1" + b"]" * levels


def test_so_many_levels_are_enough_for_any_value() -> None:
    body = b"[" + b",".join([nested(LEVELS)] * 20) + b"]"
    assert parse_large_json(body, 300) == parse_json(body)


@pytest.mark.parametrize(
    "body",
    [nested(300), b"[" + b",".join([nested(2 * LEVELS)] * 3_000) + b"]"],
    ids=["deep", "deep and many"],
)
def test_more_levels_than_any_value_has_are_refused(body: bytes) -> None:
    with pytest.raises(TooDeep, match=f"the value has more than {LEVELS} levels, near byte"):
        parse_large_json(body, 200)


LARGE = {
    "records": {f"r{n}": {"n": n, "text": "x" * 100, "tags": {"a": [1, 2]}} for n in range(9_000)},
    "numbers": list(range(200_000)),
    "long strings": ["x" * 3 * PART_BYTES, {"k": 'é\\"' * PART_BYTES}, 1],
    "a large object in a large object": {"a": {"b": {f"k{n}": n for n in range(30_000)}}, "c": 1},
}


@pytest.mark.parametrize("name", LARGE)
def test_large_text_is_parsed_and_written(name: str) -> None:
    body = format_json(LARGE[name])
    assert len(body) > PART_BYTES
    assert parse_large_json(body) == LARGE[name]
    assert format_large_json(LARGE[name]) == body


many = st.integers(FEW - 5, FEW + 60)
large_values = st.recursive(
    scalars.filter(lambda each: not isinstance(each, int) or abs(each) < 2**63)
    | many.map(lambda count: [1] * count)
    | many.map(lambda count: {f"k{n}": "x" for n in range(count)}),
    lambda inner: (
        st.lists(inner, max_size=80) | st.dictionaries(st.text(max_size=6), inner, max_size=80)
    ),
    max_leaves=100,
)


@settings(deadline=None)
@given(large_values)
def test_any_value_is_written_as_at_once(value: object) -> None:
    assert format_large_json(value) == format_json(value)


@example(b'{"a":{"n":1,"m":2,"o":3},"a":1,"b":4}')
@example(b'{"a":1,"a":{"n":1,"m":2,"o":3},"b":4}')
@given(st.just(b'{"a":1,"b":2,"a":3,"b":4,"c":5,"a":6}'))
def test_of_members_with_the_same_key_the_last_counts(body: bytes) -> None:
    assert parse_large_json(body, 8) == parse_json(body)
