import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.errors import RuleSyntaxError
from treedb.rules.lexer import Kind, tokens_of

TOKENS = [
    ("", []),
    (" \t\r\n\u00a0 ", []),
    ("auth.uid", ["auth", ".", "uid"]),
    ("$uid _x a1", ["$uid", "_x", "a1"]),
    ("1 1.50 .5 1e3 1.e2 0x1F 0", ["1", "1.50", ".5", "1e3", "1.e2", "0x1F", "0"]),
    ("===!====!=<=>=<>&&||", ["===", "!==", "==", "!=", "<=", ">=", "<", ">", "&&", "||"]),
    ("+-*%?:,()[]!", list("+-*%?:,()[]!")),
    ("a// comment\n+b/* more */", ["a", "+", "b"]),
    ("a ?.5 : b", ["a", "?", ".5", ":", "b"]),
    ("1 - -1", ["1", "-", "-", "1"]),
    ("a / b / c", ["a", "/", "b", "/", "c"]),
    ("(a) / b", ["(", "a", ")", "/", "b"]),
    ("x[1] / 2", ["x", "[", "1", "]", "/", "2"]),
]

STRINGS = [
    ("''", ""),
    ("'a\"b'", 'a"b'),
    ('"a\'b"', "a'b"),
    (r"'\n\t\r\b\f\v\0'", "\n\t\r\b\f\v\0"),
    (r"'\x41\u00e9\q\'\\'", "Aéq'\\"),
    (r"'\ud834\udd1e'", "\U0001d11e"),
    ("'é\U0001d11e'", "é\U0001d11e"),
]

REGEXES = [
    ("/a/", "a", ""),
    ("(/a/i", "a", "i"),
    ("a.matches(/[/]/)", "[/]", ""),
    (r"a == /\/x/gm", r"\/x", "gm"),
    ("a && /=b/", "=b", ""),
    (r"[/[\]/]/]", r"[\]/]", ""),
]

REFUSED = [
    ("a = 1", 2, "Rule expressions may not contain assignments."),
    ("a += 1", 2, "Rule expressions may not contain assignments."),
    ("a++", 1, "Rule expressions may not contain assignments."),
    ("--a", 0, "Rule expressions may not contain assignments."),
    ("a &&= b", 2, "Rule expressions may not contain assignments."),
    ("a & b", 2, "Rule expressions may not contain operator '&'."),
    ("a | b", 2, "Rule expressions may not contain operator '|'."),
    ("a ^ b", 2, "Rule expressions may not contain operator '^'."),
    ("~a", 0, "Rule expressions may not contain operator '~'."),
    ("a ** b", 2, "Rule expressions may not contain operator '**'."),
    ("a << b", 2, "Rule expressions may not contain operator '<<'."),
    ("a >>> b", 2, "Rule expressions may not contain operator '>>>'."),
    ("a ?? b", 2, "Rule expressions may not contain operator '??'."),
    ("a?.b", 1, "Rule expressions may not contain operator '?.'."),
    ("a => b", 2, "Rule expressions may not contain operator '=>'."),
    ("a; b", 1, "Unexpected ';'."),
    ("{a: 1}", 0, "Unexpected '{'."),
    ("`a`", 0, "Unexpected '`'."),
    ("a \x00", 2, "Unexpected character U+0000."),
    ("1a", 1, "Unexpected 'a' after a number."),
    ("01", 1, "Unexpected '1' after a number."),
    ("0x", 1, "Unexpected 'x' after a number."),
    ("a == 'b", 5, "The string has no end."),
    ("'a\nb'", 0, "The string has no end."),
    ("'a\\", 2, "Invalid escape: '\\' at the end of a line."),
    ("'\\\n'", 1, "Invalid escape: '\\' at the end of a line."),
    (r"'\x4'", 1, r"Invalid escape: '\x' without its hexadecimal digits."),
    (r"'\u{41}'", 1, r"Invalid escape: '\u' without its hexadecimal digits."),
    (r"'\ud834'", 0, "The string holds half of a surrogate pair."),
    ("a.matches(/b)", 10, "unterminated regular expression literal"),
    ("a.matches(/[b/)", 10, "unterminated regular expression literal"),
    ("/a\n/", 0, "unterminated regular expression literal"),
    ("a /* b", 2, "The comment has no end."),
]


@pytest.mark.parametrize("text, expected", TOKENS)
def test_text_is_cut_into_tokens(text: str, expected: list[str]) -> None:
    *tokens, end = tokens_of(text)
    assert end.kind is Kind.END
    assert [token.text for token in tokens] == expected
    assert [text[token.start : token.end] for token in tokens] == expected


@pytest.mark.parametrize("text, value", STRINGS)
def test_strings_have_the_escapes_of_javascript(text: str, value: str) -> None:
    token, end = tokens_of(text)
    assert (token.kind, token.text) == (Kind.STRING, value)
    assert token.end == end.start == len(text)


@pytest.mark.parametrize("text, body, flags", REGEXES)
def test_a_slash_where_an_operand_may_start_is_a_regular_expression(
    text: str, body: str, flags: str
) -> None:
    [found] = [token for token in tokens_of(text) if token.kind is Kind.REGEX]
    assert (found.text, found.flags) == (body, flags)


@pytest.mark.parametrize("text, offset, message", REFUSED)
def test_what_is_no_token_is_refused_where_it_stands(text: str, offset: int, message: str) -> None:
    with pytest.raises(RuleSyntaxError) as refusal:
        tokens_of(text)
    assert (refusal.value.reason, refusal.value.offset) == (message, offset)


@given(st.text(st.sampled_from("ab$1.'\"/\\[]()=!&|+-*? \n\u00e9xu;")))
def test_any_text_is_cut_or_refused(text: str) -> None:
    try:
        starts = [token.start for token in tokens_of(text)]
    except RuleSyntaxError as error:
        starts = [error.offset]
    assert starts == sorted(starts)
    assert 0 <= starts[0] <= starts[-1] <= len(text)
