import json
from typing import Any

import pytest

from treedb.rules.lint import lint
from treedb.rules.loader import parse_rules


def warnings_of(tree: object) -> list[tuple[str, str]]:
    found = lint(parse_rules(json.dumps({"rules": tree})))
    return [(finding.place, finding.message) for finding in found]


def deep(levels: int, inside: dict[str, Any]) -> dict[str, Any]:
    for _ in range(levels):
        inside = {"x": inside}
    return inside


def test_warnings_come_in_the_order_of_the_file_with_positions() -> None:
    text = '{"rules": {\n  ".write": true,\n  ".read": "true",\n  "a": {".read": false}}}'
    found = lint(parse_rules(text))
    assert [(one.line, one.column, one.message) for one in found] == [
        (2, 13, "Everybody may change or delete the whole database."),
        (3, 13, "Everybody may read the whole database."),
        (4, 18, "This rule is never asked: a .read above it is always true."),
    ]
    assert found[2].place == "/a .read"
    assert found[2].source == '  "a": {".read": false}}}'


@pytest.mark.parametrize("kind", [".read", ".write"])
def test_a_rule_below_one_that_always_grants_is_never_asked(kind: str) -> None:
    tree = {"a": {"b": {kind: True, "c": {"$d": {kind: "auth != null"}}}}}
    expected = f"This rule is never asked: a {kind} above it is always true."
    assert (f"/a/b/c/$d {kind}", expected) in warnings_of(tree)


def test_another_kind_of_rule_below_is_asked() -> None:
    tree = {"a": {"b": {".read": True, "c": {".write": "auth != null"}}}}
    assert warnings_of(tree) == []


def test_rules_deeper_than_data_are_never_asked() -> None:
    assert warnings_of(deep(32, {".read": "auth != null"})) == []
    [(place, message)] = warnings_of(deep(33, {".read": "auth != null"}))
    assert place == "/x" * 33
    assert message == "Data is at most 32 levels deep: nothing is ever here."


def test_good_rules_have_no_warnings() -> None:
    tree = {
        "rooms": {
            "$room": {
                ".read": "auth != null && root.child('members').child($room).hasChild(auth.uid)",
                ".indexOn": "ts",
                "messages": {
                    "$id": {
                        ".write": "auth != null && newData.child('by').val() == auth.uid",
                        ".validate": "newData.hasChildren(['by', 'text'])",
                        "by": {".validate": "newData.isString()"},
                        "text": {".validate": "newData.val().length < 1000"},
                        "$other": {".validate": False},
                    }
                },
            }
        }
    }
    assert warnings_of(tree) == []
