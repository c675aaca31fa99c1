"""Parse and write large JSON text in parts, so that no single call keeps other threads waiting.

The codec holds the interpreter's lock for as long as one call takes, two seconds for 100 MB of
small values. So text is cut where a cut is known to be right, behind the comma of a member or an
item, the codec gets the parts, and other threads have their turn between them.

Where that is, regular expressions find, which look no further than a part's length: they match as
many whole members as fit, each with the comma behind it. They need not know JSON well, only to
tell strings from brackets, for the codec refuses whatever it does not like in a part. What does not
fit into a part is entered, if it is an object or array, or a string and parsed alone. Worked
example, with parts of 12 bytes:

    {"a":1,"b":2,"c":[10,20,30,40],"d":3}
     ------------                            members, as {"a":1,"b":2}
                 ----                        a name, and an array that does not fit: enter it
                     ---------               items, as [10,20,30]
                              --             the last item, and the array's end
                                --------     ...

An expression takes no character back that it has matched (`*+`), so its time is linear.
"""

import re
from typing import Final

import orjson

from treedb.errors import InvalidJson, TooDeep
from treedb.tree.json_text import format_json, parse_json
from treedb.tree.small import is_long_text, is_small

PART_BYTES: Final = 128 * 1024  # at most 4 ms for the expressions and the codec
STRING_BYTES: Final = 64 * 1024 * 1024  # 10 MiB of characters, six bytes for each
TOGETHER: Final = 32  # small members or items that are written by one call
LEVELS: Final = 40  # objects and arrays in one another; data ends at 32 levels

_SPACE: Final = rb"[ \t\n\r]*+"
# The first quote ends the string unless a backslash stands before it; then it is read by escapes.
_STRING: Final = rb'"(?:[^"]*+(?<!\\)"|[^"\\]*+(?:\\.[^"\\]*+)*+")'


def _nested(levels: int) -> bytes:
    """Return the expression of an object or array with so many levels inside at most."""
    below = b"|" + _nested(levels - 1) if levels else b""
    between = rb'[^{}\[\]"]*+'
    return rb"[{\[]" + between + b"(?:(?:" + _STRING + below + b")" + between + rb")*+[}\]]"


_VALUE: Final = b"(?:" + _STRING + b"|" + _nested(LEVELS) + rb'|[^ \t\n\r,:{}\[\]"]++)'
_ITEM: Final = _SPACE + _VALUE + _SPACE + b","
_MEMBER: Final = _SPACE + _STRING + _SPACE + b":" + _ITEM

_match_items: Final = re.compile(b"(?:" + _ITEM + b")++", re.DOTALL).match
_match_members: Final = re.compile(b"(?:" + _MEMBER + b")++", re.DOTALL).match
_match_name: Final = re.compile(_SPACE + b"(" + _STRING + b")" + _SPACE + b":", re.DOTALL).match
_match_value: Final = re.compile(_VALUE, re.DOTALL).match
_match_space: Final = re.compile(_SPACE).match


def parse_large_json(body: bytes, part_bytes: int = PART_BYTES) -> object:
    """Parse as `parse_json` does, large text in parts; errors tell the byte near which it is.

    TooDeep, beside what `parse_json` raises, for more levels than any value may have.
    """
    return parse_json(body) if len(body) <= part_bytes else _Parse(body, part_bytes).value()


def format_large_json(value: object) -> bytes:
    """Write as `format_json` does."""
    parts: list[bytes] = []
    _format(value, parts)
    return b"".join(parts)


def _format(value: object, parts: list[bytes]) -> None:
    if isinstance(value, dict) and not is_small(value):
        _format_object(value, parts)
    elif isinstance(value, list) and not is_small(value):
        _format_array(value, parts)
    else:
        parts.append(format_json(value))


def _format_object(value: dict[str, object], parts: list[bytes]) -> None:
    before, small = b"{", {}
    for key, child in value.items():
        child_is_small = is_small(child)
        if child_is_small:
            small[key] = child
        if small and (len(small) == TOGETHER or not child_is_small or is_long_text(child)):
            parts += (before, format_json(small)[1:-1])
            before, small = b",", {}
        if not child_is_small:
            parts += (before, format_json(key), b":")
            _format(child, parts)
            before = b","
    parts += (before, format_json(small)[1:-1], b"}") if small else (b"}",)


def _format_array(value: list[object], parts: list[bytes]) -> None:
    before, small = b"[", []
    for item in value:
        item_is_small = is_small(item)
        if item_is_small:
            small.append(item)
        if small and (len(small) == TOGETHER or not item_is_small or is_long_text(item)):
            parts += (before, format_json(small)[1:-1])
            before, small = b",", []
        if not item_is_small:
            parts.append(before)
            _format(item, parts)
            before = b","
    parts += (before, format_json(small)[1:-1], b"]") if small else (b"]",)


class _Parse:
    def __init__(self, body: bytes, part_bytes: int) -> None:
        self._body = body
        self._part_bytes = part_bytes
        self._position = 0
        self._open: list[dict[str, object] | list[object]] = []
        self._entered = 0
        self._most_entered = LEVELS * (2 + len(body) // part_bytes)

    def value(self) -> object:
        self._skip_space()
        if self._next() not in (b"{", b"["):
            return parse_json(self._body)
        root = self._enter()
        while self._open:
            self._read_on(self._open[-1])
        self._skip_space()
        if self._position < len(self._body):
            raise self._wrong("something follows the end")
        return root

    def _read_on(self, container: dict[str, object] | list[object]) -> None:
        """Read what fits into one part, or one value that is too long or the last; or end."""
        if self._read_part(container):
            if self._next() in (b"}", b"]"):
                raise self._wrong("a comma is the last in an object or array")
            return
        self._skip_space()
        if self._next() == (b"}" if isinstance(container, dict) else b"]"):
            self._leave()
            return
        key = self._name() if isinstance(container, dict) else ""
        self._skip_space()
        value, is_whole = self._one_value()
        if isinstance(container, dict):
            container[key] = value
        else:
            container.append(value)
        if is_whole:
            self._end_member()

    def _read_part(self, container: dict[str, object] | list[object]) -> bool:
        start, end = self._position, self._position + self._part_bytes
        if isinstance(container, dict):
            found = _match_members(self._body, start, end)
        else:
            found = _match_items(self._body, start, end)
        if found is None:
            return False
        part = self._body[start : found.end() - 1]
        if isinstance(container, dict):
            members = self._parsed(b"{%b}" % part)
            assert isinstance(members, dict), "it is in braces"
            container.update(members)
        else:
            items = self._parsed(b"[%b]" % part)
            assert isinstance(items, list), "it is in brackets"
            container.extend(items)
        self._position = found.end()
        self._skip_space()
        return True

    def _name(self) -> str:
        found = _match_name(self._body, self._position, self._position + STRING_BYTES)
        if found is None:
            raise self._wrong("a name in quotes and a colon are expected")
        name = self._parsed(found[1])
        assert isinstance(name, str), "it is in quotes"
        self._position = found.end()
        return name

    def _one_value(self) -> tuple[object, bool]:
        """Return the next value, and whether it is whole: what does not fit is only entered."""
        start, may_be_entered = self._position, self._next() in (b"{", b"[")
        most = self._part_bytes if may_be_entered else STRING_BYTES
        found = _match_value(self._body, start, start + most)
        if found is None and may_be_entered:
            return self._enter(), False
        if found is None:
            raise self._wrong(f"a value is expected, of at most {most} bytes")
        value = self._parsed(found[0])
        self._position = found.end()
        return value, True

    def _enter(self) -> dict[str, object] | list[object]:
        self._entered += 1
        if len(self._open) == LEVELS or self._entered > self._most_entered:
            raise TooDeep(f"the value has more than {LEVELS} levels, near byte {self._position}")
        container: dict[str, object] | list[object] = {} if self._next() == b"{" else []
        self._open.append(container)
        self._position += 1
        return container

    def _leave(self) -> None:
        self._open.pop()
        self._position += 1
        if self._open:
            self._end_member()

    def _end_member(self) -> None:
        """Go behind the comma after a value, or up to the end of its object or array."""
        self._skip_space()
        if self._next() == b",":
            self._position += 1
            self._skip_space()
            if self._next() in (b"}", b"]"):
                raise self._wrong("a comma is the last in an object or array")
        elif self._next() != (b"}" if isinstance(self._open[-1], dict) else b"]"):
            raise self._wrong("a comma or the end of the object or array is expected")

    def _skip_space(self) -> None:
        start = -1
        while start < self._position:
            start = self._position
            found = _match_space(self._body, start, start + self._part_bytes)
            assert found is not None, "it may be empty"
            self._position = found.end()

    def _next(self) -> bytes:
        return self._body[self._position : self._position + 1]

    def _parsed(self, text: bytes) -> object:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            self._position += len(text.decode(errors="replace")[: error.pos].encode())
            raise self._wrong(error.msg) from None

    def _wrong(self, what: str) -> InvalidJson:
        return InvalidJson(f"the text is no JSON: {what}, near byte {self._position}")
