r"""The regular expressions of rules: their own small dialect, matched by RE2 in linear time.

What is an anchor stands only at the ends, and binds the whole between: `/^a|b$/` is `^(a|b)$`.
There are no captures, no look-around, no back-references, no lazy repeats, and no escapes but
`\s \S \w \W \d \D`: any other escaped character is itself. A sign with nothing to work on, as
in `(?:x)` or `(|a)`, is that very character; it is taken as Firebase takes it, with a warning.

A body is parsed here and written anew for RE2, so that none of RE2's own dialect leaks in. RE2
sees code points where Firebase sees UTF-16 code units: `/^.$/` matches one emoji here. With the
flag `i` only ASCII letters lose their case.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import re2  # type: ignore[import-untyped]

from treedb.config import Limits
from treedb.errors import RuleSyntaxError

# Code points from the first to the second, both included.
Ranges: TypeAlias = list[tuple[int, int]]

_LAST: Final = 0x10FFFF
_NESTED: Final = 50
_REPEATS: Final = 1_000  # RE2 takes no more
_DIGITS: Final = re.compile(r"[0-9]+")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

_CLASSES: Final[dict[str, Ranges]] = {
    "s": [(0x09, 0x0D), (0x20, 0x20)],
    "w": [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)],
    "d": [(0x30, 0x39)],
}


@dataclass(frozen=True, slots=True)
class Translation:
    """A body in RE2's syntax, and what its author may not have meant."""

    pattern: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matcher:
    """A regular expression made ready; `size` is the number of instructions it came to."""

    search: Callable[[bytes], object]
    size: int

    def matches(self, text: str) -> bool:
        """Tell whether a text has a match; half a surrogate pair counts as U+FFFD."""
        return self.search(_encode(text)) is not None


def compile_regex(body: str, flags: str, limits: Limits) -> Matcher:
    """Make a body ready for matching; RuleSyntaxError, at offset 0, if it is not of the dialect."""
    translation = translate(body, flags, limits)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = limits.regex_memory_bytes
    try:
        compiled = re2.compile(translation.pattern.encode("ascii"), options)
    except re2.error as error:
        raise RuleSyntaxError(
            0, f"Illegal regular expression, too large ({_told(error)})"
        ) from None
    return Matcher(compiled.search, compiled.programsize)


def translate(body: str, flags: str, limits: Limits) -> Translation:
    """Write a body for RE2; RuleSyntaxError tells the position in the body without its anchors."""
    if flags not in {"", "i"}:
        raise RuleSyntaxError(0, "regular expressions do not support flags other than i")
    if len(body) > limits.regex_chars:
        raise RuleSyntaxError(
            0,
            f"The regular expression has {len(body)} characters: at most {limits.regex_chars} "
            "are allowed.",
        )
    at_start = body.startswith("^")
    at_end = _ends_with_anchor(body)
    parser = _Parser(body[at_start : len(body) - at_end], ignores_case=flags == "i")
    inner = parser.whole()
    start, end = r"\A" if at_start else "", r"\z" if at_end else ""
    return Translation(f"(?s){start}(?:{inner}){end}", tuple(parser.warnings))


def _ends_with_anchor(body: str) -> bool:
    if not body.endswith("$"):
        return False
    before = body[:-1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def _told(error: Exception) -> str:
    found = error.args[0] if error.args else ""
    return found.decode(errors="replace") if isinstance(found, bytes) else str(found)


class _Parser:
    """One pass over a body, each method returning RE2's spelling of what it read."""

    def __init__(self, text: str, *, ignores_case: bool) -> None:
        self.text = text
        self.ignores_case = ignores_case
        self.at = 0
        self.nesting = 0
        self.warnings: list[str] = []

    def whole(self) -> str:
        if not self.text:
            return ""
        read = self._union()
        if self.at < len(self.text):
            raise self._illegal("end-of-string expected")
        return read

    def _union(self) -> str:
        alternatives = [self._concatenation()]
        while self._accept("|"):
            alternatives.append(self._concatenation())
        return "|".join(alternatives)

    def _concatenation(self) -> str:
        # At least one, whatever it is: that is why `(a|)` lacks its parenthesis.
        parts = [self._repetition()]
        while self.at < len(self.text) and self.text[self.at] not in ")|":
            parts.append(self._repetition())
        return "".join(parts)

    def _repetition(self) -> str:
        read = self._atom()
        while self.at < len(self.text) and self.text[self.at] in "?*+{":
            sign = self._take()
            read = f"(?:{read}){self._counts() if sign == '{' else sign}"
        return read

    def _counts(self) -> str:
        least = self._count()
        if not self._accept(","):
            most = str(least)
        elif self.text.startswith("}", self.at):
            most = ""
        else:
            most = str(self._count())
        if not self._accept("}"):
            raise self._illegal("expected '}'")
        if most and int(most) < least:
            raise self._illegal("repeat counts out of order")
        return f"{{{least},{most}}}"

    def _count(self) -> int:
        digits = _DIGITS.match(self.text, self.at)
        if digits is None:
            raise self._illegal("integer expected")
        self.at = digits.end()
        if len(digits[0]) > 9 or int(digits[0]) > _REPEATS:
            raise self._illegal(f"at most {_REPEATS} repeats allowed")
        return int(digits[0])

    def _atom(self) -> str:
        char = self._take()
        if char == ".":
            return "."
        if char == "(":
            return self._group()
        if char == "[":
            return self._set()
        if char == "\\":
            return self._spelt(self._escaped(self._take()))
        if char in "^$":
            self.at -= 1
            raise self._illegal(f"unexpected '{char}'")
        if char in "?*+{)|":
            self.warnings.append(
                f"'{char}' at position {self.at} of the regular expression has nothing to work "
                "on and stands for itself"
            )
        return self._spelt([(ord(char), ord(char))])

    def _group(self) -> str:
        if self._accept(")"):
            return "(?:)"
        self.nesting += 1
        if self.nesting > _NESTED:
            raise self._illegal(f"groups nested deeper than {_NESTED}")
        inner = self._union()
        if not self._accept(")"):
            raise self._illegal("expected ')'")
        self.nesting -= 1
        return f"(?:{inner})"

    def _set(self) -> str:
        negated = self._accept("^")
        ranges = self._set_member()
        while self.at < len(self.text) and self.text[self.at] != "]":
            ranges += self._set_member()
        if not self._accept("]"):
            raise self._illegal("expected ']'")
        return self._spelt(ranges, negated=negated)

    def _set_member(self) -> Ranges:
        low = self._set_char()
        if len(low) > 1 or low[0][0] != low[0][1] or not self._accept("-"):
            return low
        if self.text.startswith("]", self.at):
            return [*low, (ord("-"), ord("-"))]
        high = self._set_char()
        if len(high) > 1 or high[0][0] != high[0][1]:
            return [*low, (ord("-"), ord("-")), *high]
        if high[0][0] < low[0][0]:
            raise self._illegal("range out of order")
        return [(low[0][0], high[0][0])]

    def _set_char(self) -> Ranges:
        char = self._take()
        return self._escaped(self._take()) if char == "\\" else [(ord(char), ord(char))]

    def _escaped(self, char: str) -> Ranges:
        if char in _CLASSES:
            return list(_CLASSES[char])
        if char.lower() in _CLASSES:
            return _complement(_CLASSES[char.lower()])
        return [(ord(char), ord(char))]

    def _spelt(self, ranges: Ranges, *, negated: bool = False) -> str:
        if self.ignores_case:
            ranges = [*ranges, *_other_case(ranges)]
        if not negated and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return _code(ranges[0][0])
        members = "".join(f"{_code(low)}-{_code(high)}" for low, high in ranges)
        return f"[{'^' if negated else ''}{members}]"

    def _take(self) -> str:
        if self.at == len(self.text):
            raise self._illegal("unexpected end-of-string")
        self.at += 1
        return self.text[self.at - 1]

    def _accept(self, char: str) -> bool:
        if not self.text.startswith(char, self.at):
            return False
        self.at += 1
        return True

    def _illegal(self, detail: str) -> RuleSyntaxError:
        text = f"Illegal regular expression, {detail} at position {self.at}"
        return RuleSyntaxError(0, text)


def _complement(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for low, high in ranges for edge in (low, high)), _LAST + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return [(after + 1, before - 1) for after, before in gaps if after + 1 <= before - 1]


def _other_case(ranges: Ranges) -> Ranges:
    others = []
    for first, last, shift in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
        for low, high in ranges:
            start, end = max(low, first), min(high, last)
            if start <= end:
                others.append((start + shift, end + shift))
    return others


def _code(point: int) -> str:
    return f"\\x{{{point:x}}}"
