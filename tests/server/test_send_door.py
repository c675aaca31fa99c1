import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket

from treedb.server.door import DOOR
from treedb.server.send_door import CONGESTED_BYTES, SendDoor, door_of
from treedb.wire.ready_frame import ready_frames


class Server:
    """An ASGI server's side of one accepted websocket; it sends only when told to go on."""

    def __init__(self, extensions: dict[str, Any] | None = None) -> None:
        self.sent: list[Message] = []
        self.failure: BaseException | None = None
        self.may_send = asyncio.Event()
        self.may_send.set()
        scope: dict[str, Any] = {"type": "websocket", "headers": [], "extensions": extensions}
        self.websocket = WebSocket(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        return {"type": "websocket.connect"}

    async def _send(self, message: Message) -> None:
        await self.may_send.wait()
        if self.failure is not None:
            raise self.failure
        self.sent.append(message)

    @asynccontextmanager
    async def accepted(self) -> AsyncIterator[SendDoor]:
        await self.websocket.accept()
        self.sent.clear()
        async with door_of(self.websocket) as door:
            assert isinstance(door, SendDoor)
            yield door


async def test_messages_are_sent_as_text_frame_by_frame() -> None:
    server = Server()
    async with server.accepted() as door:
        door.write(ready_frames(b"{}") + ready_frames("é".encode()))
        door.write(ready_frames(b"x" * 20_000))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    texts = [message["text"] for message in server.sent]
    assert texts == ["{}", "é", "2", "x" * 16_384, "x" * 3_616]


async def test_it_is_congested_while_more_waits_than_a_transport_takes() -> None:
    server = Server()
    async with server.accepted() as door:
        server.may_send.clear()
        ready = ready_frames(b"x" * 1000)
        door.write(ready)
        assert (door.congested, door.buffered()) == (False, len(ready))
        while door.buffered() <= CONGESTED_BYTES:
            assert not door.congested
            door.write(ready)
        assert door.congested
        draining = asyncio.create_task(door.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        server.may_send.set()
        await draining
        assert not door.congested


async def test_a_close_comes_after_what_is_written() -> None:
    server = Server()
    async with server.accepted() as door:
        door.write(ready_frames(b"{}"))
        door.close(1008, "Protocol error")
        door.write(ready_frames(b"late"))
        while len(server.sent) < 2:
            await asyncio.sleep(0)
    assert server.sent == [
        {"type": "websocket.send", "text": "{}"},
        {"type": "websocket.close", "code": 1008, "reason": "Protocol error"},
    ]


@pytest.mark.parametrize("failure", [OSError("reset"), RuntimeError("closed already")])
async def test_a_peer_that_has_gone_frees_what_waits(failure: Exception) -> None:
    server = Server()
    async with server.accepted() as door:
        server.failure = failure
        door.write(ready_frames(b"x" * CONGESTED_BYTES))
        assert door.congested
        await door.drain()
        assert door.buffered() == 0
        door.write(ready_frames(b"x" * CONGESTED_BYTES))
        assert door.buffered() == 0


async def test_the_end_frees_what_waits() -> None:
    server = Server()
    async with server.accepted() as door:
        server.may_send.clear()
        door.write(ready_frames(b"{}"))
    door.write(ready_frames(b"late"))
    assert door.buffered() == 0
    assert server.sent == []


async def test_a_servers_own_door_is_taken() -> None:
    own = object()
    async with door_of(Server({DOOR: own}).websocket) as door:
        assert door is own
