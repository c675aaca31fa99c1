"""The parts of an expression.

Every part knows its span: the text it was read from, without parentheses around it, its number
among the expression's parts (parts come after those they are made of, so the whole is the last)
and its depth, 1 for a part made of no others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Constant: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    index: int
    depth: int


@dataclass(frozen=True, slots=True)
class Literal:
    """`null`, `true`, `false`, a number or a string."""

    span: Span
    value: Constant


@dataclass(frozen=True, slots=True)
class Regex:
    """`/body/flags`, as written."""

    span: Span
    body: str
    flags: str


@dataclass(frozen=True, slots=True)
class Name:
    """`auth`, `$uid`, ..."""

    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """`target.name`, also spelt `target['name']`."""

    span: Span
    target: "Node"
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`target[index]` where the index is no string literal."""

    span: Span
    target: "Node"
    index: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments)`."""

    span: Span
    function: "Node"
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`!x` or `-x`."""

    span: Span
    operator: str
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Binary:
    """`a + b` and so on; `===` and `!==` are read as `==` and `!=`, which they equal."""

    span: Span
    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Logical:
    """`a && b && c` or `a || b || c`: one part for the whole chain, two operands or more."""

    span: Span
    operator: str
    operands: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`test ? then : otherwise`."""

    span: Span
    test: "Node"
    then: "Node"
    otherwise: "Node"


@dataclass(frozen=True, slots=True)
class Array:
    """`[a, b]`."""

    span: Span
    items: tuple["Node", ...]


Node: TypeAlias = (
    Literal | Regex | Name | Member | Index | Call | Unary | Binary | Logical | Conditional | Array
)


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return the parts a part is made of, in the order they stand."""
    match node:
        case Literal() | Regex() | Name():
            return ()
        case Member(target=target):
            return (target,)
        case Index(target=target, index=index):
            return (target, index)
        case Call(function=function, arguments=arguments):
            return (function, *arguments)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Logical(operands=operands):
            return operands
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Array(items=items):
            return items


def every_part(node: Node) -> Iterator[Node]:
    """Yield a part and all it is made of, the whole before its parts."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(parts_of(part)))
