import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.auth.token_text import TOKEN_BYTES, decode_object, decode_part, split_token
from treedb.errors import InvalidToken


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text, parts",
    [
        ("a.b.c", ("a", "b", "c")),
        ("a.b.", ("a", "b", "")),
        ("..", ("", "", "")),
        ("a" * (TOKEN_BYTES - 4) + ".b.c", ("a" * (TOKEN_BYTES - 4), "b", "c")),
    ],
)
def test_a_token_has_three_parts(text: str, parts: tuple[str, str, str]) -> None:
    assert split_token(text) == parts


@pytest.mark.parametrize(
    "text", ["", "a", "a.b", "a.b.c.d", "a" * (TOKEN_BYTES - 3) + ".b.c", "é.b.c", "\ud800.b.c"]
)
def test_other_text_is_no_token(text: str) -> None:
    with pytest.raises(InvalidToken):
        split_token(text)


@given(st.binary(min_size=1))
def test_a_part_is_decoded(data: bytes) -> None:
    assert decode_part(encode(data)) == data


@pytest.mark.parametrize(
    "part",
    [
        "",
        "=",
        "Y",
        "YQ=",
        "YQ==",
        "YQ\n",
        " YQ",
        "Y Q",
        "YWFhYQ\x00",
        "YR",  # the last four bits mean nothing
        "YWJ",  # the last two
        "YWFhY",
        "+/+/",
        "-_-_.",
        "é",
    ],
)
def test_a_part_has_one_spelling(part: str) -> None:
    with pytest.raises(InvalidToken):
        decode_part(part)


@given(st.text(st.sampled_from("AQYZaw01-_=+/ \n"), max_size=12))
def test_of_all_spellings_only_one_is_taken(part: str) -> None:
    with suppress(InvalidToken):
        assert encode(decode_part(part)) == part


def nested(levels: int) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for _ in range(levels - 1):
        content = {"a": content}
    return content


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"sub": "alice", "n": [1, 2.5, None, True, "ä 日 𝒳"]},
        {"a": {"x": 1}, "b": {"x": 1}, "x": [{"x": 1}, {"x": 1}]},
        {"__proto__": {}, "": 1},
        nested(32),
    ],
)
def test_an_object_is_decoded(content: dict[str, Any]) -> None:
    assert decode_object(encode(json.dumps(content).encode())) == content


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'"alice"',
        b"null",
        b"5",
        b"{",
        b"{}{}",
        b"\xef\xbb\xbf{}",
        b'{"a":NaN}',
        b'{"a":1e400}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"a":[{"b":1,"b":2}]}',
        json.dumps(nested(33)).encode(),
        b"[" * 5000 + b"]" * 5000,
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidToken):
        decode_object(encode(data))
