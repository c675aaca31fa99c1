"""The operators, each as a maker of closures from those of its operands."""

from collections.abc import Callable, Collection, Sequence

from treedb.rules.methods import Evaluate, spend_on
from treedb.rules.runtime import RuntimeValue, add, equal, negate
from treedb.rules.scope import Scope
from treedb.rules.signatures import Type


def negative(operand: Evaluate) -> Evaluate:
    return lambda scope: negate(operand(scope))


def inverse(operand: Evaluate) -> Evaluate:
    return lambda scope: not operand(scope)


def applied(
    apply: Callable[[RuntimeValue, RuntimeValue], RuntimeValue], left: Evaluate, right: Evaluate
) -> Evaluate:
    return lambda scope: apply(left(scope), right(scope))


def sum_of(left: Evaluate, right: Evaluate) -> Evaluate:
    def run(scope: Scope) -> RuntimeValue:
        total = add(left(scope), right(scope))
        if type(total) is str:
            spend_on(total, scope)
        return total

    return run


def equality(types: Collection[Type], left: Evaluate, right: Evaluate) -> Evaluate:
    """Choose how to compare by what is known: only numbers and the unknown need their types.

    True, false and null are one object each, and a string equals nothing but strings.
    """
    if Type.NULL in types or Type.BOOLEAN in types:
        return lambda scope: left(scope) is right(scope)
    if Type.STRING in types:
        return lambda scope: left(scope) == right(scope)
    return lambda scope: equal(left(scope), right(scope))


def chain(operands: Sequence[Evaluate], *, decisive: bool) -> Evaluate:
    """Ask operands in turn until one comes to the decisive value."""
    first, *rest = operands
    if not rest:
        return first
    if len(rest) == 1:
        second = rest[0]
        if decisive:
            return lambda scope: first(scope) or second(scope)
        return lambda scope: first(scope) and second(scope)

    def run(scope: Scope) -> RuntimeValue:
        for operand in operands:
            if operand(scope) is decisive:
                return decisive
        return not decisive

    return run


def choice(test: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    return lambda scope: then(scope) if test(scope) else otherwise(scope)
