"""The door of a client that polls: what is written waits for a call to take it along.

A client keeps a call waiting, so that we can speak, and makes a second one when it has something
to say. The older one then gives way: it is answered with what there is, be it nothing. Only when
the client says things faster than they are taken does it stay, and so slows the client down.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from treedb.wire.poll import close_script, messages_of, packet_script

CONGESTED_BYTES: Final = 64 * 1024  # what asyncio's transports take before they say pause
PACKET_BYTES: Final = 1024 * 1024  # a packet ends with the message that reaches it
MOST_WAITING: Final = 2  # calls of one client; SDKs make no more


class Turn:
    """One call that waits for its answer."""

    __slots__ = ("_woken", "is_gone")

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self.is_gone = False

    def wake(self) -> None:
        """Have it answered now."""
        self._woken.set()

    def leave(self) -> None:
        """Take that nobody is there to be answered: what we say is not for this call."""
        self.is_gone = True
        self._woken.set()

    async def come(self, seconds: float) -> None:
        """Wait to be woken, for so long at the most."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass  # then the answer says nothing


class PollDoor:
    """Queue ready frames for the client's calls (see treedb.server.door).

    The queue is bounded by those who write: they look at `buffered`. `closing` is called when the
    client is to be closed; `closed` is set when it has been told.
    """

    def __init__(self, closing: Callable[[], None]) -> None:
        self._closing = closing
        self.is_closing = False
        self._queue: deque[bytes] = deque()
        self._size_bytes = 0
        self._packets = 0
        self._turns: list[Turn] = []
        self._holds_back = False
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.closed = asyncio.Event()

    @property
    def congested(self) -> bool:
        """Tell whether more waits than a transport would take."""
        return not self._has_room.is_set()

    def write(self, ready: bytes) -> None:
        """Queue ready frames, unless the client is being closed."""
        if self.is_closing:
            return
        self._queue.append(ready)
        self._count(len(ready))
        self._settle()

    def buffered(self) -> int:
        """Count the bytes in the queue."""
        return self._size_bytes

    async def drain(self) -> None:
        """Wait until the queue is short, or the client is being closed."""
        await self._has_room.wait()

    def close(self, code: int, reason: str) -> None:
        """Close the client when the queue is taken; polls know no code and no reason."""
        if not self.is_closing:
            self.is_closing = True
            self._has_room.set()
            self._settle()
            self._closing()

    def hold_back(self, is_flooded: bool) -> None:
        """Let an older call give way to a newer one, or not for the moment."""
        if self._holds_back != is_flooded:
            self._holds_back = is_flooded
            self._settle()

    async def answer(self, turn: Turn, hold_seconds: float) -> bytes:
        """Return the script for a call, when there is one to give; b"" when its client has gone."""
        self._turns.append(turn)
        self._settle()
        try:
            await turn.come(hold_seconds)
        finally:
            self._turns.remove(turn)
        script = b"" if turn.is_gone else await self.take()
        self._settle()
        return script

    async def take(self) -> bytes:
        """Return the next packet, and with the last one what closes the client."""
        if self.closed.is_set():
            return close_script(self._packets - 1)
        taken: list[bytes] = []
        size_bytes = 0
        while self._queue and size_bytes < PACKET_BYTES:
            taken.append(self._queue.popleft())
            size_bytes += len(taken[-1])
        self._count(-size_bytes)
        number = self._packets
        self._packets += 1
        ending = b""
        if self.is_closing and not self._queue:
            self.closed.set()
            ending = close_script(number)
        if size_bytes <= PACKET_BYTES:
            return _packet(number, taken) + ending
        self._settle()  # the next call does not wait for the thread
        return await asyncio.to_thread(_packet, number, taken) + ending

    def _settle(self) -> None:
        """Wake the oldest call if it is to be answered now; it looks again when it is done."""
        waiting = len(self._turns)
        is_crowded = waiting > MOST_WAITING or (waiting == MOST_WAITING and not self._holds_back)
        if waiting and (self._queue or self.is_closing or is_crowded):
            self._turns[0].wake()

    def _count(self, difference: int) -> None:
        self._size_bytes += difference
        if self._size_bytes > CONGESTED_BYTES and not self.is_closing:
            self._has_room.clear()
        else:
            self._has_room.set()


def _packet(number: int, taken: list[bytes]) -> bytes:
    return packet_script(number, (text for ready in taken for text in messages_of(ready)))
