"""Tokens of clients, signed with a secret that the app's own sign-in service shares (HS256).

One secret and one algorithm: what the header says about algorithms and keys chooses nothing. It
has to name HS256, and no key, for there is but one and it has no name. Two shapes of claims are
taken: that of Firebase's ID tokens and that of its legacy tokens.

Keys that are published, for RS256 and ES256, make a class of their own beside this one, with its
own list of algorithms, never a second entry in this one's: a public key taken for a shared secret
would let everybody sign.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from jwt.api_jws import PyJWS
from jwt.exceptions import PyJWTError

from treedb.auth.claims import Binding, check_binding, expiry_ms, user_of
from treedb.auth.identity import Auth
from treedb.auth.legacy_tokens import is_legacy, legacy_auth
from treedb.auth.token_text import decode_object, decode_part, split_token
from treedb.errors import ExpiredToken, InvalidToken, SettingsError

ALGORITHM: Final = "HS256"
SECRET_BYTES: Final = 32  # RFC 7518, section 3.2: no shorter than the hash
REMEMBERED: Final = 1024  # good tokens; with claims of 8 KiB each, some 20 MiB

# Members of a header that change what the rest means, or which key it is for (RFC 7515, 7797).
# The library looks at algorithm and `crit` as well; versions of it have let both by, so we do too.
_REFUSED_IN_HEADER: Final = ("crit", "b64", "kid")

_jws: Final = PyJWS([ALGORITHM], {"enforce_minimum_key_length": True})


class ClientTokens:
    """Check tokens signed with one secret, and remember the good ones until they expire.

    A client sends its token with every request; each is checked once. What is remembered is the
    token's hash, never the token; a bad token is not remembered, so that guesses crowd nobody out.
    """

    def __init__(self, secret: str, binding: Binding) -> None:
        self._secret = secret
        self._binding = binding
        self._good: dict[bytes, Auth] = {}  # the one used last comes last

    def authenticate(self, text: str, now_ms: int) -> Auth:
        """Return whom a token names; InvalidToken when it is no good, ExpiredToken when it was."""
        header, claims, signature = split_token(text)
        digest = sha256(text.encode()).digest()
        auth = self._good.pop(digest, None)
        if auth is None:
            self._check_signature(text, header, signature)
            auth = self._auth_of(decode_object(claims), now_ms)
        elif auth.has_expired(now_ms):
            raise ExpiredToken
        self._remember(digest, auth)
        return auth

    def _check_signature(self, text: str, header: str, signature: str) -> None:
        said = decode_object(header)
        if said.get("alg") != ALGORITHM or any(name in said for name in _REFUSED_IN_HEADER):
            raise InvalidToken
        decode_part(signature)
        try:
            _jws.decode_complete(text, self._secret, [ALGORITHM])
        except PyJWTError as error:
            raise InvalidToken from error

    def _auth_of(self, claims: Mapping[str, Any], now_ms: int) -> Auth:
        check_binding(claims, self._binding)
        if is_legacy(claims):
            return legacy_auth(claims, now_ms)
        return Auth(user_of(claims), claims, False, expiry_ms(claims, now_ms))

    def _remember(self, digest: bytes, auth: Auth) -> None:
        if len(self._good) >= REMEMBERED:
            del self._good[next(iter(self._good))]
        self._good[digest] = auth


def check_secret(secret: str) -> None:
    """Raise SettingsError for a secret that nobody should sign with; it does not show it."""
    size = len(secret.encode("utf-8", "replace"))
    if size < SECRET_BYTES:
        raise SettingsError(
            f"auth_secret has {size} bytes, at least {SECRET_BYTES} are needed: a shorter one can "
            "be found by trying. `openssl rand -hex 32` makes one."
        )
    try:
        _jws.encode(b"{}", secret, ALGORITHM)
    except PyJWTError as error:
        raise SettingsError(
            "auth_secret is a key or a certificate, parts of which are public; take a secret made "
            "for this alone. `openssl rand -hex 32` makes one."
        ) from error
    except UnicodeEncodeError as error:
        raise SettingsError("auth_secret is no UTF-8 text.") from error
