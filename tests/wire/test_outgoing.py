import json
from typing import Any

import pytest

from treedb.paths.path import Path
from treedb.tree.range_merge import RangeMerge
from treedb.wire import outgoing

ROOMS = Path(("rooms", 'ä"b'))

MESSAGES = [
    (
        outgoing.hello(1795220127288, "db.example.org:9000", "abc"),
        {
            "t": "c",
            "d": {
                "t": "h",
                "d": {"ts": 1795220127288, "v": "5", "h": "db.example.org:9000", "s": "abc"},
            },
        },
    ),
    (outgoing.PONG, {"t": "c", "d": {"t": "o", "d": None}}),
    (outgoing.server_error('no "t"'), {"t": "c", "d": {"t": "e", "d": 'no "t"'}}),
    (outgoing.answer(7, "ok", b"{}"), {"t": "d", "d": {"r": 7, "b": {"s": "ok", "d": {}}}}),
    (
        outgoing.answer(2**53 - 1, "failure", b'"', b"why", b'"'),
        {"t": "d", "d": {"r": 2**53 - 1, "b": {"s": "failure", "d": "why"}}},
    ),
    (
        outgoing.overwrite(ROOMS, b'{"a":', b"1}"),
        {"t": "d", "d": {"a": "d", "b": {"p": 'rooms/ä"b', "d": {"a": 1}}}},
    ),
    (
        outgoing.overwrite(Path(()), b"null"),
        {"t": "d", "d": {"a": "d", "b": {"p": "", "d": None}}},
    ),
    (
        outgoing.merge(ROOMS, b'{"x/y":1,"z":null}'),
        {"t": "d", "d": {"a": "m", "b": {"p": 'rooms/ä"b', "d": {"x/y": 1, "z": None}}}},
    ),
    (
        outgoing.range_merge(
            ROOMS,
            outgoing.range_merges(
                [
                    RangeMerge((), ("a", "é"), {"a": {"é": 1}}),
                    RangeMerge(("b", ".priority"), ("c",), None),
                    RangeMerge(("d",), None, {"e": {".priority": 1, "x": "y"}}),
                ]
            ),
        ),
        {
            "t": "d",
            "d": {
                "a": "rm",
                "b": {
                    "p": 'rooms/ä"b',
                    "d": [
                        {"e": "a/é", "m": {"a": {"é": 1}}},
                        {"s": "b/.priority", "e": "c", "m": None},
                        {"s": "d", "m": {"e": {".priority": 1, "x": "y"}}},
                    ],
                },
            },
        },
    ),
    (
        outgoing.tagged(outgoing.range_merge(ROOMS, outgoing.range_merges([])), 3),
        {"t": "d", "d": {"a": "rm", "b": {"p": 'rooms/ä"b', "d": [], "t": 3}}},
    ),
    (
        outgoing.tagged(outgoing.overwrite(ROOMS, b'{"a":1}'), 2),
        {"t": "d", "d": {"a": "d", "b": {"p": 'rooms/ä"b', "d": {"a": 1}, "t": 2}}},
    ),
    (
        outgoing.tagged(outgoing.merge(ROOMS, b'{"x":{"t":9},"y":null}'), -7),
        {
            "t": "d",
            "d": {"a": "m", "b": {"p": 'rooms/ä"b', "d": {"x": {"t": 9}, "y": None}, "t": -7}},
        },
    ),
    (outgoing.cancel(ROOMS), {"t": "d", "d": {"a": "c", "b": {"p": 'rooms/ä"b'}}}),
    (
        outgoing.cancel(ROOMS, {"vf": "r", "l": 2, "i": "é"}),
        {"t": "d", "d": {"a": "c", "b": {"p": 'rooms/ä"b', "q": [{"vf": "r", "l": 2, "i": "é"}]}}},
    ),
    (
        outgoing.auth_revoked("expired_token", "Auth token is expired."),
        {
            "t": "d",
            "d": {"a": "ac", "b": {"s": "expired_token", "d": "Auth token is expired."}},
        },
    ),
]


@pytest.mark.parametrize("text, message", MESSAGES)
def test_messages_have_the_shape_clients_expect(text: bytes, message: Any) -> None:
    assert json.loads(text) == message


def test_a_cancel_names_the_query_member_by_member_as_it_was_sent() -> None:
    sent = {"sp": 1, "sin": True, "l": 2, "i": "x", "vf": "l"}
    assert b'"q":[{"sp":1,"sin":true,"l":2,"i":"x","vf":"l"}]' in outgoing.cancel(ROOMS, sent)
