import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from uvicorn.server import ServerState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from tests.server.serving import exchange, handshake, serving
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.server.door import DOOR
from treedb.server.protocol import FrameDoor, TreeWebSocketProtocol, uvicorn_options
from treedb.wire.ready_frame import ready_frames

LIMITS = replace(DEFAULT_LIMITS, frame_bytes=1000, pings_per_second=5, close_timeout_ms=50)


async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    door = websocket.scope["extensions"][DOOR]
    while (event := await websocket.receive())["type"] != "websocket.disconnect":
        text = event.get("text")
        if text == "close":
            door.close(1013, "too slow")
        else:
            assert text is not None
            door.write(ready_frames(text.encode()))


ECHO = Starlette(routes=[WebSocketRoute("/", echo)])


@asynccontextmanager
async def client(limits: Limits = LIMITS, **options: Any) -> AsyncIterator[ClientConnection]:
    async with (
        serving(ECHO, uvicorn_options(limits)) as address,
        connect(f"ws://{address}/", compression=None, **options) as connection,
    ):
        yield connection


async def close_code(connection: ClientConnection) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            await connection.recv()
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


def test_the_options_are_those_of_the_limits() -> None:
    options = uvicorn_options(DEFAULT_LIMITS)
    config = uvicorn.Config(ECHO, **options)
    assert (config.ws_max_size, config.ws_ping_interval, config.ws_ping_timeout) == (2**20, 45, 25)
    switches = ("ws_per_message_deflate", "server_header", "proxy_headers", "access_log")
    assert [name for name in switches if getattr(config, name)] == []


async def test_text_goes_through_the_door_and_back() -> None:
    async with client() as connection:
        for text in ("a", "é😀", "", "x" * 1000):
            await connection.send(text)
            assert await connection.recv() == text


async def test_fragments_are_joined_also_inside_a_character() -> None:
    async with client() as connection:
        await connection.send(["x", "é", "y"], text=True)
        assert await connection.recv() == "xéy"


async def test_compression_is_not_negotiated() -> None:
    async with client(extensions=[ClientPerMessageDeflateFactory()]) as connection:
        assert connection.protocol.extensions == []


async def test_a_frame_above_the_limit_closes() -> None:
    async with client() as connection:
        await connection.send("x" * 1001)
        assert await close_code(connection) == 1009


async def test_a_flood_of_pings_closes() -> None:
    async with client() as connection:
        for _ in range(5):
            await connection.ping()
        await connection.send("still here")
        assert await connection.recv() == "still here"
        await connection.ping()
        assert await close_code(connection) == 1008


@pytest.mark.parametrize(
    "frame, code",
    [
        (b"\x81\x01a", 1002),  # not masked
        (b"\xc1\x81\0\0\0\0a", 1002),  # a reserved bit
        (b"\x83\x81\0\0\0\0a", 1002),  # an unknown opcode
        (b"\x81\x81\0\0\0\0\xff", 1007),  # not UTF-8
        (b"\x80\x81\0\0\0\0a", 1002),  # a continuation of nothing
        (b"\x81\xff\x7f" + b"\xff" * 7 + b"\0\0\0\0", 1009),  # 2^63 - 1 bytes announced
    ],
)
async def test_broken_frames_close(frame: bytes, code: int) -> None:
    async with serving(ECHO, uvicorn_options(LIMITS)) as address:
        answer = await exchange(address, handshake("/"), frame)
    assert answer[:1] == b"\x88"
    assert int.from_bytes(answer[2:4], "big") == code


async def test_a_peer_that_does_not_answer_a_close_is_cut() -> None:
    async with serving(ECHO, uvicorn_options(LIMITS)) as address:
        frame = b"\x81\x85\0\0\0\0close"
        answer = await exchange(address, handshake("/"), frame)
    assert answer == b"\x88\x0a\x03\xf5too slow"


class StubTransport(asyncio.Transport):
    """A transport without a socket: it keeps what is written, and is as full as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.unsent = 0
        self.ended: str | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.ended is not None

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


TEXT = b"\x81\x81\0\0\0\0a"


async def opened(limits: Limits = DEFAULT_LIMITS) -> tuple[TreeWebSocketProtocol, StubTransport]:
    """Return a protocol that has accepted a connection; its timers will not run in this test."""

    async def accept(websocket: WebSocket) -> None:
        await websocket.accept()
        await asyncio.Event().wait()

    app = Starlette(routes=[WebSocketRoute("/", accept)])
    config = uvicorn.Config(app, **uvicorn_options(limits))
    config.load()
    protocol = TreeWebSocketProtocol(config, ServerState(), {}, limits=limits)
    transport = StubTransport()
    protocol.connection_made(transport)
    protocol.data_received(handshake("/"))
    while not protocol.handshake_complete:
        await asyncio.sleep(0)
    return protocol, transport


async def test_a_peer_without_a_sign_of_life_is_failed() -> None:
    protocol, transport = await opened()
    protocol.send_keepalive_ping()
    protocol.keepalive_timeout()
    assert transport.ended == "closed"
    assert b"\x88" in transport.written


async def test_a_dead_peer_with_unsent_bytes_is_cut() -> None:
    protocol, transport = await opened()
    transport.unsent = 100
    protocol.send_keepalive_ping()
    protocol.keepalive_timeout()
    assert transport.ended == "aborted"


async def test_a_peer_that_sends_is_alive_though_its_pong_is_late() -> None:
    protocol, transport = await opened()
    protocol.send_keepalive_ping()
    protocol.data_received(b"\x01\x81\0\0\0\0a")
    protocol.keepalive_timeout()
    assert transport.ended is None
    protocol.data_received(b"\x80\x81\0\0\0\0b")
    protocol.read_paused = False
    protocol.keepalive_timeout()
    assert transport.ended is None
    protocol.keepalive_timeout()
    assert transport.ended == "closed"


async def test_a_peer_that_reads_is_alive_though_its_pong_is_late() -> None:
    protocol, transport = await opened()
    transport.unsent = 1000
    protocol.send_keepalive_ping()
    transport.unsent = 900
    protocol.keepalive_timeout()
    assert transport.ended is None
    protocol.keepalive_timeout()
    assert transport.ended == "aborted"


async def test_a_peer_whose_reading_we_paused_is_not_blamed() -> None:
    protocol, transport = await opened()
    protocol.data_received(TEXT)
    protocol.send_keepalive_ping()
    assert protocol.read_paused
    protocol.keepalive_timeout()
    assert transport.ended is None


async def test_a_late_pong_lets_the_pings_go_on() -> None:
    protocol, transport = await opened()
    protocol.send_keepalive_ping()
    payload = transport.written[-4:]
    protocol.data_received(b"\x89\x80\0\0\0\0")
    protocol.keepalive_timeout()
    protocol.data_received(b"\x8a\x84\0\0\0\0" + payload)
    assert transport.ended is None
    assert (protocol.pong_timer, protocol.ping_timer is None) == (None, False)
    protocol.connection_lost(None)


async def test_a_door_closed_before_the_handshake_is_done_cuts() -> None:
    app = Starlette()
    config = uvicorn.Config(app, **uvicorn_options(LIMITS))
    config.load()
    protocol = TreeWebSocketProtocol(config, ServerState(), {}, limits=LIMITS)
    transport = StubTransport()
    protocol.connection_made(transport)
    FrameDoor(protocol).close(1000, "")
    assert transport.ended == "aborted"


@pytest.mark.parametrize("path", ["/", "/?v=5"])
async def test_a_bad_handshake_is_refused(path: str) -> None:
    async with serving(ECHO, uvicorn_options(LIMITS)) as address:
        answer = await exchange(address, handshake(path, Sec_WebSocket_Key="abc"))
    assert answer.startswith(b"HTTP/1.1 400 ")
