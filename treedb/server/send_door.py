"""The door under an ASGI server that is not uvicorn with our protocol: it can only `send`."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from treedb.server.door import DOOR, Door
from treedb.wire.ready_frame import frame_texts

CONGESTED_BYTES: Final = 64 * 1024  # what asyncio's transports take before they say pause


@asynccontextmanager
async def door_of(websocket: WebSocket) -> AsyncIterator[Door]:
    """Give an accepted connection's door: the server's own, or one that sends."""
    door = (websocket.scope.get("extensions") or {}).get(DOOR)
    if door is not None:
        yield door
        return
    sender = SendDoor(websocket)
    pump = asyncio.create_task(sender.pump())
    try:
        yield sender
    finally:
        pump.cancel()
        await asyncio.wait((pump,))
        sender.drop()


class SendDoor:
    """Queue ready frames for `pump` to send one after the other (see treedb.server.door).

    The queue is bounded by those who write: they look at `buffered` and close.
    """

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._queue: deque[bytes] = deque()
        self._size_bytes = 0
        self._closing: tuple[int, str] | None = None
        self._is_gone = False
        self._has_work = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    @property
    def congested(self) -> bool:
        """Tell whether more waits than a transport would take."""
        return not self._has_room.is_set()

    def write(self, ready: bytes) -> None:
        """Queue ready frames, unless the connection is closing."""
        if self._closing is not None or self._is_gone:
            return
        self._queue.append(ready)
        self._count(len(ready))
        self._has_work.set()

    def buffered(self) -> int:
        """Count the bytes in the queue."""
        return self._size_bytes

    async def drain(self) -> None:
        """Wait until the queue is short."""
        await self._has_room.wait()

    def close(self, code: int, reason: str) -> None:
        """Close the connection when the queue is sent."""
        self._closing = self._closing or (code, reason)
        self._has_work.set()

    async def pump(self) -> None:
        """Send what is queued until the connection is closed or lost."""
        try:
            while await self._next():
                ready = self._queue.popleft()
                for text in frame_texts(ready):
                    await self._websocket.send_text(text)
                self._count(-len(ready))
            assert self._closing is not None
            code, reason = self._closing
            await self._websocket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the peer has gone, which the reading side hears of too
        finally:
            self.drop()

    def drop(self) -> None:
        """Forget what waits, and take nothing more."""
        self._is_gone = True
        self._queue.clear()
        self._count(-self._size_bytes)

    async def _next(self) -> bool:
        while not self._queue:
            if self._closing is not None:
                return False
            self._has_work.clear()
            await self._has_work.wait()
        return True

    def _count(self, difference: int) -> None:
        self._size_bytes += difference
        if self._size_bytes > CONGESTED_BYTES:
            self._has_room.clear()
        else:
            self._has_room.set()
