"""The writes of one client that are on their way, answered in the order they were sent."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from treedb.config import Limits
from treedb.errors import Unavailable
from treedb.server.answers import refusal_frames
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames
from treedb.writes.writer import Written


@dataclass(frozen=True, slots=True)
class _Write:
    number: int
    future: asyncio.Future[Written]
    size_bytes: int


class UnansweredWrites:
    """A queue of writes and their futures; `write` sends ready frames to the client."""

    def __init__(self, write: Callable[[bytes], None], limits: Limits) -> None:
        self._write = write
        self._limits = limits
        self._queue: deque[_Write] = deque()
        self._size_bytes = 0

    def add(self, number: int, future: asyncio.Future[Written], size_bytes: int) -> None:
        """Answer request `number` when its future is done and those before it are answered."""
        self._queue.append(_Write(number, future, size_bytes))
        self._size_bytes += size_bytes
        future.add_done_callback(self._answer)

    async def room_for(self, size_bytes: int) -> None:
        """Wait until one more write of that size may be on its way."""
        while self._queue and (
            len(self._queue) >= self._limits.requests_in_flight
            or self._size_bytes + size_bytes > self._limits.bytes_in_flight
        ):
            await self._first_done()

    async def settled(self) -> None:
        """Wait until every write is answered."""
        while self._queue:
            await self._first_done()

    async def _first_done(self) -> None:
        future = self._queue[0].future
        await asyncio.wait((future,))
        self._answer(future)

    def _answer(self, _: asyncio.Future[Written]) -> None:
        while self._queue and self._queue[0].future.done():
            done = self._queue.popleft()
            self._size_bytes -= done.size_bytes
            self._write(_outcome(done))


def _outcome(done: _Write) -> bytes:
    error = Unavailable() if done.future.cancelled() else done.future.exception()
    if error is not None:
        return refusal_frames(done.number, error)
    return ready_frames(outgoing.answer(done.number, "ok", b'""'))
