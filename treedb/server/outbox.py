"""What is on its way to one client: in order, and bounded.

Two kinds of bytes go out. *Answers* are what the client asked for; the session waits for room
before it takes the next request, so there is at most one large answer at a time. *Deliveries*
come when they come; once `outbox_bytes` of them wait, a client that does not read them as fast as
they are made has fallen behind. What comes for it then is dropped, and its watches are *missed*
until they start anew from a fresh value. A client that reads nothing at all is closed after a
while (1013, try again later).
"""

import asyncio
from collections.abc import Callable
from typing import Final

from treedb.config import Limits
from treedb.errors import CloseCode
from treedb.server.door import Door
from treedb.server.pushes import delivery_frames
from treedb.sync.delivery import Delivery, Watch
from treedb.wire.ready_frame import ready_frames

INLINE_BYTES: Final = 1024 * 1024  # a larger answer is framed on a thread: about 1 ms each
HELD_DELIVERIES: Final = 10_000  # commits within the framing of one answer; far more than happen


class Outbox:
    """The way to one client. It is the Listener of everything the client listens to.

    `cancelled` is told of a watch that ends, and returns the frames that tell the client, or None
    when the client knows of no such listen. `fell_behind` is called when watches begin to miss
    something.
    """

    __slots__ = (
        "_cancelled", "_ceiling", "_door", "_fell_behind", "_held", "_is_behind", "_limits",
        "_missed",
    )  # fmt: skip

    def __init__(
        self,
        door: Door,
        limits: Limits,
        cancelled: Callable[[Watch], bytes | None],
        fell_behind: Callable[[], None],
    ) -> None:
        self._door = door
        self._limits = limits
        self._cancelled = cancelled
        self._fell_behind = fell_behind
        self._ceiling = limits.outbox_bytes
        self._held: list[tuple[Watch | None, bytes]] | None = None
        self._is_behind = False
        self._missed: dict[Watch, None] = {}

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        """Write a delivery, framed once for all who get it, unless the client is behind."""
        if self._is_behind or self._missed:
            watch = Watch(delivery.place, delivery.query, tag)
            if self._is_behind or watch in self._missed:
                self._miss(watch)
                return
        ready = delivery_frames(delivery, tag)
        if self._held is not None:
            self._hold(Watch(delivery.place, delivery.query, tag), ready)
            return
        self._write_delivery(ready)

    @property
    def first_missed(self) -> Watch | None:
        """Return the watch that missed something first, None when none did."""
        return next(iter(self._missed), None)

    def forget(self, watch: Watch) -> None:
        """Take that a watch has a fresh value, or has ended: it misses nothing."""
        self._missed.pop(watch, None)

    def cancel(self, watch: Watch) -> None:
        """Tell the client that it may no longer listen, unless it knows of no listen.

        What is held for it and was not written yet is no longer for the client.
        """
        ready = self._cancelled(watch)
        if self._held is not None:
            self._held = [each for each in self._held if each[0] != watch]
            if ready is not None:
                self._hold(None, ready)
        elif ready is not None:
            self._door.write(ready)

    def write(self, ready: bytes) -> None:
        """Write the ready frames of something short."""
        self._door.write(ready)

    def write_answer(self, *ready: bytes) -> None:
        """Write what the client asked for, however long, and then what was held meanwhile."""
        for part in ready:
            self._door.write(part)
        if self._door.congested:
            self._ceiling = self._door.buffered() + self._limits.outbox_bytes
        held, self._held = self._held, None
        for watch, frames in held or ():
            if watch is None:
                self._door.write(frames)
            else:
                self._write_delivery(frames)

    async def frame(self, size_bytes: int, build: Callable[[], bytes]) -> bytes:
        """Build and frame a message; a large one on a thread, deliveries waiting meanwhile.

        Deliveries are held until `write_answer`: a listen's must not overtake its first value.
        """
        if size_bytes <= INLINE_BYTES:
            return ready_frames(build())
        self._held = []
        return await asyncio.to_thread(lambda: ready_frames(build()))

    async def drained(self) -> None:
        """Wait until the client has read; close one that reads nothing for too long."""
        while self._door.congested:
            unsent = self._door.buffered()
            try:
                async with asyncio.timeout(self._limits.stall_timeout_ms / 1000):
                    await self._door.drain()
            except TimeoutError:
                if self._door.buffered() >= unsent:
                    self.close(CloseCode.TRY_AGAIN_LATER, "not reading")
                    return
        self._ceiling = self._limits.outbox_bytes
        self._is_behind = False

    def close(self, code: int, reason: str) -> None:
        """Close the connection after what is written."""
        self._door.close(code, reason)

    def _write_delivery(self, ready: bytes) -> None:
        self._door.write(ready)
        if self._door.congested and self._door.buffered() > self._ceiling:
            self._is_behind = True

    def _miss(self, watch: Watch) -> None:
        if not self._missed:
            self._fell_behind()
        self._missed[watch] = None

    def _hold(self, watch: Watch | None, ready: bytes) -> None:
        """Keep frames until the answer before them is written: a watch's delivery, or a cancel."""
        assert self._held is not None
        if watch is not None and len(self._held) >= HELD_DELIVERIES:
            self._miss(watch)
        else:
            self._held.append((watch, ready))
