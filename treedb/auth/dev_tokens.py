"""Read the credentials of the development mode, where nothing is signed.

Two kinds, both as the Firebase emulator takes them: the word `owner` is an admin, and a JSON Web
Token that says itself it is not signed (RFC 7519, section 6: algorithm `none`, empty signature)
is the user it names. SDKs make the latter of `mockUserToken`; its expiry lies in 1970 and is not
looked at. Never to be used where anybody but the developer can connect.

    base64url({"alg":"none","type":"JWT"}) . base64url({"sub":"alice",...}) . (nothing)
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import orjson

from treedb.auth.identity import ADMIN, Auth
from treedb.errors import InvalidToken

OWNER = "owner"
TOKEN_BYTES = 8 * 1024  # more than any SDK's token; refused before it is decoded
UID_CHARACTERS = 128  # Firebase's limit
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")
_NO_UID = re.compile(r"[.#$\[\]/\x00-\x1f\x7f]")  # a user id has to do as a key


def parse_dev_credential(text: str) -> Auth:
    """Return whom a development credential names; InvalidToken for anything that is none."""
    if text == OWNER:
        return ADMIN
    if len(text) > TOKEN_BYTES:
        raise InvalidToken
    parts = text.split(".")
    if len(parts) != 3 or parts[2]:
        raise InvalidToken
    header = _decode_object(parts[0])
    if header.get("alg") != "none" or "crit" in header:
        raise InvalidToken
    claims = _decode_object(parts[1])
    return Auth(uid=_uid_of(claims), token=claims, is_admin=False, expires_at_ms=None)


def _uid_of(claims: dict[str, Any]) -> str:
    uid = claims["sub"] if "sub" in claims else claims.get("user_id")
    if not isinstance(uid, str) or not 0 < len(uid) <= UID_CHARACTERS or _NO_UID.search(uid):
        raise InvalidToken
    return uid


def _decode_object(part: str) -> dict[str, Any]:
    """Decode one part of a token: unpadded base64url in its one canonical spelling, an object."""
    if not _BASE64URL.fullmatch(part) or len(part) % 4 == 1:
        raise InvalidToken
    data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if urlsafe_b64encode(data).rstrip(b"=") != part.encode():
        raise InvalidToken
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidToken from error
    if not isinstance(content, dict):
        raise InvalidToken
    return content
