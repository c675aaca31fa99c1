r"""Hash the ranges of a value as a client that keeps a copy of it hashes those of its copy.

The Android, iOS and Java SDKs keep large places on disk. Such a client walks its copy in key
order, cuts it into ranges, and sends of each range a hash and its *post*, which is the path of
the range's last leaf. Here the same ranges of our value are hashed; those whose hash is another
have to be sent (`range_merge.py`).

    a copy  {"a": 1, "b": {"c": 2, "d": 3}, "e": 4}, its posts  b/c, e
    ranges  ("a":(number:..),"b":("c":(number:..)))     from the beginning to b/c
            ("b":("d":(number:..)),"e":(number:..))     after b/c, to e
            nothing, whose hash is ""                   after e

A place comes before what is below it and after what has a smaller key; ranges begin after one
place and end with another in that order. An object's priority is a child `.priority`, at its place
among the keys; a leaf's priority belongs to the leaf's text.

An object's priority is hashed only if one of its keys sorts after `.priority`. Those of lists
(integer keys, push ids) do not, so there a priority is *hidden*: the hashes agree whatever it is.
Who compares has to know where that may be.

Source: Firebase's Android SDK, `CompoundHash.java`.
"""

import base64
import hashlib
import re
from bisect import bisect_right
from collections.abc import Reversible
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from treedb.paths.order import encode_key, encode_path
from treedb.tree.hashing import double_hex
from treedb.tree.values import Leaf, Value, child_keys, is_object, leaf_of, priority_of

Keys: TypeAlias = tuple[str, ...]

PRIORITY: Final = ".priority"
PRIORITY_PLACE: Final = encode_key(PRIORITY)
PLACES_END: Final = b"\xff"  # after the bytes of every path

# Keys that SDKs order differently among themselves: only some read integers of more than eleven
# characters, and to them "-0" and "00" are one key.
_is_odd: Final = re.compile(r"-0+|(?=.{12})-?0+[0-9]{1,10}").fullmatch


@dataclass(frozen=True, slots=True)
class CompoundHash:
    """What a client says of its copy: the hashes of its ranges, and where all but the last end."""

    hashes: tuple[str, ...]
    posts: tuple[Keys, ...]


@dataclass(frozen=True, slots=True)
class RangeHashes:
    """The hashes of a value's ranges, and the objects that may hide a priority.

    Each of those comes with the number of the range that the priority would be in.
    """

    hashes: tuple[str, ...]
    hidden: tuple[tuple[int, Keys], ...]


def hash_ranges(value: Value, posts: tuple[Keys, ...]) -> RangeHashes | None:
    """Hash the ranges of an object that end with these posts, which ascend, and one after them.

    None when there are keys that clients do not agree upon the order of.
    """
    walk = _Walk([encode_path(post) for post in posts])
    try:
        for key in {key for post in posts for key in post}:
            _quoted_key(key)
        walk.run(value)
    except _OddKey:
        return None
    return RangeHashes(tuple(walk.hashes), tuple(walk.hidden))


def shown_members(value: dict[str, Value]) -> Reversible[tuple[str, Value]]:
    """Return an object's children in key order, its priority among them unless it is hidden."""
    if PRIORITY not in value:
        return value.items()
    keys = child_keys(value)
    shown_at = bisect_right(keys, PRIORITY_PLACE, key=encode_key)
    if shown_at < len(keys):
        keys.insert(shown_at, PRIORITY)
    return [(key, value[key]) for key in keys]


def may_hide_priority(value: dict[str, Value]) -> bool:
    """Tell whether all keys of an object sort before its priority."""
    last = next(reversed(value))
    return last[0] <= "9" and encode_key(last) < PRIORITY_PLACE


class _OddKey(Exception):
    """A key whose place differs between clients."""


class _Walk:
    """One walk over a value: the hashes of its ranges, and where a priority may be hidden."""

    __slots__ = ("_ends", "_members", "_number", "hashes", "hidden")

    def __init__(self, posts: list[bytes]) -> None:
        self._ends = [*posts, PLACES_END]
        self._number = 0  # of the present range
        # What is in it so far: texts of members, each with the keys of the object it is in.
        self._members: list[tuple[Keys, str]] = []
        self.hashes: list[str] = []
        # Objects that may hide a priority, each with the number of the range that it would be in.
        self.hidden: list[tuple[int, Keys]] = []

    def run(self, value: Value) -> None:
        self._object(value, (), b"")
        self._end_ranges_before(PLACES_END)
        self._end_range()

    def _object(self, value: Value, keys: Keys, place: bytes) -> None:
        """Walk an object that may lie in several ranges."""
        assert isinstance(value, dict)
        for key, child in shown_members(value):
            inner = place + encode_key(key)
            self._end_ranges_before(inner)
            if is_object(child) and self._ends[self._number].startswith(inner):
                self._object(child, (*keys, key), inner)
            else:
                text = f"{_quoted_key(key)}:({self._text(child, (*keys, key))})"
                self._members.append((keys, text))
        if may_hide_priority(value):
            self._end_ranges_before(place + PRIORITY_PLACE)
            self.hidden.append((self._number, keys))

    def _text(self, value: Value, keys: Keys) -> str:
        """Return the text of what lies in the present range entirely."""
        if not isinstance(value, dict) or ".value" in value:
            return _leaf_text(value)
        texts = []
        for key, child in shown_members(value):
            if isinstance(child, dict):
                text = self._text(child, (*keys, key))
            else:
                text = _leaf_text(child)
            texts.append(f"{_quoted_key(key)}:({text})")
        if may_hide_priority(value):
            self.hidden.append((self._number, keys))
        return ",".join(texts)

    def _end_ranges_before(self, place: bytes) -> None:
        while self._ends[self._number] < place:
            self._end_range()
            self._number += 1

    def _end_range(self) -> None:
        self.hashes.append(_hash(_range_text(self._members)) if self._members else "")
        self._members = []


def _range_text(members: list[tuple[Keys, str]]) -> str:
    opened = members[0][0]
    texts = ["(", *(f"{_quoted_key(key)}:(" for key in opened)]
    for position, (keys, text) in enumerate(members):
        if keys is not opened:
            shared = _shared(opened, keys)
            texts.append(")" * (len(opened) - shared))
        if position:
            texts.append(",")
        if keys is not opened:
            texts += [f"{_quoted_key(key)}:(" for key in keys[shared:]]
            opened = keys
        texts.append(text)
    texts.append(")" * (len(opened) + 1))
    return "".join(texts)


def _shared(one: Keys, other: Keys) -> int:
    """Count the keys that both begin with."""
    return next(
        (at for at, keys in enumerate(zip(one, other, strict=False)) if keys[0] != keys[1]),
        min(len(one), len(other)),
    )


def _leaf_text(value: Value) -> str:
    leaf, priority = leaf_of(value), priority_of(value)
    assert leaf is not None, "a leaf is a leaf"
    text = _bare_leaf_text(leaf)
    return text if priority is None else f"priority:{_bare_leaf_text(priority)}:{text}"


def _bare_leaf_text(leaf: Leaf) -> str:
    if isinstance(leaf, str):
        return f"string:{_quoted(leaf)}"
    if isinstance(leaf, bool):
        return "boolean:true" if leaf else "boolean:false"
    return f"number:{double_hex(leaf)}"


@lru_cache(maxsize=8192)
def _quoted_key(key: str) -> str:
    if key[0] <= "9" and _is_odd(key):
        raise _OddKey
    return _quoted(key)


def _quoted(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if '"' in text:
        text = text.replace('"', '\\"')
    return f'"{text}"'


def _hash(text: str) -> str:
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()
