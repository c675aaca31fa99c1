r"""Read the text of a rules file: JSON with comments, trailing commas and strings over lines.

The result keeps where everything stood. A string also keeps where each of its characters stood,
for escapes make the text longer than the string:

    offset in the file     10 11 12 13 14 15
    text                   "  a  \  n  b  "
    string                    a  <-->  b       shifts ((0, 11), (1, 12), (2, 14))

Small slips (a comma too many or too few, a bad escape) are noted and passed over, so that one run
tells of them all; anything else ends the reading, and what was read until there is kept.
Source of the dialect and its messages: the rules files that Firebase's service takes and refuses.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

from treedb.errors import RuleSyntaxError
from treedb.rules.source import BYTE_ORDER_MARK, Mistake

_GAP: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*")
# Raw line breaks and tabs may stand in a string; other control characters may not.
_PLAIN: Final = re.compile(r'[^"\\\x00-\x08\x0b\x0c\x0e-\x1f]+')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_FOUR_DIGITS: Final = re.compile(r"[0-9A-Fa-f]{4}")
_LOW_SURROGATE: Final = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")

_ESCAPES: Final = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_WORDS: Final = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Text:
    """A string; `shifts` are pairs of an index in `value` and the offset in the file there."""

    start: int
    value: str
    shifts: tuple[tuple[int, int], ...]

    def offset(self, index: int) -> int:
        """Return where in the file the character at an index of the string stands."""
        if not self.shifts:
            return self.start
        at, offset = self.shifts[max(bisect_right(self.shifts, index, key=_first) - 1, 0)]
        return offset + index - at


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, a boolean or null."""

    start: int
    value: bool | float | None


@dataclass(frozen=True, slots=True)
class Array:
    start: int
    items: list["Node"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Object:
    """An object; members keep the file's order, and keys that stand twice do so here."""

    start: int
    members: list[tuple[Text, "Node"]] = field(default_factory=list)


Node: TypeAlias = Text | Scalar | Array | Object


@dataclass(frozen=True, slots=True)
class Document:
    """What was read: the outermost value, None if there was none, and what was wrong.

    `is_whole` is False when the reading ended early: the value then lacks what followed.
    """

    value: Node | None
    mistakes: tuple[Mistake, ...]
    is_whole: bool


def read_document(text: str, max_depth: int) -> Document:
    """Read a text of the dialect; never raises, all that is wrong is among the mistakes."""
    reader = _Reader(text, max_depth)
    values: list[Node] = []
    is_whole = True
    try:
        reader.value(values.append, 0)
        reader.end()
    except RuleSyntaxError as error:
        reader.mistakes.append(Mistake(error.offset, error.reason, error.hint))
        is_whole = False
    return Document(values[0] if values else None, tuple(reader.mistakes), is_whole)


def plain_value(node: Node) -> object:
    """Return a value read as plain Python, without where it stood; of equal keys the last wins."""
    if isinstance(node, Object):
        return {key.value: plain_value(child) for key, child in node.members}
    if isinstance(node, Array):
        return [plain_value(item) for item in node.items]
    return node.value


class _Reader:
    """One pass over a text. Values are put where they belong before their inside is read."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth
        self.at = 1 if text.startswith(BYTE_ORDER_MARK) else 0
        self.mistakes: list[Mistake] = []

    def value(self, put: Callable[[Node], object], depth: int) -> None:
        start, char = self._next()
        if depth > self.max_depth:
            raise RuleSyntaxError(start, f"Nested deeper than {self.max_depth} levels.")
        if char == "{":
            node = Object(start)
            put(node)
            self._members(node, depth)
        elif char == "[":
            array = Array(start)
            put(array)
            self._items(array, depth)
        elif char == '"':
            put(self._string())
        else:
            put(self._scalar(start, char))

    def end(self) -> None:
        start, char = self._next()
        if char:
            raise RuleSyntaxError(start, "Expected the end of the file.")

    def _members(self, node: Object, depth: int) -> None:
        self.at += 1
        self._no_comma()
        while self._next()[1] != "}":
            start, char = self._next()
            if char != '"':
                raise RuleSyntaxError(start, "Expected '\"'." if char else _CUT_SHORT)
            key = self._string()
            start, char = self._next()
            if char != ":":
                raise RuleSyntaxError(start, "Expected ':'." if char else _CUT_SHORT)
            self.at += 1
            self.value(partial(_put_member, node, key), depth + 1)
            self._separator("}", "Expected '\"'.")
        self.at += 1

    def _items(self, node: Array, depth: int) -> None:
        self.at += 1
        self._no_comma()
        while self._next()[1] != "]":
            self.value(node.items.append, depth + 1)
            self._separator("]", "Unexpected ','.")
        self.at += 1

    def _no_comma(self) -> None:
        start, char = self._next()
        if char == ",":
            self.mistakes.append(Mistake(start, "Unexpected ','."))
            self.at += 1

    def _separator(self, closing: str, doubled: str) -> None:
        """Take the comma after a member; one may stand before the closing bracket too."""
        start, char = self._next()
        if char == ",":
            self.at += 1
            start, char = self._next()
            while char == ",":
                self.mistakes.append(Mistake(start, doubled))
                self.at += 1
                start, char = self._next()
        elif char == '"':
            self.mistakes.append(Mistake(start, f"Expected ',' or '{closing}'."))
        elif char != closing:
            raise RuleSyntaxError(start, f"Expected ',' or '{closing}'." if char else _CUT_SHORT)

    def _next(self) -> tuple[int, str]:
        """Skip blanks and comments; return where the next character stands, and it or ""."""
        found = _GAP.match(self.text, self.at)
        assert found is not None, "a gap may be empty"
        self.at = found.end()
        if self.text.startswith("/*", self.at):
            raise RuleSyntaxError(self.at, "The comment has no end.", "close it with */")
        return self.at, self.text[self.at : self.at + 1]

    def _scalar(self, start: int, char: str) -> Scalar:
        number = _NUMBER.match(self.text, start)
        if number is not None:
            self.at = number.end()
            return Scalar(start, float(number[0]))
        word = _WORD.match(self.text, start)
        if word is not None and word[0] in _WORDS:
            self.at = word.end()
            return Scalar(start, _WORDS[word[0]])
        if not char:
            raise RuleSyntaxError(start, _CUT_SHORT)
        raise RuleSyntaxError(start, f"Unexpected '{word[0][:60] if word else char}'.")

    def _string(self) -> Text:
        start = self.at
        self.at += 1
        parts: list[str] = []
        shifts: list[tuple[int, int]] = []
        length = 0
        while not self.text.startswith('"', self.at):
            shifts.append((length, self.at))
            plain = _PLAIN.match(self.text, self.at)
            if plain is None:
                part = self._escape(start)
            else:
                part = plain[0]
                self.at = plain.end()
            parts.append(part)
            length += len(part)
        shifts.append((length, self.at))
        self.at += 1
        return Text(start, "".join(parts), tuple(shifts))

    def _escape(self, start: int) -> str:
        """Read one escape; what is none is noted and stands for the character after it."""
        backslash, char = self.at, self.text[self.at + 1 : self.at + 2]
        if not self.text.startswith("\\", backslash):
            if backslash >= len(self.text):  # an escape may have gone beyond the end
                raise RuleSyntaxError(start, "The string has no end.", "close it with '\"'")
            code = ord(self.text[backslash])
            raise RuleSyntaxError(backslash, f"A string holds the control character {code}.")
        self.at += 2
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "u" and _FOUR_DIGITS.match(self.text, self.at):
            return self._code_unit(backslash)
        if char:
            shown = f"\\{char}"
            self.mistakes.append(Mistake(backslash, f"Invalid escape: '{shown}'"))
        return char

    def _code_unit(self, backslash: int) -> str:
        unit = int(self.text[self.at : self.at + 4], 16)
        self.at += 4
        if not 0xD800 <= unit <= 0xDFFF:
            return chr(unit)
        low = _LOW_SURROGATE.match(self.text, self.at) if unit < 0xDC00 else None
        if low is None:
            shown = self.text[backslash : self.at]
            self.mistakes.append(Mistake(backslash, f"Invalid escape: '{shown}'"))
            return "\ufffd"
        self.at = low.end()
        return chr(0x10000 + ((unit - 0xD800) << 10) + int(low[1], 16) - 0xDC00)


_CUT_SHORT: Final = "Unexpected end of the file."


def _put_member(parent: Object, key: Text, child: Node) -> None:
    parent.members.append((key, child))


def _first(shift: tuple[int, int]) -> int:
    return shift[0]
