"""Streams over HTTP: the value first, then every change, until somebody leaves."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest
from starlette.types import Message

from tests.server.event_client import EventStream
from tests.server.live_server import LiveServer, live_server
from tests.server.opened_database import opened_database
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.rules.authority import SERVER
from treedb.server import streams
from treedb.server.streams import Stream, StreamResponse
from treedb.sync.delivery import Delivery, Merge, Overwrite, Watch
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.forms import Form
from treedb.tree.query import EVERYTHING, Query
from treedb.tree.query_order import KEY

PLACE = Path(("a",))


def events_of(server: LiveServer, target: str) -> EventStream:
    return EventStream(server.port, target)


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    shared.put("/.json", {"a": {"x": 1}})
    return shared


def test_a_stream_begins_with_the_value_and_goes_on_with_each_change(server: LiveServer) -> None:
    with events_of(server, "/a.json") as events:
        assert (events.status, events.headers["content-type"]) == (
            200,
            "text/event-stream; charset=utf-8",
        )
        assert events.told() == ("put", {"path": "/", "data": {"x": 1}})
        server.put("/a/y/z.json", [1, 2])
        assert events.told() == ("put", {"path": "/y/z", "data": [1, 2]})
        server.ask("PATCH", "/.json", '{"a/x":null,"a/ü":"ü","b":1}')
        assert events.told() == ("patch", {"path": "/", "data": {"x": None, "ü": "ü"}})
        server.put("/.json", {"a": 5})
        assert events.told() == ("put", {"path": "/", "data": 5})
        server.ask("DELETE", "/a.json")
        assert events.told() == ("put", {"path": "/", "data": None})


def test_priorities_are_told_where_they_are_asked_for(server: LiveServer) -> None:
    with (
        events_of(server, "/a.json") as plain,
        events_of(server, "/a.json?format=export") as export,
    ):
        assert plain.told() == export.told() == ("put", {"path": "/", "data": {"x": 1}})
        server.put("/a/x/.priority.json", 5)
        server.put("/a/y.json", 1)
        assert plain.told() == ("put", {"path": "/y", "data": 1})
        assert export.told() == ("put", {"path": "/x/.priority", "data": 5})


def test_a_query_is_streamed_as_its_window(server: LiveServer) -> None:
    server.put("/a.json", {"k1": 1, "k2": 2})
    with events_of(server, "/a.json?orderBy=%22$key%22&limitToLast=2") as events:
        assert events.told() == ("put", {"path": "/", "data": {"k1": 1, "k2": 2}})
        server.put("/a/k3.json", 3)
        assert events.told() == ("patch", {"path": "/", "data": {"k3": 3, "k1": None}})


def test_who_may_not_read_gets_no_stream_and_who_may_no_longer_is_told(
    tmp_path: FilePath,
) -> None:
    with live_server(tmp_path) as server:
        open_rules = '{"rules":{"a":{".read":true,".write":true}}}'
        admin = {"Authorization": "Bearer owner"}
        assert server.ask("PUT", "/.settings/rules.json", open_rules, headers=admin).status == 200
        with events_of(server, "/b.json") as events:
            assert events.status == 401
        with events_of(server, "/a.json") as events:
            assert events.told() == ("put", {"path": "/", "data": None})
            server.ask("PUT", "/.settings/rules.json", '{"rules":{}}', headers=admin)
            assert events.told() == ("cancel", None)
            assert events.told() == ("", None)


def test_a_quiet_stream_is_kept_alive_and_hears_how_far_the_database_is(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "KEEP_ALIVE_SECONDS", 0.02)
    with events_of(server, "/a.json") as events:
        first = events.next()
        assert first is not None
        server.put("/b.json", 1)
        while events.parser.last_id == first.last_id:
            assert events.told() == ("keep-alive", None)


def test_a_stopping_server_ends_its_streams(tmp_path: FilePath) -> None:
    ended: list[tuple[str, Any]] = []
    with ExitStack() as after, live_server(tmp_path) as server:
        events = after.enter_context(events_of(server, "/a.json"))
        assert events.told() == ("put", {"path": "/", "data": None})
        after.callback(lambda: ended.append(events.told()))
    assert ended == [("", None)]


async def test_a_stream_takes_the_timer_of_its_credential_with_it(tmp_path: FilePath) -> None:
    async with opened_database(tmp_path) as database:
        ending = stream()
        await ending.open(database, SERVER, None)
        timer = asyncio.get_running_loop().call_later(3600, ending.revoke)
        gone: list[Message] = [{"type": "http.request"}, {"type": "http.disconnect"}]
        sent: list[Message] = []

        async def receive() -> Message:
            return gone.pop(0)

        async def send(message: Message) -> None:
            sent.append(message)

        await StreamResponse(ending, database, timer, {})({"type": "http"}, receive, send)
        assert sent[-1].get("more_body") is None
        assert timer.cancelled()
        assert database.watched_places == 0


def stream(form: Form = Form.PLAIN, outbox_bytes: int = 1000, query: Query = EVERYTHING) -> Stream:
    return Stream(Watch(PLACE, query), form, replace(DEFAULT_LIMITS, outbox_bytes=outbox_bytes))


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


def test_a_keep_alive_moves_the_id_on_and_never_back() -> None:
    quiet = stream()
    quiet.keep_alive(BEGINNING)
    assert quiet.take() == b"event: keep-alive\ndata: null\n\n"
    quiet.keep_alive(Bookmark(5, 1005))
    assert quiet.take() == b"id: 5-1005\nevent: keep-alive\ndata: null\n\n"
    quiet.keep_alive(Bookmark(5, 1005))
    assert quiet.take() == b"event: keep-alive\ndata: null\n\n"
    quiet.deliver(Delivery(PLACE, Overwrite(PLACE, 1), 9, time_ms=1009), None)
    quiet.keep_alive(Bookmark(8, 1008))  # the first value may be ahead of what is published
    assert b"id: 8" not in quiet.take()


def test_a_keep_alive_of_a_query_has_no_id() -> None:
    quiet = stream(query=Query(KEY, limit=1))
    quiet.keep_alive(Bookmark(5, 1005))
    assert quiet.take() == b"event: keep-alive\ndata: null\n\n"
