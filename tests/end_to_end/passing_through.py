"""What servers of the tests' own share that pass bytes on: where they run, and how they copy."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

HOST: Final = "127.0.0.1"
CHUNK_BYTES: Final = 65536

Send: TypeAlias = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def serving(
    start: Coroutine[Any, Any, asyncio.Server], loop: asyncio.AbstractEventLoop
) -> Iterator[int]:
    """Run a server on an event loop of its own until the block ends; give its port."""
    thread = threading.Thread(target=loop.run_forever, name="passing-through")
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(start, loop).result(10)
        yield server.sockets[0].getsockname()[1]
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def send_all(data: bytes, writer: asyncio.StreamWriter) -> None:
    """Send bytes as they are."""
    writer.write(data)
    await writer.drain()


async def copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, send: Send = send_all
) -> None:
    """Copy until one side ends, then end the other."""
    try:
        while data := await reader.read(CHUNK_BYTES):
            await send(data, writer)
    except (OSError, asyncio.CancelledError):
        return  # one of them is gone, or the test is at its end
    finally:
        writer.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
