"""5,000 clients lose their server at once and come back at once: all are served, in bounded memory.

Each listens to one of 50 places and has kept what it knew of it. While they were cut off, some of
the places changed: who listens to one of those is sent it anew, everybody else nothing.
"""

import asyncio
import http.client
import json
import struct
import time
from pathlib import Path
from typing import Any

import uvloop

from tests.server.serving import handshake
from tests.server_process import HOST, ServerProcess, StartServer
from treedb.tree.hashing import node_hash

CLIENTS = 5_000
PLACES = 50
CHANGED = 5
SECONDS = 120.0  # for all of them to be served, on a busy machine
MOST_BYTES = 600_000_000


class Client:
    """One client of a place: its connection, and its copy, which survives the connection."""

    def __init__(self, number: int) -> None:
        self.room = f"r{number % PLACES}"
        self.copy: Any = None
        self.pushes = 0

    async def come(self, port: int) -> None:
        """Connect, listen with the hash of the copy, and stay until the listen stands."""
        self._reader, self._writer = await asyncio.open_connection(HOST, port)
        self._writer.write(handshake("/.ws?v=5&ns=default"))
        await self._reader.readuntil(b"\r\n\r\n")
        assert (await self._message())["t"] == "c"
        body = {"p": f"rooms/{self.room}", "h": node_hash(self.copy)}
        request = {"t": "d", "d": {"r": 1, "a": "q", "b": body}}
        self._writer.write(masked_frame(json.dumps(request).encode()))
        while "r" not in (content := (await self._message())["d"]):
            self._take(content)
        assert content == {"r": 1, "b": {"s": "ok", "d": {}}}

    async def hear(self) -> None:
        """Wait for one push."""
        self._take((await self._message())["d"])

    async def gone(self) -> None:
        """Wait until the server has gone."""
        try:
            assert await self._reader.read() == b""
        except ConnectionError:
            return
        finally:
            self._writer.transport.abort()

    def leave(self) -> None:
        self._writer.transport.abort()

    def _take(self, content: Any) -> None:
        self.pushes += 1
        place, value = content["b"]["p"], content["b"]["d"]
        if place == f"rooms/{self.room}":
            self.copy = value
        else:
            assert place == f"rooms/{self.room}/next"
            self.copy = {**self.copy, "next": value}

    async def _message(self) -> Any:
        first, size = await self._reader.readexactly(2)
        assert first == 0x81, "a whole frame of text"
        if size == 126:
            (size,) = struct.unpack("!H", await self._reader.readexactly(2))
        return json.loads(await self._reader.readexactly(size))


def masked_frame(payload: bytes) -> bytes:
    """Return a text frame whose mask is zero (RFC 6455, section 5.2)."""
    size = len(payload)
    head = struct.pack("!BB", 0x81, 0x80 | size) if size < 126 else b""
    return (head or struct.pack("!BBH", 0x81, 0xFE, size)) + bytes(4) + payload


def room(number: int) -> dict[str, Any]:
    texts = {f"-K{each:04}": f"message {each} in room {number}" for each in range(100)}
    return {"messages": texts, "number": number}


def patch(server: ServerProcess, changes: dict[str, Any]) -> None:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=SECONDS)
    connection.request("PATCH", "/rooms.json?print=silent", json.dumps(changes))
    assert connection.getresponse().status == http.client.NO_CONTENT
    connection.close()


def peak_bytes(server: ServerProcess) -> int:
    """Return the most memory that the server has held."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


async def storm(server: ServerProcess) -> None:
    clients = [Client(number) for number in range(CLIENTS)]
    rooms: dict[str, Any] = {f"r{number}": room(number) for number in range(PLACES)}
    await asyncio.to_thread(patch, server, rooms)
    first = await timed(*(client.come(server.port) for client in clients))
    assert all(client.copy == rooms[client.room] for client in clients)

    server.kill()
    await asyncio.gather(*(client.gone() for client in clients))
    await asyncio.to_thread(server.start)
    changes: dict[str, Any] = {f"r{number}/number": -1 for number in range(CHANGED)}
    await asyncio.to_thread(patch, server, changes)
    for number in range(CHANGED):
        rooms[f"r{number}"]["number"] = -1

    back = await timed(*(client.come(server.port) for client in clients))
    assert all(client.copy == rooms[client.room] for client in clients)
    assert sum(client.pushes for client in clients) == CLIENTS + CLIENTS * CHANGED // PLACES

    write = asyncio.to_thread(patch, server, {f"{name}/next": "hello" for name in rooms})
    heard = await timed(write, *(client.hear() for client in clients))
    assert all(client.copy == {**rooms[client.room], "next": "hello"} for client in clients)
    peak = await asyncio.to_thread(peak_bytes, server)
    print(f"connected in {first:.1f} s, back in {back:.1f} s, all heard in {heard:.1f} s,")
    print(f"the server held {peak / 1e6:.0f} MB at most")
    assert peak < MOST_BYTES
    for client in clients:
        client.leave()


async def timed(*actions: Any) -> float:
    """Do all at once; return the seconds it took."""
    start = time.monotonic()
    async with asyncio.timeout(SECONDS):
        await asyncio.gather(*actions)
    return time.monotonic() - start


def test_thousands_who_lose_their_server_at_once_are_served_at_once(
    start_server: StartServer,
) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(storm(start_server()))
