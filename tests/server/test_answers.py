import json
import logging
from typing import Any

import pytest

from treedb import errors
from treedb.auth.identity import ADMIN, Auth
from treedb.server.answers import http_refusal, http_refusal_headers, refusal, signed_in


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
        (errors.PermissionDenied(), {"error": "Permission denied"}),
        (
            errors.PermissionDenied("rule 5"),  # for who may know
            {"error": "Permission denied", "explanation": "rule 5"},
        ),
        (
            errors.RulesError([errors.Finding(1, 2, "Odd."), errors.Finding(3, 4, "Worse.", "x")]),
            {
                "error": "1:2: Odd.",
                "findings": [
                    {"line": 1, "column": 2, "message": "Odd."},
                    {"line": 3, "column": 4, "message": "Worse.", "hint": "x"},
                ],
            },
        ),
        (
            errors.RulesError([errors.Finding(1, 2, "Odd.")], is_unreadable=True),
            {
                "error": "1:2: Parse error: Odd.",
                "findings": [{"line": 1, "column": 2, "message": "Odd."}],
            },
        ),
        (errors.StoreError("/data/x is torn"), {"error": "The store cannot be used"}),
    ],
)
def test_over_http_an_error_is_a_json_object(error: errors.TreeError, content: Any) -> None:
    assert json.loads(http_refusal(error)) == content


@pytest.mark.parametrize(
    "error, headers",
    [
        (errors.MethodNotAllowed(), {"Allow": "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"}),
        (errors.MethodNotAllowed("GET, PUT"), {"Allow": "GET, PUT"}),
        (errors.Unavailable(), {"Retry-After": "5"}),
        (errors.StoreError(), {"Retry-After": "5"}),
        (errors.PermissionDenied(), {}),
    ],
)
def test_some_errors_bring_a_header(error: errors.TreeError, headers: dict[str, str]) -> None:
    assert http_refusal_headers(error) == headers


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
