import json
import logging
from typing import Any

import pytest

from treedb import errors
from treedb.auth.identity import ADMIN, Auth
from treedb.server.answers import http_refusal, refusal, signed_in


@pytest.mark.parametrize(
    "error, status, reason",
    [
        (errors.PermissionDenied("the rule at line 5"), "permission_denied", "Permission denied"),
        (errors.DataStale(), "datastale", "Transaction hash does not match"),
        (errors.InvalidPath("no dots"), "failure", "no dots"),
        (errors.TooDeep(), "failure", "Data exceeds maximum depth"),
        (errors.PayloadTooLarge("5, at most 4"), "too_big", "5, at most 4"),
        (errors.InvalidToken(), "invalid_token", "Could not parse auth token."),
        (errors.ExpiredToken(), "expired_token", "Auth token is expired"),
        (errors.Unavailable("later"), "unavailable", "later"),
        (errors.StoreError("/data/x is torn"), "unavailable", "The store cannot be used"),
    ],
)
def test_a_refusal_has_the_errors_status_and_reason(
    error: errors.TreeError, status: str, reason: str
) -> None:
    message = json.loads(refusal(7, error))
    assert message == {"t": "d", "d": {"r": 7, "b": {"s": status, "d": reason}}}


def test_our_own_fault_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    message = json.loads(refusal(7, ZeroDivisionError("secret")))
    assert message["d"]["b"] == {"s": "failure", "d": "Internal server error"}
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert "secret" in str(record.exc_info[1])


@pytest.mark.parametrize(
    "error, content",
    [
        (errors.UriTooLong(), {"error": "URI too long"}),
        (errors.InvalidNamespace("no /"), {"error": "Invalid namespace", "detail": "no /"}),
        (errors.PermissionDenied("rule 5"), {"error": "Permission denied"}),
        (errors.StoreError("/data/x is torn"), {"error": "The store cannot be used"}),
    ],
)
def test_before_a_request_the_body_is_as_rest_words_it(
    error: errors.TreeError, content: Any
) -> None:
    assert json.loads(http_refusal(error)) == content


CLAIMS = {"sub": "alice", "firebase": {"sign_in_provider": "custom"}}


@pytest.mark.parametrize(
    "auth, content",
    [
        (None, {"auth": None, "expires": None}),
        (ADMIN, {"auth": None, "expires": None}),
        (
            Auth("alice", CLAIMS, False, 1_700_003_600_999),
            {
                "auth": {"uid": "alice", "token": CLAIMS, "provider": "custom"},
                "expires": 1_700_003_600,
            },
        ),
        (
            Auth("bob", {}, False, None),
            {"auth": {"uid": "bob", "token": {}, "provider": None}, "expires": None},
        ),
    ],
)
def test_a_sign_in_is_answered_with_who_one_is(auth: Auth | None, content: Any) -> None:
    assert json.loads(signed_in(7, auth))["d"] == {"r": 7, "b": {"s": "ok", "d": content}}
