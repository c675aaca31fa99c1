from typing import Any

import jwt
import pytest

from tests.auth.minting import TABLE, Row, mint, signed
from treedb.auth import client_tokens
from treedb.auth.claims import Binding
from treedb.auth.client_tokens import REMEMBERED, ClientTokens, check_secret
from treedb.errors import ExpiredToken, InvalidToken, SettingsError

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000
SECRET: str = TABLE["settings"]["auth_secret"]


@pytest.fixture
def tokens() -> ClientTokens:
    return ClientTokens(SECRET, Binding())


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the tokens whose signatures were looked at, as they come."""
    seen: list[str] = []
    real = client_tokens._jws.decode_complete

    def record(text: str, *rest: Any) -> Any:
        seen.append(text)
        return real(text, *rest)

    monkeypatch.setattr(client_tokens._jws, "decode_complete", record)
    return seen


def user_token(uid: str, lives_s: int = 60) -> str:
    return signed({"sub": uid, "iat": NOW_S, "exp": NOW_S + lives_s}, NOW_S)


def test_a_token_of_another_library_is_taken(tokens: ClientTokens) -> None:
    claims = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60}
    auth = tokens.authenticate(jwt.encode(claims, SECRET, "HS256"), NOW_MS)
    assert (auth.uid, auth.token, auth.expires_at_ms) == ("alice", claims, NOW_MS + 60_000)


def test_a_good_token_is_checked_once(tokens: ClientTokens, verified: list[str]) -> None:
    token = user_token("alice")
    first = tokens.authenticate(token, NOW_MS)
    assert tokens.authenticate(token, NOW_MS + 59_999) is first
    assert verified == [token]


def test_a_remembered_token_expires_and_is_forgotten(
    tokens: ClientTokens, verified: list[str]
) -> None:
    token = user_token("alice")
    tokens.authenticate(token, NOW_MS)
    for _ in range(2):
        with pytest.raises(ExpiredToken):
            tokens.authenticate(token, NOW_MS + 60_000)
    assert verified == [token, token], "the first refusal forgot it, the second checked again"


def test_a_bad_token_is_not_remembered(tokens: ClientTokens, verified: list[str]) -> None:
    bad = mint({"signed": {"bit": 7}}, NOW_S)
    for _ in range(2):
        with pytest.raises(InvalidToken):
            tokens.authenticate(bad, NOW_MS)
    assert verified == [bad, bad]


def test_a_token_that_starts_later_is_not_remembered_as_bad(tokens: ClientTokens) -> None:
    token = mint({"claims": {"nbf": "@now+120"}}, NOW_S)
    with pytest.raises(InvalidToken):
        tokens.authenticate(token, NOW_MS)
    assert tokens.authenticate(token, NOW_MS + 60_000).uid == "alice"


def test_the_token_used_least_lately_is_forgotten_first(
    tokens: ClientTokens, verified: list[str]
) -> None:
    first, second = user_token("first"), user_token("second")
    for token in (first, second, *map(user_token, map(str, range(REMEMBERED - 2))), first):
        tokens.authenticate(token, NOW_MS)
    verified.clear()
    newest = user_token("newest")
    for token in (newest, first, second):
        tokens.authenticate(token, NOW_MS)
    assert verified == [newest, second]


def test_one_secret_does_not_open_another(tokens: ClientTokens) -> None:
    other = ClientTokens(SECRET[::-1], Binding())
    tokens.authenticate(user_token("alice"), NOW_MS)
    with pytest.raises(InvalidToken):
        other.authenticate(user_token("alice"), NOW_MS)


@pytest.mark.parametrize("row", TABLE["secrets"], ids=lambda row: row["says"])
def test_a_weak_secret_is_refused_and_not_shown(row: Row) -> None:
    with pytest.raises(SettingsError, match=row["problem"]) as refused:
        check_secret(row["secret"])
    assert not row["secret"] or row["secret"] not in str(refused.value)


def test_a_secret_that_is_no_text_is_refused() -> None:
    with pytest.raises(SettingsError, match="no UTF-8 text"):
        check_secret("\udcff" * 40)


@pytest.mark.parametrize("secret", [SECRET, "x" * 32, "ä" * 16, "0" * 64])
def test_a_secret_of_32_bytes_is_taken(secret: str) -> None:
    check_secret(secret)
