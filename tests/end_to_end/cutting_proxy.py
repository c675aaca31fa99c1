"""A proxy of the tests' own that passes bytes through, and cuts streams off where it is told to."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.end_to_end.passing_through import HOST, copy, send_all, serving

MARK: Final = b"text/event-stream; charset"  # what the head of a stream's answer has


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
        return await asyncio.start_server(self._pass_through, HOST, 0)

    async def _pass_through(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection(HOST, self._server_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer, self._send))
        self._streams.discard(writer)

    async def _send(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        if MARK in data:
            self._streams.add(writer)
        if writer not in self._streams or self._left is None:
            await send_all(data, writer)
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
    with serving(proxy._serve(), proxy._loop) as proxy.port:
        yield proxy
