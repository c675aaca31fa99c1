import json

import pytest

from treedb.errors import InvalidQuery, ProtocolError
from treedb.wire import outgoing
from treedb.wire.poll import (
    Segment,
    callback_of,
    close_script,
    messages_of,
    packet_script,
    segments_of,
    start_script,
)
from treedb.wire.ready_frame import SEGMENT_BYTES, ready_frames

CALLBACKS = [({}, ""), ({"cb": ""}, ""), ({"cb": "1"}, "1"), ({"cb": "9" * 15}, "9" * 15)]
BAD_CALLBACKS = ["x", "1;alert(1)", '1"]', "-1", "1.5", "٣", "1\n", "9" * 16, "</script>"]


@pytest.mark.parametrize("parameters, callback", CALLBACKS)
def test_a_page_names_its_functions_by_a_number(parameters: dict[str, str], callback: str) -> None:
    assert callback_of(parameters) == callback


@pytest.mark.parametrize("callback", BAD_CALLBACKS)
def test_what_is_no_number_never_comes_into_a_script(callback: str) -> None:
    with pytest.raises(InvalidQuery, match="at most 15 digits"):
        callback_of({"cb": callback})


CALLS: list[tuple[dict[str, str], tuple[Segment, ...]]] = [
    ({}, ()),
    ({"id": "a", "pw": "b", "ser": "7", "ns": "x"}, ()),
    ({"seg0": "4", "ts0": "1", "d0": "eyJ9"}, (Segment(4, 1, "eyJ9"),)),
    (
        {"seg0": "4", "ts0": "2", "d0": "a", "seg1": "5", "ts1": "2", "d1": "b"},
        (Segment(4, 2, "a"), Segment(5, 2, "b")),
    ),
    ({"seg0": "0", "ts0": "1", "d0": ""}, (Segment(0, 1, ""),)),
    ({"seg": "0", "segments": "1", "seg00": "2", "seg-1": "3"}, ()),
]


@pytest.mark.parametrize("parameters, segments", CALLS)
def test_a_call_brings_segments(parameters: dict[str, str], segments: tuple[Segment, ...]) -> None:
    assert segments_of(parameters) == segments


BAD_CALLS = [
    ({"seg0": "0"}, '"ts0", found none'),
    ({"seg0": "0", "ts0": "1"}, '"d0", found none'),
    ({"seg0": "0", "d0": "x"}, '"ts0", found none'),
    ({"seg0": "-1", "ts0": "1", "d0": "x"}, '15 digits in "seg0"'),
    ({"seg0": "1e3", "ts0": "1", "d0": "x"}, '15 digits in "seg0"'),
    ({"seg0": "٣", "ts0": "1", "d0": "x"}, '15 digits in "seg0"'),
    ({"seg0": "0", "ts0": "", "d0": "x"}, '15 digits in "ts0"'),
    ({"seg0": "9" * 16, "ts0": "1", "d0": "x"}, '15 digits in "seg0"'),
]


@pytest.mark.parametrize("parameters, reason", BAD_CALLS)
def test_a_malformed_segment_breaks_the_protocol(parameters: dict[str, str], reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        segments_of(parameters)


def test_the_first_script_finds_the_functions_of_the_page() -> None:
    assert start_script("7", "id", "pw").decode().splitlines() == [
        'function pLPCommand(c,a,b,x,y){var f=parent.window["pLPCommand7"];f&&f(c,a,b,x,y);}',
        'function pRTLPCB(n,d){var f=parent.window["pRTLPCB7"];f&&f(n,d);}',
        "pLPCommand('start','id','pw');",
    ]


def test_a_client_that_is_no_page_has_the_functions_itself() -> None:
    assert start_script("", "id", "pw") == b"pLPCommand('start','id','pw');\n"


PACKETS: list[tuple[int, list[str], bytes]] = [
    (0, [], b"pRTLPCB(0,[]);\n"),
    (1, ['{"t":"c"}'], b'pRTLPCB(1,[{"t":"c"}]);\n'),
    (12, ["{}", '{"a":1}'], b'pRTLPCB(12,[{},{"a":1}]);\n'),
]


@pytest.mark.parametrize("number, messages, script", PACKETS)
def test_a_packet_has_its_number_and_messages(
    number: int, messages: list[str], script: bytes
) -> None:
    assert packet_script(number, messages) == script


def test_a_client_is_closed_after_its_last_packet() -> None:
    assert close_script(3) == b"pLPCommand('close',3);"


LITERALS = [
    ('{"__proto__":{"a":1}}', '{["__proto__"]:{"a":1}}'),
    ('{"a":1,"__proto__":null}', '{"a":1,["__proto__"]:null}'),
    ('["__proto__"]', '["__proto__"]'),
    (r'{"\"__proto__":1}', r'{"\"__proto__":1}'),
    (r'"\"__proto__\":"', r'"\"__proto__\":"'),
]


@pytest.mark.parametrize("message, expression", LITERALS)
def test_no_name_sets_the_prototype_of_an_object(message: str, expression: str) -> None:
    assert packet_script(0, [message]) == b"pRTLPCB(0,[%b]);\n" % expression.encode()


def test_a_packet_holds_no_line_end_of_old_javascript() -> None:
    script = packet_script(0, [json.dumps("\u2028\u2029", ensure_ascii=False)]).decode()
    assert script == 'pRTLPCB(0,["\\u2028\\u2029"]);\n'


LENGTHS = [10, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES + 5]


@pytest.mark.parametrize("length", LENGTHS)
def test_messages_come_out_of_ready_frames_as_they_went_in(length: int) -> None:
    long = outgoing.server_error("é" * (length // 2))
    ready = ready_frames(outgoing.PONG) + ready_frames(long) + ready_frames(outgoing.PONG)
    assert list(messages_of(ready)) == [
        each.decode() for each in (outgoing.PONG, long, outgoing.PONG)
    ]
