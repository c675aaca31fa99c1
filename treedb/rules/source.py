"""The text of a rules file and the places in it, as people count them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from treedb.errors import Finding

BYTE_ORDER_MARK: Final = "\ufeff"

# A carriage return and line feed are one break, as editors have it.
_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
# Longer lines are shown in part, around the mistake.
_SHOWN_CHARACTERS: Final = 120


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong at an offset of the text, before it is given a line and a column."""

    offset: int
    message: str
    hint: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A text and where its lines start; a byte order mark counts for no column."""

    text: str
    line_starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Source":
        starts = [1 if text.startswith(BYTE_ORDER_MARK) else 0]
        starts.extend(found.end() for found in _LINE_BREAK.finditer(text))
        return cls(text, tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1."""
        line = max(bisect_right(self.line_starts, offset), 1)
        return line, max(offset - self.line_starts[line - 1], 0) + 1

    def line(self, number: int) -> str:
        """Return a line, counted from 1, without its break."""
        start = self.line_starts[number - 1]
        found = _LINE_BREAK.search(self.text, start)
        return self.text[start : found.start() if found else len(self.text)]


def findings_of(source: Source, mistakes: Iterable[Mistake], most: int) -> tuple[Finding, ...]:
    """Return the first mistakes of a text, in its order, at most `most` of them."""
    ordered = sorted(mistakes, key=lambda mistake: mistake.offset)[:most]
    return tuple(_finding(source, mistake) for mistake in ordered)


def format_findings(findings: Sequence[Finding], name: str = "") -> str:
    """Render findings for people: position, message, and the line with a caret below the place.

    chat.json:3:19: Unknown variable 'atuh'. (/rooms/$id .read)
        ".read": "atuh != null"
                  ^ did you mean 'auth'?
    """
    return "\n".join(_format(finding, name) for finding in findings)


def _finding(source: Source, mistake: Mistake) -> Finding:
    line, column = source.position(mistake.offset)
    return Finding(line, column, mistake.message, mistake.hint, mistake.place, source.line(line))


def _format(finding: Finding, name: str) -> str:
    prefix = f"{name}:" if name else ""
    place = f" ({finding.place})" if finding.place else ""
    hint = f" {finding.hint}" if finding.hint else ""
    shown, column = _window(finding.source, finding.column)
    return f"{prefix}{finding}{place}\n    {shown}\n    {' ' * (column - 1)}^{hint}"


def _window(line: str, column: int) -> tuple[str, int]:
    """Cut a line around a column and drop its indent; one character is kept for one."""
    start = max(0, column - _SHOWN_CHARACTERS // 2) if len(line) > _SHOWN_CHARACTERS else 0
    shown = line[start : start + _SHOWN_CHARACTERS]
    indent = min(len(shown) - len(shown.lstrip()), column - 1 - start)
    printable = "".join(char if char.isprintable() else " " for char in shown[indent:])
    return printable, column - start - indent
