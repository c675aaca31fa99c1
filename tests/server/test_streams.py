"""Streams over HTTP: the value first, then every change, until somebody leaves."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, Self

import pytest

from tests.server.live_server import HOST, LiveServer, live_server
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.server.streams import Stream
from treedb.sync.delivery import Delivery, Merge, Overwrite, Watch
from treedb.tree.forms import Form

PLACE = Path(("a",))


class Events:
    """A client of one stream."""

    def __init__(self, server: LiveServer, target: str, headers: str = "") -> None:
        self._socket = socket.create_connection((HOST, int(server.url.rpartition(":")[2])), 20)
        self._file = self._socket.makefile("rb")
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        self._socket.sendall(f"{head}{headers}\r\n".encode())
        self.status = int(self._file.readline().split()[1])
        self.headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(": ")
            self.headers[name.lower()] = value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def next(self) -> tuple[str, Any]:
        """Return the next event's name and data; ("", None) at the end."""
        name = ""
        while True:
            line = self._line()
            if line is None:
                return "", None
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
                return name, data if name == "auth_revoked" else json.loads(data)

    def _line(self) -> str | None:
        """Return a line of the body, past the marks of chunks."""
        while True:
            raw = self._file.readline()
            if raw in (b"0\r\n", b""):
                return None
            if not raw.endswith(b"\r\n"):
                return raw.decode().strip()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("streams")) as server:
        yield server


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    shared.put("/.json", {"a": {"x": 1}})
    return shared


def test_a_stream_begins_with_the_value_and_goes_on_with_each_change(server: LiveServer) -> None:
    with Events(server, "/a.json") as events:
        assert (events.status, events.headers["content-type"]) == (
            200,
            "text/event-stream; charset=utf-8",
        )
        assert events.next() == ("put", {"path": "/", "data": {"x": 1}})
        server.put("/a/y/z.json", [1, 2])
        assert events.next() == ("put", {"path": "/y/z", "data": [1, 2]})
        server.ask("PATCH", "/.json", '{"a/x":null,"a/ü":"ü","b":1}')
        assert events.next() == ("patch", {"path": "/", "data": {"x": None, "ü": "ü"}})
        server.put("/.json", {"a": 5})
        assert events.next() == ("put", {"path": "/", "data": 5})
        server.ask("DELETE", "/a.json")
        assert events.next() == ("put", {"path": "/", "data": None})


def test_priorities_are_told_where_they_are_asked_for(server: LiveServer) -> None:
    with Events(server, "/a.json") as plain, Events(server, "/a.json?format=export") as export:
        assert plain.next() == export.next() == ("put", {"path": "/", "data": {"x": 1}})
        server.put("/a/x/.priority.json", 5)
        server.put("/a/y.json", 1)
        assert plain.next() == ("put", {"path": "/y", "data": 1})
        assert export.next() == ("put", {"path": "/x/.priority", "data": 5})


def test_a_query_is_streamed_as_its_window(server: LiveServer) -> None:
    server.put("/a.json", {"k1": 1, "k2": 2})
    with Events(server, "/a.json?orderBy=%22$key%22&limitToLast=2") as events:
        assert events.next() == ("put", {"path": "/", "data": {"k1": 1, "k2": 2}})
        server.put("/a/k3.json", 3)
        assert events.next() == ("patch", {"path": "/", "data": {"k3": 3, "k1": None}})


def test_who_may_not_read_gets_no_stream_and_who_may_no_longer_is_told(
    tmp_path: FilePath,
) -> None:
    with live_server(tmp_path) as server:
        open_rules = '{"rules":{"a":{".read":true,".write":true}}}'
        admin = {"Authorization": "Bearer owner"}
        assert server.ask("PUT", "/.settings/rules.json", open_rules, headers=admin).status == 200
        with Events(server, "/b.json") as events:
            assert events.status == 401
        with Events(server, "/a.json") as events:
            assert events.next() == ("put", {"path": "/", "data": None})
            server.ask("PUT", "/.settings/rules.json", '{"rules":{}}', headers=admin)
            assert events.next() == ("cancel", None)
            assert events.next() == ("", None)


def test_a_stopping_server_ends_its_streams(tmp_path: FilePath) -> None:
    ended: list[tuple[str, Any]] = []
    with ExitStack() as after, live_server(tmp_path) as server:
        events = after.enter_context(Events(server, "/a.json"))
        assert events.next() == ("put", {"path": "/", "data": None})
        after.callback(lambda: ended.append(events.next()))
    assert ended == [("", None)]


def stream(form: Form = Form.PLAIN, outbox_bytes: int = 1000) -> Stream:
    return Stream(Watch(PLACE), form, replace(DEFAULT_LIMITS, outbox_bytes=outbox_bytes))


def test_a_client_that_reads_too_slowly_is_sent_away() -> None:
    slow = stream(outbox_bytes=100)
    for number in range(10):
        slow.deliver(Delivery(PLACE, Overwrite(PLACE, "x" * 50), number), None)
    assert slow.is_over
    assert len(slow.take()) < 300


def test_an_expired_credential_ends_a_stream() -> None:
    ended = stream()
    ended.revoke()
    ended.cancel(Watch(PLACE))
    assert ended.take() == b"event: auth_revoked\ndata: credential is no longer valid\n\n"
    assert ended.is_over


def test_a_change_of_priorities_alone_is_no_event() -> None:
    plain = stream()
    plain.deliver(Delivery(PLACE, Overwrite(PLACE.child(".priority"), 1), 1), None)
    changes = ((("x", ".priority"), 1), (("y", ".priority"), 1))
    plain.deliver(Delivery(PLACE, Merge(PLACE, changes), 2), None)
    assert plain.take() == b""
    plain.keep_alive()
    assert plain.take() == b"event: keep-alive\ndata: null\n\n"
