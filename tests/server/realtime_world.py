"""A server with both realtime endpoints and one namespace, in the test's own event loop."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.server.serving import serving
from tests.wire.dialogue import client_frames
from treedb.auth.dev_tokens import parse_dev_credential
from treedb.clock import SystemClock
from treedb.config import Limits
from treedb.database import Database
from treedb.errors import InvalidNamespace, NotFound, TreeError
from treedb.paths.path import Path
from treedb.server.callers import Callers
from treedb.server.http_answers import on_tree_error
from treedb.server.longpoll import LongPolling
from treedb.server.protocol import uvicorn_options
from treedb.server.realtime import Realtime
from treedb.server.websocket import WebSockets
from treedb.tree.forms import Form
from treedb.writes.request import set_write

CALLERS = Callers(parse_dev_credential, explains_to_all=False)


class RealtimeWorld:
    """A server whose only namespace is "default"."""

    def __init__(self, database: Database, limits: Limits, clock: SystemClock) -> None:
        self.database = database
        self.limits = limits
        self.realtime = Realtime(self._open, limits, clock, CALLERS)
        self.long_polling = LongPolling(self.realtime, limits)
        self.websockets = WebSockets(self.realtime, limits, self.long_polling.client_of)
        self.address = ""

    async def _open(self, namespace: str) -> Database:
        if namespace == "no/name":
            raise InvalidNamespace("no slash")
        if namespace not in ("", "default"):
            raise NotFound
        return self.database

    @asynccontextmanager
    async def serving(
        self, options: dict[str, Any] | None = None
    ) -> AsyncIterator["RealtimeWorld"]:
        app = Starlette(
            routes=[
                Route("/.ws", self.websockets.refuse_plain),
                WebSocketRoute("/.ws", self.websockets.serve),
                Route("/.lp", self.long_polling.answer),
            ],
            exception_handlers={TreeError: on_tree_error},
        )
        async with serving(app, options or uvicorn_options(self.limits)) as self.address:
            yield self
            await self.long_polling.close()

    def connect(self, query: str = "v=5&ns=default") -> connect:
        return connect(f"ws://{self.address}/.ws?{query}", compression=None)

    async def put(self, path: str, value: Any) -> None:
        await self.database.write(set_write(Path.parse(path), value, self.limits))

    async def value_at(self, path: str) -> Any:
        caller = CALLERS.caller(None)
        pieces = await self.database.get_json(Path.parse(path), Form.PLAIN, caller)
        return json.loads(b"".join(pieces))

    async def until_value(self, path: str, value: Any) -> None:
        """Wait for what is written when a session ends."""
        async with asyncio.timeout(10):
            while await self.value_at(path) != value:
                await asyncio.sleep(0.001)

    async def until_watched(self, places: int) -> None:
        async with asyncio.timeout(10):
            while self.database.watched_places != places:
                await asyncio.sleep(0.001)

    async def until_connected(self, connections: int) -> None:
        async with asyncio.timeout(10):
            while self.realtime.connections != connections:
                await asyncio.sleep(0.001)


async def receive(connection: ClientConnection) -> Any:
    async with asyncio.timeout(10):
        text = await connection.recv()
        if len(text) <= 6 and text.isdigit():
            text = "".join([str(await connection.recv()) for _ in range(int(text))])
    return json.loads(text)


async def ask(connection: ClientConnection, action: str, **body: Any) -> list[Any]:
    """Send request 1 and return all that comes until its answer, without the envelope."""
    await send(connection, {"t": "d", "d": {"r": 1, "a": action, "b": body}})
    heard = [(await receive(connection))["d"]]
    while "r" not in heard[-1]:
        heard.append((await receive(connection))["d"])
    return heard


async def send(connection: ClientConnection, message: object) -> None:
    for frame in client_frames(json.dumps(message)):
        await connection.send(frame)


async def close_of(connection: ClientConnection) -> tuple[int, str]:
    """Read to the end; return the close code and reason."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            await receive(connection)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason
