import json

import pytest

from treedb.rules.lint import lint
from treedb.rules.loader import parse_rules

STRANGERS = "This is true for everybody who is not signed in: auth is null then."
BOTH_NULL = "Nobody signed in and no data there are equal: both are null."
SLASHES = "The path is made of what the client writes, which may hold slashes."
NEVER_EQUAL = "This is always {}: a {} and a {} are never equal."
NO_ORDER = "This always fails: a {} and a {} have no order."
NO_QUERY = "A write has no query: its members are null."
NO_DELETION = "This is always true: .validate is not asked where data is removed."

# kind, expression, what is warned of and where in the expression
WARNED = [
    (".read", "auth.uid != 'bot'", STRANGERS, 0),
    (".write", "data.exists() && $k != auth.uid", STRANGERS, 17),
    (".read", "auth.token.role != data.val()", STRANGERS, 0),
    (".read", "data.child('owner').val() == auth.uid", BOTH_NULL, 0),
    (".read", "auth.token.org == root.child('org').val()", BOTH_NULL, 0),
    (".write", "root.child('x/' + newData.child('to').val()).exists()", SLASHES, 11),
    (".write", "root.hasChild(newData.val())", SLASHES, 14),
    (".write", "$k == 5", NEVER_EQUAL.format("false", "string", "number"), 0),
    (".write", "true != 'a'", NEVER_EQUAL.format("true", "boolean", "string"), 0),
    (".write", "now == null", NEVER_EQUAL.format("false", "number", "null"), 0),
    (".write", "$k > 5", NO_ORDER.format("string", "number"), 0),
    (".write", "query.limitToFirst == 5", NO_QUERY, 0),
    (".validate", "query.orderByKey", NO_QUERY, 0),
    (
        ".read",
        "$k.matches(/^(?:a)$/)",
        "'?' at position 2 of the regular expression has nothing to work on and stands for itself.",
        11,
    ),
    (".validate", "newData.exists()", NO_DELETION, 0),
    (".validate", "newData.isString() && newData.exists()", NO_DELETION, 22),
]

QUIET = [
    (".read", "auth != null && auth.uid != 'bot'"),
    (".read", "auth.uid != null && data.child('owner').val() == auth.uid"),
    (".read", "auth == null"),
    (".read", "auth.uid == $k"),
    (".read", "auth.token.admin == true"),
    (".validate", "newData.child('by').val() == auth.uid"),
    (".write", "root.child('x/' + $k).child(auth.uid).exists()"),
    (".write", "newData.child('a').val() == 5"),
    (".write", "newData.exists() && auth != null"),
    (".validate", "newData.exists() || data.exists()"),
    (".validate", "newData.child('a').exists()"),
    (".read", "query.limitToFirst <= 10"),
    (".read", "$k.matches(/^[a-z]+$/)"),
    (".read", True),
    (".write", False),
]


def found(kind: str, expression: object) -> list[tuple[str, int]]:
    text = json.dumps({"rules": {"w": {"$k": {kind: expression}}}})
    rules = parse_rules(text)
    start = rules.rules[0].position()[1]
    return [(finding.message, finding.column - start) for finding in lint(rules)]


@pytest.mark.parametrize("kind, expression, message, offset", WARNED)
def test_an_expression_is_warned_of(kind: str, expression: str, message: str, offset: int) -> None:
    assert found(kind, expression) == [(message, offset)]


@pytest.mark.parametrize("kind, expression", QUIET)
def test_an_expression_is_fine(kind: str, expression: object) -> None:
    assert found(kind, expression) == []


OPEN = [
    ({".read": True}, ["Everybody may read the whole database."]),
    ({".read": "1 == 1"}, ["Everybody may read the whole database."]),
    ({".write": True}, ["Everybody may change or delete the whole database."]),
    ({"a": {".write": True}}, ["Everybody may change or delete all of /a."]),
    ({"a": {".read": True}}, []),
    ({"a": {"b": {".write": True}}}, []),
    ({".read": False, ".write": False}, []),
    ({".validate": True}, []),
]


@pytest.mark.parametrize("tree, expected", OPEN)
def test_doors_open_to_all_are_told(tree: object, expected: list[str]) -> None:
    rules = parse_rules(json.dumps({"rules": tree}))
    assert [finding.message for finding in lint(rules)] == expected
