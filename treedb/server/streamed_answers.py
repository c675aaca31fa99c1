"""Long answers, made while they are sent: what waits for the client stays small.

The text is opened when the answer is sent, so what refuses it is still an answer of its own. From
its first byte on the answer is 200 with a Content-Length. A client that does not take it in time,
or a fault on our side, can then only be told by a connection that ends too early, which every HTTP
client reports.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treedb.errors import ReadTimeout
from treedb.reads import JsonText
from treedb.server.answers import JSON
from treedb.server.compression import compressed
from treedb.server.http_answers import common_headers

Open = Callable[[], AbstractAsyncContextManager[JsonText]]

log: Final = logging.getLogger("treedb.http")


def streamed_answer(request: Request, open_text: Open, opening_ms: int, taking_ms: int) -> Response:
    """Answer with JSON text that is opened when the answer is sent.

    It has to be open within one time, or is refused, and taken within another, or is cut off.
    """
    headers = {**common_headers(request), "Content-Type": JSON}
    return compressed(request, _StreamedResponse(open_text, headers, opening_ms, taking_ms))


class _StreamedResponse(Response):
    def __init__(
        self, open_text: Open, headers: Mapping[str, str], opening_ms: int, taking_ms: int
    ) -> None:
        super().__init__(headers=headers)
        self._open_text = open_text
        self._opening_ms = opening_ms
        self._taking_ms = taking_ms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the text as fast as the client takes it; let go of it when the client has gone."""
        limit = asyncio.timeout(self._opening_ms / 1000)
        has_begun = False
        try:
            async with limit, self._open_text() as text:
                has_begun = True
                limit.reschedule(asyncio.get_running_loop().time() + self._taking_ms / 1000)
                self.headers["Content-Length"] = str(text.size_bytes)
                await send(
                    {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
                )
                await _send_body(text.chunks, scope, receive, send)
        except TimeoutError:
            assert limit.expired(), "nobody else gives up on a read"
            if not has_begun:
                raise ReadTimeout(
                    f"Reading it took longer than {self._opening_ms} ms; read a deeper place."
                ) from None
            log.warning("an answer is cut off: not taken within %d ms", self._taking_ms)


async def _send_body(
    chunks: AsyncIterator[bytes], scope: Scope, receive: Receive, send: Send
) -> None:
    if scope["method"] != "HEAD":
        leaving = asyncio.ensure_future(_left(receive))
        try:
            async for chunk in chunks:
                if leaving.done():
                    return
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            leaving.cancel()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
