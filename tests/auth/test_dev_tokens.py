import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.auth.dev_tokens import is_dev_credential, parse_dev_credential
from treedb.auth.identity import ADMIN
from treedb.errors import InvalidToken

NONE = {"alg": "none", "type": "JWT"}


def encode(content: Any) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims: Any, header: Any = NONE, signature: str = "") -> str:
    return f"{encode(header)}.{encode(claims)}.{signature}"


MOCK = {
    "iss": "https://securetoken.google.com/demo-project",
    "aud": "demo-project",
    "iat": 0,
    "exp": 3600,
    "auth_time": 0,
    "sub": "alice",
    "user_id": "alice",
    "firebase": {"sign_in_provider": "custom", "identities": {}},
    "team": "red",
}


def test_owner_is_an_admin() -> None:
    assert parse_dev_credential("owner") is ADMIN


def test_a_mock_token_is_its_user_though_it_expired_in_1970() -> None:
    auth = parse_dev_credential(token(MOCK))
    assert (auth.uid, auth.is_admin, auth.expires_at_ms) == ("alice", False, None)
    assert auth.token == MOCK
    assert auth.provider == "custom"


@pytest.mark.parametrize(
    "claims, uid",
    [
        ({"sub": "a"}, "a"),
        ({"user_id": "b"}, "b"),
        ({"sub": "a", "user_id": "b"}, "a"),
        ({"sub": "x" * 128}, "x" * 128),
        ({"sub": "ä 日"}, "ä 日"),
    ],
)
def test_the_user_is_the_subject_or_else_the_user_id(claims: Any, uid: str) -> None:
    assert parse_dev_credential(token(claims)).uid == uid


GOOD = token({"sub": "alice"})

REFUSED = [
    ("nothing", ""),
    ("another word", "Owner"),
    ("owner and a space", "owner "),
    ("two parts", "a.b"),
    ("four parts", GOOD + "."),
    ("five parts", "a.b.c.d.e"),
    ("empty parts", ".."),
    ("a signature", token({"sub": "alice"}, signature="c2ln")),
    ("another spelling of none", token({"sub": "a"}, {"alg": "nOnE"})),
    ("an algorithm", token({"sub": "a"}, {"alg": "HS256"})),
    ("no algorithm", token({"sub": "a"}, {})),
    ("a critical extension", token({"sub": "a"}, {"alg": "none", "crit": []})),
    ("a header that is a list", token({"sub": "a"}, ["none"])),
    ("claims that are a list", token([1])),
    ("claims that are text", token("alice")),
    ("claims that are no JSON", token(b"{")),
    ("claims that are no UTF-8", token(b'{"sub":"\xff"}')),
    ("claims with NaN", token(b'{"sub":"a","n":NaN}')),
    ("claims too deep", token(b'{"sub":"a","n":' + b"[" * 2000 + b"]" * 2000 + b"}")),
    ("a claim given twice", token(b'{"sub":"a","sub":"b"}')),
    ("a lone surrogate", token(b'{"sub":"\\ud800"}')),
    ("padding", GOOD.replace(".", "=.", 1)),
    ("a newline", GOOD + "\n"),
    ("a space inside", GOOD.replace(".", " .", 1)),
    ("the standard alphabet", token(b'{"sub":"\xc3\xbf\xc3\xbf\xc3\xbf"}').replace("_", "/")),
    ("letters beyond ASCII", GOOD.replace("e", "é")),
    ("an impossible length", f"{encode(NONE)}.{encode({'sub': 'a'})}AA."),
    ("bits that mean nothing", f"{encode(NONE)[:-1]}Q.{encode({'sub': 'a'})}."),
    ("no user", token({"iat": 0})),
    ("an empty user", token({"sub": ""})),
    ("a user that is a number", token({"sub": 5, "user_id": "a"})),
    ("a user of 129 characters", token({"sub": "x" * 129})),
    ("a user with a slash", token({"sub": "a/b"})),
    ("a user with a dot", token({"sub": "a.b"})),
    ("a user with a control character", token({"sub": "a\u0000"})),
    ("more than 8 KiB", token({"sub": "a", "x": "y" * 8192})),
]


@pytest.mark.parametrize("text", [text for _, text in REFUSED], ids=[name for name, _ in REFUSED])
def test_anything_else_is_nobody(text: str) -> None:
    with pytest.raises(InvalidToken, match="Could not parse auth token"):
        parse_dev_credential(text)


@pytest.mark.parametrize(
    "text, is_one",
    [
        ("owner", True),
        (GOOD, True),
        ("a.b.", True),
        (token({"sub": "alice"}, signature="c2ln"), False),
        ("Owner", False),
        ("", False),
    ],
)
def test_a_credential_without_a_signature_is_of_this_kind(text: str, is_one: bool) -> None:
    assert is_dev_credential(text) == is_one


@given(st.text() | st.text(st.sampled_from("abcDEF019-_.=")) | st.binary().map(token))
def test_no_text_breaks_it(text: str) -> None:
    with suppress(InvalidToken):
        parse_dev_credential(text)
