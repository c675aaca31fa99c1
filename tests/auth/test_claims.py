from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.auth.claims import (
    LEEWAY_S,
    LIFETIME_S,
    Binding,
    check_binding,
    check_uid,
    expiry_ms,
    user_of,
)
from treedb.errors import ExpiredToken, InvalidToken, TreeError
from treedb.paths.keys import check_key

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000

Claims = dict[str, Any]


@pytest.mark.parametrize(
    "claims, user",
    [
        ({"sub": "a"}, "a"),
        ({"user_id": "b"}, "b"),
        ({"sub": "a", "user_id": "b"}, "a"),
    ],
)
def test_the_user_is_the_subject_or_else_the_user_id(claims: Claims, user: str) -> None:
    assert user_of(claims) == user


@pytest.mark.parametrize("claims", [{}, {"uid": "a"}, {"sub": None, "user_id": "a"}, {"sub": 5}])
def test_other_claims_name_no_user(claims: Claims) -> None:
    with pytest.raises(InvalidToken):
        user_of(claims)


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_a_user_id_can_be_a_key(text: str) -> None:
    try:
        check_uid(text)
    except InvalidToken:
        return
    check_key(text)
    assert 1 <= len(text) <= 128


@pytest.mark.parametrize(
    "claims, ends_s",
    [
        ({"iat": 0, "exp": 3600}, 3600),
        ({"iat": 0, "exp": LIFETIME_S}, LIFETIME_S),
        ({"iat": LEEWAY_S, "exp": LEEWAY_S + LIFETIME_S}, LEEWAY_S + LIFETIME_S),
        ({"iat": -0.5, "exp": 0.25}, 0.25),
        ({"iat": 1 - LIFETIME_S, "exp": 1}, 1),
        ({"iat": 0, "nbf": LEEWAY_S, "exp": 1}, 1),
    ],
)
def test_a_token_counts_until_its_end(claims: Claims, ends_s: float) -> None:
    at = {name: NOW_S + value for name, value in claims.items()}
    assert expiry_ms(at, NOW_MS) == NOW_MS + ends_s * 1000


@pytest.mark.parametrize(
    "claims, error",
    [
        ({"iat": 0, "exp": 0}, ExpiredToken),
        ({"iat": -3600, "exp": -1}, ExpiredToken),
        ({"iat": -10 * LIFETIME_S, "exp": -1}, ExpiredToken),
        ({"iat": 0, "exp": LIFETIME_S + 1}, InvalidToken),
        ({"iat": LEEWAY_S + 1, "exp": 3600}, InvalidToken),
        ({"iat": LEEWAY_S + 1, "exp": -1}, InvalidToken),
        ({"iat": 0, "nbf": LEEWAY_S + 1, "exp": 3600}, InvalidToken),
        ({"iat": 0}, InvalidToken),
        ({"exp": 3600}, InvalidToken),
    ],
)
def test_a_token_outside_its_time_is_refused(claims: Claims, error: type[TreeError]) -> None:
    at = {name: NOW_S + value for name, value in claims.items()}
    with pytest.raises(error):
        expiry_ms(at, NOW_MS)


def test_the_end_is_met_to_the_millisecond() -> None:
    claims = {"iat": NOW_S, "exp": NOW_S + 0.5}
    assert expiry_ms(claims, NOW_MS + 499) == NOW_MS + 500
    with pytest.raises(ExpiredToken):
        expiry_ms(claims, NOW_MS + 500)


def test_where_the_end_may_be_left_out_it_is_a_day_after_the_start() -> None:
    claims = {"iat": NOW_S - 10}
    assert expiry_ms(claims, NOW_MS, needs_exp=False) == NOW_MS + (LIFETIME_S - 10) * 1000
    with pytest.raises(InvalidToken):
        expiry_ms(claims | {"exp": None}, NOW_MS, needs_exp=False)


any_time = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**64)


@given(iat=any_time, exp=any_time)
def test_any_two_times_give_an_end_within_a_day_or_a_refusal(iat: float, exp: float) -> None:
    try:
        ends_ms = expiry_ms({"iat": iat, "exp": exp}, NOW_MS)
    except (InvalidToken, ExpiredToken):
        return
    assert NOW_MS <= ends_ms <= NOW_MS + (LEEWAY_S + LIFETIME_S) * 1000


FITS = [
    (Binding(), {}),
    (Binding(), {"aud": "any", "iss": "any"}),
    (Binding(audience="chat"), {"aud": "chat"}),
    (Binding(audience="chat"), {"aud": ["other", "chat"], "iss": "any"}),
    (Binding(issuer="me"), {"iss": "me", "aud": "any"}),
    (Binding("chat", "me"), {"iss": "me", "aud": "chat"}),
]
MISFITS = [
    (Binding(audience="chat"), {}),
    (Binding(audience="chat"), {"aud": "cha"}),
    (Binding(audience="chat"), {"aud": []}),
    (Binding(issuer="me"), {}),
    (Binding(issuer="me"), {"iss": "m"}),
    (Binding("chat", "me"), {"iss": "chat", "aud": "me"}),
    (Binding(audience="", issuer=""), {}),
    (Binding(), {"aud": None}),
    (Binding(), {"aud": [5]}),
    (Binding(), {"aud": [["chat"]]}),
    (Binding(), {"iss": None}),
    (Binding(), {"iss": ["me"]}),
]


@pytest.mark.parametrize("binding, claims", FITS)
def test_a_token_for_us_passes(binding: Binding, claims: Claims) -> None:
    check_binding(claims, binding)


@pytest.mark.parametrize("binding, claims", MISFITS)
def test_a_token_for_others_is_refused(binding: Binding, claims: Claims) -> None:
    with pytest.raises(InvalidToken):
        check_binding(claims, binding)
