"""The realtime sessions of this process, whatever carries them: websockets and polls."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.database import Database
from treedb.errors import CloseCode, ProtocolError, Unavailable, UnsupportedRequest
from treedb.server.answers import INTERNAL
from treedb.server.callers import Callers
from treedb.server.door import Door
from treedb.server.session import Session
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ID_LETTERS: Final = 32
_ID_BITS: Final = 256  # more than 62^32 needs, so that no letter is likelier than another

log = logging.getLogger("treedb.session")


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session, and what its client may name it by."""

    namespace: str
    id: str
    session: Session


class Receiver(Protocol):
    """Who takes the frames of one client: its session, or who keeps them for it."""

    @property
    def is_waiting(self) -> bool:
        """Tell whether the client announced segments that have not come yet."""

    async def receive(self, frame: str) -> None:
        """Take one text frame; returns when the next may be read."""

    def fail(self, error: ProtocolError) -> None:
        """Tell the client how it broke the protocol, and close its connection."""

    def close(self, code: int, reason: str) -> None:
        """Close the connection from our side."""


class Realtime:
    """Begin and end sessions, and count their connections.

    `open_database` finds a namespace's database.
    """

    def __init__(
        self,
        open_database: Callable[[str], Awaitable[Database]],
        limits: Limits,
        clock: SystemClock,
        callers: Callers,
    ) -> None:
        self._open_database = open_database
        self._limits = limits
        self._clock = clock
        self._callers = callers
        self._sessions: dict[tuple[str, str], Session] = {}
        self._connections = 0

    @property
    def connections(self) -> int:
        """Count the open connections."""
        return self._connections

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Count one more connection while the block runs; Unavailable when all are taken."""
        if self._connections >= self._limits.connections:
            raise Unavailable(f"All {self._limits.connections} connections are taken.")
        self._connections += 1
        try:
            yield
        finally:
            self._connections -= 1

    async def database_of(self, parameters: Mapping[str, str]) -> Database:
        """Return the database that a URL's parameters name, if they ask for our protocol."""
        version = parameters.get("v")
        if version != outgoing.VERSION:
            found = "none" if version is None else repr(version[:16])
            raise UnsupportedRequest(
                f"The realtime protocol has version v={outgoing.VERSION}, found {found}."
            )
        return await self._open_database(parameters.get("ns", ""))

    def begin(
        self, database: Database, door: Door, host: str, parameters: Mapping[str, str]
    ) -> OpenSession:
        """Begin a session: end the one that its client comes back from, and greet the client."""
        self._end_previous(database.namespace, parameters.get("ls", ""))
        session = Session(database, door, self._callers)
        opened = OpenSession(database.namespace, self.new_id(), session)
        self._sessions[opened.namespace, opened.id] = session
        door.write(ready_frames(outgoing.hello(self._clock.now_ms(), host, opened.id)))
        return opened

    def end(self, opened: OpenSession) -> None:
        """End a session whose client has gone; nothing happens when it has ended."""
        opened.session.end()
        self._sessions.pop((opened.namespace, opened.id), None)

    def new_id(self) -> str:
        """Return letters and digits that nobody can guess."""
        bits = self._clock.random_bits(_ID_BITS)
        letters = []
        for _ in range(_ID_LETTERS):
            bits, letter = divmod(bits, len(_LETTERS))
            letters.append(_LETTERS[letter])
        return "".join(letters)

    def _end_previous(self, namespace: str, session_id: str) -> None:
        """End the session this client comes back from, in case its old connection seems alive."""
        previous = self._sessions.pop((namespace, session_id), None)
        if previous is not None:
            previous.close(CloseCode.GOING_AWAY, "the client has come back")


async def receive(receiver: Receiver, text: str) -> None:
    """Have a frame received; a fault of ours is logged, and closes the connection."""
    try:
        await receiver.receive(text)
    except Exception:
        log.exception("a session failed")
        receiver.close(CloseCode.INTERNAL_ERROR, INTERNAL)


def segments_late() -> ProtocolError:
    """Make the error of a client that does not send the segments which it announced."""
    return ProtocolError("The announced segments of a message did not come.")
