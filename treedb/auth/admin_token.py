"""The one token that stands above rules: what it may look like, and comparing with it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from treedb.auth.dev_tokens import OWNER
from treedb.auth.token_text import TOKEN_BYTES
from treedb.errors import SettingsError

RANDOM_BITS: Final = 256

_is_visible_ascii: Final = re.compile(r"[\x21-\x7e]+").fullmatch  # as a header can carry it


@dataclass(frozen=True, slots=True)
class AdminToken:
    """The admin token, kept as its hash."""

    digest: bytes

    @classmethod
    def of(cls, text: str) -> "AdminToken":
        """Take a token that is allowed; SettingsError, which does not show it, for any other."""
        check_admin_token(text)
        return cls(_digest(text))

    def matches(self, text: str) -> bool:
        """Tell whether a credential is the token, in a time that tells nothing about the token."""
        return compare_digest(self.digest, _digest(text))


def make_admin_token(random_bits: Callable[[int], int]) -> str:
    """Make a token that cannot be guessed: 64 hexadecimal digits."""
    return format(random_bits(RANDOM_BITS), f"0{RANDOM_BITS // 4}x")


def check_admin_token(text: str) -> None:
    """Raise SettingsError for a token that clients could not send, or that everybody knows."""
    if not _is_visible_ascii(text) or len(text) > TOKEN_BYTES:
        raise SettingsError(
            f"admin_token has {len(text)} characters; it must have 1 to {TOKEN_BYTES}, all of them "
            "visible ASCII, as a request's header can carry it. `openssl rand -hex 32` makes one."
        )
    if text == OWNER:
        raise SettingsError(
            f"admin_token is {OWNER!r}, which everybody knows and SDKs send unasked; choose another, "
            "or use `dev` on a loopback address."
        )


def _digest(text: str) -> bytes:
    # Of one length whatever was sent. Text from a decoder that let surrogates by is hashed as well.
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
