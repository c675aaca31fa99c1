from typing import Any

import pytest

from treedb.auth.identity import ADMIN, Auth, stepped_down


@pytest.mark.parametrize(
    "claims, provider",
    [
        ({"firebase": {"sign_in_provider": "custom"}}, "custom"),
        ({"firebase": {"sign_in_provider": 5}}, None),
        ({"firebase": {}}, None),
        ({"firebase": "custom"}, None),
        ({}, None),
    ],
)
def test_the_provider_is_the_claim_firebase_makes(claims: dict[str, Any], provider: str) -> None:
    assert Auth("alice", claims, False, None).provider == provider


def test_an_admin_is_no_user_and_never_expires() -> None:
    assert (ADMIN.uid, ADMIN.is_admin, ADMIN.expires_at_ms) == (None, True, None)


@pytest.mark.parametrize(
    "expires_at_ms, now_ms, has_expired",
    [(1000, 999, False), (1000, 1000, True), (1000, 1001, True), (None, 10**15, False)],
)
def test_a_credential_counts_until_its_end(
    expires_at_ms: int | None, now_ms: int, has_expired: bool
) -> None:
    assert Auth("alice", {}, False, expires_at_ms).has_expired(now_ms) == has_expired


@pytest.mark.parametrize(
    "auth, seen",
    [
        (
            Auth("alice", {"team": "red"}, False, 5),
            {"uid": "alice", "provider": None, "token": {"team": "red"}},
        ),
        (
            Auth("alice", {"firebase": {"sign_in_provider": "custom"}}, False, None),
            {
                "uid": "alice",
                "provider": "custom",
                "token": {"firebase": {"sign_in_provider": "custom"}},
            },
        ),
        (Auth("alice", {"v": 0}, False, 5, {"uid": "alice", "a": 1}), {"uid": "alice", "a": 1}),
        (Auth(None, {}, False, None, {}), {}),
    ],
)
def test_rules_see_three_members_or_what_was_written_down(auth: Auth, seen: dict[str, Any]) -> None:
    assert auth.seen_by_rules == seen


@pytest.mark.parametrize(
    "variable, uid",
    [({"uid": "alice", "a": 1}, "alice"), ({"uid": 5}, None), ({}, None)],
)
def test_an_admin_may_choose_to_be_an_ordinary_client(
    variable: dict[str, Any], uid: str | None
) -> None:
    late = Auth(None, {"v": 0, "admin": True}, True, 7)
    assert stepped_down(ADMIN, variable) == Auth(uid, {}, False, None, variable)
    assert stepped_down(late, variable) == Auth(uid, {}, False, 7, variable)


def test_an_admin_may_choose_to_be_nobody() -> None:
    assert stepped_down(ADMIN, None) is None


def test_nobody_else_may_choose() -> None:
    with pytest.raises(AssertionError):
        stepped_down(Auth("alice", {}, False, None), {"uid": "bob"})
