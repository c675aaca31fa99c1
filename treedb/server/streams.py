"""Streams: a place of the tree, and every change there, as server-sent events.

A stream is a Listener like any other, so there is no gap and nothing comes twice. A client whose
stream was cut comes back with the id of the last event it got (`events.py`) and is told what it
missed; where that cannot be, it starts from a fresh value (`treedb/resumption.py` tells when). A
stream that its client reads too slowly ends, and the client comes back in the same way.
"""

import asyncio
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treedb.config import Limits
from treedb.database import Database
from treedb.errors import InvalidQuery
from treedb.paths.path import Path
from treedb.rules.authority import Caller
from treedb.server.events import (
    CANCEL,
    REVOKED,
    event_of,
    first_event,
    keep_alive,
    plain_text,
)
from treedb.server.http_answers import common_headers
from treedb.sync.delivery import Delivery, Watch
from treedb.tree.bookmark import BEGINNING, Bookmark
from treedb.tree.forms import Form
from treedb.tree.query import EVERYTHING, Query

KEEP_ALIVE_SECONDS: Final = 25.0  # proxies cut what is silent for longer
INLINE_BYTES: Final = 256 * 1024  # a longer first value is made ready on a thread
HEADERS: Final = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}


async def stream_answer(
    request: Request, path: Path, query: Query, form: Form, *, database: Database, caller: Caller
) -> Response:
    """Answer with the value at a place, or what was missed of it, and every change to come."""
    if path.is_priority:
        raise InvalidQuery("A priority has no stream: stream the value that it belongs to.")
    watch = Watch(path, query if query.is_filtering else EVERYTHING)
    since = Bookmark.parse(request.headers.get("last-event-id", ""))
    stream = Stream(watch, form, database.limits)
    await stream.open(database, caller, since)
    expires_at_ms = None if caller.auth is None else caller.auth.expires_at_ms
    timer = None if expires_at_ms is None else database.call_at(expires_at_ms, stream.revoke)
    return StreamResponse(stream, database, timer, common_headers(request))


class Stream:
    """One listener whose client reads events; what waits for it is bounded."""

    def __init__(self, watch: Watch, form: Form, limits: Limits) -> None:
        self.watch = watch
        self._form = form
        self._most_bytes = limits.outbox_bytes
        self._events: list[bytes] = []
        self._size_bytes = 0
        self._is_ready = asyncio.Event()
        self._told = BEGINNING
        self.is_over = False

    async def open(self, database: Database, caller: Caller, since: Bookmark | None) -> None:
        """Begin to listen; raises what a listen raises.

        The first event has the value there, unless the client has told since when it missed
        something and that can be told.
        """
        if since is None or not await self._resume(database, caller, since):
            await self._start(database, caller)
        self._is_ready.set()

    async def _resume(self, database: Database, caller: Caller, since: Bookmark) -> bool:
        encode = partial(event_of, form=self._form)
        missed = await database.resume(self.watch, self, caller, since, encode)
        if missed is None:
            return False
        self._told = missed.bookmark
        text = b"".join(missed.texts)
        # Something at once, also when nothing was missed: whoever waits knows that it is connected.
        self._events.insert(0, text or keep_alive(missed.bookmark))
        return True

    async def _start(self, database: Database, caller: Caller) -> None:
        first = await database.listen(self.watch, self, caller, None)
        assert first is not None, "without a claim there is a value"
        self._told = first.bookmark
        text = b"".join(first.pieces)
        if self._form is Form.PLAIN:
            inline = len(text) <= INLINE_BYTES
            text = plain_text(text) if inline else await asyncio.to_thread(plain_text, text)
        # In front of what came while it was made.
        self._events.insert(0, first_event(text, first.bookmark))

    def deliver(self, delivery: Delivery, tag: int | None) -> None:
        """Take a delivery as an event."""
        text = event_of(delivery, self._form)
        if text and not self.is_over:
            self._told = delivery.bookmark
            self._add(text)
            if self._size_bytes > self._most_bytes:
                self._end(b"")

    def cancel(self, watch: Watch) -> None:
        """Take that the place may not be read any more."""
        self._end(CANCEL)

    def revoke(self) -> None:
        """Take that the credential has expired."""
        self._end(REVOKED)

    def keep_alive(self, published: Bookmark) -> None:
        """Have something to say, so that nobody takes the connection for dead.

        The client of a place where nothing happens learns how far the journal has got, and so
        can resume when the commits that did not concern it are gone. Not so the client of a
        query: what a commit did to its window may still have to be read.
        """
        if self.watch.query.is_filtering or published.revision <= self._told.revision:
            self._add(keep_alive(None))
        else:
            self._told = published
            self._add(keep_alive(published))

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
    """The answer that a stream is: it ends with the stream, with its client, or with the server.

    The timer, which tells that the credential has expired, ends with it.
    """

    def __init__(
        self,
        stream: Stream,
        database: Database,
        timer: asyncio.TimerHandle | None,
        headers: dict[str, str],
    ) -> None:
        super().__init__(headers={**headers, **HEADERS})
        del self.headers["content-length"]
        self._stream = stream
        self._database = database
        self._timer = timer

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
            if self._timer is not None:
                self._timer.cancel()
            self._database.unlisten(self._stream.watch, self._stream)

    async def _wait(self, leaving: "asyncio.Future[None]") -> None:
        waking = asyncio.ensure_future(self._stream.wait())
        either = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait(
            (leaving, waking), timeout=KEEP_ALIVE_SECONDS, return_when=either
        )
        waking.cancel()
        if not done:
            self._stream.keep_alive(self._database.bookmark)


async def _left(receive: Receive) -> None:
    """Return when the client has gone, or the server stops and wakes who waits."""
    body = await receive()
    while body["type"] == "http.request" and body.get("more_body", False):
        body = await receive()
    if body["type"] == "http.request":
        await receive()
