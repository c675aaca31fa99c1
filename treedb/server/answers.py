"""Word the answers that say more than `ok`: refusals, and who somebody is."""

import logging

from treedb.auth.identity import Auth
from treedb.errors import (
    MethodNotAllowed,
    PatchConflict,
    PermissionDenied,
    RulesError,
    StoreError,
    TreeError,
)
from treedb.tree.json_text import format_json
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

INTERNAL = "Internal server error"  # what went wrong inside stands in our log, not in an answer
JSON = "application/json; charset=utf-8"
METHODS = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"
RETRY_SECONDS = "5"

log = logging.getLogger("treedb.session")


def refusal_frames(number: int, error: BaseException) -> bytes:
    """Build the ready frames that answer a request that failed.

    Before a denial with a reason, which only those get who may know it, goes the push that makes
    the SDKs print it.
    """
    answer = ready_frames(refusal(number, error))
    if isinstance(error, PermissionDenied) and error.detail:
        return ready_frames(outgoing.security_debug(error.detail)) + answer
    return answer


def refusal(number: int, error: BaseException) -> bytes:
    """Build the answer to a request that failed.

    A TreeError gives its status and reason. Of a denial nothing more is said than the words that
    SDKs and their test tools look for, and of our own troubles nothing at all; what is no
    TreeError is a fault of ours and is logged with its traceback.
    """
    if not isinstance(error, TreeError):
        log.error("request %d failed", number, exc_info=error)
        return outgoing.answer(number, TreeError.status, format_json(INTERNAL))
    reason = error.text if _is_terse(error) else error.reason
    return outgoing.answer(number, error.status, format_json(reason))


def http_refusal(error: TreeError) -> bytes:
    """Build the JSON body of an HTTP error; of our own troubles it has nothing but a fixed text.

    A denial has a detail only for those who asked for it and may know (`Caller.wants_reason`).
    """
    if isinstance(error, RulesError):
        findings = [
            {"line": each.line, "column": each.column, "message": each.message}
            | ({"hint": each.hint} if each.hint else {})
            for each in error.findings
        ]
        first = error.findings[0]
        # What Firebase's tools look for in the answer to a text that is no JSON.
        parse_error = "Parse error: " if error.is_unreadable else ""
        text = f"{first.line}:{first.column}: {parse_error}{first.message}"
        return format_json({"error": text, "findings": findings})
    content: dict[str, object] = {"error": error.text}
    if error.detail and not isinstance(error, StoreError):
        content["explanation" if isinstance(error, PermissionDenied) else "detail"] = error.detail
    if isinstance(error, PatchConflict):
        content["operation"] = error.operation
    return format_json(content)


def http_refusal_headers(error: TreeError) -> dict[str, str]:
    """Return the headers that an HTTP error brings by its status."""
    match error:
        case MethodNotAllowed():
            return {"Allow": error.allowed or METHODS}
        case TreeError(http_status=503):
            return {"Retry-After": RETRY_SECONDS}
        case _:
            return {}


def signed_in(number: int, auth: Auth | None) -> bytes:
    """Build the answer to a sign-in: who the client is now, and until when (in seconds)."""
    content: dict[str, object] = {"auth": None, "expires": None}
    if auth is not None:
        content["auth"] = None if auth.is_admin else auth.seen_by_rules
        if auth.expires_at_ms is not None:
            content["expires"] = auth.expires_at_ms // 1000
    return outgoing.answer(number, "ok", format_json(content))


def _is_terse(error: TreeError) -> bool:
    return isinstance(error, PermissionDenied | StoreError)
