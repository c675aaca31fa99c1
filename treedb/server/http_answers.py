"""HTTP answers: their headers, and what becomes of errors."""

import asyncio
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treedb.errors import BodyTooLarge, MissingJsonEnding, TreeError
from treedb.server.answers import INTERNAL, JSON, METHODS, http_refusal, http_refusal_headers
from treedb.server.compression import LEAST_BYTES, compressed
from treedb.server.origins import SHARING
from treedb.tree.json_text import format_json

CHUNK_BYTES: Final = 64 * 1024  # longer texts are sent in chunks and never joined whole
LINGER_SECONDS: Final = 1.0
PREFLIGHT_SECONDS: Final = "3600"

_COMMON_HEADERS: Final = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
_HEADERS: Final = {**_COMMON_HEADERS, "Content-Type": JSON}

_is_echoable: Final = re.compile(r"[ -~]+").fullmatch

log = logging.getLogger("treedb.http")


def json_answer(
    request: Request,
    text: bytes,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with JSON text."""
    every = {**request.scope.get(SHARING, {}), **_HEADERS, **(headers or {})}
    response = Response(text, status, every)
    return response if len(text) < LEAST_BYTES else compressed(request, response)


def pieces_answer(request: Request, pieces: list[bytes]) -> Response:
    """Answer with JSON text in pieces."""
    size = sum(map(len, pieces))
    if size <= CHUNK_BYTES:
        return json_answer(request, b"".join(pieces))
    headers = {**common_headers(request), "Content-Type": JSON, "Content-Length": str(size)}
    return compressed(request, _PiecesResponse(pieces, headers))


def empty_answer(
    request: Request, status: int = 204, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with nothing: 204, or 304."""
    return Response(status_code=status, headers={**common_headers(request), **(headers or {})})


def tag_headers(tag: str) -> dict[str, str]:
    """Return the headers that tell a value's tag, to scripts of other origins too."""
    return {"ETag": tag, "Access-Control-Expose-Headers": "ETag"}


def preflight_answer(request: Request) -> Response:
    """Answer what a browser asks before a request that is not simple (Fetch, CORS preflight)."""
    headers = {
        **common_headers(request),
        "Allow": METHODS,
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }
    asked = request.headers.get("access-control-request-headers", "")
    if _is_echoable(asked):
        headers["Access-Control-Allow-Headers"] = asked
    return Response(headers=headers)


def error_answer(request: Request, error: TreeError) -> Response:
    """Answer with an error: its text, and the sentence about the case when there is one."""
    content = http_refusal(error)
    if isinstance(error, BodyTooLarge):
        headers = {**common_headers(request), "Content-Type": JSON}
        return _LastResponse(content, error.http_status, headers)
    return json_answer(request, content, error.http_status, http_refusal_headers(error))


# What the application does with exceptions.


async def on_tree_error(request: Request, error: Exception) -> Response:
    """Answer an error of ours."""
    assert isinstance(error, TreeError)
    return error_answer(request, error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer an error that starlette raised: mostly, that there is nothing at the URL."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return error_answer(request, MissingJsonEnding())
    text = format_json({"error": error.detail})
    return json_answer(request, text, error.status_code, error.headers)


async def on_unexpected(request: Request, error: Exception) -> Response:
    """Answer a fault of the server; whoever runs the application logs its traceback."""
    log.error("%s %r failed", request.method, request.scope["raw_path"])
    return json_answer(request, format_json({"error": INTERNAL}), 500)


async def on_disconnect(request: Request, error: Exception) -> Response:
    """Give up on a request whose client has gone: nobody reads this answer."""
    return Response(status_code=400)


def common_headers(request: Request) -> dict[str, str]:
    """Return the headers of every answer, with those that the page's origin gets."""
    return {**request.scope.get(SHARING, {}), **_COMMON_HEADERS}


class _PiecesResponse(Response):
    """A body in pieces whose length is known."""

    def __init__(self, pieces: Iterable[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, as fast as the peer takes them and others are not kept waiting."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        for chunk in chunks_of(self._pieces, CHUNK_BYTES):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def chunks_of(pieces: Iterable[bytes], least_bytes: int) -> Iterator[bytes]:
    """Join pieces, of which most are small, to chunks of at least a size; the last may be less."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= least_bytes:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


class _LastResponse(Response):
    """The last answer on a connection whose client may still be sending.

    Closing a socket with unread input resets it, and the client could lose the answer: so what
    comes is dropped for a moment before the connection is closed.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*self.raw_headers, (b"connection", b"close")]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})
