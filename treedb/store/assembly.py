"""Put the rows of one subtree together again: as a value, or as JSON text.

Both are fed row by row in key order, so that a large answer can be read in slices with the event
loop's other work in between. Worked example, for the place /rooms:

    rows    /rooms/one          {"name": "Alpha"}
            /rooms/two (priority only)      5
            /rooms/two/members  {"mchen": true}
    value   {"one": {"name": "Alpha"}, "two": {".priority": 5, "members": {"mchen": true}}}
"""

import re

from msgpack import unpackb

from treedb.errors import TooBigToRead
from treedb.paths.order import decode_key, decode_text_keys
from treedb.store.codec import PLAIN, PRIORITY, SHORTENED, decode_row, row_is_plain
from treedb.store.cursor import Row
from treedb.tree.arrays import array_length, to_plain
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json
from treedb.tree.values import Value

# Children encoded by one call of the JSON codec: enough to amortise it, about 0.2 ms of work.
GROUP = 200

_INDEX = re.compile("0|[1-9][0-9]*")


class Assembly:
    """Collect the rows below one place into its value in export form."""

    def __init__(self, prefix: bytes) -> None:
        self._base = len(prefix)
        self._prefix = prefix
        self._root: dict[str, Value] = {}
        self._node = self._root

    def add(self, rows: list[Row]) -> None:
        """Take the next rows in key order."""
        keys = _keys_of_children(rows, self._prefix)
        if keys is not None:
            self._node.update(zip(keys, _values(rows), strict=True))
            return
        for full, raw in rows:
            self._add_one(full, raw)

    def _add_one(self, full: bytes, raw: bytes) -> None:
        if not full.startswith(self._prefix):
            self._prefix, self._node = full[: self._base], self._root
        position = len(self._prefix)
        while full[position:] != PRIORITY:
            key, end = decode_key(full, position)
            if end == len(full):
                self._node[key] = decode_row(raw)
                return
            child = self._node.setdefault(key, {})
            assert isinstance(child, dict), "rows never nest"
            self._prefix, self._node, position = full[:end], child, end
        self._node[".priority"] = decode_row(raw)

    @property
    def value(self) -> Value:
        """Return what the rows came to."""
        return self._root or None


class _Node:
    """One object being written: its finished members, and those waiting to be encoded."""

    __slots__ = ("key", "listed", "members", "prefix", "waiting")

    def __init__(self, prefix: bytes, key: str) -> None:
        self.prefix = prefix
        self.key = key
        self.waiting: dict[str, object] = {}
        # Members as ready text without braces, each piece one or more `"key":value`.
        self.members: list[list[bytes]] = []
        # Members one by one while the object may still turn out to be an array, else None.
        self.listed: list[tuple[str, list[bytes]]] | None = None


class JsonAssembly:
    """Collect the rows below one place into JSON text, in pieces.

    In plain form an object of integer keys may be an array, which only its last key decides.
    Integer keys come first, so a node's first child tells whether that can still happen; only
    then are its members kept apart.
    """

    def __init__(self, prefix: bytes, form: Form, max_bytes: int) -> None:
        self._plain = form is Form.PLAIN
        self._max_bytes = max_bytes
        self._size = 0
        self._open = [_Node(prefix, "")]

    def add(self, rows: list[Row]) -> None:
        """Take the next rows in key order; TooBigToRead when the text passes the limit."""
        node = self._open[-1]
        if node.listed is None and (node.members or node.waiting):
            keys = _keys_of_children(rows, node.prefix)
            if keys is not None and not (self._plain and _any_differs(rows)):
                self._flush(node)
                node.waiting = dict(zip(keys, _values(rows), strict=True))
                self._flush(node)
                return
        for full, raw in rows:
            self._add_one(full, raw)

    def _add_one(self, full: bytes, raw: bytes) -> None:
        while not full.startswith(self._open[-1].prefix):
            self._close_last()
        node = self._open[-1]
        position = len(node.prefix)
        while full[position:] != PRIORITY:
            key, end = decode_key(full, position)
            if end == len(full):
                self._add_value(node, key, raw)
                return
            self._flush(node)
            node = self._begin(node, full[:end], key)
            position = end
        if not self._plain:
            node.waiting[".priority"] = decode_row(raw)

    def finish(self) -> list[bytes]:
        """Close what is open and return the text in pieces."""
        while len(self._open) > 1:
            self._close_last()
        return self._text_of(self._open.pop())

    def _begin(self, parent: _Node, prefix: bytes, key: str) -> _Node:
        self._note_first_child(parent, key)
        node = _Node(prefix, key)
        self._open.append(node)
        return node

    def _add_value(self, node: _Node, key: str, raw: bytes) -> None:
        self._note_first_child(node, key)
        value = decode_row(raw)
        shown = to_plain(value) if self._plain and not row_is_plain(raw) else value
        if node.listed is not None:
            text = format_json(shown)
            self._count(len(text))
            node.listed.append((key, [text]))
            return
        node.waiting[key] = shown
        if len(node.waiting) >= GROUP:
            self._flush(node)

    def _note_first_child(self, node: _Node, key: str) -> None:
        untouched = node.listed is None and not node.members and not node.waiting
        if self._plain and untouched and _INDEX.fullmatch(key):
            node.listed = []

    def _flush(self, node: _Node) -> None:
        if node.waiting:
            text = format_json(node.waiting)[1:-1]
            self._count(len(text))
            node.members.append([text])
            node.waiting = {}

    def _close_last(self) -> None:
        node = self._open.pop()
        text = self._text_of(node)
        parent = self._open[-1]
        if parent.listed is not None:
            parent.listed.append((node.key, text))
        else:
            parent.members.append([format_json(node.key) + b":", *text])

    def _text_of(self, node: _Node) -> list[bytes]:
        self._flush(node)
        if node.listed is None:
            return _joined(b"{", node.members, b"}")
        length = array_length([key for key, _ in node.listed])
        if length is None:
            members = [[format_json(key) + b":", *text] for key, text in node.listed]
            return _joined(b"{", members, b"}")
        places: list[list[bytes]] = [[b"null"] for _ in range(length)]
        for key, text in node.listed:
            places[int(key)] = text
        return _joined(b"[", places, b"]")

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._max_bytes:
            raise TooBigToRead(
                f"the answer passes {self._max_bytes} bytes; read a deeper place, or "
                "use shallow=true or depth=N"
            )


def _joined(opening: bytes, members: list[list[bytes]], closing: bytes) -> list[bytes]:
    pieces = [opening]
    for index, member in enumerate(members):
        if index:
            pieces.append(b",")
        pieces.extend(member)
    pieces.append(closing)
    return pieces


def _keys_of_children(rows: list[Row], prefix: bytes) -> list[str] | None:
    """Return the rows' last keys when all are plain children of one place, else None.

    In a list of records nearly every slice is such, and then one decode does for all its keys.
    """
    start = len(prefix)
    if not (rows[0][0].startswith(prefix) and rows[-1][0].startswith(prefix)):
        return None
    if any(raw[0] & SHORTENED for _, raw in rows):
        return None
    return decode_text_keys([full[start:] for full, _ in rows])


def _values(rows: list[Row]) -> list[Value]:
    """Return the values of rows whose keys are not shortened."""
    return [unpackb(raw[1:]) for _, raw in rows]


def _any_differs(rows: list[Row]) -> bool:
    return not all(raw[0] & PLAIN for _, raw in rows)
