import dataclasses
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.errors import Finding, RulesError
from treedb.rules.loader import parse_rules
from treedb.rules.rule import RuleNode

BAD_KEY = 'String can\'t contain ".", "#", "$", "/", "[", or "]"'
BAD_RULE = "Invalid rule expression.  Expected 'true', 'false', or an expression string."
BAD_INDEX = "Invalid indexOn expression. Must be either a string or an array of strings"


def refused(text: str) -> tuple[Finding, ...]:
    with pytest.raises(RulesError) as refusal:
        parse_rules(text)
    return refusal.value.findings


def findings_in(text: str) -> tuple[Finding, ...]:
    """Return what is wrong with a text, nothing when it loads."""
    try:
        parse_rules(text)
    except RulesError as error:
        return error.findings
    return ()


def seconds_to_load(text: str) -> float:
    start = time.process_time()
    findings_in(text)
    return time.process_time() - start


def below(node: RuleNode, *keys: str) -> RuleNode:
    for key in keys:
        child = node.below(key)
        assert child is not None, key
        node = child
    return node


LOADED = [
    '{"rules":{}}',
    '{"rules":{".read":true,".write":false}}',
    '{"rules":{".read":"true",".write":"false",".validate":"1 == 1",".indexOn":".value"}}',
    '{"rules":{"$a":{".write":"$a == \'x\'","b":{},"$c":{".read":"$a == $c"}}}}',
    '{"rules":{"$a":{"x":{"$b":{}}},"y":{"$a":{"$b":{}}}}}',
    '{"rules":{"a":{".indexOn":["x","x/y",".value"]}}}',
    '{"rules":{"a b":{},"@":{},"\'":{},"é":{},"-":{},"constructor":{},"__proto__":{}}}',
    '{"rules":{"$user-id":{".read":true}}}',
    '\ufeff// rules\n{"rules":{/* all */".read":true,},}\n',
    '{"rules":{".read":"auth != null &&\n    auth.uid == \'x\'"}}',
]

# The text, then each finding's line, column and message.
REFUSED = [
    ("{}", [(1, 2, "Expected 'rules' property.")]),
    (' {"ruels":{}}', [(1, 3, "Expected 'rules' property.")]),
    ("[]", [(1, 1, "Expected '{'.")]),
    ("true", [(1, 1, "Expected '{'.")]),
    ("", [(1, 1, "Unexpected end of the file.")]),
    ('{"rules":true}', [(1, 10, "Expected '{'.")]),
    ('{"rules":[]}', [(1, 10, "Expected '{'.")]),
    ('{"rules":{},"x":1}', [(1, 13, "Unexpected 'x' beside 'rules'.")]),
    ('{"rules":{},"rules":{}}', [(1, 13, "Duplicate key 'rules'.")]),
    ('{"rules":{}} x', [(1, 14, "Expected the end of the file.")]),
    ('{"rules":{"a":1}}', [(1, 15, "Expected '{'.")]),
    ('{"rules":{"a":"true"}}', [(1, 15, "Expected '{'.")]),
    ('{"rules":{"a":[]}}', [(1, 15, "Expected '{'.")]),
    ('{"rules":{"a":null}}', [(1, 15, "Expected '{'.")]),
    ('{"rules":{".read":1}}', [(1, 19, BAD_RULE)]),
    ('{"rules":{".read":null}}', [(1, 19, BAD_RULE)]),
    ('{"rules":{".write":{}}}', [(1, 20, BAD_RULE)]),
    ('{"rules":{".validate":[]}}', [(1, 23, BAD_RULE)]),
    ('{"rules":{".read":""}}', [(1, 20, "Unexpected end of expression.")]),
    ('{"rules":{".read":"  "}}', [(1, 22, "Unexpected end of expression.")]),
    ('{"rules":{".indexOn":5}}', [(1, 22, BAD_INDEX)]),
    ('{"rules":{".indexOn":{}}}', [(1, 22, BAD_INDEX)]),
    ('{"rules":{".indexOn":["a",1]}}', [(1, 27, BAD_INDEX)]),
    ('{"rules":{".indexOn":["a","b.c"]}}', [(1, 27, BAD_INDEX)]),
    ('{"rules":{".indexOn":""}}', [(1, 22, BAD_INDEX)]),
    ('{"rules":{".indexOn":".priority"}}', [(1, 22, BAD_INDEX)]),
    ('{"rules":{"a":{".reed":{}}}}', [(1, 16, BAD_KEY)]),
    ('{"rules":{"a":{".reed":true}}}', [(1, 24, "Expected '{'.")]),
    *((f'{{"rules":{{"a{sign}b":{{}}}}}}', [(1, 11, BAD_KEY)]) for sign in ".#$/[]"),
    ('{"rules":{"a\\u0007":{}}}', [(1, 11, BAD_KEY)]),
    ('{"rules":{"a\\u007f":{}}}', [(1, 11, BAD_KEY)]),
    ('{"rules":{"$a/b":{}}}', [(1, 11, BAD_KEY)]),
    ('{"rules":{"$a$b":{}}}', [(1, 11, BAD_KEY)]),
    ('{"rules":{"$":{}}}', [(1, 11, "A wildcard has no name.")]),
    ('{"rules":{"":{}}}', [(1, 11, "A key is empty: a key has at least one character.")]),
    ('{"rules":{"a":{},"a":{}}}', [(1, 18, "Duplicate key 'a'.")]),
    ('{"rules":{".read":true,".read":false}}', [(1, 24, "Duplicate key '.read'.")]),
    (
        '{"rules":{"$a":{},"$b":{}}}',
        [(1, 19, "Cannot have multiple default rules ('$a' and '$b').")],
    ),
    (
        '{"rules":{"$a":{"x":{"$a":{}}}}}',
        [(1, 22, "Wildcard '$a' is already used on this path.")],
    ),
    # The scope of a wildcard is its own node and what is below.
    ('{"rules":{".read":"$a == \'x\'","$a":{}}}', [(1, 20, "Unknown variable '$a'.")]),
    ('{"rules":{"$a":{},"b":{".read":"$a == \'x\'"}}}', [(1, 33, "Unknown variable '$a'.")]),
    ('{"rules":{"a":{".read":"foo"}', [
        (1, 25, "Unknown variable 'foo'."),
        (1, 30, "Unexpected end of the file."),
    ]),
    ('{"rules":{"a":{".read":true} "b":{},,"c":1}}', [
        (1, 30, "Expected ',' or '}'."),
        (1, 37, "Expected '\"'."),
        (1, 42, "Expected '{'."),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("text", LOADED)
def test_a_rules_file_is_loaded_and_its_text_kept(text: str) -> None:
    assert parse_rules(text).text == text


@pytest.mark.parametrize("text, expected", REFUSED)
def test_a_wrong_file_is_refused_with_line_and_column(
    text: str, expected: list[tuple[int, int, str]]
) -> None:
    found = [(finding.line, finding.column, finding.message) for finding in refused(text)]
    assert found == expected


FIVE_MISTAKES = """\
// rules of the chat
{
  "rules": {
    "rooms": {
      "$room": {
        ".read": "atuh != null",
        ".write": "auth.uid = 'x'",
        "$other": {},
        "$more": {".validate": "newData.isString() &&
            newData.val().length() < \\"10\\".length"}
      }
    },
    "members": {".raed": true}
  }
}
"""


def test_every_mistake_of_a_file_is_told_in_its_order() -> None:
    found = refused(FIVE_MISTAKES)
    assert [(one.line, one.column, one.message, one.place) for one in found] == [
        (6, 19, "Unknown variable 'atuh'.", "/rooms/$room .read"),
        (7, 29, "Rule expressions may not contain assignments.", "/rooms/$room .write"),
        (9, 9, "Cannot have multiple default rules ('$other' and '$more').", "/rooms/$room"),
        (
            10,
            13,
            "Type error: Function call on target that is not a function.",
            "/rooms/$room/$more .validate",
        ),
        (13, 26, "Expected '{'.", "/members"),
    ]
    assert found[0].hint == "did you mean 'auth'?"
    assert found[4].hint == "did you mean '.read'?"
    assert found[0].source == '        ".read": "atuh != null",'


def test_the_error_says_what_the_first_mistake_is() -> None:
    with pytest.raises(RulesError) as refusal:
        parse_rules(FIVE_MISTAKES)
    assert refusal.value.reason == "6:19: Unknown variable 'atuh'."
    assert refusal.value.http_status == 400


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_positions_hold_whatever_ends_the_lines(line_break: str) -> None:
    text = FIVE_MISTAKES.replace("\n", line_break)
    expected = [(6, 19), (7, 29), (9, 9), (10, 13), (13, 26)]
    assert [(one.line, one.column) for one in refused(text)] == expected


def test_positions_hold_through_escapes() -> None:
    text = '{"rules":{".read":"\\"a\\" == \\u0027a\\u0027 && x"}}'
    [finding] = refused(text)
    assert text[finding.column - 1] == "x"


def test_twenty_mistakes_are_told_at_most() -> None:
    nodes = {f"n{number}": {".read": "x"} for number in range(50)}
    assert len(refused(json.dumps({"rules": nodes}))) == 20


def test_literals_and_the_wildcard_are_found_by_key() -> None:
    ruleset = parse_rules('{"rules":{"a":{"$x":{"b":{".read":true}},"y":{}}}}')
    assert below(ruleset.root, "a", "z", "b").keys == ("a", "$x", "b")
    assert below(ruleset.root, "a", "y").keys == ("a", "y")
    assert below(ruleset.root, "a", "y").below("b") is None


def test_rules_keep_the_order_of_the_file() -> None:
    text = '{"rules":{"b":{".write":true,".read":true},"a":{".read":"1 == 1"},".read":false}}'
    ruleset = parse_rules(text)
    assert [(rule.pattern, rule.access.value) for rule in ruleset.rules] == [
        ("/b", ".write"), ("/b", ".read"), ("/a", ".read"), ("/", ".read"),
    ]  # fmt: skip
    assert [rule.position() for rule in ruleset.rules] == [(1, 25), (1, 38), (1, 58), (1, 75)]


LIMITS = [
    (" " * (256 * 1024 + 1), "The rules have 262145 bytes: at most 262144 are allowed."),
    ("é" * 131073, "The rules have 262146 bytes: at most 262144 are allowed."),
    (
        '{"rules":{' + ",".join(f'"{number}":{{}}' for number in range(20_000)) + "}}",
        "The rules have more than 20000 nodes.",
    ),
    (
        json.dumps({"rules": {".indexOn": [f"i{number}" for number in range(10_000)]}}),
        "The node has 10000 indexes: at most 100 are allowed.",
    ),
    (
        '{"rules":' + '{"a":' * 200 + "{}" + "}" * 201,
        "Nested deeper than 100 levels.",
    ),
    (
        json.dumps({"rules": {".read": "(" * 10_000 + "true" + ")" * 10_000}}),
        "The expression has 20004 characters: at most 16384 are allowed.",
    ),
    (
        json.dumps({"rules": {".read": "(" * 5_000 + "true" + ")" * 5_000}}),
        "The expression is nested deeper than 100 levels.",
    ),
]


@pytest.mark.parametrize("text, message", LIMITS, ids=range(len(LIMITS)))
def test_a_file_past_a_limit_is_refused(text: str, message: str) -> None:
    assert [finding.message for finding in refused(text)] == [message]


def test_limits_are_those_given() -> None:
    limits = dataclasses.replace(DEFAULT_LIMITS, rules_nodes=2)
    parse_rules('{"rules":{"a":{}}}', limits)
    with pytest.raises(RulesError, match="more than 2 nodes"):
        parse_rules('{"rules":{"a":{},"b":{}}}', limits)


def test_a_file_of_thousands_of_rules_loads_in_a_second() -> None:
    rule = "auth != null && auth.uid == $id && newData.hasChildren(['a', 'b'])"
    nodes = {f"node{number}": {"$id": {".write": rule}} for number in range(2000)}
    text = json.dumps({"rules": nodes})
    assert len(parse_rules(text).rules) == 2000
    assert any(seconds_to_load(text) < 1 for _ in range(3))


PIECES = [
    '{"rules":', "{", "}", "[", "]", ",", ":", '"', '".read":', '".write":', '".validate":',
    '".indexOn":', '".mirror":', '"$a":', '"a":', "true", "null", "12", "// x\n", "/*", "*/",
    "auth", ".uid", " == ", "&&", "(", ")", "'x'", "newData", ".child(", ".val()", "/a+/", "$a",
    "\\", "\\u00", "\n", "\ufeff", "?", "!", "-", "= ", "hasChildren([", "é", "\x00", "😀",
]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_text_loads_or_is_refused_at_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    findings = findings_in(text)
    assert any(seconds_to_load(text) < 0.05 for _ in range(5))
    assert len(findings) <= 20
    for finding in findings:
        assert finding.line >= 1
        assert 1 <= finding.column <= len(finding.source) + 1
        assert finding.message


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(PIECES[16:]), max_size=25).map("".join),
    st.sampled_from([".read", ".write", ".validate"]),
)
def test_any_expression_loads_or_is_refused(text: str, access: str) -> None:
    findings = findings_in(json.dumps({"rules": {"$a": {access: text}}}))
    assert all(finding.line == 1 for finding in findings)
