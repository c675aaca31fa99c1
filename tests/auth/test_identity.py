from typing import Any

import pytest

from treedb.auth.identity import ADMIN, Auth


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
