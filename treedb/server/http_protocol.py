"""The HTTP end of one socket: uvicorn's protocol, with limits of its own and JSON refusals.

What reaches the application is a request with a path of at most the allowed length and one host;
everything before that is refused here, with a JSON body like every other error of treedb.

Requests may be pipelined: they take effect one after the other, and are answered in order. What
came is parsed in slices, and no further while a request waits for its turn, so what a client can
make us hold is a slice's requests and what one read of the socket gave. A request that cannot be
is refused after those before it were answered, and ends the connection.

    GET /a.json    PUT /b.json    NONSENSE    GET /c.json
    200            200            400, and the connection is closed: nobody knows where to go on
"""

import asyncio
from enum import Enum, auto
from typing import Any, Final

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from treedb.config import Limits
from treedb.errors import (
    BodyTooLarge,
    HeadersTooLarge,
    RequestTimeout,
    TreeError,
    UnsupportedRequest,
    UriTooLong,
)
from treedb.server.deadlines import ReadDeadline, WriteDeadline
from treedb.server.flow import Flow
from treedb.server.http_head import (
    check_head,
    head_without_upgrade,
    refusal_answer,
    refusal_of,
)

LINGER_SECONDS: Final = 1.0  # what a refused peer still sends is read and dropped for so long
SLICE_BYTES: Final = 16 * 1024  # parsed at once; the smallest requests make 600 of it
CHUNK_HEAD_BYTES: Final = 16  # about a chunk, for each byte of body: one byte alone has 5


class _Stage(Enum):
    """What the parser is in the middle of."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class TreeHttpProtocol(HttpToolsProtocol):
    """uvicorn's httptools protocol; it refuses what is too long, too slow or not clear."""

    _flow: Flow  # like uvicorn's own `flow`, there once the connection is
    _writing: WriteDeadline

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
        self._reading = ReadDeadline(self.loop.call_later, limits, self._was_held, self._give_up)
        self._stage = _Stage.BETWEEN
        self._unfed = memoryview(b"")
        self._unanswered = 0
        self._refusal: TreeError | None = None
        self._last_answer: bytes | None = None
        self._is_over = False  # what still comes is dropped
        self._skips_head = False
        self._requests = 0  # that began in the slice at hand
        self._headers = 0
        self._header_bytes = 0
        self._body_bytes = 0
        self._has_begun = False  # the stage, in the slice at hand
        self._stage_bytes = 0

    # What the transport tells.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.flow = self._flow = Flow(transport, self._may_read_on)
        self._writing = WriteDeadline(self.loop.call_later, self._limits, transport)
        self._reading.await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._is_over = True
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the connection is to be closed already."""
        if self._is_over:
            return
        self._unset_keepalive_if_required()
        if self._unfed or len(data) > SLICE_BYTES:
            self._unfed = memoryview(bytes(self._unfed) + data if self._unfed else data)
            self._feed_unfed()
        else:
            self._feed(data)
            self._wait()

    def pause_writing(self) -> None:
        """Watch whether the peer reads on."""
        super().pause_writing()
        self._writing.begin()

    def resume_writing(self) -> None:
        """Stop watching: the peer has read."""
        self._writing.stop()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which no further request came."""
        self._close()

    def shutdown(self) -> None:
        """Stop after the request at hand; one that is held is woken (see server/longpoll.py)."""
        super().shutdown()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.message_event.set()

    # What is parsed, slice by slice.

    def _feed_unfed(self) -> None:
        if self._is_over:
            return
        while self._unfed and not self._is_full():
            piece, self._unfed = self._unfed[:SLICE_BYTES], self._unfed[SLICE_BYTES:]
            self._feed(piece)
        if self._unfed:
            self.flow.pause_reading()
        elif not self._is_full():
            self.flow.resume_reading()
        self._wait()

    def _feed(self, data: "bytes | memoryview[int]") -> None:
        starts = self._stage is _Stage.BETWEEN
        self._requests = 0
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as pause:
            self._upgrade(bytes(data[pause.args[0] :]))
        except httptools.HttpParserError as error:
            begun_with = bytes(data) if starts and self._requests == 1 else b""
            self._end_with(self._refusal or refusal_of(error, begun_with))
        else:
            if self._stage is not _Stage.BETWEEN:
                self._count_unfinished(len(data))

    def _is_full(self) -> bool:
        """Tell whether the application has enough for the moment."""
        cycle: RequestResponseCycle | None = self.cycle
        return bool(self.pipeline) or (
            cycle is not None and not cycle.response_complete and len(cycle.body) > HIGH_WATER_LIMIT
        )

    def _may_read_on(self) -> bool:
        """Tell whether the socket may be read; what came of it before is parsed first."""
        if self._unfed and not self.pipeline:
            self.loop.call_soon(self._feed_unfed)
        return not self._unfed and not self.pipeline

    def _upgrade(self, rest: bytes) -> None:
        if self._should_upgrade():
            self._is_over = True
            self._unfed = memoryview(b"")
            self._stop_waiting()
            if self.flow.read_paused:
                self.transport.resume_reading()
            self.handle_websocket_upgrade()
        else:
            self._skips_head = False
            head = head_without_upgrade(*self._line_at_hand(), self.headers)
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
            self._feed(head + rest)

    def _line_at_hand(self) -> tuple[bytes, bytes, str]:
        return self.parser.get_method(), self.url, self.parser.get_http_version()

    # What the parser tells.

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._stage = _Stage.HEAD
        self._has_begun = True
        self._requests += 1
        self._headers = 0
        self._header_bytes = 0
        self._body_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Take a piece of the request target."""
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            self._refuse(UriTooLong())

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, as long as all of them stay within the limits.

        One behind a body is dropped: the request is under way, and who looked at its headers did
        so before.
        """
        self._headers += 1
        self._header_bytes += len(name) + len(value)
        limits = self._limits
        if self._headers > limits.headers or self._header_bytes > limits.header_bytes:
            self._refuse(HeadersTooLarge())
        if self._stage is _Stage.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Pass a complete head on."""
        try:
            self.url = check_head(*self._line_at_hand(), self.headers)
        except TreeError as error:
            self._refuse(error)
        if self.parser.should_upgrade():
            if not self._should_upgrade():
                self._skips_head = True
                return
            if self._unanswered:
                self._refuse(UnsupportedRequest("A websocket begins after all answers came."))
        before: RequestResponseCycle | None = self.cycle
        super().on_headers_complete()
        self._reading.stop()
        self._stage = _Stage.BODY
        self._has_begun = True
        if self.cycle is not before:
            self._unanswered += 1

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body; one that nobody reads ends at a limit, too."""
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.rest_write_bytes and self.cycle.response_complete:
            self._refuse(BodyTooLarge())
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Pass on that a request has come."""
        if not self._skips_head:
            self._stage = _Stage.BETWEEN
            super().on_message_complete()

    def _refuse(self, error: TreeError) -> None:
        """Stop the parser, which then raises an error of its own."""
        self._refusal = error
        raise error

    def _count_unfinished(self, size: int) -> None:
        """Count what came of a head or a body that goes on.

        A single header without an end reaches no callback, nor does what a chunk says beside its
        size. The slice in which a stage begins is not counted: it may hold others' bytes.
        """
        if self._has_begun:
            self._has_begun = False
            self._stage_bytes = 0
            return
        self._stage_bytes += size
        limits = self._limits
        if self._stage is _Stage.HEAD:
            if self._stage_bytes > limits.url_bytes + limits.header_bytes:
                self._end_with(HeadersTooLarge())
        elif self._stage_bytes - CHUNK_HEAD_BYTES * self._body_bytes > limits.header_bytes:
            self._end_with(UnsupportedRequest("The chunks of the body hold hardly any body."))

    # What is waited for.

    def _wait(self) -> None:
        """Wait for what has to come next."""
        if self._is_over:
            return
        if self._stage is _Stage.BODY:
            self._reading.await_body(self._body_bytes)
        elif self._stage is _Stage.HEAD or not self._unanswered:
            self._reading.await_head()
        else:
            self._reading.stop()

    def _was_held(self) -> bool:
        """Tell whether it was us who kept the peer from sending."""
        cycle: RequestResponseCycle | None = self.cycle
        awaits_permission = (
            self._stage is _Stage.BODY and cycle is not None and cycle.waiting_for_100_continue
        )
        return self._flow.was_held() or awaits_permission or bool(self._unfed)

    def _give_up(self) -> None:
        """End a connection on which nothing more comes; who had begun a request is told."""
        if self._stage is _Stage.BETWEEN:
            self._close()
        else:
            self._end_with(RequestTimeout("The request came too slowly, or stopped coming."))

    def _stop_waiting(self) -> None:
        self._unset_keepalive_if_required()
        self._reading.stop()
        self._writing.stop()

    def _close(self) -> None:
        """Close the connection when what is written was read, or after a while without."""
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._writing.begin()

    # How it ends.

    def on_response_complete(self) -> None:
        """Go on with the next request, or refuse the one that cannot be."""
        self._unanswered -= 1
        super().on_response_complete()
        if self.transport.is_closing():
            if self.transport.get_write_buffer_size():
                self._writing.begin()
        elif self._last_answer is not None and not self._unanswered:
            self._say_last()

    def _end_with(self, error: TreeError) -> None:
        """Refuse the request at hand when those before it are answered, and close."""
        self._is_over = True
        self._unfed = memoryview(b"")
        self._reading.stop()
        self._unset_keepalive_if_required()
        self._last_answer = refusal_answer(error)
        if self._stage is _Stage.BODY:
            self._abandon_cycle()
        if not self._unanswered:
            self._say_last()

    def _abandon_cycle(self) -> None:
        """Let the application go of the request at hand, whose body will not come."""
        cycle = self.cycle
        if cycle.response_started:
            self._last_answer = b""  # it would be taken for another request's
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
        if not cycle.response_complete:
            self._unanswered -= 1
            cycle.disconnected = True
            cycle.message_event.set()

    def _say_last(self) -> None:
        # Closing a socket with unread input resets it, and the peer may lose the answer.
        self._unset_keepalive_if_required()
        if self._last_answer:
            self.transport.write(self._last_answer)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self._close)
