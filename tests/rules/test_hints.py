import json
from typing import Any

import pytest

from treedb.paths.path import Path
from treedb.rules.loader import parse_rules
from treedb.rules.scope import QueryVariables
from treedb.tree.overlay import Overlay
from treedb.tree.patch import Patch
from treedb.tree.reader import ValueReader
from treedb.tree.values import Value

NOW = 1_700_000_000_000
ZOE = {"uid": "zoe"}


def read_hints(tree: object, path: str, data: Value = None, **options: Any) -> tuple[str, ...]:
    rules = parse_rules(json.dumps({"rules": tree}))
    options.setdefault("auth", ZOE)
    return rules.explain_read(Path.parse(path), ValueReader(data), now_ms=NOW, **options).hints


def write_hints(tree: object, path: str, value: Value, data: Value = None) -> tuple[str, ...]:
    rules = parse_rules(json.dumps({"rules": tree}))
    patch = Patch(((Path.parse(path), value),))
    before = ValueReader(data)
    after = Overlay(before, patch)
    return rules.explain_write(patch, before, after, auth=ZOE, now_ms=NOW).hints


READS = [
    (
        {"a": {"b": {".read": True}}},
        "/a",
        (
            ".read at /a/b is below the place asked for and was not considered: a rule counts for "
            "its place and all below it"
        ),
    ),
    (
        {"a": {".read": "data.val() > 1"}},
        "/a",
        (
            ".read at /a failed in 'data.val() > 1': > compares two numbers or two strings, found "
            "null and a number."
        ),
    ),
    (
        {"a": {".read": "query.orderByChild == 'who'"}},
        "/a",
        ".read at /a asks for a query, and there was none",
    ),
    (
        {"a": {"$x": {".read": True}, "b": {}}},
        "/a/b",
        "the rules for 'b' at /a/b hide those of $x beside it",
    ),
]


@pytest.mark.parametrize("tree, path, hint", READS)
def test_a_denied_read_comes_with_its_likely_reason(tree: object, path: str, hint: str) -> None:
    assert hint in read_hints(tree, path)


def test_nobody_signed_in_is_a_reason() -> None:
    tree = {"a": {".read": "auth != null"}}
    expected = (".read at /a looks at auth, and nobody is signed in",)
    assert read_hints(tree, "/a", auth=None) == expected


def test_a_query_that_was_there_is_no_reason() -> None:
    tree = {"a": {".read": "query.limitToFirst <= 5"}}
    assert read_hints(tree, "/a", query=QueryVariables(limit_to_first=9)) == ()


def test_missing_children_are_named() -> None:
    tree = {"e": {".write": True, ".validate": "newData.hasChildren(['a', 'b', 'c/d'])"}}
    expected = (".validate at /e wants children that are not there: b, c/d",)
    assert write_hints(tree, "/e/a", 1) == expected


def test_what_is_allowed_needs_no_hint() -> None:
    tree = {"a": {".read": "auth != null", "b": {".read": "data.val() > 1"}}}
    assert read_hints(tree, "/a/b") == ()
    assert write_hints({"a": {".write": True}}, "/a", 1) == ()


def test_hints_are_few_and_each_is_given_once() -> None:
    tree = {"a": {f"b{number}": {".read": True} for number in range(50)}}
    hints = read_hints(tree, "/a")
    assert len(hints) == 10
    assert len(set(hints)) == 10
