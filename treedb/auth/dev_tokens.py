"""Read the credentials of the development mode, where nothing is signed.

Two kinds, both as the Firebase emulator takes them: the word `owner` is an admin, and a JSON Web
Token that says itself it is not signed (RFC 7519, section 6: algorithm `none`, empty signature)
is the user it names. SDKs make the latter of `mockUserToken`; its expiry lies in 1970 and is not
looked at. Never to be used where anybody but the developer can connect.

    base64url({"alg":"none","type":"JWT"}) . base64url({"sub":"alice",...}) . (nothing)
"""

from typing import Final

from treedb.auth.claims import user_of
from treedb.auth.identity import ADMIN, Auth
from treedb.auth.token_text import decode_object, split_token
from treedb.errors import InvalidToken

OWNER: Final = "owner"


def is_dev_credential(text: str) -> bool:
    """Tell whether a credential is one of the two kinds, or tries to be: no signed token does."""
    return text == OWNER or text.endswith(".")


def parse_dev_credential(text: str) -> Auth:
    """Return whom a development credential names; InvalidToken for anything that is none."""
    if text == OWNER:
        return ADMIN
    encoded_header, encoded_claims, signature = split_token(text)
    if signature:
        raise InvalidToken
    header = decode_object(encoded_header)
    if header.get("alg") != "none" or "crit" in header:
        raise InvalidToken
    claims = decode_object(encoded_claims)
    return Auth(uid=user_of(claims), token=claims, is_admin=False, expires_at_ms=None)
