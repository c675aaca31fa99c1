from typing import Any

import pytest

from treedb.auth.identity import Auth
from treedb.auth.legacy_tokens import is_legacy, legacy_auth
from treedb.errors import ExpiredToken, InvalidToken

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000
DAY_MS = 24 * 3600 * 1000

Claims = dict[str, Any]


@pytest.mark.parametrize(
    "claims, is_one",
    [
        ({"v": 0, "d": {}}, True),
        ({"v": 0}, True),
        ({"v": False, "d": {}}, False),
        ({"v": 0.0, "d": {}}, False),
        ({"v": "0", "d": {}}, False),
        ({"v": 1, "d": {}}, False),
        ({"d": {}}, False),
        ({"v": 0, "d": {}, "sub": "alice"}, False),
        ({"v": 0, "d": {}, "user_id": None}, False),
    ],
)
def test_a_legacy_token_is_of_version_0_and_names_no_user(claims: Claims, is_one: bool) -> None:
    assert is_legacy(claims) == is_one


def test_rules_see_what_the_token_wrote_down() -> None:
    claims: Claims = {
        "v": 0,
        "iat": NOW_S,
        "d": {"uid": "alice", "provider": "mine", "team": ["red"]},
    }
    auth = legacy_auth(claims, NOW_MS)
    assert auth == Auth("alice", claims, False, NOW_MS + DAY_MS, variable=claims["d"])


def test_an_admin_has_no_user_and_no_variable() -> None:
    claims = {"v": 0, "iat": NOW_S, "admin": True, "d": {"uid": "alice"}}
    assert legacy_auth(claims, NOW_MS) == Auth(None, claims, True, NOW_MS + DAY_MS)


@pytest.mark.parametrize(
    "changed",
    [
        {"d": None},
        {"d": {}},
        {"d": {"uid": None}},
        {"d": "alice"},
        {"admin": 1},
        {"admin": None},
        {"admin": "true"},
        {"debug": "true"},
        {"iat": None},
        {"exp": None},
    ],
)
def test_a_malformed_token_is_refused(changed: Claims) -> None:
    with pytest.raises(InvalidToken):
        legacy_auth({"v": 0, "iat": NOW_S, "d": {"uid": "alice"}} | changed, NOW_MS)


def test_an_admin_expires_too() -> None:
    with pytest.raises(ExpiredToken):
        legacy_auth({"v": 0, "iat": NOW_S, "admin": True}, NOW_MS + DAY_MS)
