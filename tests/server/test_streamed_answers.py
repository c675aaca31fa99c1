"""A long answer is sent as it is made, under its length, and lets go of what it was made from."""

import asyncio
import gzip
import json
import logging
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Message

from tests.server.live_server import LiveServer, RawClient, live_server
from tests.server_process import ServerProcess
from treedb.config import DEFAULT_LIMITS, MIB, Settings
from treedb.errors import PermissionDenied, ReadTimeout
from treedb.reads import JsonText
from treedb.server.streamed_answers import streamed_answer

CHUNKS = [b'{"a":', b'"' + b"x" * 70_000 + b'"', b"}"]
TEXT = b"".join(CHUNKS)
GONE: Message = {"type": "http.disconnect"}
ASKED: Message = {"type": "http.request", "body": b"", "more_body": False}


@dataclass
class Opened:
    """A text, and whether it is open; its second chunk waits for `may_go_on`."""

    waits: bool = False
    refusal: Exception | None = None
    count: int = 0
    closed: int = 0
    taken: list[bytes] = field(default_factory=list)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[JsonText]:
        self.count += 1
        try:
            if self.refusal is not None:
                raise self.refusal
            yield JsonText(len(TEXT), self.chunks())
        finally:
            self.closed += 1

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in CHUNKS:
            if self.waits and self.taken:
                await self.may_go_on.wait()
            self.taken.append(chunk)
            yield chunk


@dataclass
class Peer:
    """The server's half of a connection: what was sent, and the client who may leave."""

    sent: list[Message] = field(default_factory=list)
    has_left: asyncio.Event = field(default_factory=asyncio.Event)
    was_asked: bool = False

    async def receive(self) -> Message:
        if not self.was_asked:
            self.was_asked = True
            return ASKED
        await self.has_left.wait()
        return GONE

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.sent)

    @property
    def is_complete(self) -> bool:
        return self.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def scope_of(method: str = "GET", **headers: str) -> dict[str, Any]:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": "/", "query_string": b"", "headers": raw}


async def send_to(
    peer: Peer, opened: Opened, scope: dict[str, Any] | None = None, taking_ms: int = 60_000
) -> Response:
    scope = scope or scope_of()
    response = streamed_answer(HttpRequest(scope), opened, 60_000, taking_ms)
    await response(scope, peer.receive, peer.send)
    return response


async def test_the_text_is_sent_under_its_length() -> None:
    peer, opened = Peer(), Opened()
    await send_to(peer, opened)
    headers = dict(peer.sent[0]["headers"])
    assert headers[b"content-length"] == str(len(TEXT)).encode()
    assert headers[b"content-type"] == b"application/json; charset=utf-8"
    assert (peer.body, peer.is_complete, opened.closed) == (TEXT, True, 1)


async def test_head_tells_the_length_and_makes_nothing() -> None:
    peer, opened = Peer(), Opened()
    await send_to(peer, opened, scope_of("HEAD"))
    assert dict(peer.sent[0]["headers"])[b"content-length"] == str(len(TEXT)).encode()
    assert (peer.body, peer.is_complete, opened.taken, opened.closed) == (b"", True, [], 1)


async def test_it_is_compressed_for_who_takes_that() -> None:
    peer, opened = Peer(), Opened()
    await send_to(peer, opened, scope_of(accept_encoding="gzip"))
    headers = dict(peer.sent[0]["headers"])
    assert headers[b"content-encoding"] == b"gzip"
    assert b"content-length" not in headers
    assert gzip.decompress(peer.body) == TEXT


async def test_a_refusal_comes_before_the_first_byte() -> None:
    peer, opened = Peer(), Opened(refusal=PermissionDenied())
    with pytest.raises(PermissionDenied):
        await send_to(peer, opened)
    assert (peer.sent, opened.closed) == ([], 1)


async def test_nothing_is_opened_before_it_is_sent() -> None:
    opened = Opened()
    streamed_answer(HttpRequest(scope_of()), opened, 60_000, 60_000)
    assert opened.count == 0


async def leave(peer: Peer, opened: Opened, sending: "asyncio.Task[Response]") -> None:
    peer.has_left.set()
    await asyncio.sleep(0)
    opened.may_go_on.set()
    await sending


async def cancel(peer: Peer, opened: Opened, sending: "asyncio.Task[Response]") -> None:
    sending.cancel()
    await asyncio.wait((sending,))


@pytest.mark.parametrize("end", [leave, cancel])
async def test_who_leaves_lets_the_text_go(
    end: Callable[[Peer, Opened, "asyncio.Task[Response]"], Awaitable[None]],
) -> None:
    peer, opened = Peer(), Opened(waits=True)
    sending = asyncio.create_task(send_to(peer, opened))
    while not peer.body:
        await asyncio.sleep(0)
    await end(peer, opened, sending)
    assert (peer.body, opened.closed) == (CHUNKS[0], 1)


async def test_a_slow_client_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    peer, opened = Peer(), Opened(waits=True)
    with caplog.at_level(logging.WARNING, "treedb.http"):
        await send_to(peer, opened, taking_ms=1)
    assert (peer.body, peer.is_complete, opened.closed) == (CHUNKS[0], False, 1)
    assert caplog.messages == ["an answer is cut off: not taken within 1 ms"]


async def test_a_text_that_is_not_open_in_time_is_refused() -> None:
    @asynccontextmanager
    async def open_text() -> AsyncIterator[JsonText]:
        await asyncio.Event().wait()
        yield JsonText(0, Opened().chunks())

    peer = Peer()
    response = streamed_answer(HttpRequest(scope_of()), open_text, 1, 60_000)
    with pytest.raises(ReadTimeout) as refused:
        await response(scope_of(), peer.receive, peer.send)
    assert refused.value.detail == "Reading it took longer than 1 ms; read a deeper place."
    assert peer.sent == []


# From a live server

LIMITS = replace(DEFAULT_LIMITS, ready_bytes=10_000, long_reads_at_once=1)
RECORDS = {f"r{n:05d}": {"n": n, "text": "y" * 900} for n in range(5_000)}


def fill(server: LiveServer) -> None:
    answer = server.ask("PUT", "/records.json?print=silent", json.dumps(RECORDS))
    assert answer.status == 204


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("long"), limits=LIMITS) as server:
        fill(server)
        yield server


def begin(client: RawClient) -> None:
    """Ask for all records, and read no more than the head's first bytes."""
    client.send(b"GET /records.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.socket.recv(12) == b"HTTP/1.1 200"


def test_a_long_place_is_read_like_a_short_one(server: LiveServer) -> None:
    answer = server.ask("GET", "/records.json")
    assert (answer.status, answer.json) == (200, RECORDS)
    assert answer.headers["content-length"] == str(len(answer.body))
    assert server.ask("HEAD", "/records.json").headers["content-length"] == str(len(answer.body))


def test_curl_takes_it_compressed(server: LiveServer) -> None:
    assert json.loads(curl("--compressed", f"{server.url}/records.json")) == RECORDS


def test_a_client_that_leaves_makes_room_for_the_next(server: LiveServer) -> None:
    with server.connect() as client:
        begin(client)
    assert server.get("/records.json") == RECORDS


def test_a_client_that_does_not_read_is_cut_off_and_makes_room(tmp_path: Path) -> None:
    limits = replace(LIMITS, long_read_timeout_ms=2_000)
    with live_server(tmp_path, limits=limits) as server, server.connect() as client:
        fill(server)
        begin(client)
        assert server.get("/records.json") == RECORDS
        rest = b""
        while data := client.socket.recv(1 << 20):
            rest += data
        assert len(rest) < len(json.dumps(RECORDS, separators=(",", ":")))


def test_short_reads_and_writes_go_on_beside_it(server: LiveServer) -> None:
    with server.connect() as client:
        begin(client)
        server.put("/beside.json", 1)
        assert server.get("/beside.json") == 1


def test_who_may_not_read_is_told_so(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": {".write": true, "open": {".read": true}}}')
    settings = Settings(data=tmp_path / "data", rules=rules)
    with live_server(tmp_path, limits=LIMITS, settings=settings) as server:
        server.ask("PUT", "/open.json?print=silent", json.dumps(RECORDS))
        assert server.get("/open.json") == RECORDS
        assert server.ask("GET", "/.json").status == 401


def test_a_place_past_the_limit_is_refused(tmp_path: Path) -> None:
    limits = replace(LIMITS, answer_bytes=1_000_000)
    with live_server(tmp_path, limits=limits) as server:
        fill(server)
        answer = server.ask("GET", "/records.json")
    assert (answer.status, answer.json["detail"]) == (
        400,
        "the answer passes 1000000 bytes; read a deeper place, or use shallow=true or depth=N",
    )


def test_fifty_megabytes_are_read_in_little_memory(tmp_path: Path) -> None:
    """The server's own memory is looked at; pages of files that LMDB maps are the page cache's."""
    part = json.dumps({f"r{n:05d}": {"n": n, "text": "y" * 900} for n in range(10_000)})
    server = ServerProcess(tmp_path)
    server.start()
    for number in range(5):
        request = Request(
            f"{server.url}/big/{number}.json?print=silent", part.encode(), method="PUT"
        )
        urlopen(request).close()
    server.stop()
    server.start()  # what the writes took is given back
    assert server.process is not None
    before = anonymous_bytes(server.process.pid)
    most = size = 0
    with urlopen(f"{server.url}/big.json") as answer:
        while data := answer.read(MIB):
            size += len(data)
            most = max(most, anonymous_bytes(server.process.pid))
    server.stop()
    assert size > 40 * MIB
    assert most - before < 2 * DEFAULT_LIMITS.ready_bytes


def anonymous_bytes(process_id: int) -> int:
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def curl(*arguments: str) -> bytes:
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, check=True)
    return done.stdout
