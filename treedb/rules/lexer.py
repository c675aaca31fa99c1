"""Cut the text of an expression into tokens.

The one thing that needs thought is the slash: it starts a regular expression where an operand may
start, and divides everywhere else, as in JavaScript.

    a / b / c           two divisions
    a.matches(/b/)      a regular expression, for it follows a parenthesis
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from treedb.errors import RuleSyntaxError


class Kind(Enum):
    NUMBER = "number"
    STRING = "string"
    REGEX = "regex"
    NAME = "name"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text from `start` to `end`.

    `text` is the string's value, the regular expression's body, or else the piece as written.
    `flags` are a regular expression's.
    """

    kind: Kind
    text: str
    start: int
    end: int
    flags: str = ""


_GAP: Final = re.compile(r"(?:[ \t\r\n\u00a0]+|//[^\r\n]*|/\*(?s:.*?)\*/)*")
_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_NUMBER: Final = re.compile(
    r"0[xX][0-9A-Fa-f]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_REGEX: Final = re.compile(
    r"/((?:[^/\\\[\r\n]|\\[^\r\n]|\[(?:[^\]\\\r\n]|\\[^\r\n])*\])+)/([A-Za-z0-9_$]*)"
)
_PLAIN: Final = re.compile(r"[^\\'\"\r\n]+")
_HEX_ESCAPE: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_SURROGATE_PAIR: Final = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# What JavaScript has and rules have not; longer spellings first.
_FORBIDDEN: Final = re.compile(
    r"(?P<assignment>(?:\*\*|>>>|<<|>>|&&|\|\||\?\?|[-+*/%&|^])=(?!=)|=(?![=>])|\+\+|--)"
    r"|(?P<other>=>|\*\*|>>>|<<|>>|\?\?|\?\.(?![0-9])|&(?!&)|\|(?!\|)|\^|~)"
)
_SIGN: Final = re.compile(r"===|!==|==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]]")
_HINTS: Final = {"&": "did you mean '&&'?", "|": "did you mean '||'?"}


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of an expression, the last of kind END; RuleSyntaxError for what is none."""
    tokens: list[Token] = []
    at = _skip_gap(text, 0)
    while at < len(text):
        token = _token(text, at, operand_may_start=_operand_may_follow(tokens))
        tokens.append(token)
        at = _skip_gap(text, token.end)
    tokens.append(Token(Kind.END, "", at, at))
    return tokens


def _operand_may_follow(tokens: list[Token]) -> bool:
    if not tokens:
        return True
    last = tokens[-1]
    return last.kind is Kind.SIGN and last.text not in {")", "]"}


def _skip_gap(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    assert found is not None, "a gap may be empty"
    if text.startswith("/*", found.end()):
        raise RuleSyntaxError(found.end(), "The comment has no end.", "close it with */")
    return found.end()


def _token(text: str, at: int, *, operand_may_start: bool) -> Token:
    char = text[at]
    if char in "'\"":
        return _string(text, at)
    name = _NAME.match(text, at)
    if name is not None:
        return Token(Kind.NAME, name[0], at, name.end())
    number = _NUMBER.match(text, at)
    if number is not None:
        return _number(text, at, number.end())
    if char == "/" and operand_may_start:
        return _regex(text, at)
    return _sign(text, at)


def _number(text: str, at: int, end: int) -> Token:
    follows = _NAME.match(text, end)
    if follows is not None or text[end : end + 1].isdecimal():
        raise RuleSyntaxError(end, f"Unexpected '{text[end]}' after a number.")
    return Token(Kind.NUMBER, text[at:end], at, end)


def _regex(text: str, at: int) -> Token:
    found = _REGEX.match(text, at)
    if found is None:
        raise RuleSyntaxError(at, "unterminated regular expression literal")
    return Token(Kind.REGEX, found[1], at, found.end(), found[2])


def _sign(text: str, at: int) -> Token:
    forbidden = _FORBIDDEN.match(text, at)
    if forbidden is not None and forbidden["assignment"]:
        hint = "did you mean '=='?" if forbidden[0] == "=" else ""
        raise RuleSyntaxError(at, "Rule expressions may not contain assignments.", hint)
    if forbidden is not None:
        found = forbidden[0]
        raise RuleSyntaxError(
            at, f"Rule expressions may not contain operator '{found}'.", _HINTS.get(found, "")
        )
    sign = _SIGN.match(text, at)
    if sign is None:
        raise RuleSyntaxError(at, f"Unexpected {_shown(text[at])}.", _why_not(text[at]))
    return Token(Kind.SIGN, sign[0], at, sign.end())


def _shown(char: str) -> str:
    return f"'{char}'" if char.isprintable() else f"character U+{ord(char):04X}"


def _why_not(char: str) -> str:
    return "a rule is one expression, without ';'" if char == ";" else ""


def _string(text: str, at: int) -> Token:
    quote = text[at]
    parts: list[str] = []
    position = at + 1
    while not text.startswith(quote, position):
        plain = _PLAIN.match(text, position)
        if plain is not None:
            parts.append(plain[0])
            position = plain.end()
        elif text.startswith("\\", position):
            part, position = _escape(text, position)
            parts.append(part)
        elif text.startswith(("'", '"'), position):
            parts.append(text[position])
            position += 1
        else:
            raise RuleSyntaxError(at, "The string has no end.", f"close it with {quote}")
    value = _SURROGATE_PAIR.sub(_join_pair, "".join(parts))
    if _SURROGATE.search(value):
        raise RuleSyntaxError(at, "The string holds half of a surrogate pair.")
    return Token(Kind.STRING, value, at, position + 1)


def _escape(text: str, at: int) -> tuple[str, int]:
    """Return what an escape stands for, and where it ends."""
    char = text[at + 1 : at + 2]
    if not char or char in "\r\n":
        raise RuleSyntaxError(at, "Invalid escape: '\\' at the end of a line.")
    if char not in "xu":
        return _ESCAPES.get(char, char), at + 2
    digits = _HEX_ESCAPE.match(text, at + 1)
    if digits is None:
        raise RuleSyntaxError(at, f"Invalid escape: '\\{char}' without its hexadecimal digits.")
    return chr(int(digits[1] or digits[2], 16)), digits.end()


def _join_pair(pair: re.Match[str]) -> str:
    high, low = ord(pair[1]), ord(pair[2])
    return chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00)
