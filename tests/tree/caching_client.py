"""What the Android SDK does with a copy that it keeps: it hashes it in ranges, and merges ranges.

A plain rendering of its `CompoundHash`, `NodeSizeEstimator` and `RangeMerge`, in their own order of
keys. Nodes are values in normal form.
"""

import base64
import hashlib
import math
import struct
from collections.abc import Iterator
from typing import Any

from treedb.config import DEFAULT_LIMITS
from treedb.tree.hashing import node_hash
from treedb.tree.range_hash import CompoundHash
from treedb.tree.range_merge import RangeMerge
from treedb.tree.values import (
    Value,
    child_keys,
    children,
    is_object,
    leaf_of,
    normal_form,
    priority_of,
    with_priority,
    with_value_at,
)

Keys = tuple[str, ...]

PRIORITY = ".priority"
SMALLEST_RANGE = 512
SAME = object()


def compound_hash(value: Value, longer_than: int | None = None) -> CompoundHash:
    """Hash a copy; a range ends once its text is longer than what is given, or the SDK's own."""
    if value is None:
        return CompoundHash(("",), ())
    size = estimated_size(value)
    threshold = max(SMALLEST_RANGE, int(math.sqrt(size * 100)))
    builder = _Builder(threshold if longer_than is None else longer_than)
    builder.node(value)
    return CompoundHash((*builder.finished(), ""), tuple(builder.posts))


def estimated_size(value: Value) -> int:
    """Estimate the size of a node as JSON, in UTF-16 units, by the SDK's rule of thumb."""
    if value is None:
        return 4
    priority = priority_of(value)
    if not is_object(value):
        size = _leaf_size(leaf_of(value))
        return size if priority is None else size + 24 + _leaf_size(priority)
    own = 1 if priority is None else 1 + 12 + _leaf_size(priority)
    return own + sum(units(key) + 4 + estimated_size(child) for key, child in children(value))


def _leaf_size(leaf: object) -> int:
    if isinstance(leaf, bool):
        return 4
    return 2 + units(leaf) if isinstance(leaf, str) else 8


def units(text: str) -> int:
    """Count the characters of a text as Java does."""
    return len(text.encode("utf-16-be")) // 2


class _Builder:
    """The SDK's CompoundHashBuilder."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.hashes: list[str] = []
        self.posts: list[Keys] = []
        self.text: str | None = None
        self.path: list[str] = []
        self.last_leaf: Keys = ()
        self.needs_comma = True

    def node(self, value: Value) -> None:
        if not is_object(value):
            self.leaf(value)
            return
        for key, child in _visited(value):
            self.open(key)
            self.node(child)
            self.path.pop()
            if self.text is not None:
                self.text += ")"
            self.needs_comma = True

    def open(self, key: str) -> None:
        text = self.begun()
        self.text = f"{text}{',' if self.needs_comma else ''}{quoted(key)}:("
        self.path.append(key)
        self.needs_comma = False

    def leaf(self, value: Value) -> None:
        self.text = self.begun() + leaf_text(value)
        self.last_leaf = tuple(self.path)
        self.needs_comma = True
        if units(self.text) > self.threshold and self.path[-1:] != [PRIORITY]:
            self.end_range()

    def begun(self) -> str:
        if self.text is None:
            self.text = "(" + "".join(f"{quoted(key)}:(" for key in self.path)
            self.needs_comma = False
        return self.text

    def end_range(self) -> None:
        assert self.text is not None
        self.hashes.append(text_hash(self.text + ")" * (len(self.path) + 1)))
        self.posts.append(self.last_leaf)
        self.text = None

    def finished(self) -> list[str]:
        if self.text is not None:
            self.end_range()
        return self.hashes


def _visited(value: Value) -> Iterator[tuple[str, Value]]:
    """Return an object's children, its priority among them if a key sorts after it."""
    priority = priority_of(value)
    for key in sorted(child_keys(value), key=order):
        if priority is not None and order(key) > order(PRIORITY):
            yield PRIORITY, priority
            priority = None
        assert isinstance(value, dict)
        yield key, value[key]


def leaf_text(value: Value) -> str:
    priority, leaf = priority_of(value), leaf_of(value)
    prefix = "" if priority is None else f"priority:{leaf_text(priority)}:"
    if isinstance(leaf, bool):
        return f"{prefix}boolean:{str(leaf).lower()}"
    if isinstance(leaf, str):
        return f"{prefix}string:{quoted(leaf)}"
    assert leaf is not None
    return f"{prefix}number:{struct.pack('>d', leaf).hex()}"


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def text_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha1(text.encode()).digest()).decode()


def order(key: str) -> tuple[int, int, int, bytes]:
    """Order keys as the SDK does, which takes none of more than eleven characters for a number."""
    digits = key.removeprefix("-")
    if len(key) <= 11 and digits and set(digits) <= set("0123456789"):
        number = int(key)
        if -(2**31) <= number < 2**31:
            return (0, number, len(key), b"")
    return (1, 0, 0, key.encode("utf-16-be"))


# What it says and hears: hashes in a listen, range merges in a push.


def said_of(copy: Value) -> dict[str, Any]:
    """Return what a listen says of a copy."""
    found = compound_hash(copy)
    posts = ["/".join(post) or "/" for post in found.posts]
    return {"h": node_hash(copy), "ch": {"hs": list(found.hashes), "ps": posts}}


def merged(copy: Value, sent: Any) -> Value:
    """Merge what an `rm` push holds into a copy."""
    merges = []
    for each in sent:
        start, end = (
            None if each.get(name) is None else tuple(filter(None, each[name].split("/")))
            for name in ("s", "e")
        )
        merges.append(RangeMerge(start or (), end, each["m"]))
    return apply_range_merges(copy, tuple(merges))


def apply_range_merges(value: Value, merges: tuple[RangeMerge, ...]) -> Value:
    """Merge what a server sent into a copy, one after the other."""
    for merge in merges:
        sent: Any = merge.value
        update = normal_form(sent, 0, DEFAULT_LIMITS).value  # a priority alone is nothing
        value = value if (new := _updated((), value, update, merge)) is SAME else new
    return value


def _updated(path: Keys, node: Value, update: Value, merge: RangeMerge) -> Any:
    """Return what becomes of a node, SAME for the very object that it is."""
    start = merge.start or None  # a start of "" is not sent
    after_start = start is None or places(path) > places(start)
    start_inside = start is not None and path == start[: len(path)]
    before_end = merge.end is None or places(path) < places(merge.end)
    end_inside = merge.end is not None and path == merge.end[: len(path)]
    if after_start and before_end and not end_inside:
        return update
    if after_start and end_inside and update is not None and not is_object(update):
        return update
    if after_start and path == merge.end:
        return SAME if is_object(node) else None
    if not start_inside and not end_inside:
        assert not before_end or not after_start
        return SAME
    return _partly_updated(path, node, update, merge)


def _partly_updated(path: Keys, node: Value, update: Value, merge: RangeMerge) -> Any:
    # The SDK takes children in the order of a hash table. The worst for it: first those that go.
    ours, theirs = child_keys(node), child_keys(update)
    every = [*(key for key in ours if key not in theirs), *theirs]
    if priority_of(node) is not None or priority_of(update) is not None:
        every.append(PRIORITY)
    new, is_same = node, True
    for key in every:
        child, other = immediate_child(node, key), immediate_child(update, key)
        updated = _updated((*path, key), child, other, merge)
        if updated is SAME or updated is child is None:
            continue
        is_same = False
        if key == PRIORITY:
            assert updated is None or isinstance(updated, int | float | str)
            new = with_priority(new, updated)
        elif updated is not None or is_object(new):
            new = with_value_at(new, (key,), updated)
    return SAME if is_same else new


def immediate_child(node: Value, key: str) -> Value:
    if key == PRIORITY:
        return priority_of(node)
    return node.get(key) if isinstance(node, dict) and is_object(node) else None


def places(path: Keys) -> list[tuple[int, int, int, bytes]]:
    """Return what orders paths: key by key, and what is above comes first."""
    return [order(key) for key in path]
