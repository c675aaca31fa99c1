import dataclasses
import json
import time

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import ROOT, Path
from treedb.rules.loader import parse_rules
from treedb.rules.ruleset import Ruleset
from treedb.rules.scope import REALTIME_READ, REST_READ, AuthVariable, QueryVariables
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value

NOW = 1_700_000_000_000
ZOE: AuthVariable = {"uid": "zoe"}


def rules(tree: object) -> Ruleset:
    return parse_rules(json.dumps({"rules": tree}))


def may_read(
    ruleset: Ruleset, path: str, data: Value = None, query: QueryVariables = REALTIME_READ
) -> bool:
    reader = ValueReader(data)
    place = Path.parse(path, allow_priority=True)
    return ruleset.check_read(place, reader, auth=ZOE, now_ms=NOW, query=query).allowed


def may_write(ruleset: Ruleset, changes: dict[str, Value], data: Value = None) -> bool:
    patch = Patch.of(
        (Path.parse(path, allow_priority=True), value) for path, value in changes.items()
    )
    before = ValueReader(data)
    after = Overlay(before, patch)
    return ruleset.check_write(patch, before, after, auth=ZOE, now_ms=NOW).allowed


def test_no_rules_deny_everything() -> None:
    locked = rules({})
    assert not may_read(locked, "/")
    assert not may_read(locked, "/a/b")
    assert not may_write(locked, {"/": 1})
    assert not may_write(locked, {"/a": None})


def test_an_update_of_nothing_is_allowed() -> None:
    assert may_write(rules({}), {})


def test_a_priority_is_written_with_the_rules_of_its_node() -> None:
    ruleset = rules(
        {"a": {".write": "newData.getPriority() == 1", ".validate": "newData.val() == 5"}}
    )
    assert may_write(ruleset, {"/a/.priority": 1}, {"a": 5})
    assert not may_write(ruleset, {"/a/.priority": 2}, {"a": 5})
    assert not may_write(ruleset, {"/a/.priority": 1}, {"a": 6})
    assert may_read(rules({"a": {".read": True}}), "/a/.priority", {"a": 5})


def test_a_priority_validates_no_children() -> None:
    ruleset = rules({"a": {".write": True, "b": {".validate": False}}})
    assert may_write(ruleset, {"/a/.priority": 1}, {"a": {"b": 1}})
    assert not may_write(ruleset, {"/a/b/.priority": 1}, {"a": {"b": 1}})


def test_the_transport_decides_what_a_plain_read_says_of_its_order() -> None:
    by_key = rules({"a": {".read": "query.orderByKey"}})
    by_priority = rules({"a": {".read": "query.orderByPriority"}})
    assert may_read(by_key, "/a", query=REST_READ)
    assert not may_read(by_key, "/a")
    assert may_read(by_priority, "/a")
    assert not may_read(by_priority, "/a", query=REST_READ)


def test_a_query_is_seen_by_rules_above_its_place_too() -> None:
    ruleset = rules({"list": {".read": "query.limitToFirst <= 10"}})
    assert may_read(ruleset, "/list/x", query=QueryVariables(limit_to_first=10))
    assert not may_read(ruleset, "/list/x", query=QueryVariables(limit_to_first=11))
    assert not may_read(ruleset, "/list/x")


def test_wildcards_are_the_keys_of_the_place_whatever_they_look_like() -> None:
    ruleset = rules({"$a": {"$b": {".read": "$a == '0' && $b == '__proto__'"}}})
    assert may_read(ruleset, "/0/__proto__")
    assert not may_read(ruleset, "/1/__proto__")


def test_only_what_the_client_named_needs_a_grant() -> None:
    ruleset = rules({"a": {".write": True}, "b": {".validate": "newData.isString()"}})
    before = ValueReader(None)
    for value, allowed in (("x", True), (1, False)):
        patch = Patch.of([(Path(("a",)), 1), (Path(("b",)), value)])
        after = Overlay(before, patch)
        verdict = ruleset.check_write(
            patch, before, after, auth=None, now_ms=NOW, named=[Path(("a",))]
        )
        assert verdict.allowed is allowed


def test_a_place_named_without_a_change_still_needs_a_grant() -> None:
    ruleset = rules({"a": {".write": "auth != null"}})
    before = ValueReader(None)
    patch = Patch(())
    for auth in (None, ZOE):
        verdict = ruleset.check_write(
            patch, before, before, auth=auth, now_ms=NOW, named=[Path(("a", "gone"))]
        )
        assert verdict.allowed is (auth is not None)


def test_a_value_of_many_nodes_is_denied_when_it_costs_too_much() -> None:
    ruleset = rules({"a": {".write": True, "$k": {".validate": "newData.val() == 1"}}})
    small = dataclasses.replace(
        ruleset, limits=dataclasses.replace(DEFAULT_LIMITS, rules_steps=1000)
    )
    value: Value = {f"k{number}": 1 for number in range(300)}
    patch = Patch(((Path(("a",)), value),))
    before = ValueReader(None)
    arguments = patch, before, Overlay(before, patch)
    assert ruleset.check_write(*arguments, auth=None, now_ms=NOW).allowed
    verdict = small.check_write(*arguments, auth=None, now_ms=NOW)
    assert not verdict.allowed
    assert verdict.over_budget
    explanation = small.explain_write(*arguments, auth=None, now_ms=NOW)
    assert not explanation.allowed
    assert explanation.reason == "the rules take too many steps"
    unasked = dataclasses.replace(
        ruleset, limits=dataclasses.replace(DEFAULT_LIMITS, rules_steps=0)
    ).explain_read(Path(("a",)), before, auth=None, now_ms=NOW)
    assert not unasked.allowed


def test_a_million_lookups_are_denied_in_bounded_time() -> None:
    lookup = "root.child('x').child($k).child(newData.val() + '{}').exists()"
    expression = " || ".join(lookup.format(number) for number in range(100))
    ruleset = rules({"a": {".write": True, "$k": {".validate": expression}}})
    value: dict[str, Value] = {f"k{number:05}": "v" for number in range(10_000)}
    patch = Patch(((Path(("a",)), value),))
    before = ValueReader({"x": dict.fromkeys(value, 1)})
    start = time.perf_counter()
    # The first child fails all its lookups and is thereby invalid: turn the rule round.
    inverse = rules({"a": {".write": True, "$k": {".validate": f"!({expression})"}}})
    verdict = inverse.check_write(patch, before, Overlay(before, patch), auth=None, now_ms=NOW)
    assert verdict.over_budget
    assert not ruleset.check_write(
        patch, before, Overlay(before, patch), auth=None, now_ms=NOW
    ).allowed
    assert time.perf_counter() - start < 5


def test_a_read_over_budget_is_denied() -> None:
    ruleset = rules({"a": {".read": "data.child('x').val() == 1"}})
    small = dataclasses.replace(ruleset, limits=dataclasses.replace(DEFAULT_LIMITS, rules_steps=3))
    verdict = small.check_read(Path(("a",)), ValueReader(None), auth=None, now_ms=NOW)
    assert verdict.over_budget
    assert not verdict.allowed


def test_working_on_long_strings_over_and_over_is_denied() -> None:
    search = "newData.val().contains('y')"
    ruleset = rules({"a": {".write": True, ".validate": f"!({' || '.join([search] * 200)})"}})
    patch = Patch(((Path(("a",)), "x" * (10 * 1024 * 1024)),))
    before = ValueReader(None)
    verdict = ruleset.check_write(patch, before, Overlay(before, patch), auth=None, now_ms=NOW)
    assert verdict.over_budget


INDEXED = {
    "tasks": {"$day": {".indexOn": ["when", "meta/score"]}, "fixed": {}},
    "scores": {".indexOn": ".value"},
}


@pytest.mark.parametrize(
    "path, names",
    [
        ("/tasks/monday", ("when", "meta/score")),
        ("/tasks/fixed", ()),
        ("/tasks/monday/x", ()),
        ("/tasks", ()),
        ("/scores", (".value",)),
        ("/other/x", ()),
        ("/", ()),
    ],
)
def test_indexes_are_those_of_the_very_place(path: str, names: tuple[str, ...]) -> None:
    assert rules(INDEXED).index_on(Path.parse(path)) == names


def test_all_indexes_are_listed_with_their_positions() -> None:
    ruleset = parse_rules('{"rules":{"a":{".indexOn":["x",\n"y"]}}}')
    assert [(index.keys, index.name, index.line, index.column) for index in ruleset.indexes] == [
        (("a",), "x", 1, 28),
        (("a",), "y", 2, 1),
    ]


def test_the_text_is_kept_and_also_given_as_plain_json() -> None:
    text = '\ufeff{ // all\n "rules": {".read": "a\\u0075th != null", "a": {".indexOn": ["x",],},}}'
    ruleset = parse_rules(text)
    assert ruleset.text == text
    assert json.loads(ruleset.strict_json()) == {
        "rules": {".read": "auth != null", "a": {".indexOn": ["x"]}}
    }


def test_the_root_may_be_read_and_written() -> None:
    ruleset = rules({".read": "data.child('open').val() == true", ".write": "data.exists()"})
    reader = ValueReader({"open": True})
    assert ruleset.check_read(ROOT, reader, auth=None, now_ms=NOW).allowed
    assert may_write(ruleset, {"/": None}, {"open": True})
    assert not may_write(ruleset, {"/": 1})
