import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.dialogue import Dialogue
from treedb import errors
from treedb.config import DEFAULT_LIMITS
from treedb.errors import ProtocolError
from treedb.paths.path import Path
from treedb.tree.range_hash import CompoundHash
from treedb.wire import messages as m
from treedb.wire.connection import Connection
from treedb.wire.fields import Override
from treedb.wire.query_object import query_object_of

A_B = Path(("a", "b"))
ROOT = Path(())
ENTRY = {"sp": 1, "sin": True, "ep": "x", "en": "[MAX_NAME]", "ein": False, "i": "x/y"}

REQUESTS: list[tuple[str, Any, Any]] = [
    ("s", {"c": {"sdk.js.12-19-0": 1}}, m.Stats(7)),
    ("q", {"p": "/a/b", "h": ""}, m.Listen(7, A_B, query_object_of({}), None, "")),
    ("q", {"p": "a//b/", "h": "abc="}, m.Listen(7, A_B, query_object_of({}), None, "abc=")),
    ("q", {"p": "", "q": ENTRY, "t": 2, "h": ""}, m.Listen(7, ROOT, query_object_of(ENTRY), 2, "")),
    (
        "q",
        {"p": "/", "h": "x", "ch": {"hs": ["y=", "z=", ""], "ps": ["a/b", "/c/d/"]}},
        m.Listen(
            7,
            ROOT,
            query_object_of({}),
            None,
            "x",
            CompoundHash(("y=", "z=", ""), (("a", "b"), ("c", "d"))),
        ),
    ),
    (
        "q",
        {"p": "/", "h": "x", "ch": {"hs": ["y=", ""], "ps": ["/"]}},
        m.Listen(7, ROOT, query_object_of({}), None, "x", CompoundHash(("y=", ""), ((),))),
    ),
    ("q", {"p": "/"}, m.Listen(7, ROOT, query_object_of({}), None, "")),
    ("n", {"p": "/a/b"}, m.Unlisten(7, A_B, query_object_of({}), None)),
    (
        "n",
        {"p": "/a/b", "q": {"l": 2, "vf": "r"}, "t": 2},
        m.Unlisten(7, A_B, query_object_of({"l": 2, "vf": "r"}), 2),
    ),
    ("g", {"p": "/a/b", "q": {}}, m.Get(7, A_B, query_object_of({}))),
    ("g", {"p": "/a/b"}, m.Get(7, A_B, query_object_of({}))),
    ("g", {"p": "/a/b", "q": ENTRY}, m.Get(7, A_B, query_object_of(ENTRY))),
    ("q", {"p": "/", "q": {"i": "x"}}, m.Listen(7, ROOT, query_object_of({"i": "x"}), None, "")),
    ("q", {"p": "/", "q": {"l": 1}, "t": -1}, m.Listen(7, ROOT, query_object_of({"l": 1}), -1, "")),
    ("p", {"p": "/a/b", "d": {"x": 1}}, m.Put(7, A_B, {"x": 1}, None)),
    ("p", {"p": "/a/b", "d": None}, m.Put(7, A_B, None, None)),
    ("p", {"p": "/a/b", "d": 1, "h": ""}, m.Put(7, A_B, 1, "")),
    ("p", {"p": "/a/.priority", "d": 1}, m.Put(7, Path(("a", ".priority")), 1, None)),
    ("m", {"p": "/a/b", "d": {"x/y": 1}}, m.Merge(7, A_B, {"x/y": 1})),
    ("m", {"p": "/a/b", "d": [1]}, m.Merge(7, A_B, [1])),
    ("o", {"p": "/a/b", "d": 1}, m.OnDisconnect(7, "put", A_B, 1)),
    ("om", {"p": "/a/b", "d": {"x": 1}}, m.OnDisconnect(7, "merge", A_B, {"x": 1})),
    ("oc", {"p": "/a/b", "d": None}, m.OnDisconnect(7, "cancel", A_B, None)),
    ("oc", {"p": "/a/b"}, m.OnDisconnect(7, "cancel", A_B, None)),
    ("auth", {"cred": "x.y.z"}, m.SignIn(7, "x.y.z", None)),
    ("gauth", {"cred": "owner"}, m.SignIn(7, "owner", None)),
    ("gauth", {"cred": "owner", "noauth": True}, m.SignIn(7, "owner", Override(None))),
    (
        "gauth",
        {"cred": "owner", "authvar": {"uid": "u"}},
        m.SignIn(7, "owner", Override({"uid": "u"})),
    ),
    ("gauth", {"cred": "owner", "authvar": None}, m.SignIn(7, "owner", None)),
    ("unauth", {}, m.SignOut(7)),
    ("appcheck", {"token": "x"}, m.AppCheck(7)),
    ("unappeck", {}, m.AppCheck(7)),
    ("unappcheck", {}, m.AppCheck(7)),
    ("echo", {"d": [1]}, m.Echo(7, [1])),
    ("echo", {}, m.Echo(7, None)),
    ("nope", {}, m.Unknown(7, "nope")),
    ("nope", None, m.Unknown(7, "nope")),
    ("", {}, m.Unknown(7, "")),
]

REFUSED: list[tuple[str, Any, type[errors.TreeError], str]] = [
    ("p", {"d": 1}, errors.InvalidPath, "found none"),
    ("p", {"p": 5, "d": 1}, errors.InvalidPath, "found a number"),
    ("p", {"p": None, "d": 1}, errors.InvalidPath, "found null"),
    ("p", {"p": {}, "d": 1}, errors.InvalidPath, "found an object"),
    ("g", {"p": True}, errors.InvalidPath, "found a boolean"),
    ("q", {"p": ["a"], "h": ""}, errors.InvalidPath, "found an array"),
    ("p", {"p": "/a/../b", "d": 1}, errors.InvalidPath, ""),
    ("p", {"p": "/a/./b", "d": 1}, errors.InvalidPath, ""),
    ("p", {"p": "/a#b", "d": 1}, errors.InvalidPath, ""),
    ("p", {"p": "/a\u0001", "d": 1}, errors.InvalidPath, ""),
    ("p", {"p": "/a/" + "k" * 769, "d": 1}, errors.InvalidPath, "769"),
    ("p", {"p": "/a" * 33, "d": 1}, errors.InvalidPath, "33"),
    ("q", {"p": "/a/.priority", "h": ""}, errors.InvalidPath, ""),
    ("m", {"p": "/a/.priority", "d": {"x": 1}}, errors.InvalidPath, ""),
    ("om", {"p": "/a/.priority", "d": {"x": 1}}, errors.InvalidPath, ""),
    ("g", {"p": "/.info/connected"}, errors.InvalidPath, ""),
    ("p", {"p": "/.info/x", "d": 1}, errors.PermissionDenied, "Permission denied"),
    ("p", {"p": "//.info", "d": 1}, errors.PermissionDenied, "Permission denied"),
    ("m", {"p": ".info", "d": {"x": 1}}, errors.PermissionDenied, "Permission denied"),
    ("o", {"p": "/.info/x", "d": 1}, errors.PermissionDenied, "Permission denied"),
    ("p", {"p": "/a"}, errors.NoData, "found none"),
    ("m", {"p": "/a"}, errors.NoData, "found none"),
    ("o", {"p": "/a"}, errors.NoData, "found none"),
    ("p", {"p": "/a", "d": 1, "h": None}, errors.InvalidData, "found null"),
    ("p", {"p": "/a", "d": 1, "h": 5}, errors.InvalidData, "found a number"),
    ("q", {"p": "/a", "h": {}}, errors.InvalidData, "found an object"),
    ("q", {"p": "/a", "h": "x", "ch": {}}, errors.InvalidData, 'texts in "hs", found null'),
    ("q", {"p": "/", "h": "x", "ch": {"hs": [""], "ps": ["a"]}}, errors.InvalidData, "one hash"),
    ("q", {"p": "/", "h": "x", "ch": {"hs": ["", ""], "ps": ["a#"]}}, errors.InvalidPath, "'a#'"),
    ("q", {"p": "/a", "h": "", "q": []}, errors.InvalidQuery, "found an array"),
    ("q", {"p": "/a", "h": "", "q": None}, errors.InvalidQuery, "found null"),
    ("q", {"p": "/a", "h": "", "q": {"zz": 1}}, errors.InvalidQuery, "no member 'zz'"),
    ("q", {"p": "/a", "h": "", "q": {"l": 0}}, errors.InvalidQuery, '"l" is an integer from 1'),
    ("q", {"p": "/a", "h": "", "q": {"l": 1.5}}, errors.InvalidQuery, "found 1.5"),
    ("q", {"p": "/a", "h": "", "q": {"l": True}}, errors.InvalidQuery, '"l" is an integer'),
    ("q", {"p": "/a", "h": "", "q": {"l": 1, "vf": "x"}}, errors.InvalidQuery, '"vf" is'),
    ("q", {"p": "/a", "h": "", "q": {"l": 1, "vf": []}}, errors.InvalidQuery, "found an array"),
    ("q", {"p": "/a", "h": "", "q": {"sp": {}}}, errors.InvalidQuery, "found an object"),
    (
        "q",
        {"p": "/a", "h": "", "q": {"sp": 1, "sin": 1}},
        errors.InvalidQuery,
        '"sin" is true or false',
    ),
    ("q", {"p": "/a", "h": "", "q": {"i": 1}}, errors.InvalidQuery, '"i" is'),
    ("n", {"p": "/a", "q": {"l": 0}}, errors.InvalidQuery, '"l" is an integer from 1'),
    ("g", {"p": "/a", "q": {"i": "a.b"}}, errors.InvalidQuery, '"i" is no path'),
    ("g", {"p": "/a", "q": 5}, errors.InvalidQuery, "found a number"),
    ("q", {"p": "/a", "h": "", "t": "2"}, errors.InvalidQuery, "found text"),
    ("q", {"p": "/a", "h": "", "t": True}, errors.InvalidQuery, "found a boolean"),
    ("n", {"p": "/a", "t": None}, errors.InvalidQuery, "found null"),
    ("p", None, errors.NotAnObject, "found null"),
    ("p", [], errors.NotAnObject, "found an array"),
    ("unauth", None, errors.NotAnObject, "found null"),
    ("auth", {}, errors.InvalidToken, "Could not parse auth token."),
    ("auth", {"cred": 5}, errors.InvalidToken, "Could not parse auth token."),
]

BROKEN: list[str] = [
    "",
    "nonsense",
    "{",
    "[",
    '{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":1}}',
    "5.0",
    "-1",
    "1e9",
    '"text"',
    "[1]",
    "null",
    "true",
    "{}",
    '{"d":{"r":1,"a":"s","b":{}}}',
    '{"t":"x","d":{}}',
    '{"t":5,"d":{}}',
    '{"t":["d"],"d":{}}',
    '{"t":null,"d":{}}',
    '{"t":"d"}',
    '{"t":"d","d":[]}',
    '{"t":"d","d":{}}',
    '{"t":"d","d":{"a":"s","b":{}}}',
    *(
        f'{{"t":"d","d":{{"r":{number},"a":"s","b":{{}}}}}}'
        for number in ('"1"', "1.0", "1.5", "-1", "true", "null", "[]", "9007199254740992", "1e300")
    ),
    '{"t":"c"}',
    '{"t":"c","d":"p"}',
    '{"t":"c","d":{}}',
    '{"t":"c","d":{"t":5}}',
]

# The request is clear though its value is not JSON: it is answered, not the connection closed.
UNPARSABLE = [
    "NaN",
    "Infinity",
    "1e400",
    "01",
    "+1",
    ".5",
    "0x10",
    "{'a':1}",
    "[1,]",
    '{"a":1,}',
    '"\\ud800"',
    '"\u0001"',
    "[" * 2000 + "]" * 2000,
]


@pytest.mark.parametrize("units", [16_384, 5])
@pytest.mark.parametrize("action, body, expected", REQUESTS)
def test_each_request_becomes_its_value(
    action: str, body: Any, expected: m.Request, units: int
) -> None:
    assert Dialogue(units=units).request(7, action, body) == expected


@pytest.mark.parametrize("units", [16_384, 5])
@pytest.mark.parametrize("action, body, error, text", REFUSED)
def test_a_bad_body_is_refused_by_number(
    action: str, body: Any, error: type[errors.TreeError], text: str, units: int
) -> None:
    message = Dialogue(units=units).request(7, action, body)
    assert isinstance(message, m.Malformed)
    assert message.number == 7
    assert type(message.error) is error
    assert text in message.error.reason


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_message_ends_the_connection(text: str, *, in_pieces: bool) -> None:
    connection = Connection(DEFAULT_LIMITS)
    frames = [str(len(text)), *text] if in_pieces and text else [text]
    with pytest.raises(ProtocolError) as first:
        for frame in frames:
            connection.receive(frame)
    assert first.value.close_code == 1008
    with pytest.raises(ProtocolError) as again:
        connection.receive('{"t":"c","d":{"t":"p","d":{}}}')
    assert again.value is first.value


@pytest.mark.parametrize("value", UNPARSABLE)
def test_a_value_that_is_no_json_costs_the_request_only(value: str) -> None:
    dialogue = Dialogue()
    (message,) = dialogue.say('{"t":"d","d":{"r":7,"a":"p","b":{"p":"/a","d":' + value + "}}}")
    assert isinstance(message, m.Malformed)
    assert message.number == 7
    assert type(message.error) is errors.InvalidJson
    assert dialogue.request(8, "unauth", {}) == m.SignOut(8)


def test_an_action_that_is_no_text_is_refused_by_number() -> None:
    (message,) = Dialogue().say({"t": "d", "d": {"r": 7, "b": {}}})
    assert isinstance(message, m.Malformed)
    assert "found null" in message.error.reason


@pytest.mark.parametrize("number", [0, 1, 2**53 - 1])
def test_request_numbers_reach_to_the_end_of_exact_doubles(number: int) -> None:
    assert Dialogue().request(number, "unauth", {}) == m.SignOut(number)


@pytest.mark.parametrize("kind", ["p", "a", "n", "later"])
def test_control_messages_carry_their_kind(kind: str) -> None:
    assert Dialogue().say({"t": "c", "d": {"t": kind, "d": {}}}) == [m.Control(kind)]


def test_other_members_are_left_alone() -> None:
    text = '{"t":"d","x":1,"d":{"r":7,"a":"unauth","b":{"y":2},"z":3}}'
    assert Dialogue().say(text) == [m.SignOut(7)]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | FLOATS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
BODIES = st.dictionaries(
    st.sampled_from(["p", "d", "q", "t", "h", "cred", "noauth", "authvar", "l", "sp"]), JSON
)
ACTIONS = st.sampled_from([*{action for action, _, _ in REQUESTS}]) | st.text()


@given(ACTIONS, BODIES | JSON, st.integers(-2, 2**54) | JSON)
def test_no_request_breaks_it(action: str, body: Any, number: Any) -> None:
    text = json.dumps({"t": "d", "d": {"r": number, "a": action, "b": body}})
    try:
        message = m.parse_message(text)
    except ProtocolError:
        assert not (type(number) is int and 0 <= number < 2**53)
    else:
        assert not isinstance(message, m.Control)
        assert message.number == number


@given(st.text(st.sampled_from('{}[]:,"tdcrab0123 \\u\ud800é')) | st.text())
def test_no_text_breaks_it(text: str) -> None:
    with suppress(ProtocolError):
        m.parse_message(text)
