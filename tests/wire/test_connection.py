import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.dialogue import Dialogue, client_frames, server_messages
from treedb.config import DEFAULT_LIMITS
from treedb.errors import ProtocolError
from treedb.paths.path import Path
from treedb.wire import outgoing
from treedb.wire.connection import Connection
from treedb.wire.messages import Echo, Message, SignOut
from treedb.wire.ready_frame import ready_frames


def request(number: int, action: str, **body: object) -> str:
    return json.dumps({"t": "d", "d": {"r": number, "a": action, "b": body}})


def test_messages_come_in_the_order_of_their_frames() -> None:
    dialogue = Dialogue()
    frames = ["0", request(1, "unauth"), *client_frames(request(2, "echo", d="x" * 40_000)), "0"]
    assert dialogue.frames(*frames) == [SignOut(1), Echo(2, "x" * 40_000)]


def test_after_a_failure_every_frame_fails_alike() -> None:
    connection = Connection(replace(DEFAULT_LIMITS, segments=2))
    failures = []
    for frame in ("3", request(1, "unauth"), "0"):
        with pytest.raises(ProtocolError) as failure:
            connection.receive(frame)
        failures.append(failure.value)
    assert failures[0].close_code == 1009
    assert failures[0] is failures[1] is failures[2]


def test_it_tells_the_size_of_the_message_a_frame_completes() -> None:
    connection = Connection(DEFAULT_LIMITS)
    sizes = []
    for frame in ('{"t":"c","d":{"t":"p"}}', "3", '{"t":"c",', '"d":{"t":"p"', "}}"):
        sizes.append(connection.size_completed_by(frame))
        connection.receive(frame)
    assert sizes == [23, 1, 0, 0, 23]


def test_it_tells_whether_segments_are_due() -> None:
    connection = Connection(DEFAULT_LIMITS)
    waiting = [connection.is_waiting]
    for frame in ("2", "{", '"t":"c","d":{"t":"p"}}'):
        connection.receive(frame)
        waiting.append(connection.is_waiting)
    assert waiting == [False, True, True, False]


@given(st.text(), st.integers(1, 3000))
def test_a_value_survives_both_ways(text: str, repeat: int) -> None:
    value = text * repeat
    ready = ready_frames(outgoing.overwrite(Path(("a",)), json.dumps(value).encode()))
    (message,) = server_messages(ready)
    assert message["d"]["b"] == {"p": "a", "d": value}
    echoed: list[Message] = Dialogue(units=77).frames(
        *client_frames(request(1, "echo", d=value), units=16_384)
    )
    assert echoed == [Echo(1, value)]


@given(st.lists(st.sampled_from(["0", "1", "2", "3", "{", "}", "", request(1, "s"), "[]", "4"])))
def test_no_frames_break_it(frames: list[str]) -> None:
    connection = Connection(replace(DEFAULT_LIMITS, segments=3, realtime_write_bytes=100))
    codes = set()
    for frame in frames:
        try:
            connection.receive(frame)
        except ProtocolError as error:
            codes.add(error.close_code)
    assert codes in (set(), {1008}, {1009})
