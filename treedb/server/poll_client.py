"""One client that polls: its calls, what they bring, and its session until that ends or goes over.

The messages of its calls are received one after the other by `run`, as those of a websocket are by
whoever reads it. It has gone when it makes no call for a while, or when its page says so.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treedb.config import Limits
from treedb.database import Database
from treedb.errors import CloseCode, ProtocolError
from treedb.server.inbox import Inbox
from treedb.server.poll_door import PollDoor, Turn
from treedb.server.realtime import OpenSession, Realtime, receive, segments_late
from treedb.server.switching_door import SwitchingDoor
from treedb.server.upgrade import Upgrade
from treedb.wire.poll import Segment
from treedb.wire.poll_segments import PollSegments
from treedb.wire.ready_frame import ready_frames
from treedb.wire.upgrade import END, control_kind

FLOODED_CHARS: Final = 256 * 1024  # of messages that wait to be received

_END: Final = ready_frames(END)


@dataclass(frozen=True, slots=True)
class Polls:
    """A session that begins with polls, its ways in and out, and what its client's calls present."""

    id: str
    password: str
    opened: OpenSession
    inbox: Inbox
    door: PollDoor
    session_door: SwitchingDoor


def begin_polls(
    realtime: Realtime, database: Database, host: str, parameters: Mapping[str, str]
) -> Polls:
    """Begin a session for a client that starts to poll."""
    inbox = Inbox()
    door = PollDoor(inbox.end)
    session_door = SwitchingDoor(door)
    opened = realtime.begin(database, session_door, host, parameters)
    return Polls(realtime.new_id(), realtime.new_id(), opened, inbox, door, session_door)


class PollClient:
    """The server's end of one long-polling connection."""

    def __init__(self, realtime: Realtime, limits: Limits, polls: Polls) -> None:
        self.polls = polls
        self._realtime = realtime
        self._limits = limits
        self._session = polls.opened.session
        self._inbox = polls.inbox
        self._door = polls.door
        self._segments = PollSegments(limits)
        self._calls = 0
        self._silence: asyncio.TimerHandle | None = None
        self._lateness: asyncio.TimerHandle | None = None
        self._upgrade: Upgrade | None = None
        self._has_gone_over = False

    async def first_packet(self) -> bytes:
        """Return the script that greets the client."""
        self._expect_call()
        return await self._door.take()

    @property
    def is_called(self) -> bool:
        """Tell whether a call of the client waits for its answer."""
        return self._calls > 0

    async def call(self, segments: Sequence[Segment], turn: Turn) -> bytes:
        """Take what a call brings; return the script that answers it, in its turn."""
        self._calls += 1
        _cancel(self._silence)
        try:
            self._take(segments)
            return await self._door.answer(turn, self._limits.poll_hold_ms / 1000)
        finally:
            self._calls -= 1
            if not self._calls:
                self._expect_call()

    async def run(self) -> None:
        """Receive what the client says until it has gone; returns when it needs no answer more."""
        try:
            await self._receive_all()
        finally:
            self._end()
        await self._door.closed.wait()
        _cancel(self._silence)

    def fail(self, error: ProtocolError) -> None:
        """Close a client that broke the protocol."""
        self._session.fail(error)

    def leave(self) -> None:
        """Take that the client has gone: what it has said is received, and then its session ends.

        A client that went over to a websocket is still there.
        """
        self._door.close(CloseCode.GOING_AWAY, "the client has gone")
        self._door.closed.set()

    def begin_upgrade(self) -> Upgrade | None:
        """Begin to go over to a websocket; None when one is there already."""
        if self._has_gone_over or (self._upgrade is not None and not self._upgrade.is_lost):
            return None
        self._upgrade = Upgrade(self._realtime, self.polls.opened)
        return self._upgrade

    # What comes in.

    def _take(self, segments: Sequence[Segment]) -> None:
        if not segments or self._door.is_closing:
            return
        try:
            self._inbox.put(self._segments.push(segments))
        except ProtocolError as error:
            self.fail(error)
            return
        _cancel(self._lateness)
        if self._segments.is_waiting:
            self._lateness = self._later(self._limits.message_timeout_ms, self._come_late)
        if self._inbox.size_chars > self._limits.bytes_in_flight:
            detail = "More was said than can wait to be received."
            self.fail(ProtocolError(detail, CloseCode.TOO_BIG))
        self._door.hold_back(self._inbox.size_chars > FLOODED_CHARS)

    async def _receive_all(self) -> None:
        while (message := await self._inbox.next()) is not None:
            if control_kind(message) == "n":
                await self._go_over()
                return
            await receive(self._session, message)
            if self._session.is_waiting:
                self.fail(ProtocolError("A client that polls announces no segments."))
            self._door.hold_back(self._inbox.size_chars > FLOODED_CHARS)

    async def _go_over(self) -> None:
        """Go on by websocket, as the client says nothing more by polls; end if there is none."""
        if self._upgrade is None or self._upgrade.door is None:
            return
        self._has_gone_over = True
        self._door.write(_END)
        self.polls.session_door.switch(self._upgrade.door)
        self._door.close(CloseCode.NORMAL, "gone over")
        await self._upgrade.take_over()

    def _end(self) -> None:
        _cancel(self._lateness)
        if self._has_gone_over:
            return
        self._realtime.end(self.polls.opened)
        self._door.close(CloseCode.GOING_AWAY, "the client has gone")
        if self._upgrade is not None:
            self._upgrade.abandon()

    # What does not come.

    def _expect_call(self) -> None:
        _cancel(self._silence)
        self._silence = self._later(self._limits.poll_timeout_ms, self.leave)

    def _come_late(self) -> None:
        self.fail(segments_late())

    def _later(self, delay_ms: int, act: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, act)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
