"""Every operand type in every position, and every member and call, as the tables of types say."""

import pytest

from treedb.config import DEFAULT_LIMITS
from treedb.rules.checker import Checked, check_expression
from treedb.rules.parser import parse_expression
from treedb.rules.signatures import Access, Type

WILDCARDS = ("$k",)

# One expression of each type.
OF_TYPE = {
    Type.BOOLEAN: "(1 == 1)",
    Type.NUMBER: "now",
    Type.STRING: "$k",
    Type.NULL: "null",
    Type.REGEX: "/x/",
    Type.SNAPSHOT: "data",
    Type.METHOD: "data.exists",
    Type.VALUE: "data.val()",
    Type.AUTH: "auth.uid",
    Type.QUERY: "query",
    Type.QUERY_VALUE: "query.startAt",
    Type.MIXED: "(1 == 1 ? 1 : null)",
}
COMPARED = {
    Type.BOOLEAN, Type.NUMBER, Type.STRING, Type.NULL, Type.VALUE, Type.AUTH, Type.QUERY_VALUE,
    Type.MIXED,
}  # fmt: skip
ORDERED = {
    Type.NUMBER, Type.STRING, Type.VALUE, Type.AUTH, Type.QUERY_VALUE, Type.MIXED,
}  # fmt: skip
NUMERIC = ORDERED - {Type.STRING}
TEXTUAL = {Type.STRING, Type.VALUE, Type.AUTH, Type.MIXED}
BOOLEAN = {Type.BOOLEAN}

# A position, the types it takes, and the message for all others; # stands for the operand.
POSITIONS = [
    ("#", BOOLEAN, "Expression must evaluate to a boolean."),
    ("!#", BOOLEAN, "! only operates on booleans."),
    ("# && true", BOOLEAN, "Left operand of && must be boolean."),
    ("true && #", BOOLEAN, "Right operand of && must be boolean."),
    ("true && true && #", BOOLEAN, "Right operand of && must be boolean."),
    ("# || true", BOOLEAN, "Left operand of || must be boolean."),
    ("true || #", BOOLEAN, "Right operand of || must be boolean."),
    ("# ? true : false", BOOLEAN, "condition of ? must be boolean."),
    (
        "# == 1",
        COMPARED,
        "Invalid == expression: left operand is not a number, boolean, string, null.",
    ),
    (
        "1 == #",
        COMPARED,
        "Invalid == expression: right operand is not a number, boolean, string, or null.",
    ),
    (
        "# === 1",
        COMPARED,
        "Invalid == expression: left operand is not a number, boolean, string, null.",
    ),
    (
        "# != 1",
        COMPARED,
        "Invalid != expression: left operand is not a number, boolean, string, or null.",
    ),
    (
        "1 !== #",
        COMPARED,
        "Invalid != expression: right operand is not a number, boolean, string, or null.",
    ),
    ("-# == 1", NUMERIC, "- only operates on numbers."),
    ("data.child(#).exists()", TEXTUAL, "child() expects a string argument."),
    ("data.hasChild(#)", TEXTUAL, "hasChild() expects a string argument."),
    ("data.hasChildren([#])", TEXTUAL, "hasChildren() expects an array of strings."),
    ("$k.contains(#)", TEXTUAL, "contains() expects a string argument."),
    ("$k.beginsWith(#)", TEXTUAL, "beginsWith() expects a string argument."),
    ("$k.endsWith(#)", TEXTUAL, "endsWith() expects a string argument."),
    ("$k.replace(#, 'a') == 'a'", TEXTUAL, "Argument 1 of replace() must be a string."),
    ("$k.replace('a', #) == 'a'", TEXTUAL, "Argument 2 of replace() must be a string."),
    ("$k.matches(#)", {Type.REGEX}, "matches() expects a regular expression literal argument."),
    ("data.hasChildren(#)", set(), "hasChildren() expects an array of child names."),
    *(
        (text, ORDERED, f"Invalid {sign} expression: {side} operand must be a number or string.")
        for sign in ("<", "<=", ">", ">=")
        for text, side in ((f"# {sign} 1", "left"), (f"1 {sign} #", "right"))
    ),
    ("# + 1 == 1", ORDERED, "Invalid + expression: left operand is not a number or string."),
    ("1 + # == 1", ORDERED, "Invalid + expression: right operand is not a number or string."),
    *(
        (text, NUMERIC, f"Invalid {sign} expression: {side} operand is not a number.")
        for sign in ("-", "*", "/", "%")
        for text, side in ((f"# {sign} 1 == 1", "left"), (f"1 {sign} # == 1", "right"))
    ),
]

# Receivers that have no members at all.
NO_MEMBERS = {
    Type.BOOLEAN, Type.NUMBER, Type.NULL, Type.REGEX, Type.QUERY_VALUE, Type.MIXED, Type.METHOD,
}  # fmt: skip
NO_OBJECT = "Invalid property access: target is not an object."
NO_INDEX = "Invalid property access."
NO_FUNCTION = "Type error: Function call on target that is not a function."


def check(text: str, access: Access = Access.WRITE) -> Checked:
    node = parse_expression(text, DEFAULT_LIMITS)
    return check_expression(node, access, WILDCARDS, DEFAULT_LIMITS)


def messages(text: str, access: Access = Access.WRITE) -> list[str]:
    return [mistake.message for mistake in check(text, access).mistakes]


@pytest.mark.parametrize("kind", OF_TYPE, ids=lambda kind: kind.value)
@pytest.mark.parametrize(
    "position, accepted, message", POSITIONS, ids=[row[0] for row in POSITIONS]
)
def test_a_position_takes_its_types_and_refuses_all_others(
    position: str, accepted: set[Type], message: str, kind: Type
) -> None:
    found = messages(position.replace("#", OF_TYPE[kind]))
    assert found == ([] if kind in accepted else [message])


@pytest.mark.parametrize("kind", OF_TYPE, ids=lambda kind: kind.value)
def test_an_unknown_member_is_refused_by_what_has_members(kind: Type) -> None:
    found = messages(f"{OF_TYPE[kind]}.name == 1")
    if kind is Type.AUTH:
        assert found == []
    elif kind in NO_MEMBERS:
        assert found == [NO_OBJECT]
    else:
        assert found == ["No such method/property 'name'."]


@pytest.mark.parametrize("kind", OF_TYPE, ids=lambda kind: kind.value)
def test_only_auth_takes_a_computed_index(kind: Type) -> None:
    found = messages(f"{OF_TYPE[kind]}[$k] == 1")
    assert found == ([] if kind is Type.AUTH else [NO_INDEX])


TYPES = [
    ("1 == 2", Type.BOOLEAN),
    ("!true", Type.BOOLEAN),
    ("1 - 2", Type.NUMBER),
    ("-1", Type.NUMBER),
    ("1 + 2", Type.NUMBER),
    ("1 + 'a'", Type.STRING),
    ("data.val() + 'a'", Type.STRING),
    ("data.val() + 1", Type.VALUE),
    ("data.val() + data.val()", Type.VALUE),
    ("auth.uid + 1", Type.VALUE),
    ("true ? 1 : 2", Type.NUMBER),
    ("true ? 1 : 'a'", Type.VALUE),
    ("true ? null : data.val()", Type.VALUE),
    ("true ? auth.uid : true", Type.VALUE),
    ("true ? 1 : true", Type.MIXED),
    ("true ? data : newData", Type.SNAPSHOT),
    ("true ? auth : auth.token", Type.AUTH),
    ("data.child('a')", Type.SNAPSHOT),
    ("data.getPriority()", Type.VALUE),
    ("$k.length", Type.NUMBER),
    ("data.val().length", Type.NUMBER),
    ("auth.x.length", Type.AUTH),
    ("auth.x.contains", Type.METHOD),
    ("auth['a b'][$k].c", Type.AUTH),
    ("query.orderByKey", Type.BOOLEAN),
    ("query.limitToLast", Type.QUERY_VALUE),
    ("data['exists']", Type.METHOD),
    ("$k.replace('a', 'b').toLowerCase()", Type.STRING),
]


@pytest.mark.parametrize("text, kind", TYPES)
def test_a_part_has_the_type_of_what_it_comes_to(text: str, kind: Type) -> None:
    checked = check(text)
    assert checked.types[-1] is kind


# text, offset of the mistake, message
REFUSED = [
    ("foo == 1", 0, "Unknown variable 'foo'."),
    ("true && $nope == 'a'", 8, "Unknown variable '$nope'."),
    ("undefined == null", 0, "Unknown variable 'undefined'."),
    ("Math.abs(1) == 1", 0, "Unknown variable 'Math'."),
    ("true && (data.name == 'x')", 9, "No such method/property 'name'."),
    ("data.val()['k'] == 1", 0, "No such method/property 'k'."),
    ("data.numChildren() == 1", 0, "No such method/property 'numChildren'."),
    ("$k.indexOf('a') == 1", 0, "No such method/property 'indexOf'."),
    ("query.pageSize < 3", 0, "No such method/property 'pageSize'."),
    ("now.length > 3", 0, NO_OBJECT),
    ("data.exists.x == 1", 0, NO_OBJECT),
    ("query.orderByChild.length == 1", 0, NO_OBJECT),
    ("data[$k] == 1", 0, NO_INDEX),
    ("$k[0] == 'a'", 0, NO_INDEX),
    ("data.val().length() > 3", 0, NO_FUNCTION),
    ("auth.exists()", 0, NO_FUNCTION),
    ("auth.uid.foo()", 0, NO_FUNCTION),
    ("'a'() == 1", 0, NO_FUNCTION),
    ("(true ? data.exists : data.exists)()", 0, NO_FUNCTION),
    ("data.exists('x')", 0, "exists() expects no arguments."),
    ("data.parent(1).exists()", 0, "parent() expects no arguments."),
    ("$k.toLowerCase('x') == 'a'", 0, "toLowerCase() expects no arguments."),
    ("data.child().exists()", 0, "child() expects 1 argument."),
    ("data.hasChild('a', 'b')", 0, "hasChild() expects 1 argument."),
    ("$k.contains()", 0, "contains() expects 1 argument."),
    ("$k.replace('a') == 'b'", 0, "replace() expects two arguments."),
    ("$k.matches()", 0, "matches() expects 1 regular expression literal argument."),
    (
        "data.hasChildren(['a'], ['b'])",
        0,
        "hasChildren() expects only a single argument (containing an array of child names).",
    ),
    ("data.hasChildren(['a', 1])", 23, "hasChildren() expects an array of strings."),
    ("['a'] == null", 0, "Unexpected array literal."),
    ("data.hasChild(['a'])", 14, "Unexpected array literal."),
    ("$k.matches(/x/g)", 11, "regular expressions do not support flags other than i"),
    ("$k.matches(true ? /x/ : /y/)", 11,
     "matches() expects a regular expression literal argument."),
    (
        "true && $k.matches(/^(x|)$/)",
        19,
        "Illegal regular expression, expected ')' at position 4",
    ),
    ("true ? true : 0", 0, "Expression must evaluate to a boolean."),
]  # fmt: skip


@pytest.mark.parametrize("text, offset, message", REFUSED)
def test_one_mistake_is_told_once_where_it_stands(text: str, offset: int, message: str) -> None:
    found = [(mistake.message, mistake.offset) for mistake in check(text).mistakes]
    assert found == [(message, offset)]


def test_new_data_is_refused_in_read_rules_only() -> None:
    refused = ["newData is invalid in .read expressions."]
    assert messages("newData.child('a').exists()", Access.READ) == refused
    assert messages("newData.child('a').exists()", Access.WRITE) == []
    assert messages("newData.child('a').exists()", Access.VALIDATE) == []


@pytest.mark.parametrize("access", Access)
def test_the_query_is_known_to_every_rule(access: Access) -> None:
    assert messages("query.orderByKey && query.limitToFirst <= 100", access) == []


def test_every_mistake_of_an_expression_is_told() -> None:
    assert messages("foo == 1 && bar == 2 && !auth.x") == [
        "Unknown variable 'foo'.",
        "Unknown variable 'bar'.",
        "! only operates on booleans.",
    ]


HINTS = [
    ("atuh != null", "did you mean 'auth'?"),
    ("$K == 'a'", "did you mean '$k'?"),
    ("data.exist()", "did you mean 'exists'?"),
    ("$k.startsWith('a')", "did you mean 'beginsWith'?"),
    ("data == null", "did you mean data.val()?"),
    ("$k.length() > 1", "length is a property: leave out the parentheses"),
    ("auth.admin", "compare it with == true"),
    ("$k.matches('a')", "write it as /.../"),
    ("xyzzy == 1", ""),
]


@pytest.mark.parametrize("text, hint", HINTS)
def test_a_mistake_comes_with_a_way_out(text: str, hint: str) -> None:
    assert [mistake.hint for mistake in check(text).mistakes] == [hint]
