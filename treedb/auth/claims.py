"""The claims of a token that everybody's tokens share: the user, the times, and for whom it is.

Of the shape of Firebase's ID tokens (and of RFC 7519): `sub` or `user_id` names the user, `iat`
and `exp` are seconds since the epoch, `nbf`, `aud` and `iss` may be there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from treedb.errors import ExpiredToken, InvalidToken

UID_CHARACTERS: Final = 128  # Firebase's limit
LIFETIME_S: Final = 24 * 3600  # Firebase's own live an hour; what was stolen ends within a day
LEEWAY_S: Final = 60  # how far ahead of ours the clock of who made the token may be

_unfit_for_a_key: Final = re.compile(r"[.#$\[\]/\x00-\x1f\x7f]").search


@dataclass(frozen=True, slots=True)
class Binding:
    """Whom tokens must be made for and by: their `aud` and `iss`; None is anybody."""

    audience: str | None = None
    issuer: str | None = None


def user_of(claims: Mapping[str, Any]) -> str:
    """Return the user that `sub`, or without it `user_id`, names; InvalidToken for none."""
    return check_uid(claims["sub"] if "sub" in claims else claims.get("user_id"))


def check_uid(found: object) -> str:
    """Return a user id; InvalidToken when it is none, or could not be a key of the tree.

    Firebase takes any 1 to 128 characters. Rules and paths use the id as a key, where `.` `#` `$`
    `[` `]` `/` and control characters cannot stand, so that such a user could do nothing but harm.
    """
    if not isinstance(found, str) or not 0 < len(found) <= UID_CHARACTERS:
        raise InvalidToken
    if _unfit_for_a_key(found):
        raise InvalidToken
    return found


def expiry_ms(claims: Mapping[str, Any], now_ms: int, *, needs_exp: bool = True) -> int:
    """Return when a token stops counting, in milliseconds; with no `exp` that is a day after `iat`.

    Raises ExpiredToken at and after that time: there is no leeway at the end. Raises InvalidToken
    when a time is missing or no number, lies in the future, or the token lives too long.
    """
    now = now_ms / 1000
    issued = _seconds(claims.get("iat"))
    starts = _seconds(claims.get("nbf", issued))
    ends = _seconds(claims.get("exp", None if needs_exp else issued + LIFETIME_S))
    if max(issued, starts) > now + LEEWAY_S:
        raise InvalidToken
    if ends <= now:
        raise ExpiredToken
    if ends - issued > LIFETIME_S:
        raise InvalidToken
    return int(ends * 1000)


def check_binding(claims: Mapping[str, Any], binding: Binding) -> None:
    """Raise InvalidToken for a token that is made for others, or by others, than it must be."""
    audience = claims.get("aud", [])
    audiences = audience if isinstance(audience, list) else [audience]
    issuers = [claims["iss"]] if "iss" in claims else []
    if not all(isinstance(each, str) for each in (*audiences, *issuers)):
        raise InvalidToken
    if binding.audience is not None and binding.audience not in audiences:
        raise InvalidToken
    if binding.issuer is not None and binding.issuer not in issuers:
        raise InvalidToken


def _seconds(found: object) -> int | float:
    """Take a time; `true` counts as 1, long past, as it does for most readers of tokens."""
    if not isinstance(found, int | float):
        raise InvalidToken
    return found
