"""Verdicts against a plain model of the cascade, on random rules, data and writes.

The model knows nothing of overlays, of values at hand or of answers remembered: it makes the final
tree, and asks every rule that counts on it.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.errors import ConflictingPaths
from treedb.paths.path import Path
from treedb.rules.cascade import along, carried
from treedb.rules.loader import parse_rules
from treedb.rules.rule import Rule, RuleNode
from treedb.rules.ruleset import Ruleset, read_scope
from treedb.rules.scope import NO_QUERY, REALTIME_READ, Scope
from treedb.rules.trees import Budget, OldTree
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value, children, normal_form, value_at, with_value_at

NOW = 1_700_000_000_000
KEYS = ["a", "b", "c"]
EXPRESSIONS = [
    "true",
    "false",
    "auth != null",
    "data.exists()",
    "newData.exists()",
    "!data.exists()",
    "newData.isString()",
    "newData.isNumber() && newData.val() > 1",
    "newData.val() > data.val()",
    "newData.hasChildren(['a'])",
    "newData.hasChildren()",
    "newData.parent().hasChild('b')",
    "newData.parent().child('a').val() == 1",
    "root.child('a').exists()",
    "data.parent().child('c').exists() || newData.child('b').isString()",
    "newData.getPriority() == 1",
    "newData.parent().getPriority() == null",
]
READABLE = [text for text in EXPRESSIONS if "newData" not in text]
WITH_NAMES = ["$x == 'a'", "newData.val() == $x", "$x != 'b' && newData.exists()"]


def rules_of(depth: int, named: bool) -> st.SearchStrategy[dict[str, Any]]:
    texts = EXPRESSIONS + (WITH_NAMES if named else [])
    maybe = st.none() | st.sampled_from(texts)
    # Grants and vetoes are rare enough for all outcomes to come up.
    members: dict[str, Any] = {
        ".read": st.none() | st.sampled_from(READABLE),
        ".write": maybe,
        ".validate": st.sampled_from(["true", *texts]) | st.none(),
    }
    if depth:
        for key in KEYS[:2]:
            members[key] = st.none() | rules_of(depth - 1, named)
        name = "$y" if named else "$x"
        members[name] = st.none() | rules_of(depth - 1, named=True)
    if named and depth:
        members.pop("$y")
    return st.fixed_dictionaries(members).map(
        lambda node: {key: value for key, value in node.items() if value is not None}
    )


leaves = st.sampled_from([1, 2, 5, "a", "b", True, {".value": 1, ".priority": 1}])
values = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(st.sampled_from(KEYS), inner, min_size=1)
        | st.dictionaries(st.sampled_from(KEYS), inner, min_size=1).map(
            lambda value: {".priority": 1, **value}
        )
    ),
    max_leaves=8,
).map(lambda raw: normal_form(raw, 0, DEFAULT_LIMITS).value)
paths = st.lists(st.sampled_from(KEYS), max_size=3).map(lambda keys: Path(tuple(keys)))
changes = st.one_of(
    st.tuples(paths, st.none() | values),
    st.tuples(paths.map(lambda path: path.child(".priority")), st.sampled_from([None, 1, "p"])),
)


class Model:
    def __init__(self, ruleset: Ruleset, old: Value, new: Value, auth: Any) -> None:
        self.ruleset = ruleset
        self.old = old
        self.new = new
        self.auth = auth

    def holds(self, rule: Rule | None, keys: tuple[str, ...]) -> bool:
        if rule is None:
            return False
        budget = Budget(1 << 40)
        trees = OldTree(ValueReader(self.old), budget), OldTree(ValueReader(self.new), budget)
        scope = Scope(trees, self.auth, NOW, NO_QUERY, budget)
        scope.keys = keys
        return rule.traced(scope).result is True

    def may_write(self, path: Path) -> bool:
        keys = path.keys[:-1] if path.is_priority else path.keys
        return any(self.holds(node.write, place) for node, place in self.above(keys))

    def is_valid(self, path: Path) -> bool:
        keys = path.keys[:-1] if path.is_priority else path.keys
        nodes = self.above(keys)
        if not path.is_priority:
            nodes += self.inside(keys)
        return all(
            node.validate is None
            or value_at(self.new, place) is None
            or self.holds(node.validate, place)
            for node, place in nodes
        )

    def above(self, keys: tuple[str, ...]) -> list[tuple[RuleNode, tuple[str, ...]]]:
        found = []
        for depth in range(len(keys) + 1):
            node = self.node_at(keys[:depth])
            if node is not None:
                found.append((node, keys[:depth]))
        return found

    def inside(self, keys: tuple[str, ...]) -> list[tuple[RuleNode, tuple[str, ...]]]:
        found = []
        for key, _ in children(value_at(self.new, keys)):
            node = self.node_at((*keys, key))
            if node is not None:
                found += [(node, (*keys, key)), *self.inside((*keys, key))]
        return found

    def node_at(self, keys: tuple[str, ...]) -> RuleNode | None:
        node: RuleNode | None = self.ruleset.root
        for key in keys:
            if node is None:
                return None
            node = node.children.get(key, node.wildcard)
        return node


@settings(max_examples=400)
@given(
    rules_of(2, named=False),
    st.none() | values,
    st.lists(changes, min_size=1, max_size=3),
    st.sampled_from([None, {"uid": "zoe"}]),
    st.booleans(),
)
def test_a_write_is_judged_as_the_model_judges_it(
    rules: dict[str, Any], old: Value, pairs: list[tuple[Path, Value]], auth: Any, is_open: bool
) -> None:
    grant = {".write": "true"} if is_open else {}
    ruleset = parse_rules(json.dumps({"rules": {**rules, **grant}}))
    try:
        patch = Patch.of(pairs)
    except ConflictingPaths:
        return
    new = old
    for path, value in patch.changes:
        new = with_value_at(new, path.keys, value)
    model = Model(ruleset, old, new, auth)
    may_write = all(model.may_write(path) for path, _ in patch.changes)
    expected = may_write and all(model.is_valid(path) for path, _ in patch.changes)
    before = ValueReader(old)
    arguments = patch, before, Overlay(before, patch)
    verdict = ruleset.check_write(*arguments, auth=auth, now_ms=NOW)
    assert verdict.allowed is expected
    explanation = ruleset.explain_write(*arguments, auth=auth, now_ms=NOW)
    assert explanation.allowed is expected
    assert all(target.allowed for target in explanation.targets) is expected
    unnamed = ruleset.check_write(*arguments, auth=auth, now_ms=NOW, named=[])
    assert unnamed.allowed is all(model.is_valid(path) for path, _ in patch.changes)


@settings(max_examples=200)
@given(rules_of(2, named=False), st.none() | values, paths, st.sampled_from([None, {"uid": "z"}]))
def test_a_read_is_judged_as_the_model_judges_it(
    rules: dict[str, Any], old: Value, path: Path, auth: Any
) -> None:
    ruleset = parse_rules(json.dumps({"rules": rules}))
    model = Model(ruleset, old, None, auth)
    expected = any(model.holds(node.read, place) for node, place in model.above(path.keys))
    reader = ValueReader(old)
    assert ruleset.check_read(path, reader, auth=auth, now_ms=NOW).allowed is expected
    explanation = ruleset.explain_read(path, reader, auth=auth, now_ms=NOW)
    assert explanation.allowed is expected
    assert explanation.targets[0].allowed is expected


RULES = parse_rules(
    json.dumps(
        {
            "rules": {
                "a": {"$x": {".validate": "true", "deep": {".validate": "true"}}, "lit": {}},
                "b": {},
            }
        }
    )
)


def test_the_way_to_a_place_ends_where_the_rules_end() -> None:
    found = [(node.keys, place) for node, place in along(RULES.root, ("a", "z", "q", "r"))]
    assert found == [((), ()), (("a",), ("a",)), (("a", "$x"), ("a", "z"))]


def test_carried_nodes_come_depth_first_in_key_order_and_only_with_rules() -> None:
    value: Value = {
        "a": {"lit": {"deep": 1}, "m": {"deep": 1, "other": 2}, "n": 5},
        "b": {"x": {"deep": 1}},
        "c": 1,
    }
    found = [place for _, place, _ in carried(RULES.root, (), value)]
    assert found == [("a",), ("a", "m"), ("a", "m", "deep"), ("a", "n")]


def test_a_deep_value_is_walked_without_recursion() -> None:
    value: Value = {"x": 1}
    rules: dict[str, Any] = {"x": {".validate": "true"}}
    for _ in range(90):
        value, rules = {"x": value}, {"x": rules}
    ruleset = parse_rules(json.dumps({"rules": rules}))
    assert len(list(carried(ruleset.root, (), value))) == 91


def test_shared_ancestors_are_asked_once_for_all_changes_of_an_update() -> None:
    ruleset = parse_rules(
        '{"rules":{"m":{".write":"auth != null",".validate":"newData.hasChildren()",'
        '"$k":{".validate":"newData.isNumber()"}}}}'
    )
    patch = Patch.of((Path(("m", f"k{number}")), number) for number in range(50))
    before = ValueReader(None)
    asked: list[tuple[str, tuple[str, ...]]] = []

    def ask(rule: Rule, scope: Scope) -> bool:
        asked.append((rule.access.value, scope.keys))
        return rule.holds(scope)

    after = Overlay(before, patch)
    assert ruleset.check_write(patch, before, after, auth={}, now_ms=0, ask=ask).allowed
    assert len(asked) == 52
    assert len(set(asked)) == 52


def test_a_read_stops_at_the_first_rule_that_grants() -> None:
    ruleset = parse_rules('{"rules":{"a":{".read":"auth == null","b":{".read":"1 == 1"}}}}')
    scope = read_scope(DEFAULT_LIMITS, ValueReader(None), None, NOW, REALTIME_READ)
    assert scope.old is scope.new
    verdict = ruleset.check_read(Path(("a", "b")), ValueReader(None), auth=None, now_ms=NOW)
    assert verdict.allowed
    assert verdict.rule is ruleset.rules[0]
    assert verdict.at == ("a",)


@pytest.mark.parametrize(
    "value, at", [({"x": 1}, ("a",)), ({"b": 1, "c": "s"}, ("a", "c")), ({"b": 1}, None)]
)
def test_a_denial_names_the_validate_rule_that_failed(
    value: Value, at: tuple[str, ...] | None
) -> None:
    ruleset = parse_rules(
        '{"rules":{"a":{".write":true,".validate":"newData.hasChild(\'b\')",'
        '"$k":{".validate":"newData.isNumber()"}}}}'
    )
    patch = Patch(((Path(("a",)), value),))
    before = ValueReader(None)
    verdict = ruleset.check_write(patch, before, Overlay(before, patch), auth=None, now_ms=NOW)
    assert verdict.allowed is (at is None)
    assert verdict.at == (at or ())
