"""Push ids: Firebase's keys for lists that many clients append to.

Twenty characters of an alphabet in ASCII order, so that ids sort by age: eight for the
milliseconds since 1970, twelve random ones (72 bits). Ids made in the same millisecond by the
same maker count the random part up (Firebase's blog, "The 2^120 Ways to Ensure Unique
Identifiers", 2015). Written in base 64 the 120 bits are exactly fifteen bytes, so the standard
library's base64 does the work and only the alphabet is exchanged.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Final

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ALPHABET: Final = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_TO_ALPHABET: Final = bytes.maketrans(_BASE64, _ALPHABET)

_RANDOM_BITS: Final = 72
_TIME_BITS: Final = 48
_ID_BYTES: Final = (_TIME_BITS + _RANDOM_BITS) // 8


class PushIds:
    """Maker of push ids, each greater than all before it.

    Where the clock stands still or goes back, ids go on counting from the last one. Firebase's
    clients wrap round when the random part is used up; here it moves on to the next millisecond.
    """

    __slots__ = ("_last", "_random_bits")

    def __init__(self, random_bits: Callable[[int], int]) -> None:
        """`random_bits(count)` gives that many random bits as an integer."""
        self._random_bits = random_bits
        self._last = -1  # the last id as a number

    def next(self, now_ms: int) -> str:
        """Make an id at a time, in milliseconds since 1970."""
        assert 0 <= now_ms < 1 << _TIME_BITS, f"no time for a push id: {now_ms}"
        if now_ms > self._last >> _RANDOM_BITS:
            self._last = now_ms << _RANDOM_BITS | self._random_bits(_RANDOM_BITS)
        else:
            self._last += 1
            if self._last & ((1 << _RANDOM_BITS) - 1) == 0:  # counted into the next millisecond
                self._last |= self._random_bits(_RANDOM_BITS)
        return b64encode(self._last.to_bytes(_ID_BYTES, "big")).translate(_TO_ALPHABET).decode()
