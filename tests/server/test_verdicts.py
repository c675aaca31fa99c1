"""REST and the realtime protocol give one verdict about a body, and leave and read one tree."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from tests.server.bad_inputs import ANSWERS, Row, limits_of, load_table, part_of, text_of
from tests.server.live_server import LiveServer, live_server
from tests.server.raw_websocket import RawWebSocket
from treedb.config import Limits

ROWS = [row for row in load_table(ANSWERS)["rows"] if part_of(row) == "B" and not row.get("http")]
PLACE = "/a.json"  # where the rows about bodies write
ACTIONS = {"PUT": b"p", "PATCH": b"m"}
SEGMENT_BYTES = 16_384  # as the SDKs cut

ServerFor = Callable[[Limits], LiveServer]


@pytest.fixture(scope="module")
def server_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerFor]:
    servers: dict[Limits, LiveServer] = {}
    with ExitStack() as stack:

        def find(limits: Limits) -> LiveServer:
            if limits not in servers:
                folder = tmp_path_factory.mktemp("server")
                servers[limits] = stack.enter_context(live_server(folder, limits=limits))
            return servers[limits]

        yield find


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_one_verdict_and_one_tree(server_for: ServerFor, row: Row) -> None:
    server = server_for(limits_of(row))
    for namespace in ("rest", "realtime"):
        assert server.ask("DELETE", f"/.json?ns={namespace}").status == 200
    for step in row["steps"]:
        method = step.get("method", "PUT")
        if method not in ACTIONS:
            continue
        assert "target" not in step
        body = text_of(step["body"])
        answered = server.ask(method, f"{PLACE}?ns=rest", body)
        assert is_accepted_by_realtime(server, method, body) == (answered.status == 200)
        trees = [tree(server, namespace) for namespace in ("rest", "realtime")]
        if step.get("varies"):
            trees = [re.sub(rb"[0-9]+", b"0", each) for each in trees]
        assert trees[0] == trees[1]
    assert heard(server) == json.loads(tree(server, "realtime"))


def heard(server: LiveServer) -> Any:
    """Return the tree as a realtime client reads it."""
    with RawWebSocket(server.port, "realtime") as client:
        client.ask(1, "g", {"p": "/"})
        return client.read()["d"]["b"]["d"]


def tree(server: LiveServer, namespace: str) -> bytes:
    return server.ask("GET", f"/.json?format=export&ns={namespace}").body


def is_accepted_by_realtime(server: LiveServer, method: str, body: bytes) -> bool:
    """Send a body as it is, inside a request; a connection that is closed has refused it."""
    path = PLACE.removesuffix(".json").encode()
    request = b'{"t":"d","d":{"r":1,"a":"%s","b":{"p":"%s","d":%s}}}'
    url = f"ws://127.0.0.1:{server.port}/.ws?v=5&ns=realtime"
    with connect(url, compression=None) as socket:
        assert json.loads(socket.recv())["t"] == "c"
        try:
            send(socket, request % (ACTIONS[method], path, body))
            return is_ok(socket)
        except ConnectionClosedError:
            return False


def send(socket: ClientConnection, message: bytes) -> None:
    pieces = [
        message[start : start + SEGMENT_BYTES] for start in range(0, len(message), SEGMENT_BYTES)
    ]
    if len(pieces) > 1:
        socket.send(str(len(pieces)))
    for piece in pieces:
        socket.send(piece, text=True)


def is_ok(socket: ClientConnection) -> bool:
    while True:
        message = json.loads(socket.recv(timeout=30))
        if message["t"] == "d" and message["d"].get("r") == 1:
            return bool(message["d"]["b"]["s"] == "ok")
