"""The expression table of tests/spec: what operators, methods and variables come to."""

import json
from pathlib import Path as File
from typing import Any

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.rules.loader import parse_rules
from treedb.rules.ruleset import write_scope
from treedb.rules.scope import Scope
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.server_values import resolve
from treedb.tree.values import Value, normal_form

SPEC = json.loads((File(__file__).parents[1] / "spec" / "rules_expressions.json").read_text())
WORLD = SPEC["world"]
RESULTS = {"error": None}


def value_of(raw: object, depth: int) -> Value:
    return resolve(normal_form(raw, depth, DEFAULT_LIMITS).value, lambda _: None, WORLD["now"])


def scope_of_world() -> Scope:
    path = Path.parse(WORLD["set"]["path"])
    patch = Patch.of([(path, value_of(WORLD["set"]["value"], path.depth))])
    before = ValueReader(value_of(WORLD["data"], 0))
    scope = write_scope(DEFAULT_LIMITS, before, Overlay(before, patch), WORLD["auth"], WORLD["now"])
    scope.keys = path.keys
    return scope


@pytest.mark.parametrize("row", SPEC["expressions"], ids=lambda row: row["expression"])
def test_expression_comes_to_what_the_table_says(row: dict[str, Any]) -> None:
    text = json.dumps({"rules": {"w": {"$k": {".write": row["expression"]}}}})
    [rule] = parse_rules(text).rules
    expected = RESULTS.get(row["result"], row["result"])
    assert rule.traced(scope_of_world()).result is expected
    assert rule.holds(scope_of_world()) is (expected is True)
