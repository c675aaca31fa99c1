"""A real uvicorn in the test's own event loop, on a free port, and raw sockets to it."""

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

HOST = "127.0.0.1"


@asynccontextmanager
async def serving(app: ASGIApp, options: dict[str, Any]) -> AsyncIterator[str]:
    """Serve an ASGI application; gives "host:port"."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, 0))
        config = uvicorn.Config(app, lifespan="off", **{**options, "timeout_graceful_shutdown": 1})
        server = uvicorn.Server(config)
        # Without `serve`: that would take over the test run's signals.
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listening])
        try:
            yield f"{HOST}:{listening.getsockname()[1]}"
        finally:
            await server.shutdown(sockets=[listening])


async def exchange(address: str, request: bytes, then: bytes = b"") -> bytes:
    """Send bytes to a server and return all it answers until it closes.

    `then` is sent after the first answer's head, which is not returned.
    """
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            if then:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(then)
            return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def handshake(path: str, **headers: str) -> bytes:
    """Return the request that opens a websocket."""
    fields = {
        "Host": "localhost:9000",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()
