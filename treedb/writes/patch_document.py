"""The document that a JSON Patch works on: a value of the tree as JSON, changed step by step.

At its start the document is what a read answers: its objects that look like arrays are arrays. It
is read only where the patch looks: what nobody looked into stays a `Kept`, the mere name of a
place in the tree. What was looked into is an `OpenObject` or an `OpenArray`, which hold what
became of their children; what the patch brought is JSON. The document is changed as the RFC says,
`null`, `{}` and `[]` included, and brought into normal form only at its end.

    the tree at /a            {"list": ["x", "y"], "big": {...}}
    remove /list/0            OpenObject(/a, {"list": OpenArray(/a/list, [Kept(/a/list/1)])})
    changes                   /a/list/0 = "y", /a/list/1 removed; nothing of /a/big was read

What moves takes its priority along, and what stays keeps it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from treedb.config import Limits
from treedb.errors import PatchConflict, PayloadTooLarge, TooDeep
from treedb.paths.path import PRIORITY_KEY, Path
from treedb.tree.arrays import array_length, to_plain
from treedb.tree.json_equality import same_json
from treedb.tree.reader import Reader
from treedb.tree.values import Value, leaf_of, normal_form
from treedb.writes.patch_nodes import (
    GONE,
    Kept,
    Node,
    OpenArray,
    OpenObject,
    index_of,
    is_index,
    pointer,
    put_child,
    touched,
)

END: Final = "-"  # the place behind an array's last item (RFC 6901)
CHARACTERS_OF_A_NODE: Final = 50  # a long text counts as several nodes: it costs like them
ITEMS_OF_A_STEP: Final = 100  # so many items are moved over in the time of one step


class PatchDocument:
    """The value at a place, as a patch changes it.

    PatchConflict tells that the document has not what is asked for, PayloadTooLarge that the
    patch looks at more, or makes more, than one write may.
    """

    def __init__(self, place: Path, reader: Reader, limits: Limits) -> None:
        self._place = place
        self._reader = reader
        self._limits = limits
        self._left = limits.nodes_per_write
        self._root: Node = Kept(place)

    # Looking

    def find(self, keys: Sequence[str]) -> Node:
        """Return what is at a place of the document."""
        if not keys:
            return self._root
        container = self._opened_at(keys[:-1])
        found = GONE if container is None else self._child(container, keys[-1])
        if found is GONE:
            raise PatchConflict(f"there is nothing at {pointer(keys)}")
        return found

    def is_array(self, keys: Sequence[str]) -> bool:
        """Tell whether there is an array."""
        return isinstance(self._opened_at(keys), OpenArray)

    def equals(self, node: Node, expected: object) -> bool:
        """Tell whether what was found equals JSON, as RFC 6902 compares (section 4.6)."""
        if isinstance(node, Kept):
            if not self._may_equal(node.place, expected):
                return False
            value = self._read(node.place)
            return same_json(to_plain(value), expected)
        opened = self._opened(node)
        if isinstance(opened, OpenObject):
            return self._object_equals(opened, expected)
        if isinstance(opened, OpenArray):
            return (
                isinstance(expected, list)
                and len(expected) == len(opened.items)
                and all(map(self.equals, opened.items, expected))
            )
        return same_json(node[".value"] if isinstance(node, dict) else node, expected)

    def leaf_at(self, keys: Sequence[str]) -> Value:
        """Return the leaf at a place, or its priority where the last key says so; else None."""
        is_priority = keys[-1:] == (PRIORITY_KEY,)
        try:
            node = self.find(keys[:-1] if is_priority else keys)
        except PatchConflict:
            return None
        if is_priority:
            return self._priority_of(node)
        if isinstance(node, Kept):
            return self._read_leaf(node.place)
        bare = node.get(".value") if isinstance(node, dict) else node
        return bare if isinstance(bare, bool | int | float | str) else None

    # Changing

    def add(self, keys: Sequence[str], node: Node) -> None:
        """Put something at a place: a member, or an item before those that are there."""
        self._check_depth(node, self._place.depth + len(keys))
        if not keys:
            self._root = node
            return
        self._begin_object(keys)
        container = self._opened_at(keys[:-1])
        if container is None:
            raise PatchConflict(f"there is no object or array at {pointer(keys[:-1])}")
        if isinstance(container, OpenObject):
            container.members[keys[-1]] = node
            return
        items = container.items
        index = len(items) if keys[-1] == END else index_of(keys[-1], len(items))
        if index is None:
            raise PatchConflict(f"{keys[-1]!r} is no index of the {len(items)} items there")
        self._spend(1 + (len(items) - index) // ITEMS_OF_A_STEP)
        items.insert(index, node)

    def replace(self, keys: Sequence[str], node: Node) -> None:
        """Put something in the place of what is there."""
        self.find(keys)
        self._check_depth(node, self._place.depth + len(keys))
        if not keys:
            self._root = node
            return
        container = self._opened_at(keys[:-1])
        assert container is not None, "there is something in it"
        put_child(container, keys[-1], node)

    def remove(self, keys: Sequence[str]) -> Node:
        """Take away what is there, and return it; the items behind it move up."""
        node = self.find(keys)
        if not keys:
            self._root = None
            return node
        container = self._opened_at(keys[:-1])
        assert container is not None, "there is something in it"
        if isinstance(container, OpenArray):
            index = int(keys[-1])
            self._spend(1 + (len(container.items) - index) // ITEMS_OF_A_STEP)
            del container.items[index]
        else:
            container.members[keys[-1]] = GONE
        return node

    def copied(self, node: Node) -> Node:
        """Return what does not change when the node does."""
        if isinstance(node, OpenObject):
            self._spend(len(node.members))
            members = {key: self.copied(child) for key, child in node.members.items()}
            return OpenObject(node.place, members, node.priority)
        if isinstance(node, OpenArray):
            self._spend(len(node.items))
            items = list(map(self.copied, node.items))
            return OpenArray(node.place, items, node.length, node.priority)
        return node

    def changes(self) -> Iterator[tuple[Path, Value]]:
        """Yield the places where the document is another than the tree, with their new values."""
        return self._changes(self._place, self._root)

    # Opening

    def _opened_at(self, keys: Sequence[str]) -> OpenObject | OpenArray | None:
        """Return the object or array at a place, ready to be changed; None when there is none."""
        opened = self._opened(self._root)
        if opened is None:
            return None
        self._root = opened
        for key in keys:
            inner = self._opened(self._child(opened, key))
            if inner is None:
                return None
            put_child(opened, key, inner)
            opened = inner
        return opened

    def _begin_object(self, keys: Sequence[str]) -> None:
        """Let a place without a value be an empty object, when it is to have its first member."""
        is_untouched = len(keys) == 1 and self._root == Kept(self._place)
        if is_untouched and not self._reader.exists(self._place):
            self._root = OpenObject(self._place, {})

    def _child(self, container: OpenObject | OpenArray, key: str) -> Node:
        if isinstance(container, OpenArray):
            index = index_of(key, len(container.items) - 1)
            return GONE if index is None else container.items[index]
        if key in container.members or container.place is None:
            return container.members.get(key, GONE)
        below = container.place.child(key)
        return Kept(below) if self._reader.exists(below) else GONE

    def _opened(self, node: Node) -> OpenObject | OpenArray | None:
        """Return a node as what has children; None when it can have none."""
        if isinstance(node, Kept):
            return self._opened_place(node.place)
        if isinstance(node, list):
            self._spend(len(node))
            return OpenArray(None, list(node))
        if isinstance(node, dict) and ".value" not in node:
            self._spend(len(node))
            members = {key: child for key, child in node.items() if key != PRIORITY_KEY}
            return OpenObject(None, members, priority=node.get(PRIORITY_KEY))
        return node if isinstance(node, OpenObject | OpenArray) else None

    def _opened_place(self, place: Path) -> OpenObject | OpenArray | None:
        keys = self._index_keys(place)
        if keys is None:
            return None
        length = array_length(keys)
        if length is None:
            return OpenObject(place, {})
        items: list[Node] = [None] * length
        for key in keys:
            items[int(key)] = Kept(place.child(key))
        return OpenArray(place, items, length)

    def _index_keys(self, place: Path) -> list[str] | None:
        """Return the child keys of a place while they may be an array's; None of a leaf."""
        found: list[str] = []
        for key in self._reader.keys(place):
            if not is_index(key):
                return []
            found.append(key)
            self._spend(1)
            if len(found) > self._limits.patch_items:
                raise PayloadTooLarge(
                    f"{place} has more than {self._limits.patch_items} children with whole numbers "
                    "for keys, too many for a patch to look into; patch a place below it"
                )
        return found or None

    # Reading

    def _read(self, place: Path) -> Value:
        value = self._reader.get(place)
        self._spend(_weight(value))
        return value

    def _read_leaf(self, place: Path) -> Value:
        is_object = next(self._reader.keys(place), None) is not None
        return None if is_object else leaf_of(self._reader.get(place))

    def _may_equal(self, place: Path, expected: object) -> bool:
        """Tell whether the keys of a place allow it to be equal: a large value need not be read."""
        left = set(expected) if isinstance(expected, dict) else set[str]()
        if isinstance(expected, list):
            left = {str(index) for index, item in enumerate(expected) if item is not None}
        for key in self._reader.keys(place):
            if key not in left:
                return False
            left.remove(key)
            self._spend(1)
        return not left

    def _object_equals(self, node: OpenObject, expected: object) -> bool:
        if not isinstance(expected, dict):
            return False
        keys = {key for key, child in node.members.items() if child is not GONE}
        for key in self._reader.keys(node.place) if node.place is not None else ():
            if key not in node.members:
                if key not in expected:
                    return False
                keys.add(key)
                self._spend(1)
        return keys == expected.keys() and all(
            self.equals(self._child(node, key), value) for key, value in expected.items()
        )

    def _priority_of(self, node: Node) -> Value:
        place = node.place if isinstance(node, Kept | OpenObject | OpenArray) else None
        if place is not None:
            return self._reader.get(place.child(PRIORITY_KEY))
        if isinstance(node, OpenObject | OpenArray):
            return leaf_of(node.priority)  # type: ignore[arg-type]  # checked as a priority before
        return leaf_of(node.get(PRIORITY_KEY)) if isinstance(node, dict) else None

    # The end

    def _changes(self, place: Path, node: Node) -> Iterator[tuple[Path, Value]]:
        if isinstance(node, Kept) and node.place == place:
            return
        if isinstance(node, OpenObject | OpenArray) and node.place == place:
            for key, child in touched(node):
                yield from self._changes(place.child(key), child)
            return
        raw = None if node is GONE else self._json(node)
        normal = normal_form(raw, place.depth, self._limits)
        self._spend(_weight(normal.value))
        if normal.value is not None or self._reader.exists(place):
            yield place, normal.value

    def _json(self, node: Node) -> Any:
        """Return a node as JSON with priorities, as a write takes it."""
        if isinstance(node, Kept):
            return self._read(node.place)
        if isinstance(node, OpenArray):
            items = list(map(self._json, node.items))
            priority = self._priority_of(node)
            if priority is None:
                return items
            numbered = {str(index): item for index, item in enumerate(items)}
            return {PRIORITY_KEY: priority, **numbered}
        if isinstance(node, OpenObject):
            value = None if node.place is None else self._read(node.place)
            members: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
            if node.priority is not None:
                members[PRIORITY_KEY] = node.priority
            for key, child in node.members.items():
                members[key] = None if child is GONE else self._json(child)
            return members
        return node

    def _check_depth(self, node: Node, depth: int) -> None:
        """Raise TooDeep where open nodes stand below the last level; JSON was checked before."""
        if depth > self._limits.depth:
            raise TooDeep(f"the patch makes a value {depth} levels below the root")
        if isinstance(node, OpenObject | OpenArray):
            children = node.members.values() if isinstance(node, OpenObject) else node.items
            self._spend(len(children))
            for child in children:
                if child is not GONE:
                    self._check_depth(child, depth + 1)

    def _spend(self, nodes: int) -> None:
        self._left -= nodes
        if self._left < 0:
            raise PayloadTooLarge(
                f"the patch looks at or makes more than {self._limits.nodes_per_write} nodes; "
                "send it in several patches"
            )


def _weight(value: Value) -> int:
    """Count the nodes of a value, a long text as several."""
    count = 0
    waiting: list[Value] = [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, str):
            count += len(each) // CHARACTERS_OF_A_NODE
    return count
