"""A client that keeps its copy on disk, as Android's does, over a raw websocket.

It comes back to a place of 200 KB of which one child has changed, and is sent that.
"""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.server_process import HOST, ServerProcess
from tests.tree.caching_client import compound_hash, merged, said_of
from tests.wire.dialogue import client_frames

RECORDS = 2_000
MOST_BYTES = 5_000
SECONDS = 30.0


class Client:
    """One connection, and how many bytes it was sent."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = -1  # Java's first request is number 0
        self.bytes = 0
        assert self.hear()["t"] == "c"

    def hear(self) -> Any:
        """Return the next message, its segments joined."""
        text = self._frame()
        if len(text) <= 6 and text.isdigit():
            text = "".join(self._frame() for _ in range(int(text)))
        return json.loads(text)

    def listen(self, place: str, **said: Any) -> list[Any]:
        """Listen to a place; return the pushes before the answer, which has to be `ok`."""
        self._number += 1
        body = {"r": self._number, "a": "q", "b": {"p": place, **said}}
        for frame in client_frames(json.dumps({"t": "d", "d": body})):
            self._socket.send(frame)
        pushes = []
        while "r" not in (content := self.hear()["d"]):
            pushes.append(content)
        assert content == {"r": self._number, "b": {"s": "ok", "d": {}}}
        return pushes

    def _frame(self) -> str:
        text = self._socket.recv(SECONDS)
        assert isinstance(text, str)
        self.bytes += len(text.encode())
        return text


@contextmanager
def connected(server: ServerProcess) -> Iterator[Client]:
    with connect(f"ws://{server.address}/.ws?v=5&ns=default", max_size=None) as socket:
        yield Client(socket)


def put(server: ServerProcess, place: str, value: Any) -> None:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=SECONDS)
    connection.request("PUT", f"/{place}.json?print=silent", json.dumps(value))
    assert connection.getresponse().status == http.client.NO_CONTENT
    connection.close()


def records(ids: str) -> dict[str, Any]:
    return {
        ids.format(number): {"at": number, "author": "mchen", "text": f"See you at {number}. " * 3}
        for number in range(RECORDS)
    }


@pytest.mark.parametrize("ids", ["k{:04}", "-K{:04}"], ids=["names", "push ids"])
def test_one_child_of_a_large_place_that_changed_is_sent_in_few_bytes(
    server: ServerProcess, ids: str
) -> None:
    place = f"cache{len(ids)}"
    put(server, place, records(ids))
    with connected(server) as client:
        (first,) = client.listen(place, h="")
        copy: Any = first["b"]["d"]
    assert copy == records(ids)
    assert len(json.dumps(copy)) > 200_000
    assert len(compound_hash(copy).posts) > 40

    put(server, f"{place}/{ids.format(1000)}", {"at": 1000, "text": "Not at all."})
    with connected(server) as client:
        (push,) = client.listen(place, **said_of(copy))
        assert (push["a"], push["b"]["p"]) == ("rm", place)
        copy = merged(copy, push["b"]["d"])
        assert client.bytes < MOST_BYTES
        put(server, f"{place}/{ids.format(1)}", None)
        assert client.hear()["d"]["b"] == {"p": f"{place}/{ids.format(1)}", "d": None}
    del copy[ids.format(1)]

    with connected(server) as client:
        assert client.listen(place, **said_of(copy)) == []
    expected = records(ids) | {ids.format(1000): {"at": 1000, "text": "Not at all."}}
    del expected[ids.format(1)]
    assert copy == expected


def test_a_client_that_sends_no_hashes_of_ranges_is_never_sent_merges(
    server: ServerProcess,
) -> None:
    copy = records("k{:04}")
    put(server, "plain", {**copy, "k0000": 1})
    with connected(server) as client:
        (push,) = client.listen("plain", h=said_of(copy)["h"])
        assert push["a"] == "d"
