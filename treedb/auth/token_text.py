"""Take a JSON Web Token's text apart, strictly: each token has one spelling and one meaning.

A token is three parts with dots between them (RFC 7515, section 7.1):

    base64url(header) . base64url(claims) . base64url(signature)

Looser readers take padding, spaces or the other base64 alphabet, so that one token has many
texts; and of a claim given twice they take the last, while the signer's reader may have taken the
first. Here all of that is refused, and so is whatever our JSON parser refuses: NaN, numbers beyond
a double, lone surrogates, bad UTF-8.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

import orjson

from treedb.errors import InvalidToken

TOKEN_BYTES: Final = 8 * 1024  # several times any SDK's token; refused before it is decoded
CLAIM_LEVELS: Final = 32  # as deep as data: whoever walks the claims need not fear for the stack

_is_base64url: Final = re.compile(r"[A-Za-z0-9_-]+").fullmatch


def split_token(text: str) -> tuple[str, str, str]:
    """Return header, claims and signature, still encoded; InvalidToken when there are not three.

    The signature may be "": such a token is not signed.
    """
    if len(text) > TOKEN_BYTES or not text.isascii():
        raise InvalidToken
    parts = text.split(".")
    if len(parts) != 3:
        raise InvalidToken
    return parts[0], parts[1], parts[2]


def decode_object(part: str) -> dict[str, Any]:
    """Decode a token's header or claims: an object without duplicate members, or InvalidToken."""
    data = decode_part(part)
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidToken from error
    if not isinstance(content, dict) or _is_too_deep(content):
        raise InvalidToken
    json.loads(data, object_pairs_hook=_check_distinct)
    return content


def decode_part(part: str) -> bytes:
    """Decode unpadded base64url in its one canonical spelling; InvalidToken for anything else."""
    if not _is_base64url(part) or len(part) % 4 == 1:
        raise InvalidToken
    data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if urlsafe_b64encode(data).rstrip(b"=") != part.encode():
        raise InvalidToken  # its last character has bits that mean nothing
    return data


def _is_too_deep(content: object) -> bool:
    level = [content]
    for _ in range(CLAIM_LEVELS):
        level = [child for each in level for child in _members(each)]
        if not level:
            return False
    return True


def _members(content: object) -> list[Any]:
    if isinstance(content, dict):
        return list(content.values())
    return content if isinstance(content, list) else []


def _check_distinct(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) < len(members):
        raise InvalidToken
