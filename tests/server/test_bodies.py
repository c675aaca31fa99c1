from collections.abc import Iterable
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from treedb.errors import BodyTooLarge, UnsupportedEncoding
from treedb.server.bodies import read_body

MOST_BYTES = 10


class Upload:
    """A request whose body comes in pieces, and then ends or breaks off."""

    def __init__(
        self, pieces: Iterable[bytes], headers: dict[str, str], *, ends: bool = True
    ) -> None:
        self.messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
        ]
        last = {"type": "http.request"} if ends else {"type": "http.disconnect"}
        self.messages.append(last)
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "PUT", "headers": raw}
        self.request = Request(scope, self.receive)

    async def receive(self) -> Message:
        return self.messages.pop(0)


async def test_a_body_comes_in_pieces() -> None:
    upload = Upload([b"[1,", b"", b"2]"], {})
    assert await read_body(upload.request, MOST_BYTES) == b"[1,2]"


async def test_no_body_is_empty() -> None:
    assert await read_body(Upload([], {}).request, MOST_BYTES) == b""


async def test_a_body_of_the_limit_is_read() -> None:
    upload = Upload([b"01234", b"56789"], {"Content-Length": "10"})
    assert await read_body(upload.request, MOST_BYTES) == b"0123456789"


async def test_an_announced_length_beyond_the_limit_is_refused_unread() -> None:
    upload = Upload([b"0"], {"Content-Length": "11"})
    with pytest.raises(BodyTooLarge, match="The body has 11 bytes, at most 10 are allowed"):
        await read_body(upload.request, MOST_BYTES)
    assert len(upload.messages) == 2


async def test_a_body_is_read_no_further_than_the_limit() -> None:
    upload = Upload([b"01234", b"567890", b"never read"], {})
    with pytest.raises(BodyTooLarge, match="at least 11 bytes, at most 10 are allowed"):
        await read_body(upload.request, MOST_BYTES)
    assert len(upload.messages) == 2


async def test_a_body_that_breaks_off_is_none() -> None:
    upload = Upload([b"1"], {"Content-Length": "9"}, ends=False)
    with pytest.raises(ClientDisconnect):
        await read_body(upload.request, MOST_BYTES)


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "", "x"])
async def test_a_compressed_body_is_refused_unread(encoding: str) -> None:
    upload = Upload([b"1"], {"Content-Encoding": encoding})
    with pytest.raises(UnsupportedEncoding):
        await read_body(upload.request, MOST_BYTES)
    assert len(upload.messages) == 2


@pytest.mark.parametrize("encoding", ["identity", " Identity "])
async def test_a_plain_body_may_say_so(encoding: str) -> None:
    upload = Upload([b"1"], {"Content-Encoding": encoding})
    assert await read_body(upload.request, MOST_BYTES) == b"1"
