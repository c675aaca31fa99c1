"""The promises of a door, held by every implementation, on sockets, on both event loops."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.server.serving import handshake, serving
from treedb.config import DEFAULT_LIMITS
from treedb.server.door import Door
from treedb.server.protocol import FrameDoor, uvicorn_options
from treedb.server.send_door import SendDoor, door_of
from treedb.wire.ready_frame import ready_frames

MIB = 1024 * 1024
OTHER_SERVER = {"ws": "websockets-sansio", "ws_per_message_deflate": False}
DOORS: list[tuple[type[Door], dict[str, Any]]] = [
    (FrameDoor, uvicorn_options(DEFAULT_LIMITS)),
    (SendDoor, OTHER_SERVER),
]
Endpoint = Callable[[Door], Awaitable[None]]
Test = Callable[[type[Door], dict[str, Any]], Coroutine[Any, Any, None]]


def on_every_door(test: Test) -> Callable[..., None]:
    @pytest.mark.parametrize("kind, options", DOORS)
    @pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
    def run(kind: type[Door], options: dict[str, Any], new_loop: Any) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(test(kind, options))

    marked: Callable[..., None] = run
    return marked


@asynccontextmanager
async def doors(
    kind: type[Door], options: dict[str, Any], endpoint: Endpoint
) -> AsyncIterator[str]:
    """Serve an endpoint that is given each connection's door; gives the address."""

    async def serve(websocket: WebSocket) -> None:
        await websocket.accept()
        async with door_of(websocket) as door:
            assert isinstance(door, kind)
            await endpoint(door)
            while (await websocket.receive())["type"] != "websocket.disconnect":
                pass

    app = Starlette(routes=[WebSocketRoute("/", serve)])
    async with serving(app, options) as address:
        yield address


@on_every_door
async def test_all_that_is_written_comes_in_order_and_then_the_close(
    kind: type[Door], options: dict[str, Any]
) -> None:
    async def endpoint(door: Door) -> None:
        for number in range(100):
            door.write(ready_frames(b"%d" % number) + ready_frames(b"x" * number))
        door.write(ready_frames("é😀".encode()))
        door.close(1013, "too slow")

    async with doors(kind, options, endpoint) as address, connect(f"ws://{address}/") as client:
        texts = []
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                texts.append(await client.recv())
    assert texts == [text for n in range(100) for text in (str(n), "x" * n)] + ["é😀"]
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1013, "too slow")


@on_every_door
async def test_after_a_close_everything_is_dropped(
    kind: type[Door], options: dict[str, Any]
) -> None:
    async def endpoint(door: Door) -> None:
        door.close(1000, "first")
        door.write(ready_frames(b"late"))
        door.close(1001, "second")
        door.write(ready_frames(b"later"))

    async with doors(kind, options, endpoint) as address, connect(f"ws://{address}/") as client:
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "first")


@on_every_door
async def test_a_peer_that_does_not_read_makes_it_congested_until_it_does(
    kind: type[Door], options: dict[str, Any]
) -> None:
    states: asyncio.Queue[tuple[bool, int]] = asyncio.Queue()

    async def endpoint(door: Door) -> None:
        states.put_nowait((door.congested, door.buffered()))
        while not (door.congested and door.buffered() > MIB):
            door.write(ready_frames(b"x" * MIB))
            await asyncio.sleep(0)
        states.put_nowait((door.congested, door.buffered()))
        await door.drain()
        states.put_nowait((door.congested, door.buffered()))

    async with doors(kind, options, endpoint) as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(handshake("/"))
        assert await states.get() == (False, 0)
        congested, buffered = await states.get()
        assert congested
        assert buffered > MIB
        while states.empty():
            await reader.read(MIB)
        congested, buffered = await states.get()
        assert not congested
        assert buffered <= 64 * 1024
        writer.close()


@on_every_door
async def test_a_peer_that_has_gone_stops_nobody(kind: type[Door], options: dict[str, Any]) -> None:
    congested, done = asyncio.Event(), asyncio.Event()

    async def endpoint(door: Door) -> None:
        while not door.congested:
            door.write(ready_frames(b"x" * MIB))
            await asyncio.sleep(0)
        congested.set()
        await door.drain()
        for _ in range(10):
            door.write(ready_frames(b"x" * MIB))
        door.close(1000, "")
        done.set()

    async with doors(kind, options, endpoint) as address, asyncio.timeout(10):
        _, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(handshake("/"))
        await congested.wait()
        writer.transport.abort()
        await done.wait()
