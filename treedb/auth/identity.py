"""Who acts: the outcome of checking a credential."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Auth:
    """Somebody who presented a good credential; nobody at all is None, not an Auth.

    `uid` is None for an admin, who is above users. `token` holds the credential's claims; the
    claim `debug`, when it is true, asks to be told why something was denied. The credential stops
    counting at `expires_at_ms`, milliseconds since the epoch; None is never. `variable` is what
    rules are to see as `auth`, where that was written down; None is the usual three members.
    """

    uid: str | None
    token: Mapping[str, Any]
    is_admin: bool
    expires_at_ms: int | None
    variable: Mapping[str, Any] | None = None

    @property
    def provider(self) -> str | None:
        """Return how the user signed in, as Firebase's claim `firebase.sign_in_provider` says."""
        details = self.token.get("firebase")
        provider = details.get("sign_in_provider") if isinstance(details, Mapping) else None
        return provider if isinstance(provider, str) else None

    @property
    def seen_by_rules(self) -> Mapping[str, Any]:
        """Return the variable `auth`, as rules see it and a client is told who it is."""
        if self.variable is not None:
            return self.variable
        return {"uid": self.uid, "provider": self.provider, "token": self.token}

    def has_expired(self, now_ms: int) -> bool:
        """Tell whether the credential no longer counts."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


ADMIN = Auth(uid=None, token={}, is_admin=True, expires_at_ms=None)


def stepped_down(admin: Auth, variable: Mapping[str, Any] | None) -> Auth | None:
    """Return the ordinary client that an admin chooses to be for a while; None is nobody.

    Rules see the variable as it stands (Firebase's `databaseAuthVariableOverride`). The admin's own
    credential is what expires.
    """
    assert admin.is_admin, "nobody but an admin may choose"
    if variable is None:
        return None
    uid = variable.get("uid")
    return Auth(uid if isinstance(uid, str) else None, {}, False, admin.expires_at_ms, variable)
