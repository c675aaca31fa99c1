"""The realtime endpoint, /.ws: from a handshake to a session, and the session to its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket

from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.database import Database
from treedb.errors import ProtocolError, TreeError, Unavailable, UnsupportedRequest
from treedb.server.answers import INTERNAL, http_refusal
from treedb.server.callers import Callers
from treedb.server.door import Door
from treedb.server.send_door import door_of
from treedb.server.session import Session
from treedb.wire import outgoing
from treedb.wire.ready_frame import ready_frames

UNSUPPORTED_DATA: Final = 1003  # RFC 6455, section 7.4.1
GOING_AWAY: Final = 1001
INTERNAL_ERROR: Final = 1011
RETRY_SECONDS: Final = "5"
UPGRADE: Final = "Upgrade Required"

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ID_LETTERS: Final = 32
_ID_BITS: Final = 256  # more than 62^32 needs, so that no letter is likelier than another

log = logging.getLogger("treedb.session")


class Realtime:
    """All realtime connections of this process; `open_database` finds a namespace's database."""

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

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one websocket: refuse the handshake, or accept it and stay until it closes."""
        if self._connections >= self._limits.connections:
            most = self._limits.connections
            await _refuse(websocket, Unavailable(f"All {most} connections are taken."))
            return
        self._connections += 1
        try:
            await self._serve(websocket)
        finally:
            self._connections -= 1

    async def refuse_plain(self, request: Request) -> Response:
        """Answer a plain request to the endpoint: 426, with what to upgrade to."""
        headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
        return JSONResponse({"error": UPGRADE}, 426, headers)

    async def _serve(self, websocket: WebSocket) -> None:
        try:
            _check_version(websocket)
            database = await self._open_database(websocket.query_params.get("ns", ""))
        except TreeError as error:
            await _refuse(websocket, error)
            return
        await websocket.accept()
        async with door_of(websocket) as door:
            await self._run(websocket, database, door)

    async def _run(self, websocket: WebSocket, database: Database, door: Door) -> None:
        self._end_previous(database.namespace, websocket.query_params.get("ls", ""))
        session = Session(database, door, self._callers)
        session_id = _session_id(self._clock.random_bits(_ID_BITS))
        self._sessions[database.namespace, session_id] = session
        host = websocket.headers.get("host", "")
        door.write(ready_frames(outgoing.hello(self._clock.now_ms(), host, session_id)))
        try:
            await self._read(websocket, session)
        finally:
            session.end()
            self._sessions.pop((database.namespace, session_id), None)

    def _end_previous(self, namespace: str, session_id: str) -> None:
        """End the session this client comes back from, in case its old socket seems alive."""
        previous = self._sessions.pop((namespace, session_id), None)
        if previous is not None:
            previous.close(GOING_AWAY, "the client has come back")

    async def _read(self, websocket: WebSocket, session: Session) -> None:
        while True:
            try:
                event = await self._next_event(websocket, session)
            except TimeoutError:
                session.fail(ProtocolError("The announced segments of a message did not come."))
                continue
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            if text is None:
                session.fail(ProtocolError("Messages are text, found binary.", UNSUPPORTED_DATA))
            else:
                await _receive(session, text)

    async def _next_event(self, websocket: WebSocket, session: Session) -> Any:
        if not session.is_waiting:
            return await websocket.receive()
        async with asyncio.timeout(self._limits.message_timeout_ms / 1000):
            return await websocket.receive()


async def _receive(session: Session, text: str) -> None:
    try:
        await session.receive(text)
    except Exception:
        log.exception("a session failed")
        session.close(INTERNAL_ERROR, INTERNAL)


def _check_version(websocket: WebSocket) -> None:
    version = websocket.query_params.get("v")
    if version != outgoing.VERSION:
        found = "none" if version is None else repr(version[:16])
        raise UnsupportedRequest(
            f"The realtime protocol has version v={outgoing.VERSION}, found {found}."
        )


async def _refuse(websocket: WebSocket, error: TreeError) -> None:
    """Refuse a handshake with the error's HTTP status, where the server can, else with 403."""
    if "websocket.http.response" not in (websocket.scope.get("extensions") or {}):
        await websocket.close()
        return
    headers = {"Retry-After": RETRY_SECONDS} if error.http_status == 503 else {}
    content = http_refusal(error)
    answer = Response(content, error.http_status, headers, media_type="application/json")
    await websocket.send_denial_response(answer)


def _session_id(bits: int) -> str:
    letters = []
    for _ in range(_ID_LETTERS):
        bits, letter = divmod(bits, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)
