"""What the document of a JSON Patch is made of: what was not looked into, and what was."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from treedb.paths.path import Path
from treedb.tree.arrays import MAX_DIGITS

is_index: Final = re.compile(r"0|[1-9][0-9]*", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class Kept:
    """The value that the tree has at a place."""

    place: Path


@dataclass(slots=True)
class OpenObject:
    """An object: the children that the tree has at `place`, if any, but for its `members`.

    GONE is a member that was removed. `priority` is that of an object that the patch brought.
    """

    place: Path | None
    members: dict[str, "Node"]
    priority: object = None


@dataclass(slots=True)
class OpenArray:
    """An array: `items` are all it holds; at `place` the tree had `length` of them."""

    place: Path | None
    items: list["Node"]
    length: int = 0
    priority: object = None


class _Gone:
    """What is not there any more."""


GONE: Final = _Gone()

# A Kept, an OpenObject, an OpenArray, GONE, or JSON that the patch brought, which is not changed.
Node: TypeAlias = Any


def pointer(keys: Sequence[str]) -> str:
    """Write keys as a JSON Pointer, in quotes."""
    return '"' + "".join("/" + key.replace("~", "~0") for key in keys) + '"'


def index_of(key: str, most: int) -> int | None:
    """Return a key as an index that is at most a number, None when it is no such."""
    if len(key) > MAX_DIGITS or not is_index(key):
        return None
    return index if (index := int(key)) <= most else None


def put_child(container: OpenObject | OpenArray, key: str, node: Node) -> None:
    if isinstance(container, OpenArray):
        container.items[int(key)] = node
    else:
        container.members[key] = node


def touched(node: OpenObject | OpenArray) -> Iterable[tuple[str, Node]]:
    """Return what became of the children that the tree had, and what is new."""
    if isinstance(node, OpenObject):
        return node.members.items()
    ended = [GONE] * (node.length - len(node.items))
    return ((str(index), item) for index, item in enumerate([*node.items, *ended]))
