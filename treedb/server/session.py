"""One client of the realtime protocol: what it may ask, and in which order it is answered.

Requests take effect in the order they came. Writes are handed to the database without waiting
for one another, so that a client that pipelines shares group commits; they are answered in order
as they complete. Every other request first waits for the writes before it, so that a client reads
what it wrote. While a request waits nothing more is read from the socket: that is all the
back-pressure there is, and no client can be further ahead than the limits on what is in flight.

Two orders the SDKs rely on: a listen's data goes out before its `ok`; and a write's data before
the write's `ok`, which the database sees to by delivering before it resolves the write's future.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from treedb.auth.identity import Auth
from treedb.database import Database
from treedb.errors import (
    CloseCode,
    ExpiredToken,
    InvalidToken,
    ProtocolError,
    TreeError,
    Unavailable,
    UnsupportedRequest,
)
from treedb.rules.authority import Caller
from treedb.rules.query_variables import query_variables
from treedb.server.answers import INTERNAL, refusal_frames, signed_in
from treedb.server.callers import Callers, acting_as
from treedb.server.door import Door
from treedb.server.listens import Listens, watch_of
from treedb.server.session_end import SessionEnd
from treedb.server.unanswered import UnansweredWrites
from treedb.tree.forms import Form
from treedb.tree.json_text import format_json
from treedb.tree.query import Query
from treedb.wire import messages, outgoing
from treedb.wire.connection import Connection
from treedb.wire.messages import Message, Request
from treedb.wire.ready_frame import ready_frames
from treedb.writes.request import Write, set_write, update_write
from treedb.writes.steps import Request as WriterRequest
from treedb.writes.writer import Written

INLINE_BYTES: Final = 256 * 1024  # larger messages are parsed and checked on a thread

_PONG: Final = ready_frames(outgoing.PONG)

log = logging.getLogger("treedb.session")


class Session:
    """The state of one client: who it is, what it listens to, which writes are unanswered."""

    def __init__(self, database: Database, door: Door, callers: Callers) -> None:
        limits = database.limits
        self._database = database
        self._callers = callers
        self._limits = limits
        self._connection = Connection(limits)
        self._listens = Listens(database, door, limits, self._fell_behind)
        self._outbox = self._listens.outbox
        self._writes = UnansweredWrites(door.write, limits)
        self._end = SessionEnd(database)
        self._turn = asyncio.Lock()  # one request, or one catching up, at a time
        self._catching_up: asyncio.Task[None] | None = None
        self._caller = callers.caller(None)
        self._expiry: asyncio.TimerHandle | None = None
        self._is_over = False

    async def receive(self, frame: str) -> None:
        """Take one text frame; returns when the next may be read."""
        if self._is_over:
            return
        size_bytes = self._connection.size_completed_by(frame)
        try:
            if size_bytes > INLINE_BYTES:
                message = await asyncio.to_thread(self._connection.receive, frame)
            else:
                message = self._connection.receive(frame)
        except ProtocolError as error:
            self.fail(error)
            return
        if message is not None:
            await self._perform(message, size_bytes)

    @property
    def is_waiting(self) -> bool:
        """Tell whether the client announced segments that have not come yet."""
        return self._connection.is_waiting and not self._is_over

    def fail(self, error: ProtocolError) -> None:
        """Tell the client how it broke the protocol, and close its connection."""
        self._outbox.write(ready_frames(outgoing.server_error(error.reason)))
        self.close(error.close_code, error.text)

    def close(self, code: int, reason: str) -> None:
        """Close the connection from our side."""
        self._outbox.close(code, reason)
        self.end()

    def end(self) -> None:
        """Drop every listen, and write what waits for this; the client hears and writes no more."""
        self._is_over = True
        self._end.end()
        self._forget_expiry()
        self._listens.end()
        if self._catching_up is not None:
            self._catching_up.cancel()

    # Writes: submitted at once, answered when done.

    async def _perform(self, message: Message, size_bytes: int) -> None:
        await self._outbox.drained()
        if isinstance(message, messages.Control):
            if message.kind == "p":
                self._outbox.write(_PONG)
            return
        build = self._WRITES.get(type(message))
        if build is None:
            await self._ask(message)
            return
        if isinstance(message, messages.Malformed) and isinstance(message.error, InvalidToken):
            await self._writes.settled()
            self._act_as(None)  # a credential that is none takes the old identity with it
        await self._writes.room_for(size_bytes)
        future = await self._submit(partial(build, self, message), size_bytes)
        self._writes.add(message.number, future, size_bytes)

    async def _submit(
        self, build: Callable[[], WriterRequest], size_bytes: int
    ) -> "asyncio.Future[Written]":
        try:
            request = await asyncio.to_thread(build) if size_bytes > INLINE_BYTES else build()
            if self._is_over:  # what waited for the end is submitted: nothing comes after it
                raise Unavailable("the connection has ended")
            return self._database.submit(request)
        except Exception as error:  # noqa: BLE001 - it becomes the request's answer
            refused: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
            refused.set_exception(error)
            return refused

    def _put(self, message: messages.Put) -> Write:
        return set_write(
            message.path,
            message.data,
            self._limits,
            caller=self._caller,
            expected_hash=message.hash,
        )

    def _merge(self, message: messages.Merge) -> Write:
        return update_write(message.path, message.data, self._limits, caller=self._caller)

    def _on_disconnect(self, message: messages.OnDisconnect) -> WriterRequest:
        return self._end.request(message, self._caller)

    def _malformed(self, message: messages.Malformed) -> Write:
        raise message.error

    # Everything else: waits for the writes before it.

    async def _ask(self, message: Request) -> None:
        await self._writes.settled()
        async with self._turn:
            try:
                ready = await self._ANSWERS[type(message)](self, message)
            except Exception as error:  # noqa: BLE001 - it becomes the request's answer
                ready = (refusal_frames(message.number, error),)
            self._outbox.write_answer(*ready)

    async def _listen(self, message: messages.Listen) -> tuple[bytes, ...]:
        return await self._listens.listen(message, self._caller)

    async def _unlisten(self, message: messages.Unlisten) -> tuple[bytes, ...]:
        self._listens.leave(watch_of(message))
        return _ok(message.number, b'""')

    def _fell_behind(self) -> None:
        # One that is under way looks for what was missed until there is nothing.
        if self._catching_up is None or self._catching_up.done():
            self._catching_up = asyncio.create_task(self._catch_up())

    async def _catch_up(self) -> None:
        """Bring a client that was too slow up to date, once it has read what is on its way."""
        try:
            await self._outbox.drained()
            async with self._turn:
                await self._listens.catch_up(self._caller)
        except Exception:
            log.exception("a client that fell behind cannot be brought up to date")
            self.close(CloseCode.INTERNAL_ERROR, INTERNAL)

    async def _get(self, message: messages.Get) -> tuple[bytes, ...]:
        path, query = message.path, message.query.query
        caller = self._caller_asking(query)
        pieces = await self._database.get_json(path, Form.EXPORT, caller, query)
        answer = partial(outgoing.answer, message.number, "ok", *pieces)
        return (await self._outbox.frame(_size(pieces), answer),)

    def _caller_asking(self, query: Query) -> Caller:
        return replace(self._caller, query=query_variables(query))

    async def _sign_in(self, message: messages.SignIn) -> tuple[bytes, ...]:
        try:
            auth: Auth | None = self._callers.authenticate(message.credential)
        except TreeError:
            self._act_as(None)  # a credential that fails takes the old identity with it
            raise
        if message.override is not None and auth is not None and auth.is_admin:
            auth = acting_as(auth, message.override.variable)
        self._act_as(auth)
        await self._end.settled()
        return (ready_frames(signed_in(message.number, auth)),)

    async def _sign_out(self, message: messages.SignOut) -> tuple[bytes, ...]:
        self._act_as(None)
        await self._end.settled()
        return _ok(message.number, b'""')

    async def _acknowledge(self, message: messages.Stats | messages.AppCheck) -> tuple[bytes, ...]:
        return _ok(message.number, b"{}")

    async def _echo(self, message: messages.Echo) -> tuple[bytes, ...]:
        return _ok(message.number, format_json(message.data))

    async def _unknown(self, message: messages.Unknown) -> tuple[bytes, ...]:
        raise UnsupportedRequest(f"The server knows no action {message.action[:32]!r}.")

    # Who the client is.

    def _act_as(self, auth: Auth | None) -> None:
        """Go on as somebody else: what that one may not listen to is cancelled."""
        self._forget_expiry()
        self._caller = self._callers.caller(auth)
        self._database.act_as(self._outbox, self._caller)
        self._end.act_as(auth)
        if auth is not None and auth.expires_at_ms is not None:
            self._expiry = self._database.call_at(auth.expires_at_ms, self._expired)

    def _expired(self) -> None:
        """Take the credential back; the client fetches another and connects again."""
        revoked = outgoing.auth_revoked(ExpiredToken.status, ExpiredToken.text)
        self._outbox.write(ready_frames(revoked))
        self._act_as(None)

    def _forget_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    # What becomes of each kind of request.

    _WRITES: ClassVar[dict[type[Request], Callable[["Session", Any], WriterRequest]]] = {
        messages.Put: _put,
        messages.Merge: _merge,
        messages.OnDisconnect: _on_disconnect,
        messages.Malformed: _malformed,  # refused, in its place among the writes
    }
    _ANSWERS: ClassVar[
        dict[type[Request], Callable[["Session", Any], Awaitable[tuple[bytes, ...]]]]
    ] = {
        messages.Listen: _listen,
        messages.Unlisten: _unlisten,
        messages.Get: _get,
        messages.SignIn: _sign_in,
        messages.SignOut: _sign_out,
        messages.Stats: _acknowledge,
        messages.AppCheck: _acknowledge,
        messages.Echo: _echo,
        messages.Unknown: _unknown,
    }


def _ok(number: int, data: bytes) -> tuple[bytes, ...]:
    return (ready_frames(outgoing.answer(number, "ok", data)),)


def _size(pieces: list[bytes]) -> int:
    return sum(map(len, pieces))
