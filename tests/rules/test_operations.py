import pytest

from treedb.errors import RuleBudgetExceeded, RuleFailure
from treedb.rules.methods import Evaluate
from treedb.rules.operations import (
    applied,
    chain,
    choice,
    equality,
    inverse,
    negative,
    sum_of,
)
from treedb.rules.runtime import ARITHMETIC, CHILDREN, RuntimeValue
from treedb.rules.scope import NO_QUERY, Scope
from treedb.rules.signatures import Type
from treedb.rules.trees import Budget, OldTree
from treedb.tree.reader import ValueReader

BUDGET = Budget(100)
TREE = OldTree(ValueReader(None), BUDGET)
SCOPE = Scope((TREE, TREE), None, 0, NO_QUERY, BUDGET)


def constant(value: RuntimeValue) -> Evaluate:
    return lambda _: value


def failing(_: Scope) -> RuntimeValue:
    raise RuleFailure


@pytest.mark.parametrize("operands", [2, 3, 4])
@pytest.mark.parametrize("decisive", [True, False])
def test_a_chain_stops_at_the_decisive_value(operands: int, decisive: bool) -> None:
    neutral, stop = constant(not decisive), constant(decisive)
    assert chain([neutral] * operands, decisive=decisive)(SCOPE) is not decisive
    last = [*[neutral] * (operands - 1), stop]
    assert chain(last, decisive=decisive)(SCOPE) is decisive
    assert chain([stop, *[failing] * (operands - 1)], decisive=decisive)(SCOPE) is decisive
    with pytest.raises(RuleFailure):
        chain([neutral, failing, *[stop] * (operands - 2)], decisive=decisive)(SCOPE)


def test_only_the_branch_chosen_is_evaluated() -> None:
    assert choice(constant(True), constant("a"), failing)(SCOPE) == "a"
    assert choice(constant(False), failing, constant("b"))(SCOPE) == "b"


VALUES: list[RuntimeValue] = [None, True, False, 0, 1, 1.0, "", "a", CHILDREN, {}, []]
# A value of each type that is known before a rule runs.
KNOWN: dict[Type, list[RuntimeValue]] = {
    Type.NULL: [None],
    Type.BOOLEAN: [True, False],
    Type.STRING: ["", "a"],
}


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("other", VALUES, ids=repr)
def test_a_known_type_does_not_change_what_is_equal(kind: Type, other: RuntimeValue) -> None:
    for value in KNOWN[kind]:
        general = equality({Type.VALUE}, constant(value), constant(other))(SCOPE)
        assert equality({kind, Type.VALUE}, constant(value), constant(other))(SCOPE) is general
        assert equality({kind, Type.VALUE}, constant(other), constant(value))(SCOPE) is general


def test_operators_work_on_what_their_operands_come_to() -> None:
    assert negative(constant(2))(SCOPE) == -2
    assert inverse(constant(True))(SCOPE) is False
    assert applied(ARITHMETIC["-"], constant(5), constant(3))(SCOPE) == 2
    assert sum_of(constant("a"), constant(1))(SCOPE) == "a1"


def test_a_long_sum_costs_steps() -> None:
    long = constant("x" * 80 * 1024)
    sum_of(long, constant(""))(SCOPE)
    with pytest.raises(RuleBudgetExceeded):
        sum_of(long, constant(""))(SCOPE)
