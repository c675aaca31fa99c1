import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.config import DEFAULT_LIMITS
from treedb.errors import RuleSyntaxError
from treedb.rules.regex import compile_regex, translate

# body, flags, texts that match, texts that do not
MATCHING = [
    ("ab", "", ["ab", "xaby"], ["", "a", "AB"]),
    ("^ab", "", ["ab", "abc"], ["xab"]),
    ("ab$", "", ["ab", "xab"], ["abx", "ab\n"]),
    ("^ab$", "", ["ab"], ["xab", "abx", "ab\n"]),
    ("^$", "", [""], ["a"]),
    ("^a|b$", "", ["a", "b"], ["ab", "xb", "ax"]),
    ("a.b", "", ["axb", "a\nb", "a\U0001f600b"], ["ab"]),
    (r"^\s+$", "", [" \t\n\x0b\f\r"], ["\u00a0", "\u2003"]),
    (r"^\S+$", "", ["abc", "\u00a0"], ["a b"]),
    (r"^\w+$", "", ["aZ09_"], ["é", "-"]),
    (r"^\W+$", "", ["é-"], ["a"]),
    (r"^\d+$", "", ["0123456789"], ["\u0663", "a"]),
    (r"^\D+$", "", ["a\u0663"], ["1"]),
    (r"^[\w.]+@[\w.]+$", "", ["a.b@c.d"], ["a b@c"]),
    (r"^[\D5]$", "", ["a", "5"], ["6"]),
    (r"^[^\d]$", "", ["a"], ["5"]),
    (r"^\n\t\b\.$", "", ["ntb."], ["\n\tb."]),
    (r"\u0041", "", ["u0041"], ["A"]),
    (r"^\$\^$", "", ["$^"], ["$"]),
    (r"a\\$", "", ["a\\"], ["a"]),
    ("[abc]", "", ["b"], ["d"]),
    ("^[a-c]$", "", ["a", "b", "c"], ["d", "-"]),
    ("^[^a-c]$", "", ["d", "\n"], ["b"]),
    ("^[-a]$", "", ["-", "a"], ["b"]),
    ("^[a-]$", "", ["-", "a"], ["b"]),
    (r"^[\]a]$", "", ["]", "a"], ["\\"]),
    ("^[a^$.*]$", "", ["^", "$", ".", "*"], ["b"]),
    ("^[[:alpha:]]$", "", ["a]", ":]"], ["b]", "a"]),
    ("^[é-ü]$", "", ["é", "ö"], ["a"]),
    ("^a*$", "", ["", "aa"], ["b"]),
    ("^a+$", "", ["a", "aa"], [""]),
    ("^a?$", "", ["", "a"], ["aa"]),
    ("^a{2}$", "", ["aa"], ["a", "aaa"]),
    ("^a{2,}$", "", ["aa", "aaa"], ["a"]),
    ("^a{1,2}$", "", ["a", "aa"], ["", "aaa"]),
    ("^a**$", "", ["", "aa"], ["b"]),
    ("^(ab)+$", "", ["abab"], ["aba"]),
    ("^(a|b|)x$|", "", None, None),
    ("^()$", "", [""], ["a"]),
    ("^(?:x)$", "", ["?:x"], ["x"]),
    ("^(?=x)$", "", ["?=x"], ["x"]),
    ("^(*a)$", "", ["*a"], ["a"]),
    ("^(|a)$", "", ["|a"], ["a", ""]),
    (r"^(a)\1$", "", ["a1"], ["aa"]),
    ("^a}$", "", ["a}"], ["a"]),
    ("^(?i)a$", "", None, None),
    ("^(red|blue)[0-9]?$", "i", ["BLUE7", "red"], ["blue77"]),
    ("^[a-c]$", "i", ["B"], ["D"]),
    ("^[^a-c]$", "i", ["D"], ["B"]),
    ("^k$", "i", ["K"], ["\u212a"]),
    ("^s$", "i", ["S"], ["\u017f"]),
    ("^é$", "i", ["é"], ["É"]),
    ("^.$", "", ["\U0001f600"], ["ab"]),
    ("\U0001f600", "", ["a\U0001f600"], ["\U0001f601"]),
]

REFUSED = [
    ("^(up|down|)$", "Illegal regular expression, expected ')' at position 10"),
    ("(^foo$|bar)", "Illegal regular expression, unexpected '^' at position 1"),
    ("(foo$|bar)", "Illegal regular expression, unexpected '$' at position 4"),
    ("a^b", "Illegal regular expression, unexpected '^' at position 1"),
    ("a|", "Illegal regular expression, unexpected end-of-string at position 2"),
    ("(a", "Illegal regular expression, expected ')' at position 2"),
    ("a)", "Illegal regular expression, end-of-string expected at position 1"),
    ("a{", "Illegal regular expression, integer expected at position 2"),
    ("a{,3}", "Illegal regular expression, integer expected at position 2"),
    ("a{1", "Illegal regular expression, expected '}' at position 3"),
    ("a{3,2}", "Illegal regular expression, repeat counts out of order at position 6"),
    ("a{1,1001}", "Illegal regular expression, at most 1000 repeats allowed at position 8"),
    ("a{99999999999}", "Illegal regular expression, at most 1000 repeats allowed at position 13"),
    (
        "((a{100}){100}){100}",
        "Illegal regular expression, too large (invalid repetition size: {100,100})",
    ),
    ("[b-a]", "Illegal regular expression, range out of order at position 4"),
    ("[^]", "Illegal regular expression, expected ']' at position 3"),
    (
        "(" * 51 + "a" + ")" * 51,
        "Illegal regular expression, groups nested deeper than 50 at position 51",
    ),
    ("a" * 1001, "The regular expression has 1001 characters: at most 1000 are allowed."),
]


@pytest.mark.parametrize(
    "body, flags, matching, other", [row for row in MATCHING if row[2] is not None]
)
def test_a_body_matches_as_its_dialect_says(
    body: str, flags: str, matching: list[str], other: list[str]
) -> None:
    matcher = compile_regex(body, flags, DEFAULT_LIMITS)
    assert [text for text in matching if not matcher.matches(text)] == []
    assert [text for text in other if matcher.matches(text)] == []


@pytest.mark.parametrize("body, message", REFUSED)
def test_a_bad_body_is_refused_with_the_position(body: str, message: str) -> None:
    with pytest.raises(RuleSyntaxError) as refusal:
        compile_regex(body, "", DEFAULT_LIMITS)
    assert refusal.value.reason == message


@pytest.mark.parametrize("flags", ["g", "m", "gi", "ii", "I"])
def test_there_is_no_flag_but_i(flags: str) -> None:
    with pytest.raises(RuleSyntaxError, match="do not support flags other than i"):
        compile_regex("a", flags, DEFAULT_LIMITS)


@pytest.mark.parametrize("body", ["(?:x)", "(*a)", "(|a)", "+a"])
def test_a_sign_with_nothing_to_work_on_is_taken_with_a_warning(body: str) -> None:
    [warning] = translate(body, "", DEFAULT_LIMITS).warnings
    assert "stands for itself" in warning


def test_ordinary_bodies_have_no_warning() -> None:
    assert translate(r"^(a|b)+[?*]\?x{2}$", "i", DEFAULT_LIMITS).warnings == ()


def test_half_a_surrogate_pair_is_matched_as_the_replacement_character() -> None:
    matcher = compile_regex("^a.$", "", DEFAULT_LIMITS)
    assert matcher.matches("a\ud800")
    assert compile_regex("\ufffd", "", DEFAULT_LIMITS).matches("\ud800")


@pytest.mark.parametrize("body", ["(a+)+$", "^(a|aa)+$", "^(a*)*b$"])
def test_no_body_takes_more_than_linear_time(body: str) -> None:
    matcher = compile_regex(body, "", DEFAULT_LIMITS)
    text = "a" * 50_000 + "!"
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        assert not matcher.matches(text)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.005


atoms = st.sampled_from(["a", "b", ".", r"\d", r"\w", "[ab]", "[^a]", r"[\d-]", r"\.", "x"])
bodies = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: f"({'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@given(bodies, st.text(st.sampled_from("ab1.x\n-"), max_size=6), st.booleans(), st.booleans())
def test_what_python_also_knows_matches_alike(
    body: str, text: str, at_start: bool, at_end: bool
) -> None:
    anchored = ("^" if at_start else "") + body + ("$" if at_end else "")
    start, end = r"\A" if at_start else "", r"\Z" if at_end else ""
    expected = re.search(f"{start}(?:{body}){end}", text, re.DOTALL | re.ASCII)
    assert compile_regex(anchored, "", DEFAULT_LIMITS).matches(text) is (expected is not None)


@given(st.text(st.sampled_from(r"ab(|)[]{}*+?.^$\-,12dws:é"), max_size=20), st.booleans())
def test_any_body_is_compiled_or_refused(body: str, ignores_case: bool) -> None:
    try:
        compile_regex(body, "i" if ignores_case else "", DEFAULT_LIMITS).matches("ab12")
    except RuleSyntaxError as error:
        message = error.reason
    else:
        message = "Illegal regular expression, not"
    assert message.startswith("Illegal regular expression, ")
