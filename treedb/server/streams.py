"""Streams: a place of the tree, and every change there, as server-sent events.

    event: put                                    the value at a path below the place is now this
    data: {"path":"/","data":{"a":1}}
    event: patch                                  these places below it changed together
    data: {"path":"/","data":{"b/c":2,"a":null}}
    event: keep-alive                             nothing happened for a while
    event: cancel                                 the place may not be read any more; the end
    event: auth_revoked                           the credential has expired; the end

A stream is a Listener like any other, so there is no gap and nothing comes twice. One that its
client reads too slowly ends; the client comes back, as such clients do, and starts from a fresh
value. Source: Firebase's "Streaming from the REST API", and the HTML standard, section 9.2.
"""

import asyncio
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treedb.config import Limits
from treedb.database import Database
from treedb.rules.authority import Caller
from treedb.sync.delivery import Delivery, Merge, Overwrite, Watch
from treedb.tree.arrays import to_plain
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json, parse_json
from treedb.tree.values import Value

KEEP_ALIVE_SECONDS: Final = 25.0  # proxies cut what is silent for longer
INLINE_BYTES: Final = 256 * 1024  # a longer first value is made ready on a thread
HEADERS: Final = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}

_KEEP_ALIVE: Final = b"event: keep-alive\ndata: null\n\n"
_CANCEL: Final = b"event: cancel\ndata: null\n\n"
_REVOKED: Final = b"event: auth_revoked\ndata: credential is no longer valid\n\n"


class Stream:
    """One listener whose client reads events; what waits for it is bounded."""

    def __init__(self, watch: Watch, form: Form, limits: Limits) -> None:
        self._watch = watch
        self._form = form
        self._most_bytes = limits.outbox_bytes
        self._events: list[bytes] = []
        self._size_bytes = 0
        self._is_ready = asyncio.Event()
        self.is_over = False

    @classmethod
    async def open(cls, watch: Watch, form: Form, database: Database, caller: Caller) -> "Stream":
        """Begin to listen; the value there is the first event. Raises what a listen raises."""
        stream = cls(watch, form, database.limits)
        first = await database.listen(watch, stream, caller, None)
        assert first is not None, "without a claim there is a value"
        text = b"".join(first.pieces)
        if form is Form.PLAIN:
            inline = len(text) <= INLINE_BYTES
            text = _plain(text) if inline else await asyncio.to_thread(_plain, text)
        first_event = _event(b"put", b'{"path":"/","data":%b}' % text)
        stream._events.insert(0, first_event)  # before what was delivered while it was made
        stream._is_ready.set()
        return stream

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        """Take a delivery as an event."""
        text = delivery.encoded(("event", self._form), lambda: _event_of(delivery, self._form))
        if text and not self.is_over:
            self._add(text)
            if self._size_bytes > self._most_bytes:
                self._end(b"")

    def cancel(self, watch: Watch) -> None:
        """Take that the place may not be read any more."""
        self._end(_CANCEL)

    def revoke(self) -> None:
        """Take that the credential has expired."""
        self._end(_REVOKED)

    def keep_alive(self) -> None:
        """Have something to say, so that nobody takes the connection for dead."""
        self._add(_KEEP_ALIVE)

    def take(self) -> bytes:
        """Return the events that wait."""
        events, self._events, self._size_bytes = self._events, [], 0
        self._is_ready.clear()
        return b"".join(events)

    async def wait(self) -> None:
        """Wait until there are events, or the stream is over."""
        await self._is_ready.wait()

    def _end(self, last: bytes) -> None:
        if not self.is_over:
            self.is_over = True
            self._add(last)

    def _add(self, text: bytes) -> None:
        self._events.append(text)
        self._size_bytes += len(text)
        self._is_ready.set()


class StreamResponse(Response):
    """The answer that a stream is: it ends with the stream, with its client, or with the server."""

    def __init__(
        self, stream: Stream, watch: Watch, database: Database, headers: dict[str, str]
    ) -> None:
        super().__init__(headers={**headers, **HEADERS})
        del self.headers["content-length"]
        self._stream = stream
        self._watch = watch
        self._database = database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events as they come, and something now and then when there are none."""
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while not leaving.done():
                events = self._stream.take()
                await send({"type": "http.response.body", "body": events, "more_body": True})
                if self._stream.is_over:
                    break
                await self._wait(leaving)
            await send({"type": "http.response.body", "body": self._stream.take()})
        finally:
            leaving.cancel()
            self._database.unlisten(self._watch, self._stream)

    async def _wait(self, leaving: "asyncio.Future[None]") -> None:
        waking = asyncio.ensure_future(self._stream.wait())
        either = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait(
            (leaving, waking), timeout=KEEP_ALIVE_SECONDS, return_when=either
        )
        waking.cancel()
        if not done:
            self._stream.keep_alive()


async def _left(receive: Receive) -> None:
    """Return when the client has gone, or the server stops and wakes who waits."""
    body = await receive()
    while body["type"] == "http.request" and body.get("more_body", False):
        body = await receive()
    if body["type"] == "http.request":
        await receive()


def _event(name: bytes, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name, data)


def _event_of(delivery: Delivery, form: Form) -> bytes:
    """Return a delivery as an event, nothing where only priorities changed that are not shown."""
    match delivery.change:
        case Overwrite(path, value):
            if form is Form.PLAIN and path.is_priority:
                return b""
            place = "/" + "/".join(delivery.place.relative(path))
            return _event(b"put", format_json({"path": place, "data": _formed(value, form)}))
        case Merge(_, changes):
            members = {
                "/".join(keys): _formed(value, form)
                for keys, value in changes
                if form is Form.EXPORT or keys[-1] != ".priority"
            }
            if not members:
                return b""
            return _event(b"patch", format_json({"path": "/", "data": members}))


def _formed(value: Value, form: Form) -> object:
    return to_plain(value) if form is Form.PLAIN else value


def _plain(text: bytes) -> bytes:
    value: Any = parse_json(text)  # our own text, so it is in normal form
    return format_json(to_plain(value))
