r"""Firebase's order of keys, as bytes that sort the same way.

Children of a node are ordered by key (Firebase documentation, "How data is ordered", and the
JavaScript SDK's `nameCompare`): first the keys that read as a signed 32-bit integer, by number,
equal numbers by length of text; then all others by UTF-16 code unit. Comparing that way key by
key is slow and no storage engine does it, so every key has one byte form whose plain byte order
is that order:

    "-1"      02 7fffffff 00            integer: 02, number + 2^31 in four bytes, spelling
    "9"       02 80000009 00
    "09"      02 80000009 02            one zero too many: after "9", before "10"
    "00"      02 80000000 02
    "-0"      02 80000000 03            ties with "00" in Firebase; here the minus comes second
    "bar"     62 61 72 00               text: UTF-8, ended by 00
    U+1F600   f0 9f 98 80 00
    U+E000    f5 80 80 00               lead byte ee moved behind f0-f4, as UTF-16 has it

Text keys cannot start with 02 nor hold 00: control characters are not legal in keys. UTF-8 sorts
by code point, UTF-16 does not: there the surrogates d800-dfff of the characters beyond U+FFFF
come before U+E000-U+FFFF. Those are exactly the characters whose UTF-8 starts with ee or ef, so
moving these two lead bytes to f5 and f6, which UTF-8 never uses, gives UTF-16's order.

Each form tells where it ends, so forms are simply joined to make the form of a path: no two
paths share one, the form of a path starts the form of everything below it, and of nothing else.

Keys given here are legal (`keys.py`); `.priority` is taken like any text.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

_END: Final = 0x00
_INTEGER_MARK: Final = 0x02
_LONG: Final = 0xFF
# mark, number + 2^31, spelling; a spelling of _LONG or more stands behind in two bytes
_INTEGER: Final = Struct(">BIB")
_LONG_INTEGER: Final = Struct(">BIBH")

_LARGEST: Final = 2**31 - 1
_SMALLEST: Final = -(2**31)

_match_integer: Final = re.compile(r"-?0*[0-9]{1,10}").fullmatch
_find_integer_like: Final = re.compile(r"\n-?[0-9]").search
_find_no_plain_integer: Final = re.compile(r"\n(?!(?:0|-?[1-9][0-9]{0,8})(?:\n|\Z))").search

_TO_UTF_16_ORDER: Final = bytes.maketrans(b"\xee\xef", b"\xf5\xf6")
_TO_UTF_8: Final = bytes.maketrans(b"\xf5\xf6", b"\xee\xef")


def _encode_key(key: str) -> bytes:
    """Return the bytes of one key; their order is the keys' order."""
    # Cheaper than the pattern: an integer starts and ends with nothing greater than "9".
    if key[0] <= "9" and key[-1] <= "9" and _match_integer(key) is not None:
        number = int(key)
        if _SMALLEST <= number <= _LARGEST:
            return _encode_integer(key, number)
    if key.isascii():
        return key.encode() + b"\x00"
    return key.encode().translate(_TO_UTF_16_ORDER) + b"\x00"


# The names of a record's fields return all the time; sorting, which sees each key once, goes
# around the cache.
encode_key: Final[Callable[[str], bytes]] = lru_cache(maxsize=8192)(_encode_key)


def decode_key(data: bytes, start: int) -> tuple[str, int]:
    """Return the key whose bytes begin at `start`, and the position after its end."""
    if data[start] == _INTEGER_MARK:
        return _decode_integer(data, start)
    end = data.index(_END, start)
    return _decode_text(data[start:end]), end + 1


def encode_path(keys: Sequence[str]) -> bytes:
    """Return the bytes of a path: those of its keys joined, b"" for the root."""
    return b"".join(map(encode_key, keys))


def decode_path(data: bytes) -> tuple[str, ...]:
    """Return the keys of a path from its bytes."""
    if not data:
        return ()
    if _INTEGER_MARK not in data:  # then no integer key is in it, and each 00 ends a key
        return tuple(_decode_text(data[:-1]).split("\x00"))
    keys: list[str] = []
    position = 0
    while position < len(data):
        key, position = decode_key(data, position)
        keys.append(key)
    return tuple(keys)


def decode_text_keys(encoded: list[bytes]) -> list[str] | None:
    """Decode many single keys at once; None when one is an integer key or not a single key."""
    joined = b"".join(encoded)
    if _INTEGER_MARK in joined or joined.count(_END) != len(encoded) or joined[-1] != _END:
        return None
    keys = _decode_text(joined[:-1]).split("\x00")
    # As many ends as keys: each has its own, unless one had none and another two.
    return keys if all(map(_ends, encoded)) else None


def sort_keys(keys: Iterable[str]) -> list[str]:
    """Return the keys in Firebase's order."""
    every = list(keys)
    lines = "\n" + "\n".join(every)  # a line feed is in no key
    if _find_integer_like(lines) is None:
        if lines.isascii():  # plain text: code points and UTF-16 units agree
            every.sort()
            return every
    elif _find_no_plain_integer(lines) is None:  # one spelling a number: no ties
        every.sort(key=int)
        return every
    every.sort(key=_encode_key)
    return every


def _ends(encoded: bytes) -> bool:
    return encoded[-1:] == b"\x00"


def _encode_integer(key: str, number: int) -> bytes:
    # The spelling tells how the text differs from the number's usual one: two for each zero too
    # many, which keeps equal numbers in order of length, and one for the minus of a zero.
    spelling = 2 * (len(key) - len(str(number))) + (number == 0 and key[0] == "-")
    if spelling < _LONG:
        return _INTEGER.pack(_INTEGER_MARK, number - _SMALLEST, spelling)
    return _LONG_INTEGER.pack(_INTEGER_MARK, number - _SMALLEST, _LONG, spelling)


def _decode_integer(data: bytes, start: int) -> tuple[str, int]:
    _, shifted, spelling = _INTEGER.unpack_from(data, start)
    end = start + _INTEGER.size
    text = str(shifted + _SMALLEST)
    if spelling == 0:
        return text, end
    if spelling == _LONG:
        spelling = _LONG_INTEGER.unpack_from(data, start)[3]
        end = start + _LONG_INTEGER.size
    zeros = "0" * (spelling >> 1)
    if shifted + _SMALLEST < 0:
        return f"-{zeros}{text[1:]}", end
    # The minus of "-0" is one of the characters too many, so its digits are all in `zeros`.
    return ("-" + zeros if spelling & 1 else zeros + text), end


def _decode_text(data: bytes) -> str:
    if data.isascii():
        return data.decode("ascii")
    return data.translate(_TO_UTF_8).decode()
