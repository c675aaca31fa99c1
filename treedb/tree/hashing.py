"""The node hash by which a client and the server tell that they hold the same value.

It is the base64 SHA-1 of a text: for a leaf its type and content, for an object the keys and
hashes of its children in order of priority, each after the node's priority if it has one.

    {"foo": {"bar": "baz"}}    h1 = hash of  string:baz
                               h2 = hash of  :bar:h1
                               the node's is that of  :foo:h2

Numbers enter as the 16 hex digits of their double. The JavaScript SDK gets those wrong for some
(2^53-1 among them) because it reckons the exponent with a logarithm, so a hash that comes from a
client is compared with both. Source: Firebase's JavaScript SDK, `LeafNode.hash` and
`ChildrenNode.hash`.
"""

import base64
import hashlib
import math
import struct
from collections.abc import Callable

from treedb.tree.order import priority_sort_key
from treedb.tree.values import Leaf, Value, children, is_object, leaf_of, priority_of

_DOUBLE = struct.Struct(">d")


def node_hash(value: Value) -> str:
    """Return the hash of a value in normal form, "" for None."""
    return _hash(value, double_hex)


def matches_hash(value: Value, claimed: str) -> bool:
    """Tell whether a client that holds this value would claim this hash."""
    return claimed == node_hash(value) or claimed == _hash(value, sdk_double_hex)


def double_hex(number: float) -> str:
    """Return the big-endian IEEE 754 bits of a number as 16 hex digits."""
    return _DOUBLE.pack(number).hex()


def sdk_double_hex(number: float) -> str:
    """Return the 16 hex digits that the JavaScript SDK takes for a number's bits.

    Its exponent is floor(log(x) / ln 2), which may be one off; the mantissa then overflows its 52
    bits, of which the SDK writes the lowest in two's complement.
    """
    size = abs(float(number))
    if size == 0.0:
        exponent, mantissa = 0, 0
    elif size >= 2.0**-1022:
        power = min(math.floor(math.log(size) / 0.6931471805599453), 1023)
        exponent = power + 1023
        # Beyond this the SDK's scale factor is infinite and every mantissa bit reads as 0.
        scalable = 52 - power <= 1023
        mantissa = math.floor(size * 2.0 ** (52 - power) - 2.0**52 + 0.5) if scalable else 0
    else:
        exponent, mantissa = 0, math.floor(size / 2.0**-1074 + 0.5)
    sign = int(math.copysign(1.0, number) < 0)
    return f"{sign << 63 | (exponent & 0x7FF) << 52 | mantissa & ((1 << 52) - 1):016x}"


def _hash(value: Value, number_hex: Callable[[float], str]) -> str:
    if value is None:
        return ""
    priority = priority_of(value)
    text = "" if priority is None else f"priority:{_leaf_text(priority, number_hex)}:"
    if is_object(value):
        members = list(children(value))
        if any(isinstance(child, dict) and ".priority" in child for _, child in members):
            members.sort(key=lambda member: priority_sort_key(member[1]))
        text += "".join(f":{key}:{_hash(child, number_hex)}" for key, child in members)
    else:
        leaf = leaf_of(value)
        assert leaf is not None, "a node is an object or a leaf"
        text += _leaf_text(leaf, number_hex)
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()


def _leaf_text(leaf: Leaf, number_hex: Callable[[float], str]) -> str:
    if isinstance(leaf, bool):
        return "boolean:true" if leaf else "boolean:false"
    if isinstance(leaf, str):
        return f"string:{leaf}"
    return f"number:{number_hex(leaf)}"
