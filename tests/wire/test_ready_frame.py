import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from treedb.wire.ready_frame import SEGMENT_BYTES, frame_texts, ready_frames

PATTERNS = ["a", "é", "日", "😀", "a😀", "aé日😀"]


def texts_at_a_client(ready: bytes) -> list[str]:
    """Read frames with an independent implementation of RFC 6455, as a client would."""
    client = ClientProtocol(parse_uri("ws://localhost/"), state=State.OPEN)
    client.receive_data(ready)
    assert client.parser_exc is None
    texts = []
    for event in client.events_received():
        assert isinstance(event, Frame)
        assert (event.opcode, event.fin) == (Opcode.TEXT, True)
        texts.append(bytes(event.data).decode())
    return texts


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 16_383, 16_384])
def test_a_short_message_is_one_frame(size: int) -> None:
    message = b"x" * size
    assert texts_at_a_client(ready_frames(message)) == [message.decode()]


@pytest.mark.parametrize(
    "size, lengths",
    [(16_385, [16_384, 1]), (32_768, [16_384, 16_384]), (40_000, [16_384, 16_384, 7_232])],
)
def test_a_long_message_is_announced_and_cut(size: int, lengths: list[int]) -> None:
    count, *segments = texts_at_a_client(ready_frames(b"x" * size))
    assert int(count) == len(segments)
    assert [len(segment) for segment in segments] == lengths


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("shift", range(4))
def test_no_cut_is_inside_a_character(pattern: str, shift: int) -> None:
    text = "x" * shift + pattern * 20_000
    count, *segments = texts_at_a_client(ready_frames(text.encode()))
    assert int(count) == len(segments)
    assert "".join(segments) == text
    assert all(0 < utf16_units(segment) <= SEGMENT_BYTES for segment in segments)


def test_a_long_message_is_never_taken_for_a_keep_alive() -> None:
    assert texts_at_a_client(ready_frames(b"x" * 16_385))[0] == "2"


@given(st.text(), st.integers(1, 40_000))
def test_frame_texts_are_what_a_client_reads(text: str, repeat: int) -> None:
    ready = ready_frames((text * repeat).encode()[:200_000].decode(errors="ignore").encode())
    assert list(frame_texts(ready)) == texts_at_a_client(ready)


def test_frames_of_several_messages_are_taken_apart() -> None:
    ready = ready_frames(b"{}") + ready_frames(b"x" * 20_000) + ready_frames(b"[1]")
    texts = list(frame_texts(ready))
    assert [len(text) for text in texts] == [2, 1, 16_384, 3_616, 3]
