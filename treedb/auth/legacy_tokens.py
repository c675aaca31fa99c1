"""Tokens of Firebase's first generator, `v: 0`: the app's server writes `auth` itself, in `d`.

    {"v": 0, "iat": 1700000000, "d": {"uid": "alice", "team": "red"}}

Rules see `d` as their variable `auth`, as it stands. `exp` may be left out, and the token then
lives for a day; `nbf`, `admin` and `debug` may be there. `admin` here is the server's word for full
rights. It is not the claim of the same name in an ID token, which is an app's own and gives none.
"""

from collections.abc import Mapping
from typing import Any, Final

from treedb.auth.claims import check_uid, expiry_ms
from treedb.auth.identity import Auth
from treedb.errors import InvalidToken

VERSION: Final = 0


def is_legacy(claims: Mapping[str, Any]) -> bool:
    """Tell whether claims are of this kind: of version 0, and without a user of their own.

    A token that names a user is an ID token whatever else it claims: nobody becomes an admin
    because an app lets users choose some claims.
    """
    version = claims.get("v")
    is_zero = type(version) is int and version == VERSION
    return is_zero and "sub" not in claims and "user_id" not in claims


def legacy_auth(claims: Mapping[str, Any], now_ms: int) -> Auth:
    """Return whom a token of this kind names; InvalidToken or ExpiredToken when it is no good."""
    is_admin = _flag(claims, "admin")
    _flag(claims, "debug")
    expires_at_ms = expiry_ms(claims, now_ms, needs_exp=False)
    if is_admin:
        return Auth(None, claims, True, expires_at_ms)
    variable = claims.get("d")
    if not isinstance(variable, dict):
        raise InvalidToken
    return Auth(check_uid(variable.get("uid")), claims, False, expires_at_ms, variable)


def _flag(claims: Mapping[str, Any], name: str) -> bool:
    value = claims.get(name, False)
    if not isinstance(value, bool):
        raise InvalidToken
    return value
