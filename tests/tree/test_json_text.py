"""JSON text, strictly: which texts are JSON, and how values are written."""

import time

import orjson
import pytest
from hypothesis import given

from tests.tree.strategies import normal, raws, values
from treedb.errors import InvalidJson, NoData, TooDeep
from treedb.tree.json_text import format_json, parse_json
from treedb.tree.values import Value

REFUSED = [
    b" ", b"\n", b"{", b"[1,]", b'{"a":1,}', b"{'a':1}", b"{a:1}", b'{"a":1}/*x*/', b"1 2", b"{}{}",
    b"NaN", b"Infinity", b"-Infinity", b'{"a":NaN}', b"1e400", b"-1e400", b"1" * 5_000,
    b"-" + b"1" * 5_000, b"1" * 310, b"1" * 1_000_000,
    b"01", b"+1", b".5", b"1.", b"0x10", b"-", b"1e", b"1_000", b"True", b"nul", b"undefined",
    b'"\\ud800"', b'"\\udc00"', b'"\\ud800x"', b'"\\udc00\\ud800"', b'{"\\ud800":1}',
    b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xe2\x82"', b'"\xff"', b'{"\xff":1}', b"\xff",
    b"\xef\xbb\xbf{}", "{}".encode("utf-16"), "{}".encode("utf-16-le"), "{}".encode("utf-16-be"),
    "{}".encode("utf-32"), b'"\x01"', b'"\x00"', b'"\n"', b"{}\x00", b'"a', b'"\\x41"', b'"\\u12"',
    b"[" * 1_000_000, b"[" * 1_025 + b"]" * 1_025, b'{"a":' * 2_000, b"]", b"--x\r\nContent-Type: a",
]  # fmt: skip

PARSED: list[tuple[bytes, object]] = [
    (b"null", None),
    (b" true\r\n\t", True),
    (b'"\\u0000"', "\x00"),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'{"a":1,"a":2}', {"a": 2}),
    (b"9007199254740993", 9007199254740993),
    (b"18446744073709551616", 1.8446744073709552e19),
    (b"1e-400", 0.0),
    (b"1." + b"0" * 1_000_000 + b"1", 1.0),
    (b"[1,null,[]]", [1, None, []]),
]

CANONICAL = [
    (b"-0", b"0"),
    (b"-0.0", b"0"),
    (b"1.0", b"1"),
    (b"1e2", b"100"),
    (b"1." + b"0" * 1_000_000 + b"1", b"1"),
    (b"9007199254740993", b"9007199254740992"),
    (b"18446744073709551615", b"18446744073709552000.0"),
    (b"18446744073709551616", b"18446744073709552000.0"),
    (b"1" * 309, b"1.1111111111111112e308"),
]


@pytest.mark.parametrize("body", REFUSED, ids=lambda body: ascii(body[:20]))
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_json(body)
    assert "line 1 column" in caught.value.detail or "line 2 column" in caught.value.detail
    assert caught.value.detail.isprintable()


def test_an_empty_body_is_no_data() -> None:
    with pytest.raises(NoData):
        parse_json(b"")


@pytest.mark.parametrize(("body", "value"), PARSED, ids=lambda case: ascii(case)[:20])
def test_json_is_parsed(body: bytes, value: object) -> None:
    assert parse_json(body) == value


@pytest.mark.parametrize(("body", "written"), CANONICAL, ids=lambda case: ascii(case)[:20])
def test_one_number_is_written_one_way(body: bytes, written: bytes) -> None:
    value = normal(parse_json(body))
    assert orjson.loads(format_json(value)) == orjson.loads(written)
    assert format_json(normal(parse_json(format_json(value)))) == format_json(value)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_thousand_levels_are_json_but_no_value(opening: bytes, closing: bytes) -> None:
    inner = b"1" if opening != b"[" else b""
    raw = parse_json(opening * 1_000 + inner + closing * 1_000)
    with pytest.raises(TooDeep):
        normal(raw)


def test_a_million_open_brackets_are_refused_at_once() -> None:
    start = time.perf_counter()
    with pytest.raises(InvalidJson):
        parse_json(b"[" * 1_000_000)
    assert time.perf_counter() - start < 0.1


@given(raws)
def test_what_is_written_reads_back(raw: object) -> None:
    assert parse_json(format_json(raw)) == raw


@given(values)
def test_a_value_survives_its_text(value: Value) -> None:
    again = normal(parse_json(format_json(value)))
    assert format_json(again) == format_json(value)


def test_text_is_compact_utf_8_in_the_values_order() -> None:
    assert format_json({"b": [1, None, True], "a": "é"}) == '{"b":[1,null,true],"a":"é"}'.encode()
