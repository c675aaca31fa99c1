import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.rules.document import (
    Array,
    Document,
    Object,
    Scalar,
    Text,
    plain_value,
    read_document,
)

DEPTH = 100

ACCEPTED = [
    ("{}", {}),
    (" \t\r\n{ } ", {}),
    ("\ufeff{}", {}),
    ('{"a": 1}', {"a": 1.0}),
    ('{"a": true, "b": false, "c": null}', {"a": True, "b": False, "c": None}),
    ('{"a": [1, "x", {}, []]}', {"a": [1.0, "x", {}, []]}),
    ('{"a": -1.5e2}', {"a": -150.0}),
    ('// line\n{"a": /* in */ 1 // end\n}', {"a": 1.0}),
    ('{/* first */"a"/**/:/***/1/* last */}', {"a": 1.0}),
    ('{"a": 1,}', {"a": 1.0}),
    ('{"a": 1, /* c */ }', {"a": 1.0}),
    ('{"a": [1, 2,],}', {"a": [1.0, 2.0]}),
    ('{"a": "one\ntwo\r\nthree\tfour"}', {"a": "one\ntwo\r\nthree\tfour"}),
    ('{"a": "// no comment /* */"}', {"a": "// no comment /* */"}),
    (r'{"\u0061": "\" \\ \/ \b\f\n\r\t \u00e9"}', {"a": '" \\ / \b\f\n\r\t é'}),
    (r'{"a": "\ud834\udd1e"}', {"a": "\U0001d11e"}),
    ('"text"', "text"),
    ("true", True),
]

# text, then the message and the offset of each mistake
REFUSED = [
    ("", [("Unexpected end of the file.", 0)]),
    ("{", [("Unexpected end of the file.", 1)]),
    ('{"a"', [("Unexpected end of the file.", 4)]),
    ('{"a":', [("Unexpected end of the file.", 5)]),
    ('{"a":1', [("Unexpected end of the file.", 6)]),
    ('{"a', [("The string has no end.", 1)]),
    ('{"a\\', [("The string has no end.", 1)]),
    ("{a: 1}", [("Expected '\"'.", 1)]),
    ("{'a': 1}", [("Expected '\"'.", 1)]),
    ('{"a" 1}', [("Expected ':'.", 5)]),
    ('{"a":1 2}', [("Expected ',' or '}'.", 7)]),
    ('{"a":[1 2]}', [("Expected ',' or ']'.", 8)]),
    ('{"a":1}}', [("Expected the end of the file.", 7)]),
    ('{"a":tru}', [("Unexpected 'tru'.", 5)]),
    ('{"a":+1}', [("Unexpected '+'.", 5)]),
    ("{/* no end", [("The comment has no end.", 1)]),
    ('{"a":"\x01"}', [("A string holds the control character 1.", 6)]),
    # Small slips, passed over.
    ('{,"a":1}', [("Unexpected ','.", 1)]),
    ('{"a":1,,"b":2}', [("Expected '\"'.", 7)]),
    ('{"a":[1,,2]}', [("Unexpected ','.", 8)]),
    ('{"a":1 "b":2}', [("Expected ',' or '}'.", 7)]),
    (r'{"a":"\q"}', [(r"Invalid escape: '\q'", 6)]),
    ('{"a":"x\\\ny"}', [("Invalid escape: '\\\n'", 7)]),
    (r'{"a":"\u12"}', [(r"Invalid escape: '\u'", 6)]),
    (r'{"a":"\ud834x"}', [(r"Invalid escape: '\ud834'", 6)]),
    (r'{"a":"\udd1e"}', [(r"Invalid escape: '\udd1e'", 6)]),
    (
        '{,"a":1 "b":2,,}',
        [("Unexpected ','.", 1), ("Expected ',' or '}'.", 8), ("Expected '\"'.", 14)],
    ),
]


def read(text: str) -> Document:
    return read_document(text, DEPTH)


@pytest.mark.parametrize("text, value", ACCEPTED)
def test_the_dialect_is_read(text: str, value: object) -> None:
    document = read(text)
    assert document.mistakes == ()
    assert document.is_whole
    assert document.value is not None
    assert plain_value(document.value) == value


@pytest.mark.parametrize("text, mistakes", REFUSED)
def test_what_is_wrong_is_told_where_it_stands(text: str, mistakes: list[tuple[str, int]]) -> None:
    found = [(mistake.message, mistake.offset) for mistake in read(text).mistakes]
    assert found == mistakes


def test_what_was_read_before_a_mistake_is_kept() -> None:
    document = read('{"rules": {"a": {"b": 1, "c": !')
    assert not document.is_whole
    assert document.value is not None
    assert plain_value(document.value) == {"rules": {"a": {"b": 1.0}}}


def test_a_string_knows_where_each_of_its_characters_stands() -> None:
    text = '{"k": "a\\n\\u0041b\r\nc"}'
    document = read(text)
    assert isinstance(document.value, Object)
    [(key, value)] = document.value.members
    assert isinstance(value, Text)
    assert value.value == "a\nAb\r\nc"
    offsets = [value.offset(index) for index in range(len(value.value) + 1)]
    assert [text[offset] for offset in offsets] == ["a", "\\", "\\", "b", "\r", "\n", "c", '"']
    assert (key.start, value.start) == (1, 6)


def test_values_know_where_they_start() -> None:
    document = read('{"a": [ 1, true, {"b": null}]}')
    assert isinstance(document.value, Object)
    array = document.value.members[0][1]
    assert isinstance(array, Array)
    assert array.start == 6
    assert [item.start for item in array.items] == [8, 11, 17]


def test_equal_keys_are_both_kept() -> None:
    document = read('{"a": 1, "a": 2}')
    assert isinstance(document.value, Object)
    assert [key.value for key, _ in document.value.members] == ["a", "a"]


@pytest.mark.parametrize("opening, closing", [('{"a":', "}"), ("[", "]")])
def test_nesting_is_limited(opening: str, closing: str) -> None:
    assert not read(opening * DEPTH + "1" + closing * DEPTH).mistakes
    [mistake] = read(opening * 100_000).mistakes
    assert mistake.message == f"Nested deeper than {DEPTH} levels."
    assert mistake.offset == len(opening) * (DEPTH + 1)


def test_booleans_are_no_numbers() -> None:
    document = read("[true, 1]")
    assert isinstance(document.value, Array)
    first, second = document.value.items
    assert isinstance(first, Scalar)
    assert isinstance(second, Scalar)
    assert (first.value, second.value) == (True, 1.0)
    assert type(first.value) is bool


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_all_json_is_read_as_it_is(value: object, ascii_only: bool, indent: int | None) -> None:
    document = read(json.dumps(value, ensure_ascii=ascii_only, indent=indent))
    assert document.mistakes == ()
    assert document.value is not None
    assert plain_value(document.value) == value


@given(st.text(st.sampled_from('{}[]",:\\/*untrefals01 \n\r\t\ufeff\u0001é')))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    document = read(text)
    assert document.mistakes or document.value is not None
    assert all(0 <= mistake.offset <= len(text) for mistake in document.mistakes)
