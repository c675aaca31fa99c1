"""What may be a key, and what is said about what may not."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treedb.errors import InvalidPath
from treedb.paths.keys import check_key, find_bad_key, key_problem, shown

SPEC = json.loads((Path(__file__).parent.parent / "spec" / "keys.json").read_text())
LEGAL: list[str] = SPEC["legal"] + [
    text * times for text, times, legal in SPEC["repeated"] if legal
]
ILLEGAL: list[tuple[str, str]] = [(case["key"], case["why"]) for case in SPEC["illegal"]]
TOO_LONG: list[str] = [text * times for text, times, legal in SPEC["repeated"] if not legal]

any_text = st.text(st.characters(codec=None), max_size=20)


def is_legal(key: str) -> bool:
    """Read the documented rule word by word."""
    return (
        key != ""
        and not any(character in ".#$[]/" for character in key)
        and not any(ord(character) < 32 or ord(character) == 127 for character in key)
        and not any(0xD800 <= ord(character) <= 0xDFFF for character in key)
        and len(key.encode()) <= 768
    )


@pytest.mark.parametrize("key", LEGAL, ids=ascii)
def test_a_legal_key_has_no_problem(key: str) -> None:
    assert key_problem(key) is None
    check_key(key)


@pytest.mark.parametrize(("key", "why"), ILLEGAL, ids=ascii)
def test_an_illegal_key_is_refused_with_its_reason(key: str, why: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        check_key(key)
    assert why in caught.value.detail
    assert caught.value.detail == key_problem(key)


@pytest.mark.parametrize(("key", "why"), ILLEGAL, ids=ascii)
def test_a_refusal_can_be_sent_and_logged_on_one_line(key: str, why: str) -> None:
    sentence = key_problem(key)
    assert sentence is not None
    assert sentence.encode().isascii()
    assert sentence.isprintable()


@pytest.mark.parametrize("key", TOO_LONG, ids=lambda key: f"{key[0]}*{len(key)}")
def test_a_long_key_is_refused_with_both_numbers(key: str) -> None:
    sentence = key_problem(key)
    assert sentence is not None
    assert f"has {len(key.encode())} bytes" in sentence
    assert "at most 768" in sentence
    assert len(sentence) < 200


@pytest.mark.parametrize("bad", [key for key, _ in ILLEGAL] + TOO_LONG, ids=ascii)
def test_the_bad_key_is_found_among_good_ones(bad: str) -> None:
    assert find_bad_key([*LEGAL, bad, *LEGAL]) == bad
    assert find_bad_key([bad]) == bad


def test_the_first_of_several_bad_keys_is_found() -> None:
    assert find_bad_key(["good", "a.b", "", "c#"]) == "a.b"
    assert find_bad_key(["good", "", "a.b"]) == ""


def test_good_keys_hold_no_bad_one() -> None:
    assert find_bad_key(LEGAL) is None
    assert find_bad_key([]) is None


@pytest.mark.parametrize("keys", [{"a": 1, "b.": 2}, {"a": 1, "b.": 2}.keys(), iter(["a", "b."])])
def test_keys_are_taken_from_whatever_yields_them(keys: list[str]) -> None:
    assert find_bad_key(keys) == "b."


@given(any_text)
@example("k" * 768)
@example("日" * 257)
def test_a_key_is_legal_exactly_by_the_documented_rule(key: str) -> None:
    assert (key_problem(key) is None) == is_legal(key)


@given(st.lists(st.one_of(any_text, st.sampled_from(LEGAL)), max_size=5))
def test_a_bad_key_is_found_exactly_when_a_key_has_a_problem(keys: list[str]) -> None:
    assert find_bad_key(keys) == next((key for key in keys if not is_legal(key)), None)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a", "'a'"),
        ("é", "'é'"),
        ("\u202e", "'\\u202e'"),
        ("a\r\nb", "'a\\r\\nb'"),
        ("k" * 60, repr("k" * 60)),
        ("k" * 61, repr("k" * 60) + "..."),
    ],
)
def test_foreign_text_is_shown_printable_and_short(text: str, quoted: str) -> None:
    assert shown(text) == quoted
