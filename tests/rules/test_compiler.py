"""Compiled expressions against a plain interpreter, on random expressions and data."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.interpreter import NOW, PLACE, Failed, World, interpret
from tests.rules.random_expressions import auths, expressions, roots
from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleFailure
from treedb.rules.checker import check_expression
from treedb.rules.compiler import compile_fast, compile_traced
from treedb.rules.parser import parse_expression
from treedb.rules.scope import NO_QUERY, Scope
from treedb.rules.signatures import Access
from treedb.rules.syntax import Binary, Logical
from treedb.rules.trees import Budget, NewTree, OldTree
from treedb.tree.reader import ValueReader

WILDCARDS = {"$k": 1}


def scope_of(world: World) -> Scope:
    budget = Budget(1 << 40)
    old, new = (OldTree(ValueReader(root), budget) for root in (world.old, world.new))
    tree = NewTree(new)
    tree.focus_on(PLACE, world.new["w"]["k"])
    scope = Scope((old, tree), world.auth, NOW, NO_QUERY, budget)
    scope.keys = PLACE
    return scope


def outcome_of(evaluate: Any, scope: Scope) -> bool | None:
    try:
        result = evaluate(scope)
    except RuleFailure:
        return None
    assert isinstance(result, bool)
    return result


@settings(max_examples=400)
@given(expressions("boolean", 3), st.builds(World, roots, roots, auths))
def test_compiled_expressions_come_to_what_interpreting_them_does(text: str, world: World) -> None:
    node = parse_expression(text, DEFAULT_LIMITS)
    checked = check_expression(node, Access.WRITE, WILDCARDS, DEFAULT_LIMITS)
    assert not checked.mistakes, text
    try:
        expected = interpret(node, world)
    except Failed:
        expected = None
    fast = compile_fast(node, checked.types, WILDCARDS, DEFAULT_LIMITS)
    traced = compile_traced(node, checked.types, WILDCARDS, DEFAULT_LIMITS)
    assert outcome_of(fast.evaluate, scope_of(world)) is expected
    assert outcome_of(traced, scope_of(world)) is expected
    assert fast.constant is None or fast.constant is expected


def compiled(text: str) -> tuple[Any, Any]:
    node = parse_expression(text, DEFAULT_LIMITS)
    checked = check_expression(node, Access.WRITE, WILDCARDS, DEFAULT_LIMITS)
    arguments = (node, checked.types, WILDCARDS, DEFAULT_LIMITS)
    return compile_fast(*arguments), compile_traced(*arguments)


WORLD = World({"w": {"k": {"a": "x"}}}, {"w": {"k": {"a": "y"}}}, {"uid": "k"})


@pytest.mark.parametrize(
    "text, constant",
    [
        ("true", True),
        ("1 + 1 == 2", True),
        ("'a' + 'b' == 'ab' && !false", True),
        ("true || data.exists()", True),
        ("false && data.exists()", False),
        ("data.exists() && false", None),
        ("data.exists() || true", None),
        ("true && data.exists()", None),
        ("1 > 2 ? data.exists() : true", True),
        ("true ? data.exists() : false", None),
        ("(true ? 1 : 'a') > 0", True),
        ("(true ? 'b' : 1) - 1 == 0", None),
    ],
)
def test_only_what_cannot_depend_or_fail_is_constant(text: str, constant: bool | None) -> None:
    assert compiled(text)[0].constant is constant


def test_a_trace_has_the_value_of_every_part_that_was_evaluated() -> None:
    _, traced = compiled("data.child('a').val() == 'x' || now > 5")
    scope = scope_of(WORLD)
    assert traced(scope) is True
    values = [value for _, value in scope.trace.values if not isinstance(value, tuple)]
    assert values == ["a", "x", "x", True, True]
    assert scope.trace.failed is None


def test_a_trace_names_the_innermost_part_that_failed() -> None:
    text = "data.exists() && data.child('a').val() * 2 > 5"
    node = parse_expression(text, DEFAULT_LIMITS)
    _, traced = compiled(text)
    scope = scope_of(WORLD)
    with pytest.raises(RuleFailure):
        traced(scope)
    assert isinstance(node, Logical)
    comparison = node.operands[1]
    assert isinstance(comparison, Binary)
    assert scope.trace.failed == comparison.left.span.index
    assert scope.trace.reason == "* needs numbers, found a string."
