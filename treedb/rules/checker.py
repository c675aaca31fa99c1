"""Check an expression before it ever runs: names, members, arguments and the types of operands.

Each part gets its type from those it is made of, and is held against the tables of `signatures`.
A part that is refused gets the type that fits everywhere, so that one mistake is told once. The
messages are those of Firebase's service; the way out beside them is ours.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from treedb.config import Limits
from treedb.errors import RuleSyntaxError
from treedb.rules.regex import compile_regex
from treedb.rules.signatures import (
    LENGTH,
    LOGICAL,
    NUMERIC,
    OPERATORS,
    QUERY_MEMBERS,
    SNAPSHOT_METHODS,
    STRING_METHODS,
    STRINGLIKE,
    TEXTUAL,
    VARIABLES,
    Access,
    Takes,
    Type,
)
from treedb.rules.source import Mistake
from treedb.rules.syntax import (
    Array,
    Binary,
    Call,
    Conditional,
    Index,
    Literal,
    Logical,
    Member,
    Name,
    Node,
    Regex,
    Unary,
    parts_of,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """The type of every part by its number, and what is wrong, at offsets of the expression."""

    types: tuple[Type, ...]
    mistakes: tuple[Mistake, ...]


def check_expression(
    whole: Node, access: Access, wildcards: Collection[str], limits: Limits
) -> Checked:
    """Check the expression of a rule; `wildcards` are the `$names` that its place has."""
    check = _Check(access, wildcards, limits, [Type.ANY] * (whole.span.index + 1))
    kind = check.type_of(whole)
    if kind not in LOGICAL:
        hint = "compare it with == true" if kind in STRINGLIKE - {Type.STRING} else ""
        check.refuse(whole, "Expression must evaluate to a boolean.", hint)
    return Checked(tuple(check.types), tuple(check.mistakes))


@dataclass(frozen=True, slots=True)
class _Check:
    access: Access
    wildcards: Collection[str]
    limits: Limits
    types: list[Type]
    mistakes: list[Mistake] = field(default_factory=list)

    def type_of(self, node: Node) -> Type:
        """Find and note the type of a part, after those of its own parts."""
        kind = _CHECKERS[type(node)](node, self)
        self.types[node.span.index] = kind
        return kind

    def refuse(self, node: Node, message: str, hint: str = "") -> Type:
        self.mistakes.append(Mistake(node.span.start, message, hint))
        return Type.ANY

    def expect(self, node: Node, allowed: Collection[Type], message: str, hint: str = "") -> None:
        """Check a part and refuse it unless it is of an allowed type."""
        kind = self.type_of(node)
        if kind not in allowed and kind is not Type.ANY:
            self.refuse(node, message, hint)


def _literal(node: Literal, _: _Check) -> Type:
    return _LITERALS[type(node.value)]


_LITERALS: Final = {
    bool: Type.BOOLEAN,
    int: Type.NUMBER,
    float: Type.NUMBER,
    str: Type.STRING,
    type(None): Type.NULL,
}


def _regex(node: Regex, check: _Check) -> Type:
    try:
        compile_regex(node.body, node.flags, check.limits)
    except RuleSyntaxError as error:
        return check.refuse(node, error.reason)
    return Type.REGEX


def _name(node: Name, check: _Check) -> Type:
    if node.name in check.wildcards:
        return Type.STRING
    variable = VARIABLES.get(node.name)
    if variable is None:
        hint = _did_you_mean(node.name, {*VARIABLES, *check.wildcards})
        return check.refuse(node, f"Unknown variable '{node.name}'.", hint)
    if node.name == "newData" and check.access is Access.READ:
        return check.refuse(node, "newData is invalid in .read expressions.", "use data")
    return variable.type


def _member(node: Member, check: _Check) -> Type:
    kind = check.type_of(node.target)
    if kind is Type.ANY:
        return kind
    members = _MEMBERS.get(kind)
    if members is None:
        return check.refuse(node, "Invalid property access: target is not an object.")
    if node.name in members:
        return members[node.name]
    if kind is Type.AUTH:
        return Type.AUTH
    message = f"No such method/property '{node.name}'."
    return check.refuse(node, message, _did_you_mean(node.name, members))


_STRING_MEMBERS: Final = dict.fromkeys(STRING_METHODS, Type.METHOD)
_MEMBERS: Final = {
    Type.SNAPSHOT: dict.fromkeys(SNAPSHOT_METHODS, Type.METHOD),
    Type.STRING: {**_STRING_MEMBERS, LENGTH: Type.NUMBER},
    Type.VALUE: {**_STRING_MEMBERS, LENGTH: Type.NUMBER},
    # A claim may have any name, `length` too.
    Type.AUTH: _STRING_MEMBERS,
    Type.QUERY: QUERY_MEMBERS,
}


def _index(node: Index, check: _Check) -> Type:
    kind = check.type_of(node.target)
    check.type_of(node.index)
    if kind in {Type.AUTH, Type.ANY}:
        return kind
    return check.refuse(node, "Invalid property access.", "a name is written as a string")


def _call(node: Call, check: _Check) -> Type:
    kind = check.type_of(node.function)
    if kind is Type.METHOD and isinstance(node.function, Member):
        name = node.function.name
        of_snapshot = check.types[node.function.target.span.index] is Type.SNAPSHOT
        method = (SNAPSHOT_METHODS if of_snapshot else STRING_METHODS)[name]
        so_far = len(check.mistakes)
        _ARGUMENTS[method.takes](node, name, check)
        return method.gives if len(check.mistakes) == so_far else Type.ANY
    for argument in node.arguments:
        _argument(argument, check)
    if kind is Type.ANY:
        return kind
    message = "Type error: Function call on target that is not a function."
    return check.refuse(node, message, _way_out_of_call(node))


def _way_out_of_call(node: Call) -> str:
    is_length = isinstance(node.function, Member) and node.function.name == LENGTH
    return "length is a property: leave out the parentheses" if is_length else ""


def _argument(node: Node, check: _Check) -> None:
    """Look for mistakes inside an argument that is refused, or not asked for, itself."""
    if isinstance(node, Array):
        for item in node.items:
            check.type_of(item)
    else:
        check.type_of(node)


def _takes_nothing(node: Call, name: str, check: _Check) -> None:
    if node.arguments:
        _wrong_count(node, f"{name}() expects no arguments.", check)


def _takes_string(node: Call, name: str, check: _Check) -> None:
    if len(node.arguments) != 1:
        _wrong_count(node, f"{name}() expects 1 argument.", check)
        return
    check.expect(node.arguments[0], TEXTUAL, f"{name}() expects a string argument.")


def _takes_two_strings(node: Call, name: str, check: _Check) -> None:
    if len(node.arguments) != 2:
        _wrong_count(node, f"{name}() expects two arguments.", check)
        return
    for number, argument in enumerate(node.arguments, start=1):
        check.expect(argument, TEXTUAL, f"Argument {number} of {name}() must be a string.")


def _takes_regex(node: Call, name: str, check: _Check) -> None:
    expected = "regular expression literal argument."
    if len(node.arguments) != 1:
        _wrong_count(node, f"{name}() expects 1 {expected}", check)
        return
    [argument] = node.arguments
    kind = check.type_of(argument)
    if kind is not Type.ANY and not isinstance(argument, Regex):
        check.refuse(argument, f"{name}() expects a {expected}", "write it as /.../")


def _takes_names(node: Call, name: str, check: _Check) -> None:
    if len(node.arguments) > 1:
        names = "a single argument (containing an array of child names)."
        _wrong_count(node, f"{name}() expects only {names}", check)
        return
    for argument in node.arguments:
        if not isinstance(argument, Array):
            check.expect(argument, (), f"{name}() expects an array of child names.")
            continue
        check.types[argument.span.index] = Type.ARRAY
        for item in argument.items:
            check.expect(item, TEXTUAL, f"{name}() expects an array of strings.")


def _wrong_count(node: Call, message: str, check: _Check) -> None:
    check.refuse(node, message)
    for argument in node.arguments:
        _argument(argument, check)


_ARGUMENTS: Final[dict[Takes, Callable[[Call, str, _Check], None]]] = {
    Takes.NOTHING: _takes_nothing,
    Takes.STRING: _takes_string,
    Takes.TWO_STRINGS: _takes_two_strings,
    Takes.REGEX: _takes_regex,
    Takes.NAMES: _takes_names,
}


def _unary(node: Unary, check: _Check) -> Type:
    if node.operator == "-":
        check.expect(node.operand, NUMERIC, "- only operates on numbers.")
        return Type.NUMBER
    hint = "compare with == true or != true"
    check.expect(node.operand, LOGICAL, "! only operates on booleans.", hint)
    return Type.BOOLEAN


def _binary(node: Binary, check: _Check) -> Type:
    operator = OPERATORS[node.operator]
    invalid = f"Invalid {node.operator} expression:"
    sides = (
        (node.left, f"{invalid} left operand {operator.refuses_left}"),
        (node.right, f"{invalid} right operand {operator.refuses_right}"),
    )
    for operand, message in sides:
        check.expect(operand, operator.operands, message, _hint_for(operand, check))
    if node.operator != "+":
        return operator.gives
    kinds = {check.types[part.span.index] for part in parts_of(node)}
    if Type.STRING in kinds:
        return Type.STRING
    return Type.NUMBER if kinds == {Type.NUMBER} else Type.VALUE


def _hint_for(operand: Node, check: _Check) -> str:
    is_snapshot = isinstance(operand, Name) and operand.name in {"data", "newData", "root"}
    return f"did you mean {operand.name}.val()?" if is_snapshot else ""  # type: ignore[union-attr]


def _logical(node: Logical, check: _Check) -> Type:
    for number, operand in enumerate(node.operands):
        side = "Right" if number else "Left"
        message = f"{side} operand of {node.operator} must be boolean."
        check.expect(operand, LOGICAL, message, "compare it with == true")
    return Type.BOOLEAN


def _conditional(node: Conditional, check: _Check) -> Type:
    check.expect(node.test, LOGICAL, "condition of ? must be boolean.")
    kinds = {check.type_of(node.then), check.type_of(node.otherwise)}
    if Type.ANY in kinds:
        return Type.ANY
    if len(kinds) == 1:
        return kinds.pop()
    return Type.MIXED if kinds.isdisjoint(STRINGLIKE) else Type.VALUE


def _array(node: Array, check: _Check) -> Type:
    _argument(node, check)
    return check.refuse(node, "Unexpected array literal.")


# What people look for by JavaScript's names.
_ALSO_CALLED: Final = {
    "startsWith": "beginsWith",
    "includes": "contains",
    "indexOf": "contains",
    "test": "matches",
    "numChildren": "hasChildren",
    "value": "val",
}


def _did_you_mean(name: str, known: Collection[str]) -> str:
    by_lower_case = {other.lower(): other for other in sorted(known)}
    close = get_close_matches(name[:60].lower(), by_lower_case, n=1)
    meant = _ALSO_CALLED.get(name) or (by_lower_case[close[0]] if close else None)
    return f"did you mean '{meant}'?" if meant in known else ""


_CHECKERS: Final[dict[type, Callable[[Any, _Check], Type]]] = {
    Literal: _literal,
    Regex: _regex,
    Name: _name,
    Member: _member,
    Index: _index,
    Call: _call,
    Unary: _unary,
    Binary: _binary,
    Logical: _logical,
    Conditional: _conditional,
    Array: _array,
}
