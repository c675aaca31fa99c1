import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleBudgetExceeded, RuleFailure
from treedb.rules.methods import (
    CASE_MAKERS,
    SEARCH_MAKERS,
    SNAPSHOT_MAKERS,
    Evaluate,
    child,
    has_child,
    has_children_named,
    matched,
    replaced,
)
from treedb.rules.regex import compile_regex
from treedb.rules.runtime import CHILDREN, RuntimeValue, split_path
from treedb.rules.scope import NO_QUERY, Scope
from treedb.rules.trees import Budget, OldTree
from treedb.tree.reader import ValueReader

LONG = "x" * 100 * 1024


def scope_of(value: object, steps: int = 1_000_000) -> Scope:
    budget = Budget(steps)
    tree = OldTree(ValueReader(value), budget)  # type: ignore[arg-type]  # values of the tests
    return Scope((tree, tree), None, 0, NO_QUERY, budget)


def data(scope: Scope) -> RuntimeValue:
    return scope.old, scope.keys


def constant(value: RuntimeValue) -> Evaluate:
    return lambda _: value


def path_of(value: RuntimeValue) -> Evaluate:
    return lambda _: split_path(value)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("val", CHILDREN), ("exists", True), ("hasChildren", True), ("getPriority", 2),
        ("isString", False), ("isNumber", False), ("isBoolean", False),
    ],
)  # fmt: skip
def test_methods_of_a_node_with_children(name: str, expected: RuntimeValue) -> None:
    found = SNAPSHOT_MAKERS[name](data)(scope_of({".priority": 2, "a": 1}))
    assert found is expected or found == expected


def test_a_child_is_a_place_and_its_parent_the_one_above() -> None:
    scope = scope_of({"a": {"b": 1}})
    place = child(child(data, ("a",)), path_of("b/c"))
    tree, keys = place(scope)
    assert (tree, keys) == (scope.old, ("a", "b", "c"))
    assert SNAPSHOT_MAKERS["parent"](place)(scope)[1] == ("a", "b")
    with pytest.raises(RuleFailure):
        SNAPSHOT_MAKERS["parent"](data)(scope)


def test_children_are_found_by_constant_and_by_computed_paths() -> None:
    scope = scope_of({"a": {"b": 1}, "c": 1})
    assert has_child(data, ("a", "b"))(scope)
    assert has_child(data, path_of("a/b"))(scope)
    assert not has_child(data, path_of("a/x"))(scope)
    assert has_children_named(data, [("a",), ("c",)])(scope)
    assert has_children_named(data, [("a",), path_of("c")])(scope)
    assert not has_children_named(data, [("a",), ("x",)])(scope)
    assert has_children_named(data, [])(scope)
    with pytest.raises(RuleFailure):
        has_children_named(data, [("x",), path_of(5)])(scope)


def test_searches_are_for_plain_text() -> None:
    scope = scope_of(None)
    found = {
        name: make(constant("a.b"), constant("a."))(scope) for name, make in SEARCH_MAKERS.items()
    }
    assert found == {"contains": True, "beginsWith": True, "endsWith": False}
    with pytest.raises(RuleFailure):
        SEARCH_MAKERS["contains"](constant("a"), constant(None))(scope)


@pytest.mark.parametrize(
    "evaluate",
    [
        SNAPSHOT_MAKERS["val"](data),
        CASE_MAKERS["toUpperCase"](constant(LONG)),
        replaced(constant(LONG), constant("x"), constant("y")),
        matched(constant(LONG), compile_regex("y", "", DEFAULT_LIMITS)),
    ],
)
def test_long_strings_cost_steps(evaluate: Evaluate) -> None:
    scope = scope_of(LONG)
    evaluate(scope)
    assert 1_000_000 - scope.budget.left >= 100
    with pytest.raises(RuleBudgetExceeded):
        evaluate(scope_of(LONG, 60))


def test_a_large_regular_expression_costs_more() -> None:
    spent = []
    for body in ("x", "^x{1,1000}$"):
        scope = scope_of(None)
        matched(constant("x" * 1000), compile_regex(body, "", DEFAULT_LIMITS))(scope)
        spent.append(1_000_000 - scope.budget.left)
    assert spent[0] < 10
    assert spent[1] > 500


def test_a_string_does_not_grow_past_the_limit_by_its_case() -> None:
    with pytest.raises(RuleFailure, match="grows past"):
        CASE_MAKERS["toUpperCase"](constant("ß" * (6 * 1024 * 1024)))(scope_of(None))
