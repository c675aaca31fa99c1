"""What operators and string methods do with values, and when they fail.

A failure makes the whole rule false, wherever it happens. Only `==` and `!=` take whatever there
is; null is never 0 or "". Strings are as in JavaScript: their length and order count UTF-16 code
units. Numbers are doubles. Source: behaviour of Firebase's service.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleFailure
from treedb.paths.keys import find_bad_key
from treedb.tree.values import MAX_INTEGER

# What a part of an expression comes to: a leaf, null or CHILDREN; claims of a token may be objects
# and lists too.
RuntimeValue: TypeAlias = Any


class Children:
    """What `val()` gives for a node with children: not null, and equal to nothing."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{children}"


CHILDREN: Final = Children()
NOWHERE: Final = ("",)

_LONGEST: Final = DEFAULT_LIMITS.string_bytes
# No path of legal keys is longer; what is, leads nowhere and is not worth cutting up.
_LONGEST_PATH: Final = DEFAULT_LIMITS.depth * (DEFAULT_LIMITS.key_bytes + 1)
_is_plain_key: Final = re.compile(r"[A-Za-z0-9_-]{1,128}").fullmatch


def equal(left: RuntimeValue, right: RuntimeValue) -> bool:
    """Tell whether two values are of one type and the same; what is no leaf never is."""
    kind = type(left)
    if kind is type(right):
        return kind in _LEAVES and left == right
    if kind is int or kind is float:
        return type(right) in _NUMBERS and left == right
    return False


def add(left: RuntimeValue, right: RuntimeValue) -> RuntimeValue:
    """Add two numbers, or join a string with a string or number."""
    if type(left) is str or type(right) is str:
        joined = _text(left) + _text(right)
        if len(joined) > _LONGEST:
            raise RuleFailure(f"The string grows past {_LONGEST} characters.")
        return joined
    return _number(left, "+") + _number(right, "+")


def subtract(left: RuntimeValue, right: RuntimeValue) -> float:
    return _number(left, "-") - _number(right, "-")


def multiply(left: RuntimeValue, right: RuntimeValue) -> float:
    return _number(left, "*") * _number(right, "*")


def divide(left: RuntimeValue, right: RuntimeValue) -> float:
    """Divide; anything by zero is NaN, as Firebase's service has it."""
    dividend, divisor = _number(left, "/"), _number(right, "/")
    return dividend / divisor if divisor else math.nan


def remainder(left: RuntimeValue, right: RuntimeValue) -> float:
    """Return the rest of a division, with the dividend's sign as in JavaScript."""
    dividend, divisor = _number(left, "%"), _number(right, "%")
    if not divisor or not math.isfinite(dividend):
        return math.nan
    return math.fmod(dividend, divisor)


def negate(value: RuntimeValue) -> float:
    return -_number(value, "-")


def less(left: RuntimeValue, right: RuntimeValue) -> bool:
    first, second = _comparable(left, right, "<")
    return bool(first < second)


def at_most(left: RuntimeValue, right: RuntimeValue) -> bool:
    first, second = _comparable(left, right, "<=")
    return bool(first <= second)


def greater(left: RuntimeValue, right: RuntimeValue) -> bool:
    first, second = _comparable(left, right, ">")
    return bool(first > second)


def at_least(left: RuntimeValue, right: RuntimeValue) -> bool:
    first, second = _comparable(left, right, ">=")
    return bool(first >= second)


def order_key(text: str) -> bytes:
    """Return bytes that sort as the string's UTF-16 code units do."""
    return text.encode("utf-16-be", "surrogatepass")


def utf16_length(text: str) -> int:
    """Count the UTF-16 code units of a string."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-be", "surrogatepass")) // 2


def number_text(number: float) -> str:
    """Write a number as JavaScript does: 5, 0.5, 1e+21, NaN."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == int(number) and abs(number) < 1e21:
        return str(int(number))
    digits, _, exponent = repr(float(number)).partition("e")
    if not exponent:
        return digits
    return _scientific(digits, int(exponent))


def _scientific(digits: str, exponent: int) -> str:
    """Write what Python has with an exponent: JavaScript has one only from 1e21 and below 1e-6."""
    if exponent >= -6 and exponent < 0:
        sign = "-" if digits.startswith("-") else ""
        bare = digits.lstrip("-").replace(".", "")
        return f"{sign}0.{'0' * (-exponent - 1)}{bare}"
    return f"{digits.removesuffix('.0')}e{'+' if exponent > 0 else ''}{exponent}"


def replace(text: RuntimeValue, old: RuntimeValue, new: RuntimeValue) -> str:
    """Replace every occurrence of a literal text; an empty one occurs nowhere."""
    receiver, sought, put = as_text(text), as_text(old), as_text(new)
    if not sought:
        return receiver
    grown = len(receiver) + receiver.count(sought) * (len(put) - len(sought))
    if grown > _LONGEST:
        raise RuleFailure(f"The string grows past {_LONGEST} characters.")
    return receiver.replace(sought, put)


def as_text(value: RuntimeValue) -> str:
    """Return a value that is a string; RuleFailure for any other."""
    if type(value) is not str:
        raise RuleFailure(f"A string is needed, found {kind_of(value)}.")
    return value


def split_path(value: RuntimeValue) -> tuple[str, ...]:
    """Cut a relative path into keys; one that is no legal key becomes "", which never exists.

    Empty parts are dropped, `.` and `..` mean nothing, and the path of no parts leads nowhere.
    RuleFailure for what is no string.
    """
    text = as_text(value)
    if _is_plain_key(text) is not None:
        return (text,)
    if len(text) > _LONGEST_PATH:
        return NOWHERE
    keys = tuple(filter(None, text.split("/"))) or NOWHERE
    if find_bad_key(keys) is None:
        return keys
    return tuple("" if find_bad_key((key,)) is not None else key for key in keys)


def member_of(value: RuntimeValue, name: str) -> RuntimeValue:
    """Return a member of `auth` or of a claim, None when there is none."""
    if type(value) is dict:
        return claim(value.get(name))
    if type(value) is str:
        return utf16_length(value) if name == "length" else None
    return claim(value.get(name)) if isinstance(value, Mapping) else None


def item_of(value: RuntimeValue, index: RuntimeValue) -> RuntimeValue:
    """Return a claim's member by a computed name, or its item by number, None if there is none."""
    if type(index) is str:
        return member_of(value, index)
    is_place = type(value) is list and type(index) in _NUMBERS and 0 <= index < len(value)
    return claim(value[int(index)]) if is_place and index == int(index) else None


def kind_of(value: RuntimeValue) -> str:
    """Name the kind of a value for messages."""
    return _KINDS.get(type(value), "an object")


def claim(value: RuntimeValue) -> RuntimeValue:
    """Make numbers of a token the doubles that they are for rules."""
    if type(value) is int and not -MAX_INTEGER <= value <= MAX_INTEGER:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def _number(value: RuntimeValue, operator: str) -> float:
    if type(value) is int or type(value) is float:
        return float(value)
    raise RuleFailure(f"{operator} needs numbers, found {kind_of(value)}.")


def _text(value: RuntimeValue) -> str:
    if type(value) is str:
        return value
    if type(value) is int or type(value) is float:
        return number_text(value)
    raise RuleFailure(f"+ joins strings and numbers, found {kind_of(value)}.")


def _comparable(
    left: RuntimeValue, right: RuntimeValue, operator: str
) -> tuple[RuntimeValue, RuntimeValue]:
    """Return two numbers, or two strings in a form that sorts as they do."""
    if type(left) is str and type(right) is str:
        if left.isascii() and right.isascii():
            return left, right
        return order_key(left), order_key(right)
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return left, right
    raise RuleFailure(
        f"{operator} compares two numbers or two strings, found {kind_of(left)} and "
        f"{kind_of(right)}."
    )


_NUMBERS: Final = frozenset({int, float})
# What two of a type may be equal; claims that are objects or lists, and snapshots, never are.
_LEAVES: Final = frozenset({type(None), bool, int, float, str})
_KINDS: Final = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    Children: "a value with children",
    list: "a list",
}

ARITHMETIC: Final[dict[str, Callable[[RuntimeValue, RuntimeValue], RuntimeValue]]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "<": less,
    "<=": at_most,
    ">": greater,
    ">=": at_least,
}
