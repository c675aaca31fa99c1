"""How a place becomes an LMDB key, and a value the bytes beside it.

A row's *full key* is the order-keeping bytes of its path (treedb.paths.order), followed by
`PRIORITY` where the row holds only the priority of a node whose children are rows of their own.
LMDB keys end at 511 bytes and a path may need 24 KiB, so a full key longer than `LONGEST` is
stored as its first `HEAD` bytes and a hash; the full key then stands in the value. Such keys keep
the order of their heads, not among themselves: whoever scans sorts the rows that share a head.

The stored value is one byte of flags, for a shortened key the full key, and the msgpack of the
value in export form. The flag PLAIN says that the plain form is the same, which spares a reader
the walk through most rows.
"""

import hashlib
import struct

import msgpack

from treedb.tree.arrays import is_plain
from treedb.tree.small import is_small
from treedb.tree.values import Value

LONGEST = 510
HASH_BYTES = 32
HEAD = LONGEST + 1 - HASH_BYTES

# Sorts before every other row; LMDB has no empty key.
ROOT = b"\x00"
# Sorts before every child: integer keys begin with 2, other keys with a printable character.
PRIORITY = b"\x01"
FIRST_CHILD = b"\x02"

PLAIN = 1
SHORTENED = 2

_LENGTH = struct.Struct(">I")


def stored_key(full: bytes) -> bytes:
    """Return the LMDB key of a row, at most 511 bytes."""
    if not full:
        return ROOT
    if len(full) <= LONGEST:
        return full
    return full[:HEAD] + hashlib.sha256(full).digest()


def full_key(stored: bytes, raw: bytes) -> bytes:
    """Return the full key of a row from its LMDB key and its stored value."""
    if stored == ROOT:
        return b""
    if len(stored) <= LONGEST:
        return stored
    (length,) = _LENGTH.unpack_from(raw, 1)
    return raw[5 : 5 + length]


def successor(prefix: bytes) -> bytes:
    """Return the least bytes that sort after everything beginning with `prefix`, b"" if none."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes((head[-1] + 1,)) if head else b""


def encode_value(value: Value) -> bytes:
    """Return the msgpack of a value in normal form."""
    packed: bytes = msgpack.packb(value)
    return packed


def encode_in_parts(value: object) -> bytes | memoryview:
    """Return the msgpack of a value of any size, so that other threads have their turn."""
    if is_small(value):
        small: bytes = msgpack.packb(value)
        return small
    packer = msgpack.Packer(autoreset=False)
    _pack(packer, value)
    large: memoryview = packer.getbuffer()
    return large


def encode_row(full: bytes, value: Value, packed: bytes) -> bytes:
    """Return what is stored for a row whose value is `value`, already packed as `packed`."""
    flags = PLAIN if is_plain(value) else 0
    if len(full) <= LONGEST:
        return bytes((flags,)) + packed
    return bytes((flags | SHORTENED,)) + _LENGTH.pack(len(full)) + full + packed


def decode_row(raw: bytes) -> Value:
    """Return a row's value in export form."""
    value: Value = msgpack.unpackb(packed_value(raw))
    return value


def row_is_plain(raw: bytes) -> bool:
    """Tell whether a row's plain form is the same as its export form."""
    return bool(raw[0] & PLAIN)


def _pack(packer: msgpack.Packer, value: object) -> None:
    if is_small(value):
        packer.pack(value)
    elif isinstance(value, dict):
        packer.pack_map_header(len(value))
        for key, child in value.items():
            packer.pack(key)
            _pack(packer, child)
    else:
        assert isinstance(value, list), "everything else is small"
        packer.pack_array_header(len(value))
        for item in value:
            _pack(packer, item)


def packed_value(raw: bytes) -> memoryview:
    """Return the msgpack of a row's value."""
    if not raw[0] & SHORTENED:
        return memoryview(raw)[1:]
    (length,) = _LENGTH.unpack_from(raw, 1)
    return memoryview(raw)[5 + length :]
