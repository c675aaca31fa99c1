"""Write the JSON text of a subtree from its rows, slice by slice: a large one is never held whole.

Rows come in key order, so an object or array is opened at its first row and closed by the first
row outside it. Worked example, for the place /rooms in plain form:

    rows    /rooms/a            {"n": 1}             text    {"a":{"n":1},
            /rooms/b/0          "x"                          "b":["x",
            /rooms/b/2          "y"                          null,"y"]}

Whether the keys 0 and 2 make an array is known by the last of them only. It is looked up when the
first is met, together with how many there are: a seek for each child, and only in plain form, where
the first key is an index.

A row that is longer than a slice may be holds one string and nothing else but its priority, for
everything else is cut into rows. Such a string is written in parts.
"""

from collections.abc import Generator, Iterator
from struct import Struct
from typing import Final

from msgpack import unpackb

from treedb.paths.order import decode_key, encode_path
from treedb.paths.path import Path
from treedb.store.assembly import keys_of_children, values_of
from treedb.store.codec import (
    FIRST_CHILD,
    PRIORITY,
    decode_row,
    packed_value,
    row_is_plain,
    successor,
)
from treedb.store.cursor import SLICE_BYTES, Row, RowCursor
from treedb.store.stored_tree import StoredTree
from treedb.tree.arrays import is_index, to_plain
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json
from treedb.tree.values import Value

SEEKS: Final = 500  # between two pauses: about 1 ms
HOLES: Final = 10_000  # nulls written at once
AFTER_ALL: Final = b"\xff"  # no row's key begins so
PART_BYTES: Final = 128 * 1024  # of a long string

# How msgpack writes a string of 64 KiB or more, alone or in a leaf with a priority.
_LONG_STRING: Final = Struct(">BI")
_LEAF_WITH_PRIORITY: Final = b"\x82\xa6.value"
_ONE_MEMBER: Final = b"\x81"

Chunks = Iterator[bytes]


def json_chunks(tree: StoredTree, path: Path, form: Form, slice_rows: int) -> Chunks:
    """Yield the JSON text of the value at a place in chunks; an empty one is a pause."""
    slices = tree.slices_of(path, slice_rows)
    if slices is None:
        yield from _chunks_of_one(tree, path, is_plain=form is Form.PLAIN)
        return
    writing = _Writing(tree.rows, encode_path(path.keys), is_plain=form is Form.PLAIN)
    for rows in slices:
        yield from writing.add(rows)
    yield writing.end()


def _chunks_of_one(tree: StoredTree, path: Path, *, is_plain: bool) -> Chunks:
    """Yield the text of what one row holds, or a part of one, or none."""
    raw = None if path.is_priority else tree.rows.get(encode_path(path.keys))
    if raw is not None and len(raw) > SLICE_BYTES:
        yield from _long_leaf(raw, is_plain=is_plain)
        return
    value = tree.get(path) if raw is None else decode_row(raw)
    yield format_json(to_plain(value) if is_plain else value)


class _Node:
    """An object or array being written: what follows its opening is not closed yet."""

    __slots__ = ("has_text", "is_array", "length", "prefix", "waiting")

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self.is_array: bool | None = None  # until its first child is known
        self.length = 0  # of an array: the next index
        self.has_text = False  # so that a comma comes before what follows
        self.waiting: dict[str, object] | list[object] = {}


class _Writing:
    """The text of one subtree, as far as its rows were added."""

    def __init__(self, rows: RowCursor, prefix: bytes, *, is_plain: bool) -> None:
        self._rows = rows
        self._is_plain = is_plain
        self._text: list[bytes] = []
        self._open: list[_Node] = []
        self._enter(prefix)

    def add(self, rows: list[Row]) -> Chunks:
        """Take the next rows in key order; yield their text."""
        node = self._open[-1]
        keys = None if node.is_array else keys_of_children(rows, node.prefix)
        if keys is not None and self._is_ready_for_codec(rows):
            self._decide(node, is_array=False)
            node.waiting = dict(zip(keys, values_of(rows), strict=True))
        else:
            for full, raw in rows:
                yield from self._add_one(full, raw)
        self._flush()
        yield self._taken()

    def end(self) -> bytes:
        """Close what is open, and return the last of the text."""
        while self._open:
            self._close()
        return self._taken()

    def _is_ready_for_codec(self, rows: list[Row]) -> bool:
        """Tell whether the values of rows may be written as they are; only the last may be long."""
        if len(rows[-1][1]) > SLICE_BYTES:
            return False
        return not self._is_plain or all(row_is_plain(raw) for _, raw in rows)

    def _add_one(self, full: bytes, raw: bytes) -> Chunks:
        while not full.startswith(self._open[-1].prefix):
            self._close()
        node = self._open[-1]
        position = len(node.prefix)
        while full[position:] != PRIORITY:
            key, end = decode_key(full, position)
            if node.is_array is None:
                is_array = is_index(key) and (yield from self._makes_array(node.prefix))
                self._decide(node, is_array=is_array)
            if node.is_array:
                yield from self._fill_holes(node, int(key))
            if end == len(full):
                yield from self._add_value(node, key, raw)
                return
            self._name(node, key)
            node = self._enter(full[:end])
            position = end
        if not self._is_plain:
            self._wait(node, ".priority", decode_row(raw))

    def _add_value(self, node: _Node, key: str, raw: bytes) -> Chunks:
        if len(raw) > SLICE_BYTES:
            self._name(node, key)
            yield self._taken()
            yield from _long_leaf(raw, is_plain=self._is_plain)
            return
        value = decode_row(raw)
        as_it_is = not self._is_plain or row_is_plain(raw)
        self._wait(node, key, value if as_it_is else to_plain(value))

    def _enter(self, prefix: bytes) -> _Node:
        node = _Node(prefix)
        self._open.append(node)
        if not self._is_plain:
            self._decide(node, is_array=False)
        return node

    def _decide(self, node: _Node, *, is_array: bool) -> None:
        """Open a node, unless it is open."""
        if node.is_array is None:
            node.is_array = is_array
            node.waiting = [] if is_array else {}
            self._text.append(b"[" if is_array else b"{")

    def _wait(self, node: _Node, key: str, shown: object) -> None:
        if isinstance(node.waiting, dict):
            node.waiting[key] = shown
        else:
            node.waiting.append(shown)
            node.length += 1

    def _name(self, node: _Node, key: str) -> None:
        """Write what comes before a member that is not written by the codec."""
        self._flush()
        comma = b"," if node.has_text else b""
        self._text.append(comma if node.is_array else comma + format_json(key) + b":")
        node.has_text = True
        node.length += 1

    def _fill_holes(self, node: _Node, index: int) -> Chunks:
        while node.length < index:
            holes = min(index - node.length, HOLES)
            self._flush()
            self._text.append((b"," if node.has_text else b"") + b",".join([b"null"] * holes))
            node.has_text = True
            node.length += holes
            yield self._taken()

    def _flush(self) -> None:
        """Write what waits in the innermost node: nothing waits in others."""
        node = self._open[-1]
        if node.waiting:
            members = format_json(node.waiting)[1:-1]
            self._text.append(b"," + members if node.has_text else members)
            node.has_text = True
            node.waiting.clear()

    def _close(self) -> None:
        self._flush()
        self._text.append(b"]" if self._open.pop().is_array else b"}")

    def _taken(self) -> bytes:
        text = b"".join(self._text)
        self._text.clear()
        return text

    def _makes_array(self, prefix: bytes) -> Generator[bytes, None, bool]:
        """Tell whether a node is printed as an array (treedb.tree.arrays); pause now and then."""
        last = self._rows.before(successor(prefix) or AFTER_ALL)
        assert last is not None, "it has children"
        key, _ = decode_key(last[0], len(prefix))
        if not is_index(key):
            return False
        length, count = int(key) + 1, 0
        for key in _child_keys(self._rows, prefix):
            if not is_index(key):
                return False
            count += 1
            if count % SEEKS == 0:
                yield b""
        return length <= 2 * count


def _child_keys(rows: RowCursor, prefix: bytes) -> Iterator[str]:
    found = rows.seek(prefix + FIRST_CHILD)
    while found is not None and found[0].startswith(prefix):
        key, end = decode_key(found[0], len(prefix))
        yield key
        found = rows.seek(found[0][:end] + b"\xff")


def _long_leaf(raw: bytes, *, is_plain: bool) -> Chunks:
    """Yield the text of a long string, with its priority if it has one."""
    packed = packed_value(raw)
    has_priority = bytes(packed[: len(_LEAF_WITH_PRIORITY)]) == _LEAF_WITH_PRIORITY
    start = len(_LEAF_WITH_PRIORITY) if has_priority else 0
    _, length = _LONG_STRING.unpack_from(packed, start)
    start += _LONG_STRING.size
    string, rest = packed[start : start + length], packed[start + length :]
    if is_plain or not has_priority:
        yield from _long_string(string)
        return
    priority: Value = unpackb(_ONE_MEMBER + rest)
    yield b'{".value":'
    yield from _long_string(string)
    yield b"," + format_json(priority)[1:]


def _long_string(string: memoryview) -> Chunks:
    """Yield a string of UTF-8 as JSON text, in parts that end between two characters."""
    yield b'"'
    start = 0
    while start < len(string):
        end = min(start + PART_BYTES, len(string))
        while end < len(string) and string[end] & 0xC0 == 0x80:
            end -= 1
        yield format_json(str(string[start:end], "utf-8"))[1:-1]
        start = end
    yield b'"'
