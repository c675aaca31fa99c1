"""Word the answers that say more than `ok`: refusals, and who somebody is."""

import logging

from treedb.auth.identity import Auth
from treedb.errors import PermissionDenied, StoreError, TreeError
from treedb.tree.json_text import format_json
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

INTERNAL = "Internal server error"  # what went wrong inside stands in our log, not in an answer

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
    """Build the JSON body of a request refused before it became one, as REST words its errors."""
    content = {"error": error.text}
    if error.detail and not _is_terse(error):
        content["detail"] = error.detail
    return format_json(content)


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
