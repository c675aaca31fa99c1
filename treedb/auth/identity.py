"""Who acts: the outcome of checking a credential."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Auth:
    """Somebody who presented a good credential; nobody at all is None, not an Auth.

    `uid` is None for an admin, who is above users. `token` holds the credential's claims. The
    credential stops counting at `expires_at_ms`, milliseconds since the epoch; None is never.
    """

    uid: str | None
    token: Mapping[str, Any]
    is_admin: bool
    expires_at_ms: int | None

    @property
    def provider(self) -> str | None:
        """Return how the user signed in, as Firebase's claim `firebase.sign_in_provider` says."""
        details = self.token.get("firebase")
        provider = details.get("sign_in_provider") if isinstance(details, Mapping) else None
        return provider if isinstance(provider, str) else None


ADMIN = Auth(uid=None, token={}, is_admin=True, expires_at_ms=None)
