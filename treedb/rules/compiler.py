"""Turn a checked expression into a function of the scope, built of one closure a part.

Two ways: `compile_fast` folds what is constant, `compile_traced` leaves the value of every part
in the scope's trace. Both come to the same. The types the checker found choose the closures, so
nothing is decided while a rule runs that was known when it was loaded.

Snapshots are never made: a part of that type comes to a pair of a tree and the keys in it. Long
strings cost steps where they come up, once for each use, as a part is used once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from treedb.config import Limits
from treedb.errors import RuleFailure
from treedb.rules.methods import (
    CASE_MAKERS,
    SEARCH_MAKERS,
    SNAPSHOT_MAKERS,
    Evaluate,
    PathArgument,
    child,
    has_child,
    has_children_named,
    matched,
    replaced,
    spend_on,
)
from treedb.rules.operations import applied, chain, choice, equality, inverse, negative, sum_of
from treedb.rules.regex import compile_regex
from treedb.rules.runtime import (
    ARITHMETIC,
    RuntimeValue,
    as_text,
    claim,
    item_of,
    member_of,
    split_path,
    utf16_length,
)
from treedb.rules.scope import Scope
from treedb.rules.signatures import Type
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
from treedb.rules.trees import Budget


@dataclass(frozen=True, slots=True)
class Unit:
    """One expression being compiled.

    `types` holds the type of each part by its number, `wildcards` for each `$name` which key of
    the rule's place it stands for. `constants` collects what parts are known to come to.
    """

    types: Sequence[Type]
    wildcards: Mapping[str, int]
    limits: Limits
    traces: bool = False
    constants: dict[int, RuntimeValue] = field(default_factory=dict)

    def type_of(self, node: Node) -> Type:
        return self.types[node.span.index]


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression as a function; `constant` is what it always comes to, None if it depends."""

    evaluate: Evaluate
    constant: bool | None


def compile_fast(
    node: Node, types: Sequence[Type], wildcards: Mapping[str, int], limits: Limits
) -> Compiled:
    """Compile an expression for verdicts only; it raises RuleFailure or returns a bool."""
    unit = Unit(types, wildcards, limits)
    evaluate = _build(node, unit)
    return Compiled(evaluate, unit.constants.get(node.span.index))


def compile_traced(
    node: Node, types: Sequence[Type], wildcards: Mapping[str, int], limits: Limits
) -> Evaluate:
    """Compile an expression so that every part leaves its value in `scope.trace`."""
    return _build(node, Unit(types, wildcards, limits, traces=True))


def _build(node: Node, unit: Unit) -> Evaluate:
    evaluate = _BUILDERS[type(node)](node, unit)
    return _traced(node.span.index, evaluate) if unit.traces else evaluate


def _traced(index: int, evaluate: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        trace = scope.trace
        try:
            value = evaluate(scope)
        except RuleFailure as failure:
            if trace.failed is None:
                trace.failed, trace.reason = index, failure.reason
            raise
        trace.values.append((index, value))
        return value

    return run


def _constant(node: Node, value: RuntimeValue, unit: Unit) -> Evaluate:
    if not unit.traces:
        unit.constants[node.span.index] = value
    return lambda _: value


def _literal(node: Literal, unit: Unit) -> Evaluate:
    return _constant(node, node.value, unit)


def _name(node: Name, unit: Unit) -> Evaluate:
    if node.name in unit.wildcards:
        place = unit.wildcards[node.name]
        return lambda scope: scope.keys[place]
    return _VARIABLES[node.name]


_VARIABLES: Final[dict[str, Evaluate]] = {
    "auth": lambda scope: scope.auth,
    "now": lambda scope: scope.now,
    "root": lambda scope: (scope.old, ()),
    "data": lambda scope: (scope.old, scope.keys),
    "newData": lambda scope: (scope.new, scope.keys),
    "query": lambda scope: scope.query,
}


def _no_value(_: Regex, __: Unit) -> Evaluate:
    """Take what has a type but no value: the checker lets it be a branch of `? :`."""
    return _fail


def _fail(_: Scope) -> RuntimeValue:
    raise RuleFailure("A method or regular expression is no value.")


def _member(node: Member, unit: Unit) -> Evaluate:
    if unit.type_of(node) is Type.METHOD:
        return _fail
    name = node.name
    kind = unit.type_of(node.target)
    target = _build(node.target, unit)
    if kind is Type.QUERY:
        return _query_member(name)
    if kind is not Type.AUTH:
        return lambda scope: utf16_length(as_text(target(scope)))
    if isinstance(node.target, Name) and not unit.traces:
        return _auth_member(name)
    return lambda scope: member_of(target(scope), name)


def _auth_member(name: str) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        auth = scope.auth
        return None if auth is None else claim(auth.get(name))

    return run


def _query_member(name: str) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        value = scope.query.members()[name]
        if type(value) is str:
            spend_on(value, scope)
        return value

    return run


def _index(node: Index, unit: Unit) -> Evaluate:
    target, index = _build(node.target, unit), _build(node.index, unit)
    return lambda scope: item_of(target(scope), index(scope))


def _call(node: Call, unit: Unit) -> Evaluate:
    function = node.function
    assert isinstance(function, Member), "the checker lets only methods be called"
    receiver = _build(function.target, unit)
    if unit.type_of(function.target) is Type.SNAPSHOT:
        return _snapshot_call(function.name, receiver, node.arguments, unit)
    return _string_call(function.name, receiver, node.arguments, unit)


def _snapshot_call(
    name: str, receiver: Evaluate, arguments: Sequence[Node], unit: Unit
) -> Evaluate:
    if not arguments:
        return SNAPSHOT_MAKERS[name](receiver)
    argument = arguments[0]
    if isinstance(argument, Array):
        return has_children_named(receiver, [_path(item, unit) for item in argument.items])
    path = _path(argument, unit)
    return child(receiver, path) if name == "child" else has_child(receiver, path)


def _string_call(name: str, receiver: Evaluate, arguments: Sequence[Node], unit: Unit) -> Evaluate:
    if name in CASE_MAKERS:
        return CASE_MAKERS[name](receiver)
    first = arguments[0]
    if isinstance(first, Regex):
        return matched(receiver, compile_regex(first.body, first.flags, unit.limits))
    built = [_build(argument, unit) for argument in arguments]
    return (
        replaced(receiver, *built) if name == "replace" else SEARCH_MAKERS[name](receiver, *built)
    )


def _path(node: Node, unit: Unit) -> PathArgument:
    evaluate = _build(node, unit)
    text = unit.constants.get(node.span.index)
    if isinstance(text, str):
        return split_path(text)
    return lambda scope: split_path(evaluate(scope))


def _unary(node: Unary, unit: Unit) -> Evaluate:
    make = negative if node.operator == "-" else inverse
    return _folded(node, make(_build(node.operand, unit)), unit)


def _binary(node: Binary, unit: Unit) -> Evaluate:
    left, right = _build(node.left, unit), _build(node.right, unit)
    if node.operator in {"==", "!="}:
        evaluate = equality({unit.type_of(node.left), unit.type_of(node.right)}, left, right)
        evaluate = evaluate if node.operator == "==" else inverse(evaluate)
    elif node.operator == "+":
        evaluate = sum_of(left, right)
    else:
        evaluate = applied(ARITHMETIC[node.operator], left, right)
    return _folded(node, evaluate, unit)


def _logical(node: Logical, unit: Unit) -> Evaluate:
    decisive = node.operator == "||"
    built = [_build(operand, unit) for operand in node.operands]
    if unit.traces:
        return chain(built, decisive=decisive)
    kept: list[Evaluate] = []
    for operand, evaluate in zip(node.operands, built, strict=True):
        known = unit.constants.get(operand.span.index)
        if known is (not decisive):
            continue
        if known is decisive and not kept:
            return _constant(node, decisive, unit)
        kept.append(evaluate)
        if known is decisive:
            break
    if not kept:
        return _constant(node, not decisive, unit)
    return chain(kept, decisive=decisive)


def _conditional(node: Conditional, unit: Unit) -> Evaluate:
    test = _build(node.test, unit)
    then, otherwise = _build(node.then, unit), _build(node.otherwise, unit)
    known = unit.constants.get(node.test.span.index)
    if known is None:
        return choice(test, then, otherwise)
    branch, chosen = (node.then, then) if known else (node.otherwise, otherwise)
    if branch.span.index in unit.constants:
        unit.constants[node.span.index] = unit.constants[branch.span.index]
    return chosen


def _folded(node: Node, evaluate: Evaluate, unit: Unit) -> Evaluate:
    """Evaluate now what has only constants in it; what fails is left to fail when it runs."""
    if any(part.span.index not in unit.constants for part in parts_of(node)):
        return evaluate
    try:
        return _constant(node, evaluate(_NO_SCOPE), unit)
    except RuleFailure:
        return evaluate


class _NoScope:
    """Stands for a scope where constants alone are evaluated: they may cost what they like."""

    budget = Budget(1 << 62)


_NO_SCOPE: Final[Any] = _NoScope()

_BUILDERS: Final[dict[type, Callable[[Any, Unit], Evaluate]]] = {
    Literal: _literal,
    Regex: _no_value,
    Name: _name,
    Member: _member,
    Index: _index,
    Call: _call,
    Unary: _unary,
    Binary: _binary,
    Logical: _logical,
    Conditional: _conditional,
}
