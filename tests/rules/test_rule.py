import json

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleBudgetExceeded
from treedb.rules.loader import parse_rules
from treedb.rules.rule import Rule, wildcards_of
from treedb.rules.scope import NO_QUERY, Scope
from treedb.rules.trees import Budget, OldTree
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value


def rule_of(expression: object) -> Rule:
    text = json.dumps({"rules": {"w": {"$k": {".write": expression}}}})
    [rule] = parse_rules(text).rules
    return rule


def scope_of(value: Value = None, steps: int = 1_000_000) -> Scope:
    budget = Budget(steps)
    tree = OldTree(ValueReader(value), budget)
    scope = Scope((tree, tree), {"uid": "zoe"}, 0, NO_QUERY, budget)
    scope.keys = ("w", "key")
    return scope


OUTCOMES = [
    ("auth != null", True),
    ("auth == null", False),
    ("data.val() > 1", None),
    (True, True),
    (False, False),
]


@pytest.mark.parametrize("expression, expected", OUTCOMES)
def test_a_rule_that_fails_is_false(expression: object, expected: bool | None) -> None:
    rule = rule_of(expression)
    assert rule.holds(scope_of()) is (expected is True)
    evaluation = rule.traced(scope_of())
    assert evaluation.result is expected
    assert (evaluation.rule, evaluation.keys) == (rule, ("w", "key"))


def test_asking_costs_the_size_of_the_expression() -> None:
    rule = rule_of("auth.uid == $k && data.exists()")
    assert rule.size == 8
    scope = scope_of()
    rule.holds(scope)
    assert scope.budget.left == 1_000_000 - rule.size
    with pytest.raises(RuleBudgetExceeded):
        rule.holds(scope_of(steps=rule.size - 1))
    with pytest.raises(RuleBudgetExceeded):
        rule.traced(scope_of(steps=rule.size - 1))


def test_what_is_constant_costs_nothing() -> None:
    assert rule_of("1 + 1 == 2").holds(scope_of(steps=0))


def test_a_rule_knows_its_place_and_names() -> None:
    rule = rule_of("auth.uid == $k && root.child($k).exists()")
    assert rule.pattern == "/w/$k"
    assert rule.keys == ("w", "$k")
    assert rule.variables == {"auth", "$k", "root"}
    assert rule.expression == "auth.uid == $k && root.child($k).exists()"
    assert rule.limits == DEFAULT_LIMITS


def test_every_evaluation_has_a_trace_of_its_own() -> None:
    rule = rule_of("auth != null")
    scope = scope_of()
    first, second = rule.traced(scope), rule.traced(scope)
    assert first.trace is not second.trace
    assert first.trace.values == second.trace.values


def test_wildcards_stand_for_keys_of_the_place() -> None:
    assert wildcards_of(("a", "$b", "c", "$d")) == {"$b": 1, "$d": 3}
