"""Requests that are sent before earlier ones are answered: treedb/server/http_protocol.py."""

import asyncio
import gc
import json
import re
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tests.server.live_server import LiveServer, RawClient, live_server
from tests.server.serving import exchange, handshake, serving
from treedb.config import DEFAULT_LIMITS
from treedb.server.http_protocol import SLICE_BYTES
from treedb.server.protocol import uvicorn_options

GET = b"GET /%b.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
PUT = b"PUT /%b.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b"
CHUNKED = b"PUT /%b.json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"GET /last.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
GARBAGE = b"\x16\x03\x01\r\n\r\n"


def put(key: bytes, value: object) -> bytes:
    body = json.dumps(value).encode()
    return PUT % (key, len(body), body)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live_server(tmp_path_factory.mktemp("pipelines")) as server:
        yield server


Step = tuple[str, str, Any]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("GET", "HEAD", "PUT", "DELETE", "NONE")),
        st.sampled_from(("a", "b", "c")),
        st.integers() | st.text(max_size=5),
    ),
    max_size=60,
)


def bytes_of(method: str, key: str, value: object) -> bytes:
    if method == "PUT":
        return put(key.encode(), value)
    if method == "NONE":
        return b"\r\n"  # empty lines between requests mean nothing
    return f"{method} /{key}.json HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@given(steps=STEPS, cuts=st.lists(st.integers(1, 5000), max_size=8))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_requests_take_effect_and_are_answered_in_their_order(
    server: LiveServer, steps: list[Step], cuts: list[int]
) -> None:
    assert server.ask("DELETE", "/.json").status == 200
    tree: dict[str, Any] = {}
    sent = b"".join(bytes_of(*step) for step in steps) + LAST
    with server.connect() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces_of(sent, cuts):
            client.send(piece)
        for method, key, value in steps:
            if method == "NONE":
                continue
            answer = client.answer(method)
            assert answer.status == 200
            if method == "PUT":
                tree[key] = float(value) if isinstance(value, int) else value
            elif method == "DELETE":
                tree.pop(key, None)
            expected = None if method == "DELETE" else tree.get(key)
            if method != "HEAD":
                assert answer.json == expected
        assert client.answer().json is None
        assert client.is_closed_by_peer()


def pieces_of(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    for cut in cuts:
        yield data[:cut]
        data = data[cut:]
    yield data


BAD = [
    ("no HTTP", GARBAGE, [400]),
    ("no host", b"GET /a.json HTTP/1.1\r\n\r\n", [400]),
    ("a chunk without a size", CHUNKED % b"a" + b"z\r\n1\r\n", [400]),
    ("a chunk that is longer", CHUNKED % b"a" + b"1\r\n1xx", [400]),
    ("a websocket", handshake("/.ws?v=5"), [400]),
    ("a URL too long", GET % (b"a" * 40_000), [414]),
    ("the last one that keeps the connection", LAST, [200]),
]


@pytest.mark.parametrize("bad, last", [each[1:] for each in BAD], ids=[each[0] for each in BAD])
def test_what_comes_before_a_bad_request_is_done_and_what_follows_is_not(
    server: LiveServer, bad: bytes, last: list[int]
) -> None:
    assert server.ask("DELETE", "/.json").status == 200
    before = put(b"before", 1) + GET % b"before" + put(b"before", 2)
    with server.connect() as client:
        client.send(before + bad + put(b"behind", 1) * 3)
        assert [client.answer().json for _ in range(3)] == [1, 1, 2]
        assert [client.answer().status] == last
        assert client.is_closed_by_peer()
    assert server.get("/.json") == {"before": 2}


def test_a_body_that_breaks_off_behind_others_is_refused_in_its_turn(server: LiveServer) -> None:
    with server.connect() as client:
        client.send(put(b"a", 1) + CHUNKED % b"b" + b"1\r\n2")
        assert client.answer().json == 1
        client.send(b"no end of a chunk")
        answer = client.answer()
        assert (answer.status, answer.json["error"]) == (400, "This request is not supported.")
        assert client.is_closed_by_peer()


def test_more_than_a_slice_of_requests_is_answered(server: LiveServer) -> None:
    count = 5 * SLICE_BYTES // len(GET)
    with server.connect() as client:
        client.send(put(b"n", 7) + GET % b"n" * count)
        assert [client.answer().json for _ in range(count + 1)] == [7] * (count + 1)


def test_a_large_body_amid_requests_is_taken(server: LiveServer) -> None:
    value = "x" * 3_000_000
    with server.connect() as client:
        client.send(GET % b"n" + put(b"large", value) + GET % b"n")
        statuses = [client.answer().status for _ in range(3)]
        assert statuses == [200] * 3
    assert server.get("/large.json") == value


Endpoint = Callable[[Request], Awaitable[Response]]


def app_with(endpoint: Endpoint) -> Starlette:
    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "PUT"])])


async def test_what_waits_is_bounded_however_much_is_sent() -> None:
    count, most_held, answered = 30_000, 0, 0

    async def answer(request: Request) -> Response:
        nonlocal most_held, answered
        if answered % 3000 == 100:
            held = sum(isinstance(each, RequestResponseCycle) for each in gc.get_objects())
            most_held = max(most_held, held)
        answered += 1
        return Response(await request.body())

    async with serving(app_with(answer), uvicorn_options(DEFAULT_LIMITS)) as address:
        request = PUT % (b"a", 1, b"1")
        answers = await exchange(address, request * (count - 1) + LAST)
    assert len(re.findall(rb"HTTP/1.1 200 OK\r\n", answers)) == count
    assert 0 < most_held < SLICE_BYTES / len(request) + 300  # some are only not collected yet


async def test_a_client_that_asks_on_and_reads_nothing_makes_little_work() -> None:
    asked = 0

    async def answer(request: Request) -> Response:
        nonlocal asked
        asked += 1
        return Response(b"x" * 1_000_000)

    limits = replace(DEFAULT_LIMITS, stall_timeout_ms=200)
    async with serving(app_with(answer), uvicorn_options(limits)) as address:
        host, port = address.split(":")
        client = socket.create_connection((host, int(port)))
        client.setblocking(False)
        async with asyncio.timeout(20):
            while not await has_hung_up(client):
                pass
        client.close()
    assert 0 < asked < 50  # as much as the kernel's buffers take


async def has_hung_up(client: socket.socket) -> bool:
    """Ask once more, as far as the socket takes it; tell whether the server has cut it."""
    try:
        client.send(GET % b"a" * 1000)
    except BlockingIOError:
        await asyncio.sleep(0)
    except ConnectionError:
        return True
    return False


async def test_an_answer_that_waits_holds_those_behind_it_back() -> None:
    may_answer, began = asyncio.Event(), []

    async def answer(request: Request) -> Response:
        began.append(request.url.path)
        await may_answer.wait()
        return Response(request.url.path)

    async with serving(app_with(answer), uvicorn_options(DEFAULT_LIMITS)) as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(GET % b"a" + GET % b"b" + GARBAGE)
        async with asyncio.timeout(10):
            while not began:
                await asyncio.sleep(0)
            assert began == ["/a.json"]
            may_answer.set()
            answers = await reader.read()
        writer.close()
    assert re.findall(rb"HTTP/1.1 (\d+)|(/[ab].json)", answers) == [
        (b"200", b""),
        (b"", b"/a.json"),
        (b"200", b""),
        (b"", b"/b.json"),
        (b"400", b""),
    ]


def test_a_client_that_hangs_up_amid_its_requests_harms_nobody(server: LiveServer) -> None:
    for _ in range(20):
        with RawClient(server.port) as client:
            client.send(put(b"gone", 1) * 200 + CHUNKED % b"gone" + b"5\r\n12")
    assert server.ask("GET", "/gone.json").status == 200
