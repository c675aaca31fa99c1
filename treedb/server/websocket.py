"""The realtime endpoint, /.ws: from a handshake to a session, and the session to its end.

A websocket begins a session, or takes over the one of a client that polls (see
treedb.server.upgrade).
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket

from treedb.config import Limits
from treedb.database import Database
from treedb.errors import CloseCode, NotFound, ProtocolError, TreeError
from treedb.server.answers import JSON, http_refusal, http_refusal_headers
from treedb.server.poll_client import PollClient
from treedb.server.realtime import Realtime, Receiver, receive, segments_late
from treedb.server.send_door import door_of
from treedb.server.upgrade import Upgrade

UPGRADE_REQUIRED: Final = "Upgrade Required"


class WebSockets:
    """All websockets of this process; `polling` finds the client whose session has an id."""

    def __init__(
        self,
        realtime: Realtime,
        limits: Limits,
        polling: Callable[[str, str], PollClient | None],
    ) -> None:
        self._realtime = realtime
        self._limits = limits
        self._polling = polling

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one websocket: refuse the handshake, or accept it and stay until it closes."""
        try:
            with self._realtime.connection():
                await self._serve(websocket)
        except TreeError as error:
            await refuse_handshake(websocket, error)

    async def refuse_plain(self, request: Request) -> Response:
        """Answer a plain request to the endpoint: 426, with what to upgrade to."""
        headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
        return JSONResponse({"error": UPGRADE_REQUIRED}, 426, headers)

    async def _serve(self, websocket: WebSocket) -> None:
        database = await self._realtime.database_of(websocket.query_params)
        session_id = websocket.query_params.get("s", "")
        if session_id:
            await self._take_over(websocket, self._upgrade_of(database.namespace, session_id))
        else:
            await self._begin(websocket, database)

    async def _begin(self, websocket: WebSocket, database: Database) -> None:
        await websocket.accept()
        async with door_of(websocket) as door:
            host = websocket.headers.get("host", "")
            opened = self._realtime.begin(database, door, host, websocket.query_params)
            try:
                await self._read(websocket, opened.session)
            finally:
                self._realtime.end(opened)

    async def _take_over(self, websocket: WebSocket, upgrade: Upgrade) -> None:
        try:
            await websocket.accept()
            async with door_of(websocket) as door:
                upgrade.open(door)
                await self._read(websocket, upgrade)
        finally:
            upgrade.end()

    def _upgrade_of(self, namespace: str, session_id: str) -> Upgrade:
        """Return a new upgrade of a session that polls; NotFound when it has none to give."""
        client = self._polling(namespace, session_id)
        upgrade = None if client is None else client.begin_upgrade()
        if upgrade is None:
            raise NotFound("There is no session of this id that polls and waits for a websocket.")
        return upgrade

    async def _read(self, websocket: WebSocket, receiver: Receiver) -> None:
        while True:
            try:
                event = await self._next_event(websocket, receiver)
            except TimeoutError:
                receiver.fail(segments_late())
                continue
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            if text is None:
                detail = "Messages are text, found binary."
                found = ProtocolError(detail, CloseCode.UNSUPPORTED_DATA)
                receiver.fail(found)
            else:
                await receive(receiver, text)

    async def _next_event(self, websocket: WebSocket, receiver: Receiver) -> Any:
        if not receiver.is_waiting:
            return await websocket.receive()
        async with asyncio.timeout(self._limits.message_timeout_ms / 1000):
            return await websocket.receive()


async def refuse_handshake(websocket: WebSocket, error: TreeError) -> None:
    """Refuse a handshake with the error's HTTP status, where the server can, else with 403."""
    if "websocket.http.response" not in (websocket.scope.get("extensions") or {}):
        await websocket.close()
        return
    headers = {**http_refusal_headers(error), "Content-Type": JSON}
    answer = Response(http_refusal(error), error.http_status, headers)
    await websocket.send_denial_response(answer)
