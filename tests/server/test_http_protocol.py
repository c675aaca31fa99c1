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

LIMITS = replace(DEFAULT_LIMITS, url_bytes=1000, header_bytes=2000, header_timeout_ms=300)
HOST = b"Host: localhost\r\n"
END = b"\r\n"
CLOSE = b"Connection: close\r\n\r\n"


async def echo(request: Request) -> Response:
    body = await request.body()
    return Response(request.scope["raw_path"] + b" " + body)


@asynccontextmanager
async def echoing(limits: Limits = LIMITS) -> AsyncIterator[str]:
    app = Starlette(routes=[Route("/{path:path}", echo, methods=["GET", "PUT", "OPTIONS"])])
    async with serving(app, uvicorn_options(limits)) as address:
        yield address


def parse(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split(" ")[1]), headers, body


NOT_HTTP = "This request is not supported."
NOT_A_PATH = "Invalid path: Invalid token in path"
URI_TOO_LONG = "URI too long"
HEADERS_TOO_LARGE = "Request headers are too large"

REFUSED = [
    ("a URL one byte too long", b"GET /" + b"a" * 1000, HOST + END, 414, URI_TOO_LONG),
    ("a URL of 100 KiB", b"GET /" + b"a" * 100 * 1024, HOST + END, 414, URI_TOO_LONG),
    ("a URL of 5 MiB", b"GET /" + b"a" * 5 * 1024 * 1024, HOST + END, 414, URI_TOO_LONG),
    ("an absolute target", b"GET http://other/a.json", HOST + END, 400, NOT_A_PATH),
    ("an absolute target of ours", b"GET http://localhost/a.json", HOST + END, 400, NOT_A_PATH),
    ("a star", b"GET *", HOST + END, 400, NOT_A_PATH),
    ("a star with OPTIONS", b"OPTIONS *", HOST + END, 400, NOT_A_PATH),
    ("an authority", b"CONNECT localhost:80", HOST + END, 400, NOT_A_PATH),
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
        "a header too long",
        b"GET /a.json",
        HOST + b"X: " + b"a" * 2000 + END + END,
        431,
        HEADERS_TOO_LARGE,
    ),
    (
        "too many headers",
        b"GET /a.json",
        HOST + b"X: a\r\n" * 1000 + END,
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


async def test_a_bad_request_behind_one_in_progress_gets_no_answer() -> None:
    begin = asyncio.Event()

    async def slow(request: Request) -> Response:
        await begin.wait()
        return Response("late")

    app = Starlette(routes=[Route("/slow", slow)])
    async with serving(app, uvicorn_options(LIMITS)) as address:
        request = b"GET /slow HTTP/1.1\r\n" + HOST + END
        answer = await exchange(address, request + b"GET http://other/ HTTP/1.1\r\n" + HOST + END)
        begin.set()
    assert answer == b""


@pytest.mark.parametrize("start", [b"", b"GET /a.json HTTP/1.1\r\n", b"GET /a"])
async def test_a_peer_that_stays_silent_in_the_head_is_cut(start: bytes) -> None:
    async with echoing() as address:
        assert await exchange(address, start) == b""


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
