"""HTTP answers: their headers, and what becomes of errors.

Every answer may be read by pages of any origin: rights come from tokens that a page has to know,
never from cookies or from where the request is sent.
"""

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

from treedb.errors import (
    BodyTooLarge,
    MissingJsonEnding,
    PermissionDenied,
    RulesError,
    StoreError,
    TreeError,
)
from treedb.tree.json_text import format_json

METHODS: Final = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"
JSON: Final = "application/json; charset=utf-8"
CHUNK_BYTES: Final = 64 * 1024  # longer texts are sent in chunks and never joined whole
LINGER_SECONDS: Final = 1.0
PREFLIGHT_SECONDS: Final = "3600"
RETRY_SECONDS: Final = "5"
INTERNAL: Final = "Internal server error"

_is_echoable: Final = re.compile(r"[ -~]+").fullmatch

log = logging.getLogger("treedb.http")


def json_answer(
    request: Request,
    text: bytes,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with JSON text."""
    return Response(
        text, status, {**common_headers(request), "Content-Type": JSON, **(headers or {})}
    )


def pieces_answer(request: Request, pieces: list[bytes]) -> Response:
    """Answer with JSON text in pieces."""
    size = sum(map(len, pieces))
    if size <= CHUNK_BYTES:
        return json_answer(request, b"".join(pieces))
    headers = {**common_headers(request), "Content-Type": JSON, "Content-Length": str(size)}
    return _PiecesResponse(pieces, headers)


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
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }
    asked = request.headers.get("access-control-request-headers", "")
    if _is_echoable(asked):
        headers["Access-Control-Allow-Headers"] = asked
    return Response(headers=headers)


def error_answer(request: Request, error: TreeError) -> Response:
    """Answer with an error: its text, and the sentence about the case when there is one."""
    content = _content_of(error)
    headers = {}
    if error.http_status == 405:
        headers["Allow"] = METHODS
    if error.http_status == 503:
        headers["Retry-After"] = RETRY_SECONDS
    if isinstance(error, BodyTooLarge):
        return _LastResponse(
            format_json(content),
            error.http_status,
            {**common_headers(request), "Content-Type": JSON},
        )
    return json_answer(request, format_json(content), error.http_status, headers)


def _content_of(error: TreeError) -> dict[str, object]:
    """Return what an error says: of our own troubles nothing but their fixed text.

    A denial has a detail only for those who asked for it and may know (`Caller.wants_reason`).
    """
    if isinstance(error, RulesError):
        findings = [
            {"line": each.line, "column": each.column, "message": each.message}
            for each in error.findings
        ]
        first = error.findings[0]
        # What Firebase's tools look for in the answer to a text that is no JSON.
        parse_error = "Parse error: " if error.is_unreadable else ""
        text = f"{first.line}:{first.column}: {parse_error}{first.message}"
        return {"error": text, "findings": findings}
    content: dict[str, object] = {"error": error.text}
    if error.detail and not isinstance(error, StoreError):
        content["explanation" if isinstance(error, PermissionDenied) else "detail"] = error.detail
    return content


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
    """Return the headers of every answer."""
    origin = request.headers.get("origin", "")
    headers = {
        "Access-Control-Allow-Origin": "*",
        "Cache-Control": "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if _is_echoable(origin):
        headers["Access-Control-Allow-Origin"] = origin
        headers["Vary"] = "Origin"
    return headers


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
