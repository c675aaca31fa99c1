import gzip
import threading
import zlib

import pytest
from starlette.middleware.gzip import GZipResponder
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from treedb.server import compression
from treedb.server.compression import THREAD_BYTES, compressed, takes_gzip


@pytest.mark.parametrize(
    "accepted, takes",
    [
        ("gzip", True),
        ("GZIP", True),
        ("deflate, gzip, br", True),
        ("gzip;q=0.5", True),
        ("gzip; q=1.0", True),
        ("x-gzip", True),
        ("", False),
        ("identity", False),
        ("br, zstd", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("notgzip", False),
        ("*", False),
    ],
)
def test_gzip_has_to_be_named_and_not_refused(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


def request_that_takes(accepted: str, method: str = "GET") -> Request:
    headers = [(b"accept-encoding", accepted.encode())]
    return Request({"type": "http", "method": method, "headers": headers})


async def sent_by(response: Response) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append({**message})

    async def receive() -> Message:
        raise AssertionError

    await response({"type": "http"}, receive, send)
    return sent


def headers_of(sent: list[Message]) -> dict[bytes, bytes]:
    return dict(sent[0]["headers"])


def body_of(sent: list[Message]) -> bytes:
    return b"".join(message["body"] for message in sent[1:])


TEXT = b'{"name":"Mary Chen"}' * 1000


async def test_a_client_that_takes_it_gets_it_compressed() -> None:
    response = Response(TEXT, 201, {"Content-Type": "application/json", "Vary": "Origin"})
    sent = await sent_by(compressed(request_that_takes("gzip"), response))
    headers = headers_of(sent)
    assert sent[0]["status"] == 201
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"vary"] == b"Origin, Accept-Encoding"
    assert int(headers[b"content-length"]) == len(body_of(sent)) < len(TEXT) / 10
    assert gzip.decompress(body_of(sent)) == TEXT


@pytest.mark.parametrize("accepted, method", [("", "GET"), ("gzip;q=0", "GET"), ("gzip", "HEAD")])
async def test_others_get_it_as_it_is_and_caches_hear_of_both(accepted: str, method: str) -> None:
    response = Response(TEXT)
    assert compressed(request_that_takes(accepted, method), response) is response
    assert response.headers["vary"] == "Accept-Encoding"


class InPieces(Response):
    """An answer in pieces that have come by their length before."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__(headers={"Content-Length": str(sum(map(len, pieces)))})
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def test_pieces_are_compressed_one_by_one_without_a_length() -> None:
    pieces = [b'{"n":%d}' % number * 5_000 for number in range(5)]
    sent = await sent_by(compressed(request_that_takes("gzip"), InPieces(pieces)))
    assert b"content-length" not in headers_of(sent)
    assert len(sent) == 7
    inflating, found = zlib.decompressobj(31), b""
    for message, piece in zip(sent[1:-1], pieces, strict=True):
        found = inflating.decompress(message["body"])
        assert found == piece
    inflating.decompress(sent[-1]["body"])
    assert inflating.eof


@pytest.mark.parametrize("size, is_here", [(THREAD_BYTES - 1, True), (THREAD_BYTES, False)])
async def test_a_large_piece_is_compressed_on_a_thread(
    size: int, is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    class Watched(GZipResponder):
        def _compress_body(self, body: bytes, more_body: bool) -> bytes:
            threads.append(threading.get_ident())
            return super()._compress_body(body, more_body)

    monkeypatch.setattr(compression, "GZipResponder", Watched)
    await sent_by(compressed(request_that_takes("gzip"), Response(b"x" * size)))
    assert [each == threading.get_ident() for each in threads] == [is_here]
