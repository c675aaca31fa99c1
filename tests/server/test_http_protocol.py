import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.server.serving import exchange, serving
from treedb.config import DEFAULT_LIMITS, Limits
from treedb.server.protocol import uvicorn_options

LIMITS = replace(
    DEFAULT_LIMITS,
    url_bytes=1000,
    header_bytes=2000,
    headers=20,
    rest_write_bytes=10_000_000,
    header_timeout_ms=300,
    body_timeout_ms=200,
    idle_timeout_ms=200,
    stall_timeout_ms=200,
)
HOST = b"Host: localhost\r\n"
END = b"\r\n"
CLOSE = b"Connection: close\r\n\r\n"


async def echo(request: Request) -> Response:
    body = await request.body()
    return Response(request.scope["raw_path"] + b" " + body)


@asynccontextmanager
async def echoing(limits: Limits = LIMITS) -> AsyncIterator[str]:
    app = Starlette(routes=[Route("/{path:path}", echo, methods=["GET", "HEAD", "PUT", "OPTIONS"])])
    async with serving(app, uvicorn_options(limits)) as address:
        yield address


def parse(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split(" ")[1]), headers, body


def bodies_of(answers: bytes) -> list[bytes]:
    """Return the bodies of answers that follow one another."""
    bodies = []
    while answers:
        _, headers, rest = parse(answers)
        size = int(headers["content-length"])
        bodies.append(rest[:size])
        answers = rest[size:]
    return bodies


CHUNKED = HOST + b"Transfer-Encoding: chunked\r\n\r\n"

NOT_HTTP = "This request is not supported."
NO_METHOD = "Method Not Allowed"
NOT_A_PATH = "Invalid path: Invalid token in path"
URI_TOO_LONG = "URI too long"
HEADERS_TOO_LARGE = "Request headers are too large"
TIMEOUT = "Request Timeout"

REFUSED = [
    ("a URL one byte too long", b"GET /" + b"a" * 1000, HOST + END, 414, URI_TOO_LONG),
    ("a URL of 100 KiB", b"GET /" + b"a" * 100 * 1024, HOST + END, 414, URI_TOO_LONG),
    ("a URL of 5 MiB", b"GET /" + b"a" * 5 * 1024 * 1024, HOST + END, 414, URI_TOO_LONG),
    ("an absolute target", b"GET http://other/a.json", HOST + END, 400, NOT_A_PATH),
    ("a star", b"GET *", HOST + END, 400, NOT_A_PATH),
    ("a star with OPTIONS", b"OPTIONS *", HOST + END, 400, NOT_A_PATH),
    ("a tunnel", b"CONNECT localhost:80", HOST + END, 405, NO_METHOD),
    ("a method that nobody has", b"FOO /a.json", HOST + END, 405, NO_METHOD),
    ("no host", b"GET /a.json", END, 400, NOT_HTTP),
    ("two hosts", b"GET /a.json", HOST + HOST + END, 400, NOT_HTTP),
    ("a host that is none", b"GET /a.json", b"Host: a b\r\n\r\n", 400, NOT_HTTP),
    ("a byte that is not ASCII", "GET /é.json".encode(), HOST + END, 400, NOT_HTTP),
    ("a space in the path", b"GET /a b.json", HOST + END, 400, NOT_HTTP),
    ("no HTTP at all", b"\x16\x03\x01\x02", END, 400, NOT_HTTP),
    (
        "two lengths",
        b"PUT /a.json",
        HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
        NOT_HTTP,
    ),
    (
        "a body coded twice",
        b"PUT /a",
        HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        400,
        NOT_HTTP,
    ),
    ("a chunk without a size", b"PUT /a", CHUNKED + b"z\r\n1\r\n0\r\n\r\n", 400, NOT_HTTP),
    ("a chunk that is longer", b"PUT /a", CHUNKED + b"1\r\n1xx0\r\n\r\n", 400, NOT_HTTP),
    ("a chunk that says much", b"PUT /a", CHUNKED + b"1;x=" + b"a" * 100_000, 400, NOT_HTTP),
    ("a line folded", b"GET /a", HOST + b"X: 1\r\n 2\r\n\r\n", 400, NOT_HTTP),
    ("a NUL", b"GET /a", HOST + b"X: \0\r\n\r\n", 400, NOT_HTTP),
    ("a space before a colon", b"GET /a", HOST + b"X : 1\r\n\r\n", 400, NOT_HTTP),
    (
        "a trailer too long",
        b"PUT /a",
        CHUNKED + b"0\r\nX: " + b"a" * 2000 + b"\r\n\r\n",
        431,
        HEADERS_TOO_LARGE,
    ),
    (
        "a header too long",
        b"GET /a.json",
        HOST + b"X: " + b"a" * 2000 + END + END,
        431,
        HEADERS_TOO_LARGE,
    ),
    (
        "too many headers",
        b"GET /a.json",
        HOST + b"X: a\r\n" * 20 + END,
        431,
        HEADERS_TOO_LARGE,
    ),
]


@pytest.mark.parametrize(
    "line, rest, status, error",
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
async def test_a_request_that_cannot_be_is_refused_as_json(
    line: bytes, rest: bytes, status: int, error: str
) -> None:
    async with echoing() as address:
        answer = await exchange(address, line + b" HTTP/1.1\r\n" + rest)
    found, headers, body = parse(answer)
    assert (found, json.loads(body)["error"]) == (status, error)
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["connection"] == "close"
    assert int(headers["content-length"]) == len(body)


async def test_the_longest_url_passes() -> None:
    async with echoing() as address:
        path = b"/" + b"a" * 999
        answer = await exchange(address, b"GET " + path + b" HTTP/1.1\r\n" + HOST + CLOSE)
    assert parse(answer)[::2] == (200, path + b" ")


async def test_a_header_without_end_is_refused() -> None:
    async with echoing() as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(b"GET /a.json HTTP/1.1\r\nX: ")
        answer = asyncio.create_task(reader.read())
        while not answer.done():
            writer.write(b"a" * 1000)
            await asyncio.sleep(0)
        writer.close()
    assert parse(await answer)[0] == 431


async def test_a_large_body_is_no_large_head() -> None:
    body = b"x" * 300_000
    request = b"PUT /a HTTP/1.1\r\n%bContent-Length: %d\r\n" % (HOST, len(body))
    async with echoing() as address:
        # The second request's head begins in the chunk that ends the first one's body.
        answers = await exchange(address, request + END + body + request + CLOSE + body)
    assert answers.count(b"200 OK") == 2


async def test_headers_are_counted_for_each_request() -> None:
    request = b"GET /a HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 1500 + END
    async with echoing() as address:
        answers = await exchange(address, (request + END) * 3 + request + CLOSE)
    assert answers.count(b"200 OK") == 4


@pytest.mark.parametrize("start", [b"", b"\r\n\r\n"])
async def test_a_peer_that_stays_silent_is_cut(start: bytes) -> None:
    async with echoing() as address:
        assert await exchange(address, start) == b""


SLOW = [
    b"GET /a",
    b"GET /a.json HTTP/1.1\r\n",
    b"PUT /a HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\n12345",
    b"PUT /a HTTP/1.1\r\n" + CHUNKED + b"5\r\n12345\r\n",
    b"PUT /a HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
]


@pytest.mark.parametrize("start", SLOW)
async def test_a_request_that_stops_coming_is_told_so(start: bytes) -> None:
    async with echoing() as address:
        answer = await exchange(address, start)
    status, _, body = parse(answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"))
    assert (status, json.loads(body)["error"]) == (408, TIMEOUT)


async def test_a_connection_without_another_request_is_closed() -> None:
    async with echoing() as address:
        answer = await exchange(address, b"GET /a HTTP/1.1\r\n" + HOST + END)
        after_empty_lines = await exchange(
            address, b"GET /a HTTP/1.1\r\n" + HOST + END, then=b"\r\n\r\n"
        )
    assert parse(answer)[::2] == (200, b"/a ")
    assert after_empty_lines == b"/a "


async def test_a_body_that_comes_slowly_but_steadily_is_taken() -> None:
    limits = replace(LIMITS, bytes_per_second=5)  # one in 200 ms
    async with echoing(limits) as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        loop = asyncio.get_running_loop()
        head = b"PUT /a HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n" + CLOSE
        writer.write(head)
        for number in range(10):
            loop.call_later(0.05 * number, writer.write, b"x")
        answer = await reader.read()
        writer.close()
    assert parse(answer)[::2] == (200, b"/a " + b"x" * 10)


async def test_a_peer_that_does_not_read_is_cut() -> None:
    gone = asyncio.Event()

    async def large(request: Request) -> Response:
        asyncio.get_running_loop().create_task(left(request))
        return Response(b"x" * 50_000_000)

    async def left(request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    app = Starlette(routes=[Route("/", large)])
    async with serving(app, uvicorn_options(LIMITS)) as address:
        reader, writer = await asyncio.open_connection(*address.split(":"), limit=1000)
        writer.write(b"GET / HTTP/1.1\r\n" + HOST + END)
        async with asyncio.timeout(10):
            await gone.wait()
        writer.close()
        del reader


@pytest.mark.parametrize("form", [b"http://localhost/a?b", b"HTTP://LocalHost/a?b"])
async def test_a_url_of_the_requests_host_is_a_path(form: bytes) -> None:
    async with echoing() as address:
        answer = await exchange(address, b"GET " + form + b" HTTP/1.1\r\n" + HOST + CLOSE)
    assert parse(answer)[::2] == (200, b"/a ")


async def test_a_wish_for_another_protocol_is_ignored() -> None:
    wish = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAAB\r\n"
    put = b"PUT /b HTTP/1.1\r\n" + HOST + wish + b"Content-Length: 2\r\n\r\nhi"
    last = b"GET /c HTTP/1.1\r\n" + HOST + CLOSE
    async with echoing() as address:
        answers = await exchange(address, b"GET /a HTTP/1.1\r\n" + HOST + wish + END + put + last)
    assert bodies_of(answers) == [b"/a ", b"/b hi", b"/c "]


async def test_headers_behind_a_body_are_dropped() -> None:
    seen: list[list[str]] = []

    async def look(request: Request) -> Response:
        await request.body()
        seen.append(request.headers.keys())
        return Response()

    app = Starlette(routes=[Route("/", look, methods=["PUT"])])
    async with serving(app, uvicorn_options(LIMITS)) as address:
        trailer = b"2\r\nhi\r\n0\r\nAuthorization: Bearer owner\r\n\r\n"
        head = (
            b"PUT / HTTP/1.1\r\n"
            + HOST
            + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        answer = await exchange(address, head + trailer)
    assert parse(answer)[0] == 200
    assert seen == [["host", "connection", "transfer-encoding"]]


async def test_a_body_that_nobody_reads_ends_at_the_limit() -> None:
    async def deaf(request: Request) -> Response:
        return Response("no", 401)

    app = Starlette(routes=[Route("/", deaf, methods=["PUT"])])
    async with serving(app, uvicorn_options(replace(LIMITS, rest_write_bytes=100_000))) as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(b"PUT / HTTP/1.1\r\n" + CHUNKED)
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 401 " in head
        chunk = b"%x\r\n%b\r\n" % (10_000, b"x" * 10_000)
        rest = asyncio.create_task(reader.read())
        async with asyncio.timeout(10):
            while not rest.done():
                writer.write(chunk)
                await asyncio.sleep(0)
        writer.close()
    assert await rest == b"no"


async def test_a_head_that_came_is_waited_for_no_more() -> None:
    begin = asyncio.Event()

    async def late(request: Request) -> Response:
        asyncio.get_running_loop().call_later(0.4, begin.set)
        await begin.wait()
        return Response("late")

    app = Starlette(routes=[Route("/", late)])
    async with serving(app, uvicorn_options(LIMITS)) as address:
        answer = await exchange(address, b"GET / HTTP/1.1\r\n" + HOST + CLOSE)
    assert parse(answer)[::2] == (200, b"late")
