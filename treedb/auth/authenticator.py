"""Make of a credential, of whatever kind, somebody who acts: the one place that decides.

The kinds do not overlap, so that their order decides nothing: the admin token is one known text;
what the development mode takes is the word `owner` or ends with a dot; a signed token has three
parts. A kind that is not set up is refused like any other wrong credential.
"""

from collections.abc import Callable
from dataclasses import dataclass

from treedb.auth.admin_token import AdminToken
from treedb.auth.claims import Binding
from treedb.auth.client_tokens import ClientTokens, check_secret
from treedb.auth.dev_tokens import is_dev_credential, parse_dev_credential
from treedb.auth.identity import ADMIN, Auth
from treedb.auth.token_text import TOKEN_BYTES
from treedb.errors import InvalidToken, SettingsError


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Check credentials of every kind that is set up; None and False are kinds that are not."""

    admin_token: AdminToken | None
    client_tokens: ClientTokens | None
    is_dev: bool
    now_ms: Callable[[], int]

    def authenticate(self, text: str) -> Auth:
        """Return whom a credential names; InvalidToken when it is no good, ExpiredToken if late."""
        if len(text) > TOKEN_BYTES:
            raise InvalidToken
        if self.admin_token is not None and self.admin_token.matches(text):
            return ADMIN
        if self.is_dev and is_dev_credential(text):
            return parse_dev_credential(text)
        if self.client_tokens is None:
            raise InvalidToken
        return self.client_tokens.authenticate(text, self.now_ms())


def build_authenticator(
    *,
    admin_token: str | None,
    auth_secret: str | None,
    binding: Binding,
    is_dev: bool,
    now_ms: Callable[[], int],
) -> Authenticator:
    """Set up what an operator chose; SettingsError for a token or secret that is no good.

    `is_dev` honours credentials that anybody can write: only where nobody else can connect.
    """
    if auth_secret is not None:
        check_secret(auth_secret)
        if auth_secret == admin_token:
            raise SettingsError("auth_secret is the admin_token; they must differ.")
    return Authenticator(
        admin_token=None if admin_token is None else AdminToken.of(admin_token),
        client_tokens=None if auth_secret is None else ClientTokens(auth_secret, binding),
        is_dev=is_dev,
        now_ms=now_ms,
    )
