import json
from typing import Any

import pytest

from treedb.rules.lint import lint
from treedb.rules.loader import parse_rules

STRING = {".validate": "newData.isString()"}
UNKNOWN = "Children of other names than {} are not validated."
OPTIONAL = "A value without a passes: .validate is not asked where nothing is."
OBJECTS = "Values with children are never equal: compare them one by one."

WARNED = [
    (
        {".validate": "newData.hasChild('a')", "a": STRING, "b": {}},
        [("/o/a", UNKNOWN.format("a"))],
    ),
    ({"a": STRING, "$other": {".validate": False}}, [("/o/a", OPTIONAL)]),
    ({"a": STRING}, [("/o/a", UNKNOWN.format("a")), ("/o/a", OPTIONAL)]),
    (
        {".validate": "newData.child('a').exists()", "a": STRING},
        [("/o/a", UNKNOWN.format("a"))],
    ),
    (
        {"$k": {".validate": "newData.isNumber()"}, "total": {}},
        [("/o/total", "'total' is not validated: it hides $k and its .validate.")],
    ),
    (
        {"$user-id": {".read": "auth != null"}},
        [
            (
                "/o/$user-id",
                "No expression can use $user-id: names are letters, digits and underscores.",
            )
        ],
    ),
    (
        {".write": "newData.val() == data.val()", "a": {}},
        [("/o .write", OBJECTS)],
    ),
    ({".write": "data.val() != newData.val()", "$a": {}}, [("/o .write", OBJECTS)]),
]

QUIET = [
    {".validate": "newData.hasChildren(['a'])", "a": STRING, "$other": {".validate": False}},
    {".validate": "newData.hasChildren(['a'])", "a": STRING, "$other": STRING},
    {".validate": False, "a": {"b": {}}},
    {"$k": STRING, "named": STRING},
    {"$other": {".validate": False}, "free": {}},
    {"a": {"b": {}}},
    {".write": "newData.val() == data.val()"},
    {".write": "newData.child('x').val() == data.child('x').val()", "x": {}},
    {"$user_id": {".read": "auth != null"}},
]


def found(node: dict[str, Any]) -> list[tuple[str, str]]:
    rules = parse_rules(json.dumps({"rules": {"o": {".write": "auth != null", **node}}}))
    return [(finding.place, finding.message) for finding in lint(rules)]


@pytest.mark.parametrize("node, expected", WARNED)
def test_a_node_is_warned_of(node: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert found(node) == expected


@pytest.mark.parametrize("node", QUIET)
def test_a_node_is_fine(node: dict[str, Any]) -> None:
    assert found(node) == []


def test_what_nobody_may_write_as_a_whole_needs_no_care() -> None:
    tree = {"o": {".write": False, "a": {".write": "auth != null", **STRING}}}
    assert lint(parse_rules(json.dumps({"rules": tree}))) == ()
