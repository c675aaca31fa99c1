import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleSyntaxError
from treedb.rules.parser import parse_expression
from treedb.rules.syntax import (
    Array,
    Binary,
    Call,
    Conditional,
    Index,
    Literal,
    Logical,
    Member,
    Name,
    Node,
    Regex,
    Unary,
    every_part,
)


def parse(text: str) -> Node:
    return parse_expression(text, DEFAULT_LIMITS)


def shown(node: Node) -> str:
    """Write an expression with all its parentheses."""
    match node:
        case Literal():
            return "null" if node.value is None else repr(node.value)
        case Regex():
            return f"/{node.body}/{node.flags}"
        case Name():
            return node.name
        case Member():
            return f"{shown(node.target)}.{node.name}"
        case Index():
            return f"{shown(node.target)}[{shown(node.index)}]"
        case Call():
            return f"{shown(node.function)}({', '.join(map(shown, node.arguments))})"
        case Unary():
            return f"({node.operator}{shown(node.operand)})"
        case Binary():
            return f"({shown(node.left)} {node.operator} {shown(node.right)})"
        case Logical():
            return f"({f' {node.operator} '.join(map(shown, node.operands))})"
        case Conditional():
            return f"({shown(node.test)} ? {shown(node.then)} : {shown(node.otherwise)})"
        case Array():
            return f"[{', '.join(map(shown, node.items))}]"


PARSED = [
    ("true", "True"),
    ("null", "null"),
    ("1.50", "1.5"),
    ("2.0", "2"),
    ("0x1F", "31"),
    ("9007199254740993", "9007199254740992"),
    ("'a'", "'a'"),
    ("auth.uid", "auth.uid"),
    ("auth['uid']", "auth.uid"),
    ("auth[('uid')]", "auth.uid"),
    ("auth[$k]", "auth[$k]"),
    ("auth.delete.new", "auth.delete.new"),
    ("data.child('a').val()", "data.child('a').val()"),
    ("data['child']('a')", "data.child('a')"),
    ("f()()", "f()()"),
    ("!a.b", "(!a.b)"),
    ("!!a", "(!(!a))"),
    ("-a * b", "((-a) * b)"),
    ("- -1", "(-(-1))"),
    ("1 + 2 * 3", "(1 + (2 * 3))"),
    ("(1 + 2) * 3", "((1 + 2) * 3)"),
    ("20 - 5 - 5", "((20 - 5) - 5)"),
    ("12 / 3 / 2 % 5", "(((12 / 3) / 2) % 5)"),
    ("1 + 2 < 3 + 4", "((1 + 2) < (3 + 4))"),
    ("true == 3 > 2", "(True == (3 > 2))"),
    ("1 == 1 != false", "((1 == 1) != False)"),
    ("a === b !== c", "((a == b) != c)"),
    ("a && b || c && d", "((a && b) || (c && d))"),
    ("a || b && c || d", "(a || (b && c) || d)"),
    ("a && b && c", "(a && b && c)"),
    ("(a && b) && c", "((a && b) && c)"),
    ("!a && b", "((!a) && b)"),
    ("a == b && c", "((a == b) && c)"),
    ("a ? b : c", "(a ? b : c)"),
    ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
    ("a ? b ? c : d : e", "(a ? (b ? c : d) : e)"),
    ("a || b ? c : d || e", "((a || b) ? c : (d || e))"),
    ("f([1, 'a'], [])", "f([1, 'a'], [])"),
    ("a.matches(/[/]x/i)", "a.matches(/[/]x/i)"),
    ("a ? /x/ : 1", "(a ? /x/ : 1)"),
    ("a\n  && // why\n b", "(a && b)"),
]

REFUSED = [
    ("", 0, "Unexpected end of expression."),
    ("  ", 2, "Unexpected end of expression."),
    ("a ==", 4, "Unexpected end of expression."),
    ("(a", 2, "Unexpected end of expression."),
    ("a b", 2, "Unexpected 'b'."),
    ("a 'b'", 2, "Unexpected a string."),
    ("a)", 1, "Unexpected ')'."),
    ("a.1", 1, "Unexpected a number."),
    ("a.'b'", 2, "Unexpected a string."),
    ("a ? b", 5, "Unexpected end of expression."),
    ("a[]", 2, "Unexpected ']'."),
    ("f(a,)", 4, "Unexpected ')'."),
    ("+a", 0, "Unexpected '+'."),
    ("a, b", 1, "Unexpected ','."),
    ("typeof a", 0, "Unexpected 'typeof'."),
    ("a in b", 2, "Unexpected 'in'."),
    ("new a()", 0, "Unexpected 'new'."),
    ("this", 0, "Unexpected 'this'."),
    ("function() {}", 11, "Unexpected '{'."),
    ("a..b", 2, "Unexpected '.'."),
]


@pytest.mark.parametrize("text, expected", PARSED)
def test_expressions_are_read_with_the_precedence_of_javascript(text: str, expected: str) -> None:
    assert shown(parse(text)) == expected


@pytest.mark.parametrize("text, offset, message", REFUSED)
def test_what_is_no_expression_is_refused_where_it_stops_being_one(
    text: str, offset: int, message: str
) -> None:
    with pytest.raises(RuleSyntaxError) as refusal:
        parse(text)
    assert refusal.value.reason == message
    assert refusal.value.offset == offset


def test_spans_cover_parts_without_the_parentheses_around_them() -> None:
    text = " (a + b) * !c.d "
    spans = {text[part.span.start : part.span.end] for part in every_part(parse(text))}
    assert spans == {"(a + b) * !c.d", "a + b", "a", "b", "!c.d", "c.d", "c"}


def test_parts_are_numbered_after_those_they_are_made_of() -> None:
    whole = parse("a && f(b, [c]) ? -d : e[g]")
    parts = list(every_part(whole))
    assert sorted(part.span.index for part in parts) == list(range(len(parts)))
    assert whole.span.index == len(parts) - 1


LIMITED = [
    ("(" * 100 + "a" + ")" * 100, "The expression is nested deeper than 100 levels."),
    ("(" * 10_000, "The expression is nested deeper than 100 levels."),
    ("x[" * 100 + "1" + "]" * 100, "The expression is nested deeper than 100 levels."),
    ("!" * 100 + "a", "The expression is nested deeper than 100 levels."),
    ("a ? b : " * 100 + "c", "The expression is nested deeper than 100 levels."),
    (" + ".join("a" * 102), "The expression is nested deeper than 100 levels."),
    (" && ".join(["a"] * 2001), "The expression has more than 2000 parts."),
    ("f(" + ",".join("1" * 2000) + ")", "The expression has more than 2000 parts."),
    ("'" + "a" * 16_383 + "'", "The expression has 16385 characters: at most 16384 are allowed."),
]
ALLOWED = [
    "(" * 99 + "a" + ")" * 99,
    "a || (b && (c == (" * 25 + "d" + ")))" * 25,
    "x[" * 99 + "1" + "]" * 99,
    "!" * 99 + "a",
    " + ".join("a" * 100),
    " && ".join(["a"] * 1999),
    "'" + "a" * 16_382 + "'",
]


@pytest.mark.parametrize("text, message", LIMITED, ids=range(len(LIMITED)))
def test_an_expression_past_a_limit_is_refused(text: str, message: str) -> None:
    with pytest.raises(RuleSyntaxError) as refusal:
        parse(text)
    assert refusal.value.reason == message


@pytest.mark.parametrize("text", ALLOWED, ids=range(len(ALLOWED)))
def test_an_expression_at_a_limit_is_read(text: str) -> None:
    assert parse(text).span.depth <= 100


def test_limits_are_those_given() -> None:
    with pytest.raises(RuleSyntaxError, match="more than 2 parts"):
        parse_expression("a + b", dataclasses.replace(DEFAULT_LIMITS, expression_nodes=2))


WORDS = ["a", "$b", "true", "null", "1", ".5", "'s'", "/x/", "(", ")", "[", "]", ".", ",", "!"]
SIGNS = ["-", "+", "*", "/", "%", "==", "!==", "<", ">=", "&&", "||", "?", ":", "=", "in", ";"]


@given(st.lists(st.sampled_from(WORDS + SIGNS), max_size=30))
def test_any_words_are_an_expression_or_refused(words: list[str]) -> None:
    text = " ".join(words)
    try:
        whole = parse(text)
    except RuleSyntaxError as error:
        offset = error.offset
    else:
        offset = whole.span.end
        again = parse(shown(whole).replace("True", "true").replace("False", "false"))
        assert shown(again) == shown(whole)
    assert 0 <= offset <= len(text)
