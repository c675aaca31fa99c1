"""The websocket of a client that polls: what it says waits until the session comes over to it.

The session stays one and the same: its listens and everything else do not notice. What waits here
is bounded: beyond that nothing more is read from the websocket.
"""

import asyncio
from collections import deque
from typing import Final

from treedb.errors import CloseCode, ProtocolError
from treedb.server.door import Door
from treedb.server.realtime import OpenSession, Realtime, receive
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames
from treedb.wire.upgrade import SWITCH, control_kind

WAITING_CHARS: Final = 1024 * 1024  # of what a client says before it has left its polls

_SWITCH: Final = ready_frames(SWITCH)
_PONG: Final = ready_frames(outgoing.PONG)


class Upgrade:
    """Take the frames of a websocket (a treedb.server.realtime.Receiver).

    First the client tries the websocket; then what it says waits; then the session is here.
    """

    def __init__(self, realtime: Realtime, opened: OpenSession) -> None:
        self._realtime = realtime
        self._opened = opened
        self._door: Door | None = None
        self.is_lost = False
        self._is_trusted = False
        self._is_taken = False
        self._frames: deque[str] = deque()
        self._waiting_chars = 0
        self._is_through = asyncio.Event()  # nothing waits any more, now or ever

    @property
    def door(self) -> Door | None:
        """Return the way to the client; None before the websocket is open, and after it."""
        return self._door

    def open(self, door: Door) -> None:
        """Offer the websocket to the client."""
        self._door = door
        door.write(_SWITCH)

    # What the websocket says.

    @property
    def is_waiting(self) -> bool:
        """Tell whether the client announced segments that have not come yet."""
        return self._is_through.is_set() and self._opened.session.is_waiting

    async def receive(self, frame: str) -> None:
        """Take one text frame; returns when the next may be read."""
        if self._is_through.is_set():
            await self._opened.session.receive(frame)
        elif self._is_trusted or self._is_taken:
            self._frames.append(frame)
            self._waiting_chars += len(frame)
            if self._waiting_chars > WAITING_CHARS:
                await self._is_through.wait()
        else:
            self._try(frame)

    def fail(self, error: ProtocolError) -> None:
        """Close the websocket, and with it the session if it is here."""
        if self._is_taken:
            self._opened.session.fail(error)
        else:
            self.close(error.close_code, error.text)

    def close(self, code: int, reason: str) -> None:
        """Close the websocket, and with it the session if it is here."""
        if self._is_taken:
            self._opened.session.close(code, reason)
        elif self._door is not None:
            self._door.close(code, reason)

    def end(self) -> None:
        """Take that the websocket is lost, and with it the session if it is here."""
        self._door = None
        self.is_lost = True
        if self._is_taken:
            self._realtime.end(self._opened)
        self._is_through.set()

    def _try(self, frame: str) -> None:
        assert self._door is not None
        match control_kind(frame):
            case "p":
                self._door.write(_PONG)
            case "a":
                self._is_trusted = True
            case _:
                self.fail(ProtocolError("A websocket that is tried carries pings only."))

    # What becomes of the polls.

    async def take_over(self) -> None:
        """Go on with the session; returns when what waited has been received."""
        self._is_taken = True
        while self._frames:
            await receive(self._opened.session, self._frames.popleft())
        self._is_through.set()

    def abandon(self) -> None:
        """Close the websocket, as the session has ended."""
        self._is_through.set()
        self.close(CloseCode.GOING_AWAY, "the session has ended")
