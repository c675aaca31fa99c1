"""What is on its way to one client: in order, and bounded.

Two kinds of bytes go out. *Answers* are what the client asked for; the session waits for room
before it takes the next request, so there is at most one large answer at a time. *Deliveries*
come when they come; a client that does not read them as fast as they are made is closed once
`outbox_bytes` of them wait (1013, try again later), and on its return starts from fresh values.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from treedb.config import Limits
from treedb.paths.path import Path
from treedb.server.door import Door
from treedb.server.pushes import encode_delivery
from treedb.sync.delivery import Delivery
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

TRY_AGAIN_LATER: Final = 1013  # registered with IANA as "try again later"
INLINE_BYTES: Final = 1024 * 1024  # a larger answer is framed on a thread: about 1 ms each
HELD_DELIVERIES: Final = 10_000  # commits within the framing of one answer; far more than happen


class Outbox:
    """The way to one client. It is the Listener of everything the client listens to."""

    __slots__ = ("_cancelled", "_ceiling", "_door", "_held", "_limits")

    def __init__(self, door: Door, limits: Limits, cancelled: Callable[[Path], bool]) -> None:
        self._door = door
        self._limits = limits
        self._cancelled = cancelled
        self._ceiling = limits.outbox_bytes
        self._held: list[Delivery | Path] | None = None

    def deliver(self, delivery: Delivery) -> None:
        """Write a delivery, framed once for all who get it; close a client that is too slow."""
        if self._held is not None:
            self._hold(delivery)
            return
        self._door.write(delivery.encoded(encode_delivery))
        if self._door.congested and self._door.buffered() > self._ceiling:
            self.close(TRY_AGAIN_LATER, "too slow")

    def cancel(self, place: Path) -> None:
        """Tell the client that it may no longer listen to a place, unless it knows of no listen.

        What is held for it and was not written yet is no longer for the client.
        """
        is_to_be_told = self._cancelled(place)
        if self._held is not None:
            self._held = [each for each in self._held if _place_of(each) != place]
            if is_to_be_told:
                self._hold(place)
        elif is_to_be_told:
            self._door.write(ready_frames(outgoing.cancel(place)))

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
        for each in held or ():
            if isinstance(each, Path):
                self._door.write(ready_frames(outgoing.cancel(each)))
            else:
                self.deliver(each)

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
                    self.close(TRY_AGAIN_LATER, "not reading")
                    return
        self._ceiling = self._limits.outbox_bytes

    def close(self, code: int, reason: str) -> None:
        """Close the connection after what is written."""
        self._door.close(code, reason)

    def _hold(self, each: Delivery | Path) -> None:
        assert self._held is not None
        self._held.append(each)
        if len(self._held) > HELD_DELIVERIES:
            self.close(TRY_AGAIN_LATER, "too slow")


def _place_of(each: Delivery | Path) -> Path | None:
    """Return the place of a delivery; a place stands for its cancelling, which is kept."""
    return each.place if isinstance(each, Delivery) else None
