"""How an entry of an index becomes an LMDB key, and what stands beside it.

An entry stands for one child of an indexed place. Its key begins with the *prefix* of the place in
that index, and what follows sorts as the children do:

    number of the index | bytes of the place | 01 | bytes of the value | bytes of the key

No key of a path begins with 01, so all entries of a place are one range, and all entries of a
subtree are one range too. Values and keys tell where they end, so plain byte order is the order of
pairs: first by value, then by key. The bytes of values:

    nothing 00    false 01    true 02    objects 05
    number  03, then a double whose bits are turned so that they sort by size
    text    04, then UTF-8 in the order of UTF-16 (see treedb.paths.order), ended by 00

LMDB's keys end at 511 bytes. A place longer than PLACE_MOST stands as its head, ff and a hash; a
value longer than VALUE_MOST is cut, and a key longer than KEY_MOST stands as its head and a hash.
The whole place and the whole key are then in the entry's data, and the whole value is in the row.
Entries that agree in all that a cut left over are a *group*: contiguous, but sorted only by whoever
reads them, from what is whole. Worked example, with VALUE_MOST 4:

    number, place, 01, 04 "aaa", hash of "k2"      its row says "aaab"
    number, place, 01, 04 "aaa", hash of "k1"      its row says "aaac"
"""

import hashlib
import struct
from typing import Final

import msgpack

from treedb.paths.order import decode_key
from treedb.tree.order import SortKey, value_sort_key
from treedb.tree.values import Value

PLACE_MOST: Final = 128
VALUE_MOST: Final = 200
KEY_MOST: Final = 120
HASH_BYTES: Final = 16
NUMBER_BYTES: Final = 4

_MARK: Final = b"\x01"
_LONG_PLACE: Final = b"\xff"

_DOUBLE_RANK: Final = 3
_TEXT_RANK: Final = 4
_DOUBLE: Final = struct.Struct(">d")
_BITS: Final = struct.Struct(">BQ")
_SIGN: Final = 1 << 63
_ALL_BITS: Final = (1 << 64) - 1
_RANKS: Final = tuple(bytes((rank,)) for rank in range(6))

# UTF-8 sorts by code point; with these two lead bytes moved it sorts by UTF-16 code unit.
_TO_UTF_16_ORDER: Final = bytes.maketrans(b"\xee\xef", b"\xf5\xf6")
# Two bytes a code unit; each comes to a byte of UTF-8 at least, but a pair may be torn.
_ENOUGH_TEXT: Final = 2 * (VALUE_MOST + 2)


def number_prefix(number: int) -> bytes:
    """Return what every entry of an index begins with."""
    return number.to_bytes(NUMBER_BYTES, "big")


def place_prefix(number: int, place: bytes) -> bytes:
    """Return what every entry of a place begins with, and no other entry."""
    if len(place) <= PLACE_MOST:
        return number_prefix(number) + place + _MARK
    return b"".join((number_prefix(number), place[:PLACE_MOST], _LONG_PLACE, _hash(place), _MARK))


def subtree_prefix(number: int, place: bytes) -> bytes:
    """Return what every entry at or below a place begins with.

    Where the place is longer than PLACE_MOST so do others: the entries' data tells their places.
    """
    return number_prefix(number) + place[:PLACE_MOST]


def value_bytes(sort_key: SortKey) -> bytes:
    """Return the whole bytes of a value."""
    rank, number, text = sort_key
    if rank == _DOUBLE_RANK:
        return _double_bytes(number)
    if rank == _TEXT_RANK:
        return _text_bytes(text.decode("utf-16-be"))
    return _RANKS[rank]


def entry_value(sort_key: SortKey) -> bytes:
    """Return the bytes of a value as they stand in an entry, cut where they are too long.

    Of a very long text only the beginning is looked at.
    """
    rank, _, text = sort_key
    if rank == _TEXT_RANK and len(text) > _ENOUGH_TEXT:
        beginning = text[:_ENOUGH_TEXT].decode("utf-16-be", "ignore")
        return _text_bytes(beginning)[:VALUE_MOST]
    return value_bytes(sort_key)[:VALUE_MOST]


def entry_value_of(value: Value) -> bytes:
    """Return the same for what a child is ordered by; numbers, the most frequent, go straight."""
    if type(value) is int or type(value) is float:
        return _double_bytes(value)
    return entry_value(value_sort_key(value))


def entry_key(prefix: bytes, value: bytes, key: bytes) -> bytes:
    """Return the LMDB key of an entry from its place's prefix, its value as cut and its key."""
    if len(key) <= KEY_MOST:
        return prefix + value + key
    return prefix + value + key[:KEY_MOST] + _hash(key)


def entry_data(place: bytes, key: bytes) -> bytes:
    """Return what stands beside an entry: what its LMDB key does not hold whole of place and key."""
    is_long = len(place) > PLACE_MOST, len(key) > KEY_MOST
    if not any(is_long):
        return b""
    data: bytes = msgpack.packb([place if is_long[0] else b"", key if is_long[1] else b""])
    return data


def place_of(entry: bytes, data: bytes) -> tuple[bytes, int]:
    """Return the place of an entry, and the length of its prefix."""
    if data:
        place: bytes = msgpack.unpackb(data)[0]
        if place:
            return place, NUMBER_BYTES + PLACE_MOST + len(_LONG_PLACE) + HASH_BYTES + len(_MARK)
    end = NUMBER_BYTES
    while entry[end : end + 1] != _MARK:
        _, end = decode_key(entry, end)
    return entry[NUMBER_BYTES:end], end + len(_MARK)


def parse_suffix(suffix: bytes, data: bytes) -> tuple[bytes | None, bytes, bytes]:
    """Take apart what follows an entry's prefix.

    Gives the value's bytes, None when they are cut, the whole key, and the group: what all entries
    of the group begin with, b"" for an entry of which nothing is cut.
    """
    end = _end_of_value(suffix)
    if not end:
        return None, _key_of(suffix[VALUE_MOST:], data), suffix[:VALUE_MOST]
    if len(suffix) - end <= KEY_MOST:
        return suffix[:end], suffix[end:], b""
    return suffix[:end], _key_of(suffix[end:], data), suffix[: end + KEY_MOST]


def first_suffix(value: bytes, key: bytes) -> bytes:
    """Return where entries from a position on begin; a few before it may follow too."""
    if len(value) > VALUE_MOST:
        return value[:VALUE_MOST]
    return value + key[:KEY_MOST]


def reaches_into_group(value: bytes, key: bytes) -> bool:
    """Tell whether a position is longer than an entry holds, and so stands within a group."""
    return len(value) > VALUE_MOST or len(key) > KEY_MOST


def _double_bytes(number: float) -> bytes:
    bits = int.from_bytes(_DOUBLE.pack(number + 0.0), "big")  # the sum makes -0 a 0
    return _BITS.pack(_DOUBLE_RANK, bits ^ (_ALL_BITS if bits & _SIGN else _SIGN))


def _text_bytes(text: str) -> bytes:
    encoded = text.encode()
    if not text.isascii():
        encoded = encoded.translate(_TO_UTF_16_ORDER)
    if b"\x01" in encoded or b"\x00" in encoded:
        encoded = encoded.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01")
    return _RANKS[_TEXT_RANK] + encoded + b"\x00"


def _end_of_value(suffix: bytes) -> int:
    """Return where a value ends, 0 when it is cut."""
    rank = suffix[0]
    if rank == _TEXT_RANK:
        return suffix.find(b"\x00", 1, VALUE_MOST) + 1
    return _BITS.size if rank == _DOUBLE_RANK else 1


def _key_of(part: bytes, data: bytes) -> bytes:
    if len(part) <= KEY_MOST:
        return part
    key: bytes = msgpack.unpackb(data)[1]
    return key


def _hash(whole: bytes) -> bytes:
    return hashlib.sha256(whole).digest()[:HASH_BYTES]
