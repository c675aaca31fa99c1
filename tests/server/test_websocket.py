import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest
from websockets.asyncio.client import connect

from tests.server.opened_database import opened_database
from tests.server.realtime_world import RealtimeWorld, ask, close_of, receive
from tests.server.serving import exchange, handshake
from treedb.clock import SystemClock
from treedb.config import DEFAULT_LIMITS
from treedb.paths.path import Path
from treedb.server.session import Session
from treedb.writes.request import set_write

LIMITS = replace(DEFAULT_LIMITS, connections=3, message_timeout_ms=100)
NOW_MS = 1_795_220_127_288
OTHER_SERVER = {"ws": "websockets-sansio", "ws_per_message_deflate": False}


LISTEN = b'{"t":"d","d":{"r":1,"a":"q","b":{"p":"/v","h":""}}}'
LISTEN_TO_V = b"\x81" + bytes((0x80 | len(LISTEN),)) + b"\0\0\0\0" + LISTEN  # masked with 0


class Clock(SystemClock):
    """Tells one time, and random bits that are all ones."""

    def now_ms(self) -> int:
        return NOW_MS

    def random_bits(self, count: int) -> int:
        return (1 << count) - 1


@pytest.fixture
async def world(tmp_path: FilePath) -> AsyncIterator[RealtimeWorld]:
    async with (
        opened_database(tmp_path, LIMITS) as database,
        RealtimeWorld(database, LIMITS, SystemClock()).serving() as world,
    ):
        yield world


async def test_the_server_speaks_first(tmp_path: FilePath) -> None:
    async with (
        opened_database(tmp_path, LIMITS) as database,
        RealtimeWorld(database, LIMITS, Clock()).serving() as world,
        world.connect() as connection,
    ):
        hello = await receive(connection)
    session_id = hello["d"]["d"].pop("s")
    content = {"ts": NOW_MS, "v": "5", "h": world.address}
    assert hello == {"t": "c", "d": {"t": "h", "d": content}}
    assert len(session_id) == 32
    assert session_id.isalnum()


async def test_session_ids_differ(world: RealtimeWorld) -> None:
    async with world.connect() as first, world.connect() as second:
        ids = {(await receive(each))["d"]["d"]["s"] for each in (first, second)}
    assert len(ids) == 2


@pytest.mark.parametrize("options", [None, OTHER_SERVER])
async def test_a_conversation(tmp_path: FilePath, options: dict[str, Any] | None) -> None:
    large = "é" * 40_000
    async with opened_database(tmp_path, LIMITS) as database:
        world = RealtimeWorld(database, LIMITS, SystemClock())
        async with world.serving(options), world.connect("v=5") as writer:
            await receive(writer)
            async with world.connect("ns=&v=5&p=1:1:web:abc") as reader:
                await receive(reader)
                ok = {"r": 1, "b": {"s": "ok", "d": {}}}
                assert await ask(reader, "q", p="/w", h="") == [ok]
                assert await ask(writer, "p", p="/w/x", d=large) == [
                    {"r": 1, "b": {"s": "ok", "d": ""}}
                ]
                push = {"a": "d", "b": {"p": "w/x", "d": large}}
                assert (await receive(reader))["d"] == push
                assert await ask(reader, "g", p="/w") == [
                    {"r": 1, "b": {"s": "ok", "d": {"x": large}}}
                ]
            await world.until_watched(0)


REFUSED = [
    ("", 400, "v=5, found none."),
    ("v=4&ns=default", 400, "v=5, found '4'."),
    ("v=5&ns=other", 404, "404 Not Found"),
    ("v=5&ns=no/name", 400, "no slash"),
]


@pytest.mark.parametrize("query, status, error", REFUSED)
async def test_a_handshake_is_refused_before_it_is_accepted(
    world: RealtimeWorld, query: str, status: int, error: str
) -> None:
    answer = await exchange(world.address, handshake(f"/.ws?{query}"))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == str(status).encode()
    assert error in " ".join(json.loads(body).values())
    assert world.realtime.connections == 0


async def test_a_plain_request_is_told_to_upgrade(world: RealtimeWorld) -> None:
    request = b"GET /.ws?v=5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    head, _, body = (await exchange(world.address, request)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 426 ")
    assert b"upgrade: websocket" in head.lower()
    assert json.loads(body) == {"error": "Upgrade Required"}


async def test_connections_are_bounded(world: RealtimeWorld) -> None:
    async with world.connect(), world.connect(), world.connect():
        assert world.realtime.connections == 3
        answer = await exchange(world.address, handshake("/.ws?v=5"))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 5" in head.lower()
        assert json.loads(body) == {
            "error": "Service unavailable",
            "detail": "All 3 connections are taken.",
        }
    async with asyncio.timeout(10):
        while world.realtime.connections:
            await asyncio.sleep(0.001)
    async with world.connect() as connection:
        await receive(connection)


async def test_subprotocols_are_not_selected(world: RealtimeWorld) -> None:
    url = f"ws://{world.address}/.ws?v=5"
    async with connect(url, subprotocols=[f"p{n}" for n in range(200)]) as connection:  # type: ignore[misc]
        assert connection.subprotocol is None


async def test_binary_closes(world: RealtimeWorld) -> None:
    async with world.connect() as connection:
        await receive(connection)
        await connection.send(b"{}")
        error = {"t": "c", "d": {"t": "e", "d": "Messages are text, found binary."}}
        assert await receive(connection) == error
        assert await close_of(connection) == (1003, "Protocol error")


async def test_nonsense_closes_and_drops_the_listens(world: RealtimeWorld) -> None:
    async with world.connect() as connection:
        await receive(connection)
        await ask(connection, "q", p="/w", h="")
        assert world.database.watched_places == 1
        await connection.send("nonsense")
        assert (await receive(connection))["d"]["t"] == "e"
        assert await close_of(connection) == (1008, "Protocol error")
        assert world.database.watched_places == 0


async def test_segments_that_do_not_come_close(world: RealtimeWorld) -> None:
    async with world.connect() as connection:
        await receive(connection)
        await connection.send("2")
        message = await receive(connection)
        assert message["d"]["d"] == "The announced segments of a message did not come."
        assert await close_of(connection) == (1008, "Protocol error")


async def test_a_keep_alive_says_nothing(world: RealtimeWorld) -> None:
    async with world.connect() as connection:
        await receive(connection)
        await connection.send("0")
        await connection.send('{"t":"c","d":{"t":"p","d":{}}}')
        assert await receive(connection) == {"t": "c", "d": {"t": "o", "d": None}}


async def test_a_connection_that_is_lost_drops_its_listens(world: RealtimeWorld) -> None:
    connection = await world.connect()
    await receive(connection)
    await ask(connection, "q", p="/w", h="")
    connection.transport.abort()
    await world.until_watched(0)


async def test_who_comes_back_ends_their_old_session(world: RealtimeWorld) -> None:
    async with world.connect() as old:
        session_id = (await receive(old))["d"]["d"]["s"]
        await ask(old, "q", p="/w", h="")
        async with world.connect(f"v=5&ls={session_id}&ns=default") as new:
            await receive(new)
            assert world.database.watched_places == 0
            assert await close_of(old) == (1001, "the client has come back")
            await ask(new, "q", p="/w", h="")


async def test_an_unknown_old_session_is_nobodys_business(world: RealtimeWorld) -> None:
    async with world.connect("v=5&ls=" + "x" * 32) as connection:
        assert (await receive(connection))["d"]["t"] == "h"


async def test_our_own_fault_closes_with_1011(
    world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(session: Session, frame: str) -> None:
        raise ZeroDivisionError(frame)

    monkeypatch.setattr(Session, "receive", broken)
    with caplog.at_level(logging.ERROR):
        async with world.connect() as connection:
            await receive(connection)
            await connection.send("0")
            assert await close_of(connection) == (1011, "Internal server error")
    assert "ZeroDivisionError" in caplog.text


@pytest.fixture
async def small_outbox(tmp_path: FilePath) -> AsyncIterator[RealtimeWorld]:
    limits = replace(LIMITS, outbox_bytes=1_000_000, stall_timeout_ms=200)
    async with (
        opened_database(tmp_path, limits) as database,
        RealtimeWorld(database, LIMITS, SystemClock()).serving() as world,
    ):
        yield world


async def test_a_client_that_reads_nothing_is_closed_and_others_hear(
    small_outbox: RealtimeWorld,
) -> None:
    world, database = small_outbox, small_outbox.database
    async with world.connect() as healthy:
        await receive(healthy)
        await ask(healthy, "q", p="/w", h="")
        reader, slow = await asyncio.open_connection(*world.address.split(":"))
        slow.write(handshake("/.ws?v=5"))
        await reader.readuntil(b"\r\n\r\n")
        slow.write(LISTEN_TO_V)
        await world.until_watched(2)
        while database.watched_places == 2:
            await database.write(set_write(Path(("v",)), "x" * 1_000_000, LIMITS))
            await database.write(set_write(Path(("w",)), 1, LIMITS))
            assert (await receive(healthy))["d"]["b"] == {"p": "w", "d": 1}
        slow.transport.abort()
