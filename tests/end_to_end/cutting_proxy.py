"""A proxy of the tests' own that passes bytes through, and cuts streams off where it is told to."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

HOST: Final = "127.0.0.1"
MARK: Final = b"text/event-stream; charset"  # what the head of a stream's answer has
CHUNK_BYTES: Final = 65536


class CuttingProxy:
    """It stands before a port of this machine; `cuts` counts the streams it has cut off."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._loop = asyncio.new_event_loop()
        self._left: int | None = None
        self._streams: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.cuts = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def cut_after(self, size_bytes: int) -> None:
        """Let so many bytes of streams through from now on, and cut them off then."""

        async def begin() -> None:
            self._left = size_bytes
            if size_bytes == 0:
                self._cut()

        asyncio.run_coroutine_threadsafe(begin(), self._loop).result(10)

    def _cut(self) -> None:
        for stream in self._streams:
            self.cuts += 1
            stream.close()  # what was let through arrives before
        self._streams.clear()
        self._left = None

    async def _serve(self) -> asyncio.Server:
        serving = await asyncio.start_server(self._pass_through, HOST, 0)
        self.port = serving.sockets[0].getsockname()[1]
        return serving

    async def _pass_through(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection(HOST, self._server_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._up(reader, inner_writer), self._down(inner_reader, writer))
        self._streams.discard(writer)

    @staticmethod
    async def _up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            return  # one of them is gone, or the test is at its end
        finally:
            writer.close()

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                await self._send(data, writer)
        except (OSError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _send(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        if MARK in data:
            self._streams.add(writer)
        if writer not in self._streams or self._left is None:
            writer.write(data)
            await writer.drain()
            return
        passed = data[: self._left]
        self._left -= len(passed)
        writer.write(passed)
        if self._left == 0:
            self._cut()


@contextmanager
def cutting_proxy(server_port: int) -> Iterator[CuttingProxy]:
    """Serve a proxy until the block ends."""
    proxy = CuttingProxy(server_port)
    loop = proxy._loop
    thread = threading.Thread(target=loop.run_forever, name="cutting-proxy")
    thread.start()
    try:
        serving = asyncio.run_coroutine_threadsafe(proxy._serve(), loop).result(10)
        yield proxy
        asyncio.run_coroutine_threadsafe(_end(serving), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(serving: asyncio.Server) -> None:
    serving.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
