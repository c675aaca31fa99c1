"""Bytes as nobody should send them, through real sockets: the server stays up and its log quiet."""

import random
import socket
from collections import Counter
from pathlib import Path

import pytest

from tests.server.live_server import errors_logged, live_server
from tests.server.raw_websocket import PING, RawWebSocket, masked
from tests.server.test_fuzz_session import conversation

CONVERSATIONS = 150
CLOSES = {None, 1000, 1002, 1003, 1007, 1008, 1009}


def stream(choice: random.Random) -> bytes:
    """Return a conversation as bytes, with some of them changed."""
    frames = [masked(text) for text in conversation(choice)]
    if choice.random() < 0.3:
        frames.insert(choice.randrange(len(frames) + 1), masked("ping", PING))
    raw = bytearray(b"".join(frames))
    for _ in range(choice.choice((0, 1, 1, 2, 5))):
        raw[choice.randrange(len(raw))] ^= 1 << choice.randrange(8)
    if choice.random() < 0.3:
        del raw[choice.randrange(len(raw)) :]
    return bytes(raw)


def test_no_bytes_trouble_the_server(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    ends: Counter[object] = Counter()
    with live_server(tmp_path) as server:
        for number in range(seed, seed + CONVERSATIONS):
            with RawWebSocket(server.port) as client:
                client.send(stream(random.Random(number)))
                client.socket.shutdown(socket.SHUT_WR)
                ends[client.read_all()[-1]] += 1
            assert ends.keys() <= CLOSES, number
            assert errors_logged(caplog) == [], number
        with RawWebSocket(server.port) as client:
            client.ask(1, "echo", {"d": "still here"})
            assert client.read()["d"]["b"] == {"s": "ok", "d": "still here"}
    assert len(ends) > 2
