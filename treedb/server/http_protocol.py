"""The HTTP end of one socket: uvicorn's protocol, with limits of its own and JSON refusals.

What reaches the application is a request with a path of at most the allowed length; everything
before that is refused here, with a JSON body like every other error of treedb.
"""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from treedb.config import Limits
from treedb.errors import HeadersTooLarge, InvalidPath, TreeError, UnsupportedRequest, UriTooLong
from treedb.server.answers import http_refusal

LINGER_SECONDS = 1.0  # what a refused peer still sends is read and dropped for so long


class TreeHttpProtocol(HttpToolsProtocol):
    """uvicorn's httptools protocol; it refuses long URLs, long heads and slow heads."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: Limits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._refusal: TreeError | None = None
        self._is_refused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = None  # of a head that did not come at once
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the request is refused already."""
        if self._is_refused:
            return
        super().data_received(data)
        if self._head_timer is not None and not self._is_refused:
            self._count_unfinished_head(len(data))

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._header_bytes = 0
        self._head_bytes = None
        self._expect_head()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the request target; only a path of at most the allowed length passes."""
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            self._refuse(UriTooLong())
        if not self.url.startswith(b"/"):
            self._refuse(InvalidPath("The request target must be a path, such as /rooms.json."))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, as long as all of them stay within the limit."""
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > self._limits.header_bytes:
            self._refuse(HeadersTooLarge())

    def on_headers_complete(self) -> None:
        """Pass a complete head on."""
        self._forget_head()
        super().on_headers_complete()

    def shutdown(self) -> None:
        """Stop after the request at hand; one that is held is woken (see server/longpoll.py)."""
        super().shutdown()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        """Refuse the request; uvicorn calls this when the parser or a callback gave up."""
        error = self._refusal
        self._is_refused = True
        self._forget_head()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.transport.close()  # an answer here would be taken for an earlier request's
            return
        if error is None:
            error = UnsupportedRequest("What was sent is no HTTP/1.1 request.")
        body = http_refusal(error)
        self.transport.write(
            STATUS_LINE[error.http_status]
            + b"content-type: application/json; charset=utf-8\r\n"
            + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
            + body
        )
        self._linger()

    def _refuse(self, error: TreeError) -> None:
        """Stop the parser; it makes uvicorn call `send_400_response`."""
        self._refusal = error
        raise error

    def _linger(self) -> None:
        # Closing a socket with unread input resets it, and the peer may lose the answer.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _expect_head(self) -> None:
        if self._head_timer is None:
            timeout = self._limits.header_timeout_ms / 1000
            self._head_timer = self.loop.call_later(timeout, self._give_up)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        self.transport.close()

    def _count_unfinished_head(self, size: int) -> None:
        # A single header without an end reaches no callback, so its bytes are counted here. The
        # chunk a head begins in is not: it may hold the end of an earlier request's body.
        self._head_bytes = 0 if self._head_bytes is None else self._head_bytes + size
        if self._head_bytes > self._limits.url_bytes + self._limits.header_bytes:
            self._refusal = HeadersTooLarge()
            self.send_400_response("")
